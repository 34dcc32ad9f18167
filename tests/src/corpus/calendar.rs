//! Dates for the corpus, computed here so that they are not riverhog's own.

pub(super) const NANOS_PER_MILLI: i64 = 1_000_000;
const NANOS_PER_SECOND: i64 = 1_000_000_000;
const SECONDS_PER_DAY: i64 = 86_400;

/// Year, month and day in UTC, by Howard Hinnant's `civil_from_days`.
fn date(epoch_ns: i64) -> (i64, i64, i64) {
    let days = epoch_ns.div_euclid(NANOS_PER_SECOND * SECONDS_PER_DAY) + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

/// Hour, minute, second and nanosecond.
fn time(epoch_ns: i64) -> (i64, i64, i64, i64) {
    let second = epoch_ns.div_euclid(NANOS_PER_SECOND).rem_euclid(SECONDS_PER_DAY);
    (second / 3_600, second / 60 % 60, second % 60, epoch_ns.rem_euclid(NANOS_PER_SECOND))
}

/// The day in UTC, its parts joined by `separator`: `2026.03.12` in an index's name.
pub fn day(epoch_ns: i64, separator: char) -> String {
    let (year, month, day) = date(epoch_ns);
    format!("{year:04}{separator}{month:02}{separator}{day:02}")
}

/// RFC 3339 in UTC with nine digits, as documents have it.
pub fn rfc3339(epoch_ns: i64) -> String {
    let (hour, minute, second, nanos) = time(epoch_ns);
    format!("{}T{hour:02}:{minute:02}:{second:02}.{nanos:09}Z", day(epoch_ns, '-'))
}

/// What the nodes in Shanghai (UTC+8, no summer time) print: `2026-03-12 10:23:45,123`.
pub(super) fn shanghai(epoch_ns: i64) -> String {
    let local = epoch_ns + 8 * 3_600 * NANOS_PER_SECOND;
    let (hour, minute, second, nanos) = time(local);
    let millis = nanos / NANOS_PER_MILLI;
    format!("{} {hour:02}:{minute:02}:{second:02},{millis:03}", day(local, '-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(epoch_s: i64, expect: &str) {
        assert_eq!(rfc3339(epoch_s * NANOS_PER_SECOND), format!("{expect}.000000000Z"));
    }

    #[test]
    fn known_dates() {
        check(0, "1970-01-01T00:00:00");
        check(-1, "1969-12-31T23:59:59");
        check(951_782_400, "2000-02-29T00:00:00");
        check(1_773_282_225, "2026-03-12T02:23:45");
        check(4_107_542_399, "2100-02-28T23:59:59");
    }

    #[test]
    fn local_time_is_eight_hours_ahead() {
        assert_eq!(shanghai(1_773_282_225_123_000_000), "2026-03-12 10:23:45,123");
        assert_eq!(day(1_773_273_600_000_000_000, '.'), "2026.03.12");
    }
}
