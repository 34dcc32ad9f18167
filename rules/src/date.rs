//! Dates inside templates: `%Y.%m.%d` in a zone, and how long a written date stays the same.
//!
//! Invariant: every time within a `Window` gives the same text. Next stop: `template`.
use std::ops::Range;

use crate::suggest::did_you_mean;
use crate::zone::Zone;

const SECOND_NS: i64 = 1_000_000_000;
const DAY_S: i64 = 86_400;

/// A compiled date format.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct DateFormat {
    items: Vec<Item>,
    /// Seconds of the finest unit shown: 1, 60, 3600 or 86,400.
    unit_s: i64,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Item {
    Literal(String),
    Field(Field),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Field {
    Year,
    YearShort,
    Month,
    Day,
    Hour,
    Minute,
    Second,
    DayOfYear,
    WeekYear,
    Week,
}

/// Times in nanoseconds, from (inclusive) and to (exclusive), within which a date stays the same.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Window {
    from_ns: i64,
    to_ns: i64,
}

impl Window {
    /// No time at all.
    pub(crate) const NEVER: Window = Window { from_ns: i64::MAX, to_ns: i64::MIN };
    /// All times.
    pub(crate) const ALWAYS: Window = Window { from_ns: i64::MIN, to_ns: i64::MAX };

    pub(crate) fn contains(self, epoch_ns: i64) -> bool {
        self.from_ns <= epoch_ns && epoch_ns < self.to_ns
    }

    pub(crate) fn intersect(self, other: Window) -> Window {
        Window { from_ns: self.from_ns.max(other.from_ns), to_ns: self.to_ns.min(other.to_ns) }
    }
}

/// What is wrong with a date format, and where in it.
pub(crate) struct DateError {
    pub(crate) span: Range<usize>,
    pub(crate) message: String,
    pub(crate) help: Option<String>,
}

const FIELDS: [(char, Field, i64); 10] = [
    ('Y', Field::Year, DAY_S),
    ('y', Field::YearShort, DAY_S),
    ('m', Field::Month, DAY_S),
    ('d', Field::Day, DAY_S),
    ('H', Field::Hour, 3600),
    ('M', Field::Minute, 60),
    ('S', Field::Second, 1),
    ('j', Field::DayOfYear, DAY_S),
    ('G', Field::WeekYear, DAY_S),
    ('V', Field::Week, DAY_S),
];

impl DateFormat {
    pub(crate) fn compile(text: &str) -> Result<DateFormat, DateError> {
        let mut format = DateFormat { items: Vec::new(), unit_s: DAY_S };
        let mut letters = text.char_indices();
        while let Some((position, letter)) = letters.next() {
            if letter != '%' {
                format.push_literal(letter);
                continue;
            }
            match letters.next() {
                Some((_, '%')) => format.push_literal('%'),
                Some((_, 'F')) => {
                    for (index, field) in
                        [Field::Year, Field::Month, Field::Day].into_iter().enumerate()
                    {
                        if index > 0 {
                            format.push_literal('-');
                        }
                        format.items.push(Item::Field(field));
                    }
                }
                Some((_, letter)) => match FIELDS.iter().find(|field| field.0 == letter) {
                    Some((_, field, unit_s)) => {
                        format.items.push(Item::Field(*field));
                        format.unit_s = format.unit_s.min(*unit_s);
                    }
                    None => return Err(unknown_field(position, letter)),
                },
                None => return Err(unknown_field(position, ' ')),
            }
        }
        if !format.items.iter().any(|item| matches!(item, Item::Field(_))) {
            return Err(DateError {
                span: 0..text.len(),
                message: format!("`{text}` shows no part of a date"),
                help: joda_help(text),
            });
        }
        Ok(format)
    }

    fn push_literal(&mut self, letter: char) {
        match self.items.last_mut() {
            Some(Item::Literal(text)) => text.push(letter),
            _ => self.items.push(Item::Literal(letter.to_string())),
        }
    }

    /// Bytes that a written date has at most.
    pub(crate) fn length_max(&self) -> usize {
        let length = |item: &Item| match item {
            Item::Literal(text) => text.len(),
            Item::Field(_) => 4,
        };
        self.items.iter().map(length).sum()
    }

    /// Appends the date of this time in this zone.
    pub(crate) fn write(&self, out: &mut Vec<u8>, epoch_ns: i64, zone: Zone) {
        let offset = i64::from(zone.offset_seconds(epoch_ns));
        let local_s = epoch_ns.div_euclid(SECOND_NS) + offset;
        let (day, second) = (local_s.div_euclid(DAY_S), local_s.rem_euclid(DAY_S));
        let date = Civil::of_day(day);
        for item in &self.items {
            let field = match item {
                Item::Literal(text) => {
                    out.extend_from_slice(text.as_bytes());
                    continue;
                }
                Item::Field(field) => field,
            };
            match field {
                Field::Year => write_padded(out, date.year, 4),
                Field::YearShort => write_padded(out, date.year.rem_euclid(100), 2),
                Field::Month => write_padded(out, date.month, 2),
                Field::Day => write_padded(out, date.day, 2),
                Field::Hour => write_padded(out, second / 3600, 2),
                Field::Minute => write_padded(out, second / 60 % 60, 2),
                Field::Second => write_padded(out, second % 60, 2),
                Field::DayOfYear => write_padded(out, day_of_year(day, &date), 3),
                Field::WeekYear => write_padded(out, iso_week(day).0, 4),
                Field::Week => write_padded(out, iso_week(day).1, 2),
            }
        }
    }

    /// The times around this one that give the same text.
    pub(crate) fn window(&self, epoch_ns: i64, zone: Zone) -> Window {
        let around = |unit_s: i64| {
            let unit_ns = unit_s * SECOND_NS;
            let offset_ns = i64::from(zone.offset_seconds(epoch_ns)) * SECOND_NS;
            let into = (epoch_ns.rem_euclid(unit_ns) + offset_ns).rem_euclid(unit_ns);
            let from_ns = epoch_ns.saturating_sub(into);
            Window { from_ns, to_ns: from_ns.saturating_add(unit_ns) }
        };
        let window = around(self.unit_s);
        // The offset may change within the window: then only the second itself is certain.
        let at_ends = zone.offset_seconds(window.from_ns) == zone.offset_seconds(window.to_ns);
        if at_ends { window } else { around(1) }
    }
}

fn unknown_field(position: usize, letter: char) -> DateError {
    let known = FIELDS.map(|(letter, ..)| format!("%{letter}"));
    DateError {
        span: position..position + 1 + if letter == ' ' { 0 } else { letter.len_utf8() },
        message: format!("unknown part of a date `{}`", format!("%{letter}").trim_end()),
        help: Some(format!("known are {}, %F and %%", known.join(", "))),
    }
}

/// Logstash writes `YYYY.MM.dd` where this writes `%Y.%m.%d`.
fn joda_help(text: &str) -> Option<String> {
    let written = text
        .replace("yyyy", "%Y")
        .replace("YYYY", "%Y")
        .replace("MM", "%m")
        .replace("dd", "%d")
        .replace("DD", "%d")
        .replace("HH", "%H");
    (written != text)
        .then(|| format!("write `{written}`"))
        .or_else(|| did_you_mean(text, ["%Y", "%F"]))
        .or_else(|| Some("write for example `%Y.%m.%d`".to_owned()))
}

struct Civil {
    year: i64,
    month: i64,
    day: i64,
}

impl Civil {
    /// The proleptic Gregorian date of a day counted from 1970-01-01.
    fn of_day(day: i64) -> Civil {
        // Years counted from March put the leap day last, which makes months regular.
        let shifted = day + 719_468;
        let era = shifted.div_euclid(146_097);
        let day_of_era = shifted.rem_euclid(146_097);
        let year_of_era =
            (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let from_march = (5 * day_of_year + 2) / 153;
        let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
        Civil {
            year: year_of_era + era * 400 + i64::from(month <= 2),
            month,
            day: day_of_year - (153 * from_march + 2) / 5 + 1,
        }
    }
}

fn day_of_year(day: i64, date: &Civil) -> i64 {
    day - first_of_year(date.year) + 1
}

/// The day, counted from 1970-01-01, of the first of January.
fn first_of_year(year: i64) -> i64 {
    let before = year - 1;
    before * 365 + before.div_euclid(4) - before.div_euclid(100) + before.div_euclid(400) - 719_162
}

/// ISO 8601 year and week: a week belongs to the year its Thursday is in.
fn iso_week(day: i64) -> (i64, i64) {
    let thursday = day - (day + 3).rem_euclid(7) + 3;
    let year = Civil::of_day(thursday).year;
    (year, (thursday - first_of_year(year)) / 7 + 1)
}

fn write_padded(out: &mut Vec<u8>, number: i64, width: u32) {
    for place in (0..width).rev() {
        out.push(b'0' + (number / 10_i64.pow(place) % 10) as u8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono::DateTime;
    use proptest::prelude::*;

    fn written(format: &str, epoch_ns: i64, zone: Zone) -> String {
        let format =
            DateFormat::compile(format).unwrap_or_else(|error| panic!("{}", error.message));
        let mut out = Vec::new();
        format.write(&mut out, epoch_ns, zone);
        String::from_utf8(out).unwrap()
    }

    fn check(format: &str, time: &str, zone: &str, expect: &str) {
        let time = DateTime::parse_from_rfc3339(time).unwrap().timestamp_nanos_opt().unwrap();
        assert_eq!(written(format, time, Zone::parse(zone).unwrap()), expect);
    }

    #[test]
    fn dates_are_written_in_their_zone() {
        check("%Y.%m.%d", "2026-03-12T02:23:45Z", "UTC", "2026.03.12");
        check("%Y.%m.%d", "2026-03-12T18:23:45Z", "Asia/Shanghai", "2026.03.13");
        check("%F/%H", "2026-03-12T18:23:45Z", "Asia/Shanghai", "2026-03-13/02");
        check("%y%m%dT%H%M%S", "1969-12-31T23:59:59Z", "UTC", "691231T235959");
        check("%G-w%V", "2027-01-01T12:00:00Z", "UTC", "2026-w53");
        check("%Y-%j", "2024-12-31T12:00:00Z", "UTC", "2024-366");
        check("100%% %d", "2024-02-29T12:00:00Z", "UTC", "100% 29");
    }

    #[test]
    fn errors_name_the_part() {
        for (format, span, help) in [
            ("YYYY.MM.dd", 0..10, "write `%Y.%m.%d`"),
            ("%Y-%Q", 3..5, "known are %Y, %y, %m, %d, %H, %M, %S, %j, %G, %V, %F and %%"),
            ("%Y%", 2..3, "known are %Y, %y, %m, %d, %H, %M, %S, %j, %G, %V, %F and %%"),
        ] {
            let error = DateFormat::compile(format).err().unwrap();
            assert_eq!((error.span, error.help.as_deref()), (span, Some(help)), "{format}");
        }
    }

    #[test]
    fn a_window_is_as_wide_as_the_unit() {
        let format = DateFormat::compile("%Y-%m-%d").ok().unwrap();
        let window = format.window(1_773_282_225_000_000_000, Zone::parse("+08:00").unwrap());
        assert_eq!(window.to_ns - window.from_ns, DAY_S * SECOND_NS);
        assert_eq!(window.from_ns, 1_773_244_800_000_000_000);
    }

    proptest! {
        #[test]
        fn dates_agree_with_chrono(seconds in -8_000_000_000_i64..8_000_000_000) {
            let format = "%Y-%m-%d %H:%M:%S %j %G-%V %y";
            let expect = DateTime::from_timestamp(seconds, 0).unwrap().format(format).to_string();
            prop_assert_eq!(written(format, seconds * SECOND_NS, Zone::UTC), expect);
        }

        #[test]
        fn all_times_of_a_window_give_the_same_text(
            seconds in 0_i64..2_000_000_000,
            places in proptest::collection::vec(0.0..1.0_f64, 8),
            format in prop::sample::select(vec!["%F", "%F-%H", "%H:%M"]),
        ) {
            let zone = Zone::parse("Europe/Berlin").unwrap();
            let compiled = DateFormat::compile(format).ok().unwrap();
            let time = seconds * SECOND_NS;
            let window = compiled.window(time, zone);
            prop_assert!(window.contains(time));
            for place in places {
                let length = (window.to_ns - window.from_ns) as f64;
                let other = (window.from_ns + (length * place) as i64).min(window.to_ns - 1);
                prop_assert_eq!(written(format, time, zone), written(format, other, zone));
            }
        }

        #[test]
        fn no_time_and_no_format_panics(time in any::<i64>(), format in "[%a-zA-Z训 ]{0,8}") {
            if let Ok(format) = DateFormat::compile(&format) {
                let zone = Zone::parse("America/St_Johns").unwrap();
                let mut out = Vec::new();
                format.write(&mut out, time, zone);
                prop_assert!(out.len() <= format.length_max());
                format.window(time, zone);
            }
        }
    }
}
