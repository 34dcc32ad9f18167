//! Places in a value and what stands there: texts with or without escapes, spans of values.
//!
//! Invariant: a place that a scan found is read without a further error. Next on the trip:
//! [`super::scan`] finds the places.

use std::num::NonZeroU32;
use std::ops::Range;

use super::scan::{Elements, Members, Scan, hex};
use crate::fields::TEXT_BYTES_MAX;
use crate::lines::to_text;

/// What stands between the quotes of a string, or a bare word or number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Text {
    start: u32,
    /// With two flags above: values have fewer bytes. Packed, it is handed on in one register,
    /// which halves what reading a short string costs.
    end: NonZeroU32,
}

pub(super) const ESCAPED: u32 = 1 << 31;
pub(super) const QUOTED: u32 = 1 << 30;
const _: () = assert!(TEXT_BYTES_MAX < QUOTED as usize);

impl Text {
    /// Nothing ends at 0.
    #[inline]
    pub(super) fn new(start: usize, end: usize, flags: u32) -> Option<Text> {
        Some(Text { start: start as u32, end: NonZeroU32::new(end as u32 | flags)? })
    }

    #[inline]
    pub(super) fn place(self) -> Range<usize> {
        self.start as usize..(self.end.get() & !(ESCAPED | QUOTED)) as usize
    }

    pub(super) fn is_empty(self) -> bool {
        self.place().is_empty()
    }

    #[inline]
    pub(super) fn is_quoted(self) -> bool {
        self.end.get() & QUOTED != 0
    }

    #[inline]
    fn is_escaped(self) -> bool {
        self.end.get() & ESCAPED != 0
    }
}

/// A value: from its first byte to the one behind its last.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Span {
    pub(super) start: usize,
    pub(super) end: usize,
}

/// The bytes, and the same as text where they are UTF-8.
#[derive(Clone, Copy, Debug)]
pub(super) struct Source<'t> {
    pub(super) bytes: &'t [u8],
    text: Option<&'t str>,
}

impl<'t> Source<'t> {
    pub(super) fn new(bytes: &'t [u8]) -> Source<'t> {
        Source { bytes, text: std::str::from_utf8(bytes).ok() }
    }

    /// The bytes of a text as they stand, escapes included.
    pub(super) fn raw(&self, text: Text) -> &'t [u8] {
        &self.bytes[text.place()]
    }

    /// Appends a text without its escapes; invalid UTF-8 is shown as `\xNN`.
    #[inline]
    pub(super) fn push(&self, text: Text, out: &mut String) {
        match self.text {
            Some(valid) if !text.is_escaped() => out.push_str(&valid[text.place()]),
            _ => {
                let mut bytes = Vec::new();
                self.decode(text, &mut bytes);
                out.push_str(&to_text(&bytes));
            }
        }
    }

    pub(super) fn to_string(self, text: Text) -> String {
        let mut out = String::new();
        self.push(text, &mut out);
        out
    }

    /// Appends the bytes of a text without its escapes; half a pair of surrogates becomes U+FFFD.
    pub(super) fn decode(&self, text: Text, out: &mut Vec<u8>) {
        let raw = self.raw(text);
        if !text.is_escaped() {
            out.extend_from_slice(raw);
            return;
        }
        let mut done = 0;
        while let Some(found) = memchr::memchr(b'\\', &raw[done..]) {
            let at = done + found;
            out.extend_from_slice(&raw[done..at]);
            let simple = match raw.get(at + 1) {
                Some(b'n') => b'\n',
                Some(b't') => b'\t',
                Some(b'r') => b'\r',
                Some(b'b') => 8,
                Some(b'f') => 12,
                Some(b'u') => {
                    let (letter, length) = letter(raw, at);
                    out.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
                    done = at + length;
                    continue;
                }
                Some(same) => *same,
                None => b'\\',
            };
            out.push(simple);
            done = (at + 2).min(raw.len());
        }
        out.extend_from_slice(&raw[done..]);
    }

    /// The members of an object that was read before.
    pub(super) fn members(&self, object: Span) -> Members<'t> {
        Members::new(Scan { bytes: &self.bytes[..object.end], at: object.start + 1 })
    }

    /// The elements of an array that was read before.
    pub(super) fn elements(&self, array: Span) -> Elements<'t> {
        Elements::new(Scan { bytes: &self.bytes[..array.end], at: array.start + 1 })
    }

    pub(super) fn is_object(&self, value: Span) -> bool {
        self.bytes.get(value.start) == Some(&b'{')
    }

    pub(super) fn is_array(&self, value: Span) -> bool {
        self.bytes.get(value.start) == Some(&b'[')
    }

    /// A string.
    pub(super) fn string(&self, value: Span) -> Option<Text> {
        Scan { bytes: &self.bytes[..value.end], at: value.start }.string()
    }

    /// A string, number or truth value as text.
    pub(super) fn scalar(&self, value: Span) -> Option<Text> {
        match self.bytes.get(value.start)? {
            b'"' => self.string(value),
            b'{' | b'[' | b'n' => None,
            _ => Text::new(value.start, value.end, 0),
        }
    }
}

/// The character of `\u1234`, or of a pair, and its length in bytes.
fn letter(raw: &[u8], at: usize) -> (char, usize) {
    let first = hex(raw, at).unwrap_or(0xfffd);
    if (0xd800..0xdc00).contains(&first)
        && let Some(second @ 0xdc00..0xe000) = hex(raw, at + 6)
    {
        let code = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
        return (char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER), 12);
    }
    (char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER), 6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes() {
        let text = r#""a\"\\\/\b\f\n\r\t\u8bad\ud83d\ude00\ud83dx\u0000\ud83d\u0041""#;
        let source = Source::new(text.as_bytes());
        let found = source.string(Span { start: 0, end: text.len() }).unwrap();
        let expect = "a\"\\/\u{8}\u{c}\n\r\t训😀\u{fffd}x\0\u{fffd}A";
        assert_eq!(source.to_string(found), expect);
        let source = Source::new(b"\"a\xff\\n\"");
        let found = source.string(Span { start: 0, end: 6 }).unwrap();
        assert_eq!(source.to_string(found), "a\\xFF\n");
    }
}
