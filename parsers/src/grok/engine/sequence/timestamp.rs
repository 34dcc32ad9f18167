//! The stock `TIMESTAMP_ISO8601` in its usual form: `yyyy-MM-dd[T ]HH:mm:ss`, a fraction, an
//! offset.
//!
//! Invariant: what is accepted here has one parse by the stock pattern, provided that what follows
//! begins with nothing of [`continuation`]: a separator stands between every two numbers, the
//! fraction and the offset reach as far as they can, and what they leave could not follow. Rarer
//! forms (two digits of a year, one of an hour, no colon, no seconds) are left to the general
//! engine. Next on the trip: [`super::Matcher`].

use std::sync::OnceLock;

use super::Table;
use crate::grok::regex::{self, Kind, Node, Regex};
use crate::grok::{GrokOptions, syntax};

/// The length of a timestamp at the start of a text.
pub(super) fn match_length(text: &[u8]) -> Option<usize> {
    let fixed = text.first_chunk::<19>()?;
    let two = |at: usize| {
        let (tens, ones) = (fixed[at].wrapping_sub(b'0'), fixed[at + 1].wrapping_sub(b'0'));
        if tens <= 9 && ones <= 9 { tens * 10 + ones } else { u8::MAX }
    };
    // The numbers' ranges, and no more: the pattern knows no calendar.
    let is_date = two(0) <= 99
        && two(2) <= 99
        && fixed[4] == b'-'
        && (1..=12).contains(&two(5))
        && fixed[7] == b'-'
        && (1..=31).contains(&two(8));
    let is_time = matches!(fixed[10], b'T' | b' ')
        && two(11) <= 23
        && fixed[13] == b':'
        && two(14) <= 59
        && fixed[16] == b':'
        && two(17) <= 60;
    if !(is_date && is_time) {
        return None;
    }
    let mut end = fixed.len();
    if matches!(text.get(end), Some(b'.' | b',' | b':')) {
        let digits = text[end + 1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        if digits == 0 {
            return None;
        }
        end += 1 + digits;
    }
    match text.get(end) {
        Some(b'Z') => Some(end + 1),
        Some(b'+' | b'-') => Some(end + offset_length(&text[end..])?),
        _ => Some(end),
    }
}

/// `+08:00` or `+0800`.
fn offset_length(text: &[u8]) -> Option<usize> {
    let two = |at: usize, max: u8| match text.get(at..at + 2)? {
        [tens @ b'0'..=b'9', ones @ b'0'..=b'9'] => {
            ((tens - b'0') * 10 + (ones - b'0') <= max).then_some(())
        }
        _ => None,
    };
    two(1, 23)?;
    let minutes = if text.get(3) == Some(&b':') { 4 } else { 3 };
    two(minutes, 59)?;
    Some(minutes + 2)
}

/// What a timestamp could go on with.
pub(super) fn continuation() -> Table {
    let mut table = [false; 256];
    for byte in b"0123456789Z+-.,:" {
        table[usize::from(*byte)] = true;
    }
    table
}

/// True when a node is the stock pattern as it expands without any definition of the user's.
pub(super) fn is_stock(node: &Node) -> bool {
    static STOCK: OnceLock<Regex> = OnceLock::new();
    let stock = STOCK.get_or_init(|| {
        let options = GrokOptions::default();
        let mut definitions = syntax::Definitions::new(&options).expect("there are no own ones");
        let expanded = syntax::expand("%{TIMESTAMP_ISO8601}", &mut definitions, true)
            .expect("the stock pattern expands");
        regex::parse(&expanded.text).expect("the stock pattern parses")
    });
    // The reference itself is a group.
    matches!(&stock.root.kind, Kind::Group(inner) if node.same_shape(inner))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: Option<usize>) {
        assert_eq!(match_length(text.as_bytes()), expect, "{text:?}");
    }

    #[test]
    fn lengths() {
        check("2026-03-12 10:23:45", Some(19));
        check("2026-03-12T10:23:60 x", Some(19));
        check("2026-03-12 10:23:45,123 x", Some(23));
        check("2026-03-12 10:23:45:123456789012Z", Some(33));
        check("2026-03-12T10:23:45.1+08:00 x", Some(27));
        check("2026-03-12T10:23:45-0330", Some(24));
        check("2026-02-31 00:00:00", Some(19));
        check("2026-03-12 10:23:45, x", None);
        check("2026-03-12 10:23:45+08 x", None);
        check("2026-03-12 10:23:45+2400", None);
        check("2026-13-12 10:23:45", None);
        check("2026-00-12 10:23:45", None);
        check("2026-03-32 10:23:45", None);
        check("2026-03-12 24:23:45", None);
        check("2026-03-12 10:60:45", None);
        check("2026-03-12 10:23:61", None);
        check("2026-03-12x10:23:45", None);
        check("2026-3-12 10:23:45", None);
        check("２026-03-12 10:23:45", None);
        check("", None);
    }
}
