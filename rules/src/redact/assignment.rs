//! `NAME=VALUE`, `"NAME": "VALUE"`, `--NAME VALUE` where the name says that the value is secret.
//!
//! Invariant: a value is judged by itself and its name, so that `token=1234` and `token: None` stay
//! what they are. Next stop: `find`.
use super::find::Finding;
use super::keyword::{Keyword, NAME_MAX, keyword};
use super::kind::Kind;
use super::text::{CREDENTIAL, END, NAME, QUOTE, Text, is};

/// How far a value is looked at to judge it. What is redacted goes on to its end.
const VALUE_MAX: usize = 4096;

/// Looks at the separator at `at`.
pub(super) fn assignment(text: &mut Text<'_>, at: usize) -> Option<Finding> {
    assigned(text, at).map(|finding| to_its_end(text, finding))
}

/// Looks at a value at `start` that may follow `--NAME ` or `Bearer `.
pub(super) fn argument(text: &mut Text<'_>, start: usize) -> Option<Finding> {
    following(text, start).map(|finding| to_its_end(text, finding))
}

/// Nothing that is walked over here is looked at again.
fn to_its_end(text: &mut Text<'_>, finding: Finding) -> Finding {
    if finding.end - finding.start < VALUE_MAX {
        return finding;
    }
    Finding { end: text.end_before(finding.end, END, usize::MAX), ..finding }
}

fn assigned(text: &mut Text<'_>, at: usize) -> Option<Finding> {
    let mut name_end = text.skip_blanks_back(at);
    name_end = text.run_start(name_end, QUOTE, 4);
    // The last letters decide for nearly every name.
    keyword_end(text, name_end)?;
    let name_start = text.run_start(name_end, NAME, NAME_MAX);
    let name_start = (name_start + text.escape_at(name_start)).min(name_end);
    let found = keyword(text.slice(name_start, name_end))?;
    let mut from = at + 1;
    if text.get(at) == Some(b'=') && matches!(text.get(from), Some(b'>' | b'=')) {
        from += 1;
    }
    let mut value = Value::read(text, from)?;
    if matches!(found, Keyword::Signature) {
        let is_escaped = text.slice(name_start.saturating_sub(6), name_start) == b"\\u0026";
        if !is_escaped && !matches!(text.before(name_start), Some(b'?' | b'&')) {
            return None;
        }
    }
    if found == Keyword::Authorization {
        return authorization(text, name_start, value);
    }
    value.as_is = text.get(at) == Some(b'=');
    finding(text, name_start, found, value)
}

fn following(text: &mut Text<'_>, start: usize) -> Option<Finding> {
    // What stands in front of most runs ends no keyword.
    if !matches!(text.before(start), Some(b' ' | b'\t' | b'"' | b'\'' | b'.' | b'/' | b'+' | b'~'))
    {
        return None;
    }
    // A credential may hold other characters in front of its first long run.
    let value_start = text.run_start(start, CREDENTIAL, 256);
    let quotes = text.run_start(value_start, QUOTE, 4);
    let name_end = text.skip_blanks_back(quotes);
    if name_end == quotes {
        return None;
    }
    keyword_end(text, name_end).or_else(|| bearer_end(text, name_end))?;
    let name_start = text.run_start(name_end, NAME, NAME_MAX);
    let name = text.slice(name_start, name_end);
    let mut value = Value::read(text, name_end)?;
    if name.eq_ignore_ascii_case(b"bearer") {
        value.end = text.run_end(value.start, CREDENTIAL, VALUE_MAX);
        let shape = text.slice(value.start, value.end);
        let plausible = shape.len() >= 16 && shape.iter().any(u8::is_ascii_digit);
        return plausible.then(|| value.finding(name_start, Kind::Authorization));
    }
    let dashes = name.windows(2).rposition(|part| part == b"--")?;
    value.as_is = true;
    match keyword(&name[dashes..])? {
        Keyword::Authorization | Keyword::Signature => None,
        found => finding(text, name_start + dashes, found, value),
    }
}

fn keyword_end(text: &Text<'_>, name_end: usize) -> Option<()> {
    let end = text.slice(name_end.checked_sub(3)?, name_end);
    keyword_like(end).then_some(())
}

fn bearer_end(text: &Text<'_>, name_end: usize) -> Option<()> {
    let end = text.slice(name_end.checked_sub(6)?, name_end);
    end.eq_ignore_ascii_case(b"bearer").then_some(())
}

fn keyword_like(end: &[u8]) -> bool {
    super::keyword::ends_like_one(end)
}

/// A value and what stands around it.
#[derive(Clone, Copy, Debug)]
struct Value {
    start: usize,
    end: usize,
    quoted: bool,
    /// It follows `=` or is an argument, so it is no prose.
    as_is: bool,
}

impl Value {
    /// The value behind a separator that ends at `from`.
    fn read(text: &mut Text<'_>, from: usize) -> Option<Value> {
        let mut start = text.skip_blanks(from);
        // Python writes `b'…'` and `u'…'`.
        if matches!(text.get(start), Some(b'b' | b'u' | b'r'))
            && matches!(text.get(start + 1), Some(b'"' | b'\''))
        {
            start += 1;
        }
        let after_quotes = text.run_end(start, QUOTE, 4);
        if after_quotes > start {
            let quote = text.get(after_quotes - 1)?;
            let escaped = after_quotes - start >= 2 && text.get(start) == Some(b'\\');
            let opened = start + if escaped { 2 } else { 1 };
            if let Some(end) = quoted_end(text, opened, quote, escaped) {
                let value = Value { start: opened, end, quoted: true, as_is: true };
                return (end > opened).then_some(value);
            }
            start = after_quotes;
        }
        let mut end = text.end_before(start, END, VALUE_MAX);
        // `NAME=VALUE: text`
        if end > start && text.before(end) == Some(b':') {
            end -= 1;
        }
        let value = Value { start, end, quoted: false, as_is: false };
        (end > start).then_some(value)
    }

    /// Without quotes, taking the value away takes its name away as well: what follows would be
    /// taken for its value.
    fn finding(&self, name_start: usize, kind: Kind) -> Finding {
        let whole_start = if self.quoted { self.start } else { name_start };
        Finding { start: self.start, end: self.end, whole_start, kind: kind as u16 }
    }
}

/// Where the quote is closed.
fn quoted_end(text: &mut Text<'_>, start: usize, quote: u8, escaped: bool) -> Option<usize> {
    let body = text.slice(start, start + VALUE_MAX);
    let mut at = 0;
    let end = loop {
        match *body.get(at)? {
            // Inside a string within a string the closing quote is escaped as well.
            b'\\' if escaped && body.get(at + 1) == Some(&quote) => break at,
            b'\\' if escaped => at += 1,
            b'\\' => at += 2,
            b'\n' => {
                text.steps += at as u64 + 1;
                return None;
            }
            byte if byte == quote && !escaped => break at,
            _ => at += 1,
        }
    };
    text.steps += end as u64 + 1;
    Some(start + end)
}

fn finding(text: &Text<'_>, name_start: usize, found: Keyword, value: Value) -> Option<Finding> {
    let shape = text.slice(value.start, value.end);
    if stands_for_nothing(shape) {
        return None;
    }
    let kind = match found {
        Keyword::Password => Kind::Password,
        Keyword::Pwd if matches!(shape[0], b'/' | b'~' | b'.') => return None,
        Keyword::Pwd => Kind::Password,
        Keyword::Key(kind) | Keyword::NamedToken(kind) if is_key(shape, value) => kind,
        Keyword::Token if is_token(shape) => Kind::Token,
        Keyword::Signature if shape.len() >= 20 => Kind::AzureKey,
        _ => return None,
    };
    Some(value.finding(name_start, kind))
}

/// The credentials behind `Authorization:`.
fn authorization(text: &mut Text<'_>, name_start: usize, mut value: Value) -> Option<Finding> {
    let scheme_end = text.end_before(value.start, END, 32);
    let scheme = text.slice(value.start, scheme_end).to_ascii_lowercase();
    let rest = match &scheme[..] {
        b"bearer" | b"basic" | b"token" | b"apikey" | b"negotiate" => {
            let start = text.skip_blanks(scheme_end);
            start..text.end_before(start, END, VALUE_MAX)
        }
        // Several parameters, all of which belong to the credentials.
        b"digest" | b"aws4-hmac-sha256" | b"oauth" => {
            let start = text.skip_blanks(scheme_end);
            let line = text.slice(start, start + VALUE_MAX);
            let end = line.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            text.steps += line.len() as u64;
            start..start + end.unwrap_or(line.len())
        }
        _ if is_key(text.slice(value.start, value.end), value) => value.start..value.end,
        _ => return None,
    };
    value.start = rest.start;
    value.end = if value.quoted { value.end } else { rest.end };
    let shape = text.slice(value.start, value.end);
    let plausible = value.start < value.end && !stands_for_nothing(shape);
    plausible.then(|| value.finding(name_start, Kind::Authorization))
}

/// Placeholders, words of programs, and what has been redacted already.
fn stands_for_nothing(shape: &[u8]) -> bool {
    const WORDS: [&[u8]; 24] = [
        b"none",
        b"null",
        b"nil",
        b"true",
        b"false",
        b"yes",
        b"no",
        b"on",
        b"off",
        b"undefined",
        b"unset",
        b"n/a",
        b"empty",
        b"required",
        b"optional",
        b"str",
        b"string",
        b"int",
        b"bool",
        b"bytes",
        b"object",
        b"prompt",
        b"secretstr",
        b"optional[str",
    ];
    let first = shape.first().copied().unwrap_or_default();
    let masks = b"*.-#=:".contains(&first) || (shape.len() >= 3 && b"xX".contains(&first));
    let stars = masks && shape.iter().all(|byte| *byte == first);
    stars
        || matches!(first, b'$' | b'<' | b'{' | b'%')
        || (shape.len() <= 12 && WORDS.iter().any(|word| shape.eq_ignore_ascii_case(word)))
        || shape.starts_with(REDACTED)
}

/// What a redacted value begins with.
pub(super) const REDACTED: &[u8] = b"[redacted:";

/// The value of something called a key, a secret, or an access token.
fn is_key(shape: &[u8], value: Value) -> bool {
    let digits = shape.iter().filter(|byte| byte.is_ascii_digit()).count();
    let letters = shape.iter().filter(|byte| byte.is_ascii_alphabetic()).count();
    let is_path = matches!(shape, [b'/' | b'~', ..] | [b'.', b'/' | b'.', ..]);
    let is_address = shape.windows(3).any(|part| part == b"://");
    let is_prose = !value.as_is && digits == 0 && shape.iter().all(|b| !b.is_ascii_uppercase());
    shape.len() >= 6
        && letters > 0
        && !is_path
        && !is_address
        && !is_prose
        && !shape.windows(REDACTED.len()).any(|part| part == REDACTED)
}

/// The value of something that is called a token and nothing more.
fn is_token(shape: &[u8]) -> bool {
    let of_token = |byte: &u8| is(*byte, CREDENTIAL) && !matches!(byte, b'/');
    shape.len() >= 16
        && shape.iter().all(of_token)
        && shape.iter().any(u8::is_ascii_digit)
        && shape.iter().filter(|byte| byte.is_ascii_alphabetic()).count() >= 4
}
