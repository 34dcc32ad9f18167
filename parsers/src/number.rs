//! Numbers as logs print them, and the names that they stand under.
//!
//! What it is for: `2,104`, `1E-05`, `nan`, `11.5K`, `28m 51s`, and `GradNorm` for `grad_norm`.
//! Invariant: what is read is the front of the text, once and from left to right; nothing is
//! allocated. Next on the trip: the formats of training logs, and `rules`, whose metrics these
//! become.

use crate::fields::FieldKind;

mod duration;
mod name;

pub use duration::duration;
pub(crate) use name::last_word;
pub use name::{is_count, is_name, push_name};

/// Groups of three digits behind commas that one number has at most.
const GROUPS_MAX: usize = 8;

/// A number at the front of a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Number<'t> {
    /// As it is printed, commas included.
    pub text: &'t str,
    /// `Int`, `Float`, or `Text` for `nan` and `inf`.
    pub kind: FieldKind,
    /// Commas stand between its thousands.
    pub has_commas: bool,
}

/// Reads a number off the front: digits (with commas between thousands), fraction, exponent, or
/// `nan` and `inf`; what follows it comes back too.
pub fn number(text: &str) -> Option<(Number<'_>, &str)> {
    let bytes = text.as_bytes();
    let sign = usize::from(matches!(bytes.first(), Some(b'+' | b'-')));
    let words: &[&str] = match bytes.get(sign) {
        Some(b'0'..=b'9' | b'.') => &[],
        Some(b'n' | b'N') => &["nan"],
        Some(b'i' | b'I') => &["infinity", "inf"],
        _ => return None,
    };
    for word in words {
        let end = sign + word.len();
        let found = bytes.get(sign..end);
        if found.is_some_and(|found| found.eq_ignore_ascii_case(word.as_bytes()))
            && is_word_end(&text[end..])
        {
            let number = Number { text: &text[..end], kind: FieldKind::Text, has_commas: false };
            return Some((number, &text[end..]));
        }
    }
    let mut end = sign + digits(bytes, sign);
    if end == sign {
        return None;
    }
    let (mut has_commas, mut groups) = (false, 0);
    while groups < GROUPS_MAX && bytes.get(end) == Some(&b',') && digits(bytes, end + 1) == 3 {
        (has_commas, end, groups) = (true, end + 4, groups + 1);
    }
    let mut kind = FieldKind::Int;
    if bytes.get(end) == Some(&b'.') && (digits(bytes, end + 1) > 0 || !has_commas) {
        end += 1 + digits(bytes, end + 1);
        kind = FieldKind::Float;
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let count = digits(bytes, end + 1 + sign);
        if count > 0 {
            end += 1 + sign + count;
            kind = FieldKind::Float;
        }
    }
    Some((Number { text: &text[..end], kind, has_commas }, &text[end..]))
}

/// How many digits stand at a place.
fn digits(bytes: &[u8], from: usize) -> usize {
    bytes.iter().skip(from).take_while(|byte| byte.is_ascii_digit()).count()
}

/// `nan` and `nanms` are numbers that are none, `info` and `nanotron` are words.
fn is_word_end(rest: &str) -> bool {
    rest.strip_prefix("ms").is_some_and(is_boundary)
        || rest.strip_prefix('s').is_some_and(is_boundary)
        || is_boundary(rest)
}

fn is_boundary(rest: &str) -> bool {
    !rest.starts_with(|it: char| it.is_alphanumeric() || it == '_')
}

/// The power of ten that a letter behind a number stands for: `11.5K` is 11,500, `85.8G` and
/// `85.8B` are 85.8 thousand millions.
pub fn power(letter: &str) -> Option<u8> {
    Some(match letter {
        "k" | "K" => 3,
        "M" => 6,
        "G" | "B" => 9,
        "T" => 12,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(text: &str, expect: Option<(&str, FieldKind)>) {
        let found = number(text).map(|(found, _)| (found.text, found.kind));
        assert_eq!(found, expect, "{text:?}");
    }

    #[test]
    fn numbers() {
        check("100", Some(("100", FieldKind::Int)));
        check("-7 x", Some(("-7", FieldKind::Int)));
        check("2.104512E+00|", Some(("2.104512E+00", FieldKind::Float)));
        check("1e", Some(("1", FieldKind::Int)));
        check("8,123 tps", Some(("8,123", FieldKind::Int)));
        check("1,234,567.5", Some(("1,234,567.5", FieldKind::Float)));
        check("100,20", Some(("100", FieldKind::Int)));
        check("5.", Some(("5.", FieldKind::Float)));
        check("nan", Some(("nan", FieldKind::Text)));
        check("nanms step", Some(("nan", FieldKind::Text)));
        check("-Infinity,", Some(("-Infinity", FieldKind::Text)));
        for text in ["", "-", "x1", "info", "nanotron", ".", "none", "训", "nans1"] {
            check(text, None);
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in "[-+0-9.,eEnaifNy ]{0,24}|\\PC{0,16}") {
            if let Some((found, rest)) = number(&text) {
                prop_assert_eq!(format!("{}{rest}", found.text), text);
            }
        }
    }
}
