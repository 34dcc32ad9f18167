//! Escape sequences of terminals.
//!
//! Invariant: only whole sequences come off; all other characters stay in their order. Next:
//! `prefix`.
use std::borrow::Cow;

/// A sequence that goes on for longer than this is none: a link's address may be long.
const SEQUENCE_BYTES_MAX: usize = 4096;

/// The text without escape sequences; borrowed where it has none.
pub(super) fn strip(text: &str) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    let Some(first) = memchr::memchr(0x1b, bytes) else { return Cow::Borrowed(text) };
    let mut out = String::with_capacity(text.len());
    out.push_str(&text[..first]);
    let mut at = first;
    while at < bytes.len() {
        let end = sequence_end(bytes, at).unwrap_or(at + 1);
        if end == at + 1 {
            // No sequence: the character stays.
            out.push('\u{1b}');
        }
        let next = memchr::memchr(0x1b, &bytes[end..]).map_or(bytes.len(), |found| end + found);
        out.push_str(&text[end..next]);
        at = next;
    }
    Cow::Owned(out)
}

/// Where the sequence that begins at `start` ends; it holds whole characters only (ECMA-48, 5.4
/// and 5.6).
fn sequence_end(bytes: &[u8], start: usize) -> Option<usize> {
    let limit = bytes.len().min(start + SEQUENCE_BYTES_MAX);
    match bytes.get(start + 1)? {
        b'[' => {
            let mut at = start + 2;
            while at < limit && matches!(bytes[at], 0x20..=0x3f) {
                at += 1;
            }
            matches!(bytes.get(at)?, 0x40..=0x7e).then_some(at + 1)
        }
        b']' => {
            // Ended by BEL, or by ESC and a backslash.
            for at in start + 2..limit {
                match bytes[at] {
                    0x07 => return Some(at + 1),
                    0x1b if bytes.get(at + 1) == Some(&b'\\') => return Some(at + 2),
                    0x1b => return None,
                    _ => {}
                }
            }
            None
        }
        b'(' | b')' => bytes.get(start + 2)?.is_ascii_alphanumeric().then_some(start + 3),
        b'=' | b'>' | b'7' | b'8' | b'M' | b'c' => Some(start + 2),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: &str) {
        assert_eq!(strip(text), expect, "{text:?}");
    }

    #[test]
    fn sequences() {
        check("plain", "plain");
        check("\u{1b}[1;31mred\u{1b}[0m", "red");
        check("\u{1b}[?25l\u{1b}[2K\u{1b}[A50%", "50%");
        check("\u{1b}]0;title\u{1b}\\x", "x");
        check("\u{1b}(Bx\u{1b}7", "x");
    }

    #[test]
    fn what_is_no_sequence_stays() {
        check("a\u{1b}", "a\u{1b}");
        check("a\u{1b}[", "a\u{1b}[");
        check("a\u{1b}[31", "a\u{1b}[31");
        check("\u{1b}显存", "\u{1b}显存");
        check("\u{1b}[3显", "\u{1b}[3显");
        check("\u{1b}]8;;never closed", "\u{1b}]8;;never closed");
    }
}
