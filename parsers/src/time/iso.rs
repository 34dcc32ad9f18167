//! `ISO8601` as Logstash's date filter means it: Joda's ISO grammar, and four Python-like shapes
//! with a space that need a fraction. Also RFC 3339 for envelopes.
//!
//! Invariant: the fixed positions at the top accept nothing that the grammar below would read
//! otherwise. Next on the trip: [`super::fields`].

use super::civil::fraction_nanos;
use super::fields::Fields;
use super::fixed::fixed_local_seconds;
use super::format::Items;
use super::locale::Locale;
use super::zone::Zone;
use super::{Instant, offset};

/// The compiled shapes.
#[derive(Debug)]
pub(super) struct Iso8601 {
    spaced: [Items; 4],
}

impl Default for Iso8601 {
    fn default() -> Iso8601 {
        let spaced = [
            "yyyy-MM-dd HH:mm:ss.SSSZ",
            "yyyy-MM-dd HH:mm:ss.SSS",
            "yyyy-MM-dd HH:mm:ss,SSSZ",
            "yyyy-MM-dd HH:mm:ss,SSS",
        ];
        Iso8601 {
            spaced: spaced.map(|format| {
                Items::compile(format, Locale::english()).expect("the format is constant")
            }),
        }
    }
}

impl Iso8601 {
    pub(super) fn parse(&self, text: &str, zone: &Zone, reference_ns: i64) -> Option<Instant> {
        if let Some(fixed) = Fixed::parse(text)
            && (!fixed.is_spaced || (1..=3).contains(&fixed.fraction_digits))
        {
            return fixed.instant(zone);
        }
        if let Some(fields) = parse_grammar(text) {
            // A text that the grammar reads to its end is not tried otherwise but for its zone.
            return fields.instant(zone);
        }
        self.spaced.iter().find_map(|items| items.parse(text, zone, reference_ns))
    }
}

/// Reads an RFC 3339 time, which names its offset: nanoseconds since the epoch.
pub fn parse_rfc3339(text: &str) -> Option<i64> {
    let fixed = Fixed::parse(text)?;
    fixed.offset?;
    fixed.instant(&Zone::Fixed(0))?.epoch_ns()
}

/// `yyyy-MM-dd[T ]HH:mm:ss`, up to nine digits after `.` or `,`, and an offset or none, to the end.
struct Fixed {
    local: i64,
    is_spaced: bool,
    fraction_digits: usize,
    nanos: u32,
    offset: Option<i32>,
}

impl Fixed {
    fn parse(text: &str) -> Option<Fixed> {
        let bytes = text.as_bytes();
        let (fixed, rest) = bytes.split_first_chunk::<19>()?;
        let separators = [fixed[4], fixed[7], fixed[13], fixed[16]];
        if separators != *b"--::" || !matches!(fixed[10], b'T' | b't' | b' ') {
            return None;
        }
        let local = fixed_local_seconds(fixed)?;
        let digits = match rest {
            [b'.' | b',', digits @ ..] => {
                let length = digits.iter().take_while(|byte| byte.is_ascii_digit()).count();
                if length == 0 || length > 9 {
                    return None;
                }
                &digits[..length]
            }
            _ => &[],
        };
        let end = fixed.len() + digits.len() + usize::from(!digits.is_empty());
        let offset = match text.get(end..)? {
            "" => None,
            rest => match offset::parse(rest)? {
                (seconds, "") => Some(seconds),
                _ => return None,
            },
        };
        Some(Fixed {
            local,
            is_spaced: fixed[10] == b' ',
            fraction_digits: digits.len(),
            nanos: fraction_nanos(digits),
            offset,
        })
    }

    fn instant(&self, zone: &Zone) -> Option<Instant> {
        let seconds = match self.offset {
            Some(offset) => self.local - i64::from(offset),
            None => zone.to_utc(self.local)?,
        };
        Some(Instant { seconds, nanos: self.nanos })
    }
}

/// Joda's `dateTimeParser`: a date (by month, ordinal or week), a time, or both with `T` between.
fn parse_grammar(text: &str) -> Option<Fields> {
    if let Some(rest) = strip_t(text) {
        let mut fields = Fields::default();
        let rest = time(rest, &mut fields)?;
        return optional_offset(rest, &mut fields)?.is_empty().then_some(fields);
    }
    let (mut fields, rest) = longest_date(text)?;
    let rest = match strip_t(rest) {
        None => rest,
        Some(rest) => {
            let rest = time(rest, &mut fields).unwrap_or(rest);
            optional_offset(rest, &mut fields)?
        }
    };
    rest.is_empty().then_some(fields)
}

fn strip_t(text: &str) -> Option<&str> {
    text.strip_prefix(['T', 't'])
}

fn optional_offset<'t>(text: &'t str, fields: &mut Fields) -> Option<&'t str> {
    if text.is_empty() {
        return Some(text);
    }
    let (seconds, rest) = offset::parse(text)?;
    fields.offset = Some(seconds);
    Some(rest)
}

/// The one of the three forms of a date that reaches furthest, the first of equals.
fn longest_date(text: &str) -> Option<(Fields, &str)> {
    let mut best: Option<(Fields, &str)> = None;
    for form in [month_date, week_date, ordinal_date] {
        let mut fields = Fields::default();
        if let Some(rest) = form(text, &mut fields)
            && best.as_ref().is_none_or(|(_, best)| rest.len() < best.len())
        {
            best = Some((fields, rest));
        }
    }
    best
}

/// `2026`, `2026-03` or `2026-03-12`.
fn month_date<'t>(text: &'t str, fields: &mut Fields) -> Option<&'t str> {
    let (year, rest) = year(text)?;
    fields.year = Some(year);
    let Some((month, rest)) = after(rest, "-", 2) else { return Some(rest) };
    fields.month = Some(month);
    let Some((day, rest)) = after(rest, "-", 2) else { return Some(rest) };
    fields.day = Some(day);
    Some(rest)
}

/// `2026-W11` or `2026-W11-4`.
fn week_date<'t>(text: &'t str, fields: &mut Fields) -> Option<&'t str> {
    let (year, rest) = year(text)?;
    fields.week_year = Some(year);
    let (week, rest) = after(rest, "-W", 2)?;
    fields.week = Some(week);
    let Some((weekday, rest)) = after(rest, "-", 1) else { return Some(rest) };
    fields.weekday = Some(weekday);
    Some(rest)
}

/// `2026-071`.
fn ordinal_date<'t>(text: &'t str, fields: &mut Fields) -> Option<&'t str> {
    let (year, rest) = year(text)?;
    fields.year = Some(year);
    let (day, rest) = after(rest, "-", 3)?;
    fields.day_of_year = Some(day);
    Some(rest)
}

fn year(text: &str) -> Option<(i64, &str)> {
    let (negative, digits) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let (year, rest) = after(digits, "", 9)?;
    Some((if negative { -i64::from(year) } else { i64::from(year) }, rest))
}

/// A number of at most so many digits (nine at most) after a prefix, in any case.
fn after<'t>(text: &'t str, prefix: &str, digits_max: usize) -> Option<(u32, &'t str)> {
    let (front, rest) = text.split_at_checked(prefix.len())?;
    if !front.eq_ignore_ascii_case(prefix) {
        return None;
    }
    let length = rest.bytes().take(digits_max).take_while(u8::is_ascii_digit).count();
    let value = rest[..length].parse().ok()?;
    Some((value, &rest[length..]))
}

/// `18`, `18:23`, `18:23:45`, with a fraction of the last part or without.
fn time<'t>(text: &'t str, fields: &mut Fields) -> Option<&'t str> {
    const HOUR_NANOS: u64 = 3_600_000_000_000;
    const MINUTE_NANOS: u64 = 60_000_000_000;
    let (hour, rest) = after(text, "", 2)?;
    fields.hour = Some(hour);
    let Some((minute, rest)) = after(rest, ":", 2) else {
        return Some(fraction(rest, HOUR_NANOS, fields).unwrap_or(rest));
    };
    fields.minute = minute;
    let Some((second, rest)) = after(rest, ":", 2) else {
        return Some(fraction(rest, MINUTE_NANOS, fields).unwrap_or(rest));
    };
    fields.second = second;
    Some(fraction(rest, 1_000_000_000, fields).unwrap_or(rest))
}

/// A fraction of a unit, added to what stands below it.
fn fraction<'t>(text: &'t str, unit_nanos: u64, fields: &mut Fields) -> Option<&'t str> {
    let rest = text.strip_prefix(['.', ','])?;
    let length = rest.bytes().take(9).take_while(u8::is_ascii_digit).count();
    if length == 0 {
        return None;
    }
    let billionths = u64::from(fraction_nanos(&rest.as_bytes()[..length]));
    let nanos = unit_nanos / 1_000_000_000 * billionths;
    fields.nanos = (nanos % 1_000_000_000) as u32;
    let seconds = (nanos / 1_000_000_000) as u32;
    if unit_nanos > 1_000_000_000 {
        fields.second = seconds % 60;
    }
    if unit_nanos > 60_000_000_000 {
        fields.minute = seconds / 60;
    }
    Some(&rest[length..])
}
