//! Calendar arithmetic on plain integers, and the writer of RFC 3339.
//!
//! Invariant: the proleptic Gregorian calendar, days counted from 1970-01-01; nothing here knows
//! zones. Next on the trip: [`super::fields`] makes a time of parsed fields.

use super::Instant;

/// Nanoseconds in a second.
pub(super) const NANOS_PER_SECOND: i64 = 1_000_000_000;
/// Seconds in a day; leap seconds are not counted.
pub(super) const SECONDS_PER_DAY: i64 = 86_400;

/// Days since the epoch of a date; `month` 1 to 12, `day` from 1, any size of it counts on.
pub(super) fn days_from_civil(year: i64, month: u32, day: u32) -> i64 {
    // Years begin in March here, so that the leap day is the last of its year (Hinnant's
    // algorithm).
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let month_from_march = i64::from((month + 9) % 12);
    let day_of_year = (153 * month_from_march + 2) / 5 + i64::from(day) - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// Year, month and day of a day since the epoch.
pub(super) fn civil_from_days(days: i64) -> (i64, u32, u32) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = (day_of_year - (153 * month_from_march + 2) / 5 + 1) as u32;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month as u32, day)
}

pub(super) fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

/// Days of a month; `month` 1 to 12.
pub(super) fn days_in_month(year: i64, month: u32) -> u32 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// 0 is Monday.
pub(super) fn weekday_from_days(days: i64) -> u32 {
    (days + 3).rem_euclid(7) as u32
}

/// The year that an instant falls into, in UTC, and its month.
pub(super) fn year_and_month(epoch_ns: i64) -> (i64, u32) {
    let instant = Instant::from_epoch_ns(epoch_ns);
    let (year, month, _) = civil_from_days(instant.seconds.div_euclid(SECONDS_PER_DAY));
    (year, month)
}

/// Up to nine digits after a decimal point as nanoseconds; the bytes must be digits.
pub(super) fn fraction_nanos(digits: &[u8]) -> u32 {
    const SCALE: [u32; 10] =
        [0, 100_000_000, 10_000_000, 1_000_000, 100_000, 10_000, 1_000, 100, 10, 1];
    debug_assert!(digits.len() <= 9);
    let value = digits.iter().fold(0, |value: u32, digit| value * 10 + u32::from(digit & 15));
    value * SCALE[digits.len()]
}

/// Appends a time as `2026-03-12T02:23:45.123000000Z`: always nine digits, always UTC. Allocates
/// only where `out` has to grow.
pub fn write_rfc3339(out: &mut Vec<u8>, epoch_ns: i64) {
    Instant::from_epoch_ns(epoch_ns).write_rfc3339(out);
}

impl Instant {
    /// As [`write_rfc3339`]; a year outside 0 to 9999 is written as the nearer of them.
    pub fn write_rfc3339(self, out: &mut Vec<u8>) {
        let days = self.seconds.div_euclid(SECONDS_PER_DAY);
        let second_of_day = self.seconds.rem_euclid(SECONDS_PER_DAY) as u32;
        let (year, month, day) = civil_from_days(days);
        let mut text = *b"0000-00-00T00:00:00.000000000Z";
        write_digits(&mut text[0..4], year.clamp(0, 9999) as u32);
        write_digits(&mut text[5..7], month);
        write_digits(&mut text[8..10], day);
        write_digits(&mut text[11..13], second_of_day / 3600);
        write_digits(&mut text[14..16], second_of_day / 60 % 60);
        write_digits(&mut text[17..19], second_of_day % 60);
        write_digits(&mut text[20..29], self.nanos);
        out.extend_from_slice(&text);
    }
}

fn write_digits(into: &mut [u8], mut value: u32) {
    for digit in into.iter_mut().rev() {
        *digit = b'0' + (value % 10) as u8;
        value /= 10;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono::{DateTime, Datelike, NaiveDate};
    use proptest::prelude::*;

    #[track_caller]
    fn check(epoch_ns: i64, expect: &str) {
        let mut out = Vec::new();
        write_rfc3339(&mut out, epoch_ns);
        assert_eq!(String::from_utf8(out).unwrap(), expect);
    }

    #[test]
    fn writes() {
        check(0, "1970-01-01T00:00:00.000000000Z");
        check(-1, "1969-12-31T23:59:59.999999999Z");
        check(1_773_282_225_123_000_000, "2026-03-12T02:23:45.123000000Z");
        check(i64::MAX, "2262-04-11T23:47:16.854775807Z");
        check(i64::MIN, "1677-09-21T00:12:43.145224192Z");
    }

    #[test]
    fn years_clamp() {
        let mut out = Vec::new();
        Instant { seconds: i64::from(i32::MAX) * 1000, nanos: 0 }.write_rfc3339(&mut out);
        Instant { seconds: i64::from(i32::MIN) * 1000, nanos: 0 }.write_rfc3339(&mut out);
        assert!(out.starts_with(b"9999-") && out[30..].starts_with(b"0000-"));
    }

    #[test]
    fn fractions() {
        for (digits, expect) in [("", 0), ("1", 100_000_000), ("123456789", 123_456_789)] {
            assert_eq!(fraction_nanos(digits.as_bytes()), expect, "{digits:?}");
        }
    }

    proptest! {
        #[test]
        fn agrees_with_chrono(epoch_ns in any::<i64>()) {
            let mut out = Vec::new();
            write_rfc3339(&mut out, epoch_ns);
            let expect = DateTime::from_timestamp_nanos(epoch_ns)
                .to_rfc3339_opts(chrono::SecondsFormat::Nanos, true);
            prop_assert_eq!(String::from_utf8(out).unwrap(), expect);
        }

        #[test]
        fn days_and_dates_are_inverse(days in -100_000_000i64..100_000_000) {
            let (year, month, day) = civil_from_days(days);
            prop_assert_eq!(days_from_civil(year, month, day), days);
            if let Some(date) = NaiveDate::from_ymd_opt(year as i32, month, day) {
                prop_assert_eq!(date.weekday().num_days_from_monday(), weekday_from_days(days));
                prop_assert_eq!(u32::from(date.num_days_in_month()), days_in_month(year, month));
            }
        }
    }
}
