//! Time zones for the dates in templates: IANA names and fixed offsets.
//!
//! Invariant: pure tables, no clock; a zone that parsed gives an offset for every time. Next stop:
//! `date`, which turns time and offset into a calendar day.
use chrono::{DateTime, Offset, TimeZone};
use chrono_tz::Tz;

use crate::suggest::did_you_mean;

/// A time zone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Zone(Kind);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Fixed(i32),
    Named(Tz),
}

/// A zone that does not exist.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ZoneError {
    /// What is wrong.
    pub message: String,
    /// What to write in its place.
    pub help: Option<String>,
}

impl Zone {
    /// Coordinated universal time, the default.
    pub const UTC: Zone = Zone(Kind::Fixed(0));

    /// Reads `UTC`, an IANA name such as `Asia/Shanghai`, or an offset such as `+08:00`.
    pub fn parse(text: &str) -> Result<Zone, ZoneError> {
        if matches!(text, "UTC" | "Z" | "Etc/UTC") {
            return Ok(Zone::UTC);
        }
        if text.starts_with(['+', '-']) {
            let help = Some("write it as `+08:00`".to_owned());
            let message = format!("`{text}` is no offset from UTC");
            return parse_offset(text)
                .map(|seconds| Zone(Kind::Fixed(seconds)))
                .ok_or(ZoneError { message, help });
        }
        text.parse::<Tz>().map(|zone| Zone(Kind::Named(zone))).map_err(|_| ZoneError {
            message: format!("unknown time zone `{text}`"),
            help: did_you_mean(text, chrono_tz::TZ_VARIANTS.iter().map(|zone| zone.name()))
                .or_else(|| Some("write an IANA name such as `Asia/Shanghai`".to_owned())),
        })
    }

    /// Seconds to add to UTC at this time.
    pub fn offset_seconds(self, epoch_ns: i64) -> i32 {
        match self.0 {
            Kind::Fixed(seconds) => seconds,
            Kind::Named(zone) => {
                let utc = DateTime::from_timestamp_nanos(epoch_ns).naive_utc();
                zone.offset_from_utc_datetime(&utc).fix().local_minus_utc()
            }
        }
    }
}

impl Default for Zone {
    fn default() -> Zone {
        Zone::UTC
    }
}

fn parse_offset(text: &str) -> Option<i32> {
    let sign = if text.starts_with('-') { -1 } else { 1 };
    let digits: String = text[1..].split(':').collect();
    let valid = digits.len() == 4 && digits.bytes().all(|digit| digit.is_ascii_digit());
    let (hours, minutes) = valid.then(|| digits.split_at(2))?;
    let (hours, minutes) = (hours.parse::<i32>().ok()?, minutes.parse::<i32>().ok()?);
    (hours <= 18 && minutes < 60).then_some(sign * (hours * 3600 + minutes * 60))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MARCH: i64 = 1_773_282_225_000_000_000;
    const JULY: i64 = 1_783_000_000_000_000_000;

    fn check(text: &str, march: i32, july: i32) {
        let zone = Zone::parse(text).unwrap();
        let found = (zone.offset_seconds(MARCH), zone.offset_seconds(JULY));
        assert_eq!(found, (march, july), "{text}");
    }

    fn check_error(text: &str, help: &str) {
        assert_eq!(Zone::parse(text).unwrap_err().help.as_deref(), Some(help), "{text}");
    }

    #[test]
    fn zones_are_read() {
        check("UTC", 0, 0);
        check("+08:00", 28_800, 28_800);
        check("-0330", -12_600, -12_600);
        check("Asia/Shanghai", 28_800, 28_800);
        check("Europe/Berlin", 3_600, 7_200);
    }

    #[test]
    fn errors_carry_advice() {
        check_error("Asia/Shangai", "did you mean `Asia/Shanghai`?");
        check_error("+8", "write it as `+08:00`");
        check_error("+训:00", "write it as `+08:00`");
        check_error("Mars/Base", "write an IANA name such as `Asia/Shanghai`");
    }

    #[test]
    fn the_ends_of_time_have_an_offset() {
        let zone = Zone::parse("Europe/Berlin").unwrap();
        for time in [i64::MIN, i64::MAX, 0, -1] {
            assert!(zone.offset_seconds(time).abs() < 86_400);
        }
    }
}
