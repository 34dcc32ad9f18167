//! Time texts to nanoseconds since the epoch, and back.
//!
//! What it is for: the `time` rule of a parser names formats as Logstash's date filter does; they
//! are compiled once and a line costs a few comparisons. Invariant: no clock is read (the year of a
//! text without one comes from the caller's reference), and a text that does not fit a format from
//! end to end, or names no real time, is `None`. Next on the trip: `rules` puts the time into the
//! event.

mod civil;
mod fields;
mod fixed;
mod format;
mod iso;
mod locale;
mod nearby;
mod offset;
mod tai64;
mod zone;

use std::fmt;

pub use civil::write_rfc3339;
pub use iso::parse_rfc3339;

use civil::NANOS_PER_SECOND;
use format::Items;
use locale::Locale;
use zone::Zone;

/// A compiled list of formats with the zone of texts that name none.
#[derive(Debug)]
pub struct TimeParser {
    formats: Vec<Format>,
    zone: Zone,
}

#[derive(Debug)]
enum Format {
    Iso8601(Box<iso::Iso8601>),
    UnixSeconds,
    UnixMillis,
    Tai64n,
    Items(Box<Items>),
}

/// A time zone to read texts in that name none, for [`TimeParser::parse_in`]: where it comes from a
/// field of the line, found once and kept for the next line of the same zone.
#[derive(Debug)]
pub struct TimeZone(Zone);

impl TimeZone {
    /// Finds a zone by its IANA name (`Asia/Shanghai`) or its offset (`+08:00`, `-0330`, `Z`).
    ///
    /// # Errors
    /// There is no such zone.
    pub fn find(name: &str) -> Result<TimeZone, TimeFormatError> {
        Zone::compile(name).map(TimeZone)
    }
}

/// A point in time: seconds since the epoch and the nanoseconds after them. Wider than nanoseconds
/// in an i64, which end in the year 2262.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Instant {
    /// Whole seconds since 1970-01-01T00:00:00Z, rounded down.
    pub seconds: i64,
    /// 0 to 999,999,999.
    pub nanos: u32,
}

impl Instant {
    /// Nanoseconds since the epoch; `None` outside the years 1677 to 2262.
    pub fn epoch_ns(self) -> Option<i64> {
        self.seconds.checked_mul(NANOS_PER_SECOND)?.checked_add(i64::from(self.nanos))
    }

    fn from_epoch_ns(epoch_ns: i64) -> Instant {
        Instant {
            seconds: epoch_ns.div_euclid(NANOS_PER_SECOND),
            nanos: epoch_ns.rem_euclid(NANOS_PER_SECOND) as u32,
        }
    }
}

/// The seconds of the years 0 to 9999: a time beyond them cannot be written, and is none.
const WRITABLE_SECONDS: std::ops::Range<i64> = -62_167_219_200..253_402_300_800;

/// Why a format list cannot be compiled.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TimeFormatError {
    /// Index of the format in the list; `usize::MAX` when it is the zone or the locale that is
    /// unknown.
    pub format: usize,
    /// It is the locale, not the zone.
    pub is_locale: bool,
    /// Byte position in that format.
    pub position: usize,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
}

impl fmt::Display for TimeFormatError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for TimeFormatError {}

impl TimeParser {
    /// Compiles formats, which are tried in order: `ISO8601`, `UNIX` (seconds, with a fraction or
    /// without), `UNIX_MS`, `TAI64N`, or Joda's letters (`yyyy-MM-dd HH:mm:ss,SSS`) with English
    /// names. `zone` is an IANA name or an offset as `+08:00`, used where the text names none.
    ///
    /// A local time that the zone's clock skips fails; one that it shows twice is the earlier of
    /// the two. Both are Logstash's answers.
    ///
    /// # Errors
    /// The first unknown letter of a format, or an unknown zone.
    pub fn compile(formats: &[&str], zone: &str) -> Result<TimeParser, TimeFormatError> {
        TimeParser::compile_with_locale(formats, zone, "en")
    }

    /// As [`TimeParser::compile`], with the names of months, weekdays and halves of the day in a
    /// language: `zh-CN`, `de`.
    ///
    /// # Errors
    /// As there, and a language whose names are not known.
    pub fn compile_with_locale(
        formats: &[&str],
        zone: &str,
        locale: &str,
    ) -> Result<TimeParser, TimeFormatError> {
        let zone = Zone::compile(zone)?;
        let locale = Locale::find(locale).ok_or_else(|| unknown_locale(locale))?;
        let mut compiled = Vec::with_capacity(formats.len());
        for (index, format) in formats.iter().enumerate() {
            compiled.push(match *format {
                "ISO8601" => Format::Iso8601(Box::default()),
                "UNIX" => Format::UnixSeconds,
                "UNIX_MS" => Format::UnixMillis,
                "TAI64N" => Format::Tai64n,
                letters => Format::Items(Box::new(
                    Items::compile(letters, locale)
                        .map_err(|error| TimeFormatError { format: index, ..error })?,
                )),
            });
        }
        Ok(TimeParser { formats: compiled, zone })
    }

    /// Reads a time text: nanoseconds since the epoch, or `None` when no format fits it or the time
    /// is outside the years 1677 to 2262. `reference_ns` supplies the year where the text has none,
    /// the date where it has a clock alone, and the century of two-digit years.
    pub fn parse(&self, text: &str, reference_ns: i64) -> Option<i64> {
        self.parse_instant(text, reference_ns)?.epoch_ns()
    }

    /// As [`TimeParser::parse`], in the years 0 to 9999.
    pub fn parse_instant(&self, text: &str, reference_ns: i64) -> Option<Instant> {
        self.read(text, &self.zone, reference_ns)
    }

    /// As [`TimeParser::parse`], in another zone than the one compiled in.
    pub fn parse_in(&self, text: &str, zone: &TimeZone, reference_ns: i64) -> Option<i64> {
        self.read(text, &zone.0, reference_ns)?.epoch_ns()
    }

    /// As [`TimeParser::parse`], by one of the formats alone: whoever found the text knows which.
    pub fn parse_by(&self, format: usize, text: &str, reference_ns: i64) -> Option<i64> {
        self.formats.get(format)?.read(text, &self.zone, reference_ns)?.epoch_ns()
    }

    fn read(&self, text: &str, zone: &Zone, reference_ns: i64) -> Option<Instant> {
        self.formats.iter().find_map(|format| format.read(text, zone, reference_ns))
    }
}

impl Format {
    fn read(&self, text: &str, zone: &Zone, reference_ns: i64) -> Option<Instant> {
        let found = match self {
            Format::Iso8601(iso) => iso.parse(text, zone, reference_ns),
            Format::UnixSeconds => parse_unix_seconds(text),
            Format::UnixMillis => parse_unix_millis(text),
            Format::Tai64n => tai64::parse(text),
            Format::Items(items) => items.parse(text, zone, reference_ns),
        };
        found.filter(|instant| WRITABLE_SECONDS.contains(&instant.seconds))
    }
}

fn unknown_locale(locale: &str) -> TimeFormatError {
    let known: Vec<&str> = Locale::languages().collect();
    TimeFormatError {
        format: usize::MAX,
        is_locale: true,
        position: 0,
        message: format!("no names of months are known for the locale `{locale}`"),
        help: Some(format!("known are {}", known.join(", "))),
    }
}

/// Seconds with a fraction. The fraction counts forward from the seconds even below zero, and
/// seconds end in 2038: both as Logstash has it.
fn parse_unix_seconds(text: &str) -> Option<Instant> {
    let (whole, fraction) = match text.split_once('.') {
        None => (text, None),
        Some((whole, fraction)) => (whole, Some(fraction)),
    };
    let seconds = parse_integer(whole)?;
    if seconds > i64::from(i32::MAX) {
        return None;
    }
    let nanos = match fraction {
        None => 0,
        // Digits beyond the ninth are not looked at.
        Some(fraction) => {
            let digits = fraction.get(..fraction.len().min(9))?;
            if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
                return None;
            }
            civil::fraction_nanos(digits.as_bytes())
        }
    };
    Some(Instant { seconds, nanos })
}

fn parse_unix_millis(text: &str) -> Option<Instant> {
    let millis = parse_integer(text)?;
    Some(Instant {
        seconds: millis.div_euclid(1000),
        nanos: millis.rem_euclid(1000) as u32 * 1_000_000,
    })
}

/// Digits with an optional sign and nothing else.
fn parse_integer(text: &str) -> Option<i64> {
    // Rust's own parser takes the same texts as Java's `Long.parseLong` in ASCII.
    text.parse().ok()
}

/// The month of `Mi Mai 15`, in whichever language has both names; see the locales.
pub(crate) fn weekday_and_month(text: &str) -> Option<(usize, &str)> {
    locale::Locale::weekday_and_month(text)
}

#[cfg(test)]
mod tests;
