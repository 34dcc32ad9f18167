//! `name=value` anywhere in a line: `step=100 loss="2.1" lr=(1e-5)`.
//!
//! Invariant: words without a value are stepped over; a line is matched when it holds one pair. A
//! byte is looked at a fixed number of times: where the next closing quote or bracket stands is
//! remembered. Next on the trip: [`crate::fields`].

mod change;

pub use change::LetterCase;

use super::splitter::Splitter;
use super::writer::{Read, Writer};
use super::{FormatError, looked_at};
use crate::fields::{Duplicates, FieldKind, NAME_BYTES_MAX, Piece};
use crate::grok::Reason;
use change::Change;

/// Values inside values, with `recursive`.
const DEPTH_MAX: usize = 4;

/// White space around the value split.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Whitespace {
    /// `a = b` is `a=b`, and names and values are trimmed.
    #[default]
    Lenient,
    /// It is a part of the name or the value, or separates fields.
    Strict,
}

/// How pairs are found.
#[derive(Clone, Debug)]
pub struct KeyValueOptions {
    /// What stands between two pairs; one of these texts.
    pub field_split: Vec<String>,
    /// What stands between name and value; one of these texts.
    pub value_split: Vec<String>,
    /// See [`Whitespace`].
    pub whitespace: Whitespace,
    /// Characters taken off both ends of a name.
    pub trim_key: String,
    /// Characters taken off both ends of a value.
    pub trim_value: String,
    /// Characters taken out of a name, wherever they stand.
    pub remove_char_key: String,
    /// Characters taken out of a value, wherever they stand.
    pub remove_char_value: String,
    /// The case that names are put into.
    pub transform_key: Option<LetterCase>,
    /// The case that values are put into.
    pub transform_value: Option<LetterCase>,
    /// `(a b)`, `[a b]` and `<a b>` are values without their brackets.
    pub include_brackets: bool,
    /// Put before every name.
    pub prefix: String,
    /// Only these names; all where empty.
    pub include_keys: Vec<String>,
    /// Not these names.
    pub exclude_keys: Vec<String>,
    /// Pairs with an empty value are fields too.
    pub allow_empty_values: bool,
    /// A value that holds pairs becomes fields `outer.inner`, at most four deep.
    pub recursive: bool,
    /// A name that comes again.
    pub duplicates: Duplicates,
}

impl Default for KeyValueOptions {
    /// Logstash's: split at spaces and `=`, lenient, with brackets.
    fn default() -> KeyValueOptions {
        KeyValueOptions {
            field_split: vec![" ".to_owned()],
            value_split: vec!["=".to_owned()],
            whitespace: Whitespace::Lenient,
            trim_key: String::new(),
            trim_value: String::new(),
            remove_char_key: String::new(),
            remove_char_value: String::new(),
            transform_key: None,
            transform_value: None,
            include_brackets: true,
            prefix: String::new(),
            include_keys: Vec::new(),
            exclude_keys: Vec::new(),
            allow_empty_values: false,
            recursive: false,
            duplicates: Duplicates::All,
        }
    }
}

/// The compiled options.
#[derive(Clone, Debug)]
pub struct KeyValue {
    options: Box<KeyValueOptions>,
    fields: Splitter,
    values: Splitter,
}

impl KeyValue {
    /// Compiles the options.
    ///
    /// # Errors
    /// An empty separator, or too many of them.
    pub fn compile(options: &KeyValueOptions) -> Result<KeyValue, FormatError> {
        let fields = Splitter::compile(&options.field_split, "field_split")?;
        let values = Splitter::compile(&options.value_split, "value_split")?;
        Ok(KeyValue { options: Box::new(options.clone()), fields, values })
    }

    pub(super) fn read(&self, writer: &mut Writer<'_>) -> Read {
        let prefix = writer.fields.compose(|buffer| buffer.push_str(&self.options.prefix));
        self.pairs(writer, (0, writer.text.len()), prefix, 1)?;
        if writer.fields.is_empty() { Err(Reason::NoMatch) } else { Ok(()) }
    }

    /// Reads the pairs of a part of the line. The depth of calls is that of values in values.
    fn pairs(
        &self,
        writer: &mut Writer<'_>,
        (start, end): (usize, usize),
        prefix: Piece,
        depth: usize,
    ) -> Read {
        let mut cursor = Cursor::new(writer.text.as_bytes(), start, end);
        while cursor.at < end {
            let Some((key, value)) = self.pair(&mut cursor) else { continue };
            let key = trimmed(writer.text, key, &self.options.trim_key, self.is_lenient());
            let value = trimmed(writer.text, value, &self.options.trim_value, self.is_lenient());
            self.save(writer, (key, value), prefix, depth)?;
        }
        Ok(())
    }

    fn save(
        &self,
        writer: &mut Writer<'_>,
        (key, span): (Span, Span),
        prefix: Piece,
        depth: usize,
    ) -> Read {
        let options = &self.options;
        let of_key = Change { remove: &options.remove_char_key, case: options.transform_key };
        let of_value = Change { remove: &options.remove_char_value, case: options.transform_value };
        let (key, value) = (of_key.of(writer, key), of_value.of(writer, span));
        let text = writer.fields.show(key, writer.text);
        let is_named = |names: &[String]| names.iter().any(|name| name == text);
        let left_out = (!options.include_keys.is_empty() && !is_named(&options.include_keys))
            || is_named(&options.exclude_keys)
            || text.is_empty()
            || text.len() > NAME_BYTES_MAX
            || (writer.fields.show(value, writer.text).is_empty() && !options.allow_empty_values);
        if left_out {
            return Ok(());
        }
        let parts = [prefix, key, Piece::Fixed(".")];
        if options.recursive && depth < DEPTH_MAX && span.0 < span.1 {
            let before = writer.fields.len();
            let inner = writer.fields.join(&parts, writer.text);
            self.pairs(writer, span, inner, depth + 1)?;
            if writer.fields.len() > before {
                return Ok(());
            }
        }
        let name = match prefix {
            Piece::Buffer(start, end) if start == end => key,
            _ => writer.fields.join(&parts[..2], writer.text),
        };
        writer.add(name, value, FieldKind::Text, options.duplicates)
    }

    fn is_lenient(&self) -> bool {
        self.options.whitespace == Whitespace::Lenient
    }

    /// The next pair, or `None` after a word without a value. Always moves on.
    fn pair(&self, cursor: &mut Cursor<'_>) -> Option<(Span, Span)> {
        while let Some(length) = cursor.split(&self.fields) {
            cursor.at += length;
        }
        if cursor.at >= cursor.end {
            return None;
        }
        let (key, length) = match self.quoted_key(cursor) {
            Some(found) => found,
            None => self.plain_key(cursor)?,
        };
        cursor.at += length;
        let after_split = cursor.at;
        if self.is_lenient() {
            cursor.skip_blanks();
        }
        if cursor.at >= cursor.end {
            cursor.at = after_split;
        }
        let mut value = cursor.quoted();
        if value.is_none() && self.options.include_brackets {
            value = cursor.bracketed();
        }
        let value = value.unwrap_or_else(|| {
            let start = cursor.at;
            cursor.at = self.fields.find(cursor.bytes, start, cursor.end);
            (start, cursor.at)
        });
        Some((key, value))
    }

    /// A name in quotes and the length of the value split behind it. Quotes around other words are
    /// no name; a pair may stand between them.
    fn quoted_key(&self, cursor: &mut Cursor<'_>) -> Option<(Span, usize)> {
        let start = cursor.at;
        let key = cursor.quoted()?;
        let length = self.value_split(cursor);
        if length.is_none() {
            cursor.at = start;
        }
        Some((key, length?))
    }

    /// A word and the length of the value split behind it.
    fn plain_key(&self, cursor: &mut Cursor<'_>) -> Option<(Span, usize)> {
        let key = self.bare_key(cursor);
        let after_key = cursor.at;
        let length = self.value_split(cursor);
        if length.is_none() {
            // A blank may be the separator that ends this word.
            cursor.at = after_key;
        }
        Some((key, length?))
    }

    /// The length of the value split that stands here, or behind blanks where those do not count.
    fn value_split(&self, cursor: &mut Cursor<'_>) -> Option<usize> {
        if self.is_lenient() {
            cursor.skip_blanks();
        }
        cursor.split(&self.values)
    }

    /// Up to the next separator of either kind.
    fn bare_key(&self, cursor: &mut Cursor<'_>) -> Span {
        let start = cursor.at;
        while cursor.at < cursor.end
            && cursor.split(&self.values).is_none()
            && cursor.split(&self.fields).is_none()
        {
            cursor.at += 1;
        }
        looked_at(cursor.at - start);
        (start, cursor.at)
    }
}

type Span = (usize, usize);

/// The place in a part of the line, and what is known about the rest.
struct Cursor<'t> {
    bytes: &'t [u8],
    at: usize,
    end: usize,
    /// By closer: where it was last looked for, and where it stands from there on.
    found: [Option<(usize, Option<usize>)>; CLOSERS.len()],
}

/// What opens a value that may hold separators, and what closes it.
const CLOSERS: [(u8, u8); 5] =
    [(b'"', b'"'), (b'\'', b'\''), (b'(', b')'), (b'[', b']'), (b'<', b'>')];
const QUOTES: usize = 2;

impl<'t> Cursor<'t> {
    fn new(bytes: &'t [u8], at: usize, end: usize) -> Cursor<'t> {
        Cursor { bytes: &bytes[..end], at, end, found: [None; CLOSERS.len()] }
    }

    fn split(&self, splitter: &Splitter) -> Option<usize> {
        splitter.at(self.bytes, self.at)
    }

    fn skip_blanks(&mut self) {
        while matches!(self.bytes.get(self.at), Some(b' ' | b'\t')) {
            self.at += 1;
        }
    }

    fn quoted(&mut self) -> Option<Span> {
        self.enclosed(0..QUOTES)
    }

    fn bracketed(&mut self) -> Option<Span> {
        self.enclosed(QUOTES..CLOSERS.len())
    }

    /// What stands between an opener here and the next closer of it.
    fn enclosed(&mut self, kinds: std::ops::Range<usize>) -> Option<Span> {
        let opener = *self.bytes.get(self.at)?;
        let kind = kinds.into_iter().find(|kind| CLOSERS[*kind].0 == opener)?;
        let start = self.at + 1;
        let end = match self.found[kind] {
            Some((from, None)) if from <= start => None,
            Some((from, Some(end))) if from <= start && start <= end => Some(end),
            _ => self.closer(kind, start),
        };
        self.found[kind] = Some((start, end));
        let end = end?;
        self.at = end + 1;
        Some((start, end))
    }

    /// The next closer of a kind. Whether a quote is escaped does not depend on where the search
    /// begins.
    fn closer(&self, kind: usize, start: usize) -> Option<usize> {
        let mut from = start;
        while let Some(found) = memchr::memchr(CLOSERS[kind].1, self.bytes.get(from..)?) {
            let at = from + found;
            looked_at(found + 1);
            if kind >= QUOTES || !self.is_escaped(at) {
                return Some(at);
            }
            from = at + 1;
        }
        looked_at(self.end - from);
        None
    }

    fn is_escaped(&self, at: usize) -> bool {
        let run = self.bytes[..at].iter().rev().take_while(|byte| **byte == b'\\').count();
        looked_at(run);
        run % 2 == 1
    }
}

fn trimmed(text: &str, (start, end): Span, letters: &str, lenient: bool) -> Span {
    let part = &text[start..end];
    let is_trimmed =
        |letter: char| letters.contains(letter) || (lenient && matches!(letter, ' ' | '\t'));
    let left = part.trim_start_matches(is_trimmed);
    let start = end - left.len();
    (start, start + left.trim_end_matches(is_trimmed).len())
}
