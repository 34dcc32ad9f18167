//! What shippers write for a time: RFC 3339, or a number since the epoch in seconds to nanoseconds.
//!
//! Invariant: digits are kept as they stand, up to nanoseconds; a number passes through no float
//! unless it has an exponent. Next on the trip: the envelope's time.

use crate::time::parse_rfc3339;

/// Digits of the whole number where milliseconds, microseconds and nanoseconds begin: seconds of
/// more digits would be past the year 5000.
const UNITS: [(usize, u32); 4] = [(11, 9), (14, 6), (17, 3), (19, 0)];

/// Reads a time as shippers write it, RFC 3339 or a number since the epoch whose digits tell its
/// unit: nanoseconds since the epoch.
pub fn stamp(text: &str) -> Option<i64> {
    parse_rfc3339(text).or_else(|| epoch(text))
}

/// Reads a number since the epoch, its unit told by its digits; no sign, for logs are younger.
pub(super) fn epoch(text: &str) -> Option<i64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(fraction) {
        return exponent(text);
    }
    let &(_, power) = UNITS.iter().find(|(length, _)| whole.len() <= *length)?;
    let whole = whole.parse::<i64>().ok()?.checked_mul(10_i64.pow(power))?;
    // As many digits of the fraction as there are left below the unit.
    let fraction = &fraction[..fraction.len().min(power as usize)];
    let missing = power - fraction.len() as u32;
    let below = if fraction.is_empty() { 0 } else { fraction.parse::<i64>().ok()? };
    whole.checked_add(below * 10_i64.pow(missing))
}

/// `1.7157686E9`: some writers of doubles do that.
fn exponent(text: &str) -> Option<i64> {
    let number = text.contains(['e', 'E']).then(|| text.parse::<f64>().ok())??;
    let is_plausible = (0.0..1e11).contains(&number);
    is_plausible.then(|| (number * 1e6).round() as i64 * 1000)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(text: &str, expect: Option<i64>) {
        assert_eq!(stamp(text), expect, "{text:?}");
    }

    #[test]
    fn times() {
        check("2024-05-15T10:23:45.123456789Z", Some(1_715_768_625_123_456_789));
        check("2024-05-15T18:23:45+08:00", Some(1_715_768_625_000_000_000));
        check("1715768625.123457", Some(1_715_768_625_123_457_000));
        check("1715768625", Some(1_715_768_625_000_000_000));
        check("1715768625123", Some(1_715_768_625_123_000_000));
        check("1715768625123.4567", Some(1_715_768_625_123_456_700));
        check("1715768625123456", Some(1_715_768_625_123_456_000));
        check("1715768625123456789", Some(1_715_768_625_123_456_789));
        check("1715768625.1234567891", Some(1_715_768_625_123_456_789));
        check("1.7157686255E9", Some(1_715_768_625_500_000_000));
        let none = ["", "-1", "x", "1.2.3", "99999999999999999999", "9999999999999999999", "1e300"];
        for text in none.iter().chain(&["2024-05-15T10:23:45", "nan", "true", ".5"]) {
            check(text, None);
        }
    }

    proptest! {
        #[test]
        fn nothing_panics(text in "[0-9.eE+-]{0,40}") {
            let _time = stamp(&text);
        }
    }
}
