//! Escapes inside quotes, as JSON has them: `\n`, `\"`, `\u8bad`.
//!
//! Invariant: a text that a scan accepted is unescaped without a further error. Next on the trip:
//! the formats that have quotes.

use crate::fields::{Fields, Piece};

/// Why a quoted text has no end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Broken {
    /// The line ends inside it.
    Unclosed,
    /// There is no such escape, or a control character stands there by itself.
    Escape,
}

/// Scans a quoted text from the byte after its opening quote: the place of the closing quote, and
/// whether there are escapes. `strict` refuses what JSON does.
pub(super) fn scan(bytes: &[u8], start: usize, strict: bool) -> Result<(usize, bool), Broken> {
    let mut at = start;
    let mut escaped = false;
    loop {
        match *bytes.get(at).ok_or(Broken::Unclosed)? {
            b'"' => {
                super::looked_at(at - start);
                return Ok((at, escaped));
            }
            b'\\' => {
                escaped = true;
                at += match *bytes.get(at + 1).ok_or(Broken::Unclosed)? {
                    b'u' => unicode(bytes, at).ok_or(Broken::Escape).or(lenient(strict, 2))?.1,
                    b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => 2,
                    // The byte may begin a character: only the backslash is stepped over.
                    _ if !strict => 1,
                    _ => return Err(Broken::Escape),
                };
            }
            control if strict && control < 0x20 => return Err(Broken::Escape),
            _ => at += 1,
        }
    }
}

/// What a faulty escape counts where such are let through.
fn lenient(strict: bool, length: usize) -> Result<(char, usize), Broken> {
    if strict { Err(Broken::Escape) } else { Ok((char::REPLACEMENT_CHARACTER, length)) }
}

/// The character of `\u1234` or of a pair of surrogates, and its length in bytes.
fn unicode(bytes: &[u8], at: usize) -> Option<(char, usize)> {
    let first = hex(bytes, at)?;
    if (0xd800..0xdc00).contains(&first) {
        let second = hex(bytes, at + 6)?;
        if !(0xdc00..0xe000).contains(&second) {
            return None;
        }
        let code = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
        return Some((char::from_u32(code)?, 12));
    }
    Some((char::from_u32(first)?, 6))
}

fn hex(bytes: &[u8], at: usize) -> Option<u32> {
    let escape = bytes.get(at..at + 6)?;
    let digits = escape.strip_prefix(b"\\u")?;
    digits.iter().try_fold(0, |value, digit| Some(value << 4 | char::from(*digit).to_digit(16)?))
}

/// The text between two quotes that [`scan`] found: where it stands, or unescaped in the buffer.
pub(super) fn unquoted(
    fields: &mut Fields,
    text: &str,
    place: (usize, usize),
    escaped: bool,
) -> Piece {
    let (start, end) = place;
    if !escaped {
        return Piece::Text(start as u32, end as u32);
    }
    let part = &text[start..end];
    fields.compose(|buffer| unescape(part, buffer))
}

/// Appends a text without its escapes; one that is none stays as it is.
fn unescape(part: &str, out: &mut String) {
    let bytes = part.as_bytes();
    let mut done = 0;
    while let Some(found) = memchr::memchr(b'\\', &bytes[done..]) {
        let at = done + found;
        out.push_str(&part[done..at]);
        let simple = match bytes.get(at + 1) {
            Some(b'n') => '\n',
            Some(b't') => '\t',
            Some(b'r') => '\r',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(same @ (b'"' | b'\\' | b'/')) => char::from(*same),
            Some(b'u') if unicode(bytes, at).is_some() => {
                let (letter, length) = unicode(bytes, at).unwrap_or(('\\', 1));
                out.push(letter);
                done = at + length;
                continue;
            }
            _ => {
                out.push('\\');
                done = at + 1;
                continue;
            }
        };
        out.push(simple);
        done = at + 2;
    }
    out.push_str(&part[done..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(quoted: &str, strict: bool, expect: Result<&str, Broken>) {
        let found = scan(quoted.as_bytes(), 0, strict).map(|(end, escaped)| {
            let mut fields = Fields::new();
            let piece = unquoted(&mut fields, quoted, (0, end), escaped);
            fields.show(piece, quoted).to_owned()
        });
        assert_eq!(found.as_deref().map_err(|error| *error), expect, "{quoted:?}");
    }

    #[test]
    fn escapes() {
        check(r#"plain" x"#, true, Ok("plain"));
        check(r#"a\"b\\c\/d\n\t\r\b\f""#, true, Ok("a\"b\\c/d\n\t\r\u{8}\u{c}"));
        check(r#"\u8bad\u7ec3 \ud83d\ude00""#, true, Ok("训练 😀"));
        check(r#"\ud83d""#, true, Err(Broken::Escape));
        check(r#"\ud83d\u0041""#, true, Err(Broken::Escape));
        check(r#"\u12g4""#, true, Err(Broken::Escape));
        check(r#"\x""#, true, Err(Broken::Escape));
        check("a\tb\"", true, Err(Broken::Escape));
        check("a", true, Err(Broken::Unclosed));
        check("a\\", true, Err(Broken::Unclosed));
        check(r#"C:\temp\训\ud83d\u12""#, false, Ok("C:\temp\\训\\ud83d\\u12"));
        check("a\tb\"", false, Ok("a\tb"));
    }
}
