//! Offsets and zone names inside a time text.
//!
//! Invariant: what is taken is what Joda's `Z`, `ZZ`, `z` and `ZZZ` take. Next on the trip:
//! [`super::format`].

use chrono_tz::Tz;

/// Zone abbreviations that Joda knows, with the zone it takes them for (daylight saving included).
const ABBREVIATIONS: [(&str, Tz); 11] = [
    ("UTC", Tz::UTC),
    ("GMT", Tz::UTC),
    ("UT", Tz::UTC),
    ("EST", Tz::America__New_York),
    ("EDT", Tz::America__New_York),
    ("CST", Tz::America__Chicago),
    ("CDT", Tz::America__Chicago),
    ("MST", Tz::America__Denver),
    ("MDT", Tz::America__Denver),
    ("PST", Tz::America__Los_Angeles),
    ("PDT", Tz::America__Los_Angeles),
];

/// Takes an offset off the front: `Z`, `z`, `+08`, `+0800`, `+08:00`, `+080030`, `+08:00:30`. Gives
/// seconds east of UTC and what follows.
pub(super) fn parse(text: &str) -> Option<(i32, &str)> {
    let bytes = text.as_bytes();
    let negative = match bytes.first()? {
        b'Z' | b'z' => return Some((0, &text[1..])),
        b'+' => false,
        b'-' => true,
        _ => return None,
    };
    let mut seconds = two_digits(bytes, 1, 23)? * 3600;
    let mut at = 3;
    let separated = bytes.get(at) == Some(&b':');
    for unit in [60, 1] {
        match bytes.get(at) {
            Some(b':') if separated => at += 1,
            Some(byte) if !separated && byte.is_ascii_digit() => {}
            _ => break,
        }
        seconds += two_digits(bytes, at, 59)? * unit;
        at += 2;
    }
    Some((if negative { -seconds } else { seconds }, &text[at..]))
}

fn two_digits(bytes: &[u8], at: usize, max: i32) -> Option<i32> {
    match bytes.get(at..at + 2)? {
        [tens @ b'0'..=b'9', ones @ b'0'..=b'9'] => {
            let value = i32::from(tens - b'0') * 10 + i32::from(ones - b'0');
            (value <= max).then_some(value)
        }
        _ => None,
    }
}

/// Takes one of the few abbreviations off the front, the longest that fits.
pub(super) fn parse_abbreviation(text: &str) -> Option<(Tz, &str)> {
    ABBREVIATIONS.iter().find_map(|(name, zone)| Some((*zone, text.strip_prefix(name)?)))
}

/// Takes an IANA name off the front, the longest that fits.
pub(super) fn parse_zone_id(text: &str) -> Option<(Tz, &str)> {
    let end = text
        .find(|letter: char| !(letter.is_ascii_alphanumeric() || "/_+-".contains(letter)))
        .unwrap_or(text.len());
    (1..=end).rev().find_map(|end| Some((text[..end].parse().ok()?, &text[end..])))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: Option<(i32, &str)>) {
        assert_eq!(parse(text), expect, "{text:?}");
    }

    #[test]
    fn offsets() {
        check("Z", Some((0, "")));
        check("z!", Some((0, "!")));
        check("+0800", Some((28_800, "")));
        check("+08:00", Some((28_800, "")));
        check("-0330 x", Some((-12_600, " x")));
        check("+08", Some((28_800, "")));
        check("+08 ", Some((28_800, " ")));
        check("+080030", Some((28_830, "")));
        check("-08:00:30", Some((-28_830, "")));
        check("+8", None);
        check("+24", None);
        check("+08:6", None);
        check("+0860", None);
        check("+08:", None);
        check("+08训", Some((28_800, "训")));
        check("08", None);
        check("", None);
        check("+", None);
    }

    #[test]
    fn names() {
        assert_eq!(parse_abbreviation("PST"), Some((Tz::America__Los_Angeles, "")));
        assert_eq!(parse_abbreviation("UTC 2026"), Some((Tz::UTC, " 2026")));
        assert_eq!(parse_abbreviation("CET"), None);
        assert_eq!(parse_zone_id("Europe/Kiev"), Some((Tz::Europe__Kiev, "")));
        assert_eq!(parse_zone_id("Asia/Shanghai]"), Some((Tz::Asia__Shanghai, "]")));
        assert_eq!(parse_zone_id("Asia/Nowhere"), None);
        assert_eq!(parse_zone_id("训"), None);
        assert_eq!(parse_zone_id(""), None);
    }
}
