//! A line made ready for its format: what stands before it stepped over, its time read once.
//!
//! Invariant: prefixes are the matter of an earlier stop of the trip; those that are still there do
//! no harm, and what they say of the rank is kept. Next on the trip: [`super::shape`].

use super::stamp::{self, Stamp, has_shape};

/// A line doubled by several launchers has few prefixes; beyond these it is no prefix.
const PREFIXES_MAX: usize = 8;

/// What a format reads.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line<'t> {
    /// From the first byte that is no prefix and no space.
    pub(super) text: &'t str,
    /// `[rank3]:`
    pub(super) rank: Option<&'t str>,
    /// `[default3]:`
    pub(super) local_rank: Option<&'t str>,
    /// The time it begins with, behind a bracket where `is_bracketed`.
    pub(super) stamp: Option<Stamp<'t>>,
    pub(super) is_bracketed: bool,
    /// What follows the time: the closing bracket too. Without a time this is `text`.
    pub(super) rest: &'t str,
}

impl<'t> Line<'t> {
    pub(super) fn new(whole: &'t str) -> Line<'t> {
        let mut text = whole.trim_end_matches('\r');
        let (mut rank, mut local_rank) = (None, None);
        for _ in 0..PREFIXES_MAX {
            let blank = text.len() - text.trim_start_matches([' ', '\r']).len();
            text = &text[blank..];
            let Some(rest) = after_color(text).or_else(|| {
                let (role, number, rest) = role_prefix(text)?;
                let slot = if role == "rank" { &mut rank } else { &mut local_rank };
                *slot = slot.or(Some(number));
                Some(rest)
            }) else {
                break;
            };
            text = rest;
        }
        let (inner, is_bracketed) = match text.strip_prefix('[') {
            Some(inner) => (inner, true),
            None => (text, false),
        };
        let starts_with_digit = inner.as_bytes().first().is_some_and(u8::is_ascii_digit);
        let found = if starts_with_digit { stamp::date_time(inner) } else { None };
        let (stamp, rest) = found.map_or((None, text), |(stamp, rest)| (Some(stamp), rest));
        Line { text, rank, local_rank, stamp, is_bracketed, rest }
    }
}

/// What follows one or more colour codes: `ESC[1;34m`.
pub(super) fn after_color(text: &str) -> Option<&str> {
    let mut rest = text;
    while let Some(code) = rest.strip_prefix("\u{1b}[") {
        let end = code.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b';').count();
        let Some(after) = code[end..].strip_prefix('m') else { break };
        rest = after;
    }
    (rest.len() < text.len()).then_some(rest)
}

/// As [`after_color`], of a text that need not begin with one.
pub(super) fn skip_color(text: &str) -> &str {
    after_color(text).unwrap_or(text)
}

/// `[rank3]: `: the role, the number, and what follows.
fn role_prefix(text: &str) -> Option<(&str, &str, &str)> {
    let inner = text.strip_prefix('[')?;
    let letters = inner.bytes().take(32).take_while(u8::is_ascii_lowercase).count();
    let (role, rest) = inner.split_at(letters);
    let count = stamp::digits(rest.as_bytes().get(..9.min(rest.len()))?);
    if letters == 0 || count == 0 || !has_shape(&rest.as_bytes()[count..], b"]:") {
        return None;
    }
    Some((role, &rest[..count], &rest[count + 2..]))
}
