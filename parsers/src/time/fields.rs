//! What a time text said, and the instant it means.
//!
//! Invariant: fields take effect from the largest to the smallest whatever their order in the text,
//! as Joda has it, and each is checked against its range (a month's length included). Next on the
//! trip: [`super::TimeParser`] hands the instant to `rules`.

use chrono_tz::Tz;

use super::Instant;
use super::civil::{
    SECONDS_PER_DAY, civil_from_days, days_from_civil, days_in_month, is_leap, weekday_from_days,
};
use super::zone::Zone;

/// The parts that a text named; a part named twice keeps the later value.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Fields {
    pub(super) year: Option<i64>,
    /// The year of ISO weeks.
    pub(super) week_year: Option<i64>,
    pub(super) month: Option<u32>,
    pub(super) week: Option<u32>,
    pub(super) day: Option<u32>,
    pub(super) day_of_year: Option<u32>,
    /// 1 is Monday, 7 Sunday.
    pub(super) weekday: Option<u32>,
    pub(super) afternoon: Option<bool>,
    /// 0 to 23.
    pub(super) hour: Option<u32>,
    /// 0 to 11, counted from noon in the afternoon.
    pub(super) half_hour: Option<u32>,
    pub(super) minute: u32,
    pub(super) second: u32,
    /// Within the second; a fraction of an hour or a minute has been taken apart.
    pub(super) nanos: u32,
    /// Seconds east of UTC.
    pub(super) offset: Option<i32>,
    pub(super) zone: Option<Tz>,
}

/// The year in which a text without one is first read: a leap year, so that February 29 is a date.
const YEAR_DEFAULT: i64 = 2000;
/// Years that a text may name; beyond it no zone is known and nothing is logged.
const YEAR_MAX: i64 = 200_000;

impl Fields {
    /// The instant, with the year as the text has it; `zone` is used where the text names none.
    pub(super) fn instant(&self, zone: &Zone) -> Option<Instant> {
        let seconds = self.utc_of(zone, self.local_seconds()?)?;
        Some(Instant { seconds, nanos: self.nanos })
    }

    /// As [`Fields::instant`]; a time that the clock skips is moved on by what it skips.
    pub(super) fn instant_over_gaps(&self, zone: &Zone) -> Option<Instant> {
        let local = self.local_seconds()?;
        let seconds = match (self.offset, self.zone) {
            (Some(_), _) => self.utc_of(zone, local)?,
            (None, Some(named)) => Zone::named(named).to_utc_over_gaps(local)?,
            (None, None) => zone.to_utc_over_gaps(local)?,
        };
        Some(Instant { seconds, nanos: self.nanos })
    }

    /// Seconds since the epoch of local seconds, in the text's zone or else in `zone`.
    pub(super) fn utc_of(&self, zone: &Zone, local: i64) -> Option<i64> {
        match (self.offset, self.zone) {
            (Some(offset), _) => Some(local - i64::from(offset)),
            (None, Some(named)) => Zone::named(named).to_utc(local),
            (None, None) => zone.to_utc(local),
        }
    }

    /// Seconds east of UTC at a time, in the text's zone or else in `zone`.
    pub(super) fn offset_at(&self, zone: &Zone, utc: i64) -> Option<i32> {
        match (self.offset, self.zone) {
            (Some(offset), _) => Some(offset),
            (None, Some(named)) => Zone::named(named).offset_at(utc),
            (None, None) => zone.offset_at(utc),
        }
    }

    /// Seconds since 1970-01-01T00:00 of the local clock.
    fn local_seconds(&self) -> Option<i64> {
        let second_of_day = self.second_of_day()?;
        Some(self.days()? * SECONDS_PER_DAY + second_of_day)
    }

    /// Seconds since midnight of the local clock.
    pub(super) fn second_of_day(&self) -> Option<i64> {
        let hour = match (self.hour, self.half_hour) {
            (Some(hour), None) => hour,
            (hour, Some(half_hour)) => {
                let afternoon = self.afternoon.unwrap_or(hour.is_some_and(|hour| hour >= 12));
                half_hour + if afternoon { 12 } else { 0 }
            }
            (None, None) => u32::from(self.afternoon == Some(true)) * 12,
        };
        if hour > 23 || self.minute > 59 || self.second > 59 {
            return None;
        }
        Some(i64::from(hour * 3600 + self.minute * 60 + self.second))
    }

    fn days(&self) -> Option<i64> {
        if let (Some(year), Some(month), Some(day)) = (self.year, self.month, self.day)
            && self.week_year.is_none()
            && self.week.is_none()
            && self.day_of_year.is_none()
            && self.weekday.is_none()
        {
            return date(year, month, day);
        }
        let has_part = self.month.is_some()
            || self.week.is_some()
            || self.day.is_some()
            || self.day_of_year.is_some()
            || self.weekday.is_some();
        let year = match (self.year, self.week_year) {
            (None, None) if has_part => YEAR_DEFAULT,
            (None, _) => 1970,
            (Some(year), _) => year,
        };
        let mut days = date(year, self.month.unwrap_or(1), 1)?;
        if let Some(week_year) = self.week_year {
            days = first_monday(in_range(week_year)?);
        }
        if let Some(day_of_year) = self.day_of_year {
            let length = 365 + u32::from(is_leap(year));
            if !(1..=length).contains(&day_of_year) {
                return None;
            }
            days = days_from_civil(year, 1, 1) + i64::from(day_of_year) - 1;
        }
        if let Some(week) = self.week {
            let monday = first_monday(week_year_of(days));
            let length = (first_monday(week_year_of(days) + 1) - monday) / 7;
            if week == 0 || i64::from(week) > length {
                return None;
            }
            days = monday + (i64::from(week) - 1) * 7;
        }
        if let Some(day) = self.day {
            let (year, month, _) = civil_from_days(days);
            days = date(year, month, day)?;
        }
        if let Some(weekday) = self.weekday {
            if !(1..=7).contains(&weekday) {
                return None;
            }
            days += i64::from(weekday) - 1 - i64::from(weekday_from_days(days));
        }
        Some(days)
    }
}

fn in_range(year: i64) -> Option<i64> {
    (-YEAR_MAX..=YEAR_MAX).contains(&year).then_some(year)
}

/// Days since the epoch of a date that exists.
pub(super) fn date(year: i64, month: u32, day: u32) -> Option<i64> {
    in_range(year)?;
    if !(1..=12).contains(&month) || day < 1 || day > days_in_month(year, month) {
        return None;
    }
    Some(days_from_civil(year, month, day))
}

/// The Monday on which an ISO week year begins: that of the week with January 4.
fn first_monday(week_year: i64) -> i64 {
    let fourth = days_from_civil(week_year, 1, 4);
    fourth - i64::from(weekday_from_days(fourth))
}

/// The ISO week year of a day: the year of its week's Thursday.
fn week_year_of(days: i64) -> i64 {
    let thursday = days + 3 - i64::from(weekday_from_days(days));
    civil_from_days(thursday).0
}
