//! A pattern, mapping or format with a mark below the stretch that is wrong in it.
//!
//! Invariant: the mark stands below what it means on a terminal, whatever the characters before it
//! take there, and of a long text only the neighbourhood of the mark is shown. Next stop:
//! `error.rs`, which tells it.

use std::ops::Range;

use unicode_width::UnicodeWidthStr as _;

use crate::telemetry::escape::escape_control;

/// A text of more characters is cut to …
const WHOLE_CHARS_MAX: usize = 200;
/// … so many on each side of the mark, …
const SIDE_CHARS: usize = 60;
/// … and so many above it.
const MARKED_CHARS_MAX: usize = 80;

/// The text and a mark below a stretch of its bytes, on two lines that begin with two spaces.
pub(super) fn marked(text: &str, span: Range<usize>) -> String {
    let start = text.floor_char_boundary(span.start.min(text.len()));
    let end = text.ceil_char_boundary(span.end.min(text.len())).max(start);
    let (before, inside, after) = (&text[..start], &text[start..end], &text[end..]);
    let (before, inside, after) = if text.chars().count() > WHOLE_CHARS_MAX {
        (last(before, SIDE_CHARS), first(inside, MARKED_CHARS_MAX), first(after, SIDE_CHARS))
    } else {
        (before.to_owned(), inside.to_owned(), after.to_owned())
    };
    let (before, inside) = (escape_control(&before), escape_control(&inside));
    let space = " ".repeat(columns(&before));
    let mark = "^".repeat(columns(&inside).max(1));
    format!("  {before}{inside}{}\n  {space}{mark}", escape_control(&after))
}

/// A text of at most so many characters; one that is longer is cut.
pub(super) fn first(text: &str, chars_max: usize) -> String {
    match text.char_indices().nth(chars_max) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

fn last(text: &str, chars_max: usize) -> String {
    match text.char_indices().rev().nth(chars_max) {
        Some((cut, letter)) => format!("…{}", &text[cut + letter.len_utf8()..]),
        None => text.to_owned(),
    }
}

/// The columns that a text takes on a terminal; it must hold no control characters.
pub(super) fn columns(text: &str) -> usize {
    text.width()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, marked_text: &str, expect: &str) {
        let start = text.find(marked_text).unwrap();
        assert_eq!(marked(text, start..start + marked_text.len()), expect, "{text:?}");
    }

    #[test]
    fn the_mark_stands_below_what_it_means() {
        check("abc", "b", "  abc\n   ^");
        check("训练%{X}", "%{X}", "  训练%{X}\n      ^^^^");
        check("a训练", "训练", "  a训练\n   ^^^^");
        check("e\u{301}x", "x", "  e\u{301}x\n   ^");
        check("a\tb", "b", "  a\\tb\n     ^");
        check("a\nb", "\n", "  a\\nb\n   ^^");
        assert_eq!(marked("ab", 2..2), "  ab\n    ^");
        assert_eq!(marked("训", 1..9), "  训\n  ^^");
        assert_eq!(marked("", 5..9), "  \n  ^");
    }

    #[test]
    fn of_a_long_text_the_neighbourhood_is_shown() {
        let text = format!("{}WRONG{}", "训".repeat(150), "y".repeat(150));
        let (before, after) = ("训".repeat(60), "y".repeat(60));
        let space = " ".repeat(121);
        check(&text, "WRONG", &format!("  …{before}WRONG{after}…\n  {space}^^^^^"));
        let found = marked(&"x".repeat(70_000), 0..70_000);
        assert_eq!(found, format!("  {}…\n  {}", "x".repeat(80), "^".repeat(81)));
    }
}
