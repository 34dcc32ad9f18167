//! Splitting a value into raw lines, and the two things done to a raw line's bytes: showing them as
//! text and cutting them to a limit.
//!
//! Invariant: every byte of the value belongs to exactly one line or is a line end; nothing is
//! copied. Next on the trip: `rules` joins and parses the lines (with [`crate::grok`]).

use std::borrow::Cow;
use std::iter::FusedIterator;

/// Splits a record's value into its raw lines.
///
/// `\n` ends a line and one `\r` before it is taken off; a missing last newline is fine. An empty
/// value is one empty line, so that every record has at least one origin.
pub fn split_lines(value: &[u8]) -> Lines<'_> {
    Lines { rest: Some(value), returned: false }
}

/// The raw lines of one value, see [`split_lines`].
#[derive(Clone, Debug)]
pub struct Lines<'a> {
    // Invariant: `None` once the last line was given.
    rest: Option<&'a [u8]>,
    returned: bool,
}

impl Lines<'_> {
    /// Whether a return stood in front of the end of the line given last.
    pub fn has_returned(&self) -> bool {
        self.returned
    }
}

impl<'a> Iterator for Lines<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let rest = self.rest?;
        let line = if let Some(end) = memchr::memchr(b'\n', rest) {
            let after = &rest[end + 1..];
            self.rest = if after.is_empty() { None } else { Some(after) };
            &rest[..end]
        } else {
            self.rest = None;
            rest
        };
        let without = line.strip_suffix(b"\r");
        self.returned = without.is_some();
        Some(without.unwrap_or(line))
    }
}

impl FusedIterator for Lines<'_> {}

/// Shows bytes as text: valid UTF-8 is borrowed, each invalid byte becomes the four characters
/// `\xNN`.
pub fn to_text(raw: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(raw) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => Cow::Owned(escape_invalid(raw)),
    }
}

fn escape_invalid(raw: &[u8]) -> String {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    let mut text = String::with_capacity(raw.len() + 16);
    for chunk in raw.utf8_chunks() {
        text.push_str(chunk.valid());
        for byte in chunk.invalid() {
            text.push_str("\\x");
            text.push(char::from(HEX[usize::from(byte >> 4)]));
            text.push(char::from(HEX[usize::from(byte & 15)]));
        }
    }
    text
}

/// Cuts `raw` to at most `max` bytes, at a character boundary where the bytes are UTF-8; true when
/// something was cut.
pub fn cut(raw: &[u8], max: usize) -> (&[u8], bool) {
    if raw.len() <= max {
        return (raw, false);
    }
    let mut end = max;
    // A character has at most three continuation bytes; more of them in a row are not UTF-8, and
    // then there is no boundary to find.
    while end > 0 && max - end < 3 && is_continuation(raw[end]) {
        end -= 1;
    }
    if is_continuation(raw[end]) {
        end = max;
    }
    (&raw[..end], true)
}

fn is_continuation(byte: u8) -> bool {
    byte & 0b1100_0000 == 0b1000_0000
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(value: &str, expect: &[&str]) {
        let lines: Vec<_> = split_lines(value.as_bytes()).map(|line| to_text(line)).collect();
        assert_eq!(lines, expect, "value {value:?}");
    }

    #[test]
    fn splits() {
        check("a", &["a"]);
        check("a\n", &["a"]);
        check("a\nb", &["a", "b"]);
        check("a\n\nb", &["a", "", "b"]);
        check("a\n\n", &["a", ""]);
        check("", &[""]);
        check("\n", &[""]);
        check("a\r\nb\r\r\n", &["a", "b\r"]);
        check("a\r", &["a"]);
        check("\r\n", &[""]);
        check("a\rb\n", &["a\rb"]);
    }

    #[test]
    fn shows_invalid_bytes() {
        assert!(matches!(to_text("训练".as_bytes()), Cow::Borrowed("训练")));
        assert_eq!(to_text(b"a\xffb\xe8\xae"), r"a\xFFb\xE8\xAE");
        assert_eq!(to_text(b"\xe8\xae\x41"), r"\xE8\xAEA");
    }

    #[test]
    fn cuts_at_a_boundary() {
        assert_eq!(cut(b"abc", 3), (&b"abc"[..], false));
        assert_eq!(cut(b"abc", 2), (&b"ab"[..], true));
        assert_eq!(cut("a训b".as_bytes(), 3), (&b"a"[..], true));
        assert_eq!(cut("a训b".as_bytes(), 4), ("a训".as_bytes(), true));
        assert_eq!(cut("训".as_bytes(), 1), (&b""[..], true));
        assert_eq!(cut(&[0x80; 9], 8), (&[0x80; 8][..], true));
        assert_eq!(cut(b"a\x80\x80\x80\x80", 4), (&b"a\x80\x80\x80"[..], true));
        assert_eq!(cut(b"x", 0), (&b""[..], true));
    }

    proptest! {
        #[test]
        fn splitting_loses_only_line_ends(value in "[a\r\n]{0,20}") {
            let mut joined = String::new();
            for line in split_lines(value.as_bytes()) {
                joined.push_str(&to_text(line));
                joined.push('\n');
            }
            let mut expect = value.replace("\r\n", "\n");
            if !value.ends_with('\n') {
                expect = expect.strip_suffix('\r').unwrap_or(&expect).to_owned() + "\n";
            }
            prop_assert_eq!(joined, expect);
        }

        #[test]
        fn a_cut_is_a_prefix_within_the_limit(text in "\\PC{0,20}", max in 0usize..40) {
            let (kept, was_cut) = cut(text.as_bytes(), max);
            prop_assert!(kept.len() <= max && text.as_bytes().starts_with(kept));
            prop_assert_eq!(was_cut, kept.len() < text.len());
            prop_assert!(std::str::from_utf8(kept).is_ok());
            // Nothing more would have fitted.
            let next = text[kept.len()..].chars().next().map_or(0, char::len_utf8);
            prop_assert!(!was_cut || kept.len() + next > max);
        }

        #[test]
        fn any_bytes_become_text(
            raw in proptest::collection::vec(any::<u8>(), 0..40),
            max in 0usize..40,
        ) {
            let valid = std::str::from_utf8(&raw).is_ok();
            prop_assert_eq!(valid, matches!(to_text(&raw), Cow::Borrowed(_)));
            let (kept, _) = cut(&raw, max);
            prop_assert!(raw.starts_with(kept) && kept.len() <= max);
            prop_assert!(kept.len() + 4 > max.min(raw.len()));
        }
    }
}
