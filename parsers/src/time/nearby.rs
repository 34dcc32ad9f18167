//! A text that leaves out its year, or its whole date: what is missing comes from the reference.
//!
//! Invariant: the answer depends on the text, the zone and the reference alone, and lies near the
//! reference: within half a day where the text has a clock alone, and in the reference's year but
//! around the turn of the year. Next on the trip: [`super::TimeParser`] hands the instant to
//! `rules`.

use super::Instant;
use super::civil::{
    self, SECONDS_PER_DAY, civil_from_days, days_from_civil, is_leap, weekday_from_days,
};
use super::fields::Fields;
use super::zone::Zone;

/// Leap years and years of 53 weeks are at most so many years apart.
const YEARS_APART_MAX: i64 = 8;
/// A day of a month may be missing in a month, but not in its neighbours.
const DAYS_APART_MAX: i64 = 62;

impl Fields {
    /// The text names neither a date nor a part of one.
    pub(super) fn is_clock_alone(&self) -> bool {
        self.year.is_none()
            && self.week_year.is_none()
            && self.month.is_none()
            && self.week.is_none()
            && self.day_of_year.is_none()
            && self.day.is_none()
            && self.weekday.is_none()
    }

    /// The instant of a text without a year.
    pub(super) fn instant_near(&self, zone: &Zone, reference_ns: i64) -> Option<Instant> {
        if self.week_year.is_some() {
            return self.instant(zone);
        }
        let has_weeks = self.week.is_some() || self.day_of_year.is_some() || self.weekday.is_some();
        if self.month.is_none() && self.week.is_none() && self.day_of_year.is_none() {
            self.on_near_day(zone, reference_ns)
        } else if has_weeks || (self.month, self.day) == (Some(2), Some(29)) {
            self.in_near_year(zone, reference_ns)
        } else {
            self.in_year_of(zone, reference_ns)
        }
    }

    /// The day next to the reference that has the weekday or the day of the month; any day where
    /// the text has a clock alone. Of two that are as near the earlier.
    fn on_near_day(&self, zone: &Zone, reference_ns: i64) -> Option<Instant> {
        let reference = Instant::from_epoch_ns(reference_ns).seconds;
        let local_now = reference + i64::from(self.offset_at(zone, reference)?);
        let today = local_now.div_euclid(SECONDS_PER_DAY);
        let second_of_day = self.second_of_day()?;
        let reach = match (self.day, self.weekday) {
            (Some(_), _) => DAYS_APART_MAX,
            (None, Some(_)) => 4,
            (None, None) => 1,
        };
        let fits = |day: &i64| match (self.day, self.weekday) {
            (Some(of_month), _) => civil_from_days(*day).2 == of_month,
            (None, Some(weekday)) => weekday_from_days(*day) + 1 == weekday,
            (None, None) => true,
        };
        let locals = (today - reach..=today + reach)
            .filter(fits)
            .map(|day| day * SECONDS_PER_DAY + second_of_day);
        let mut local = locals.min_by_key(|local| local.abs_diff(local_now))?;
        if let (Some(_), Some(weekday)) = (self.day, self.weekday) {
            let found = weekday_from_days(local.div_euclid(SECONDS_PER_DAY));
            local += (i64::from(weekday) - 1 - i64::from(found)) * SECONDS_PER_DAY;
        }
        Some(Instant { seconds: self.utc_of(zone, local)?, nanos: self.nanos })
    }

    /// The reference's year, but December read in January is last year's, and January read in
    /// December next year's.
    fn in_year_of(&self, zone: &Zone, reference_ns: i64) -> Option<Instant> {
        let first = self.instant(zone)?;
        let offset = zone.offset_at(first.seconds)?;
        let local = first.seconds + i64::from(offset);
        let (_, month, day) = civil_from_days(local.div_euclid(SECONDS_PER_DAY));
        let year = year_of(month, reference_ns);
        // An offset of the text's own may have made a leap day of another one.
        let day = if day == 29 && month == 2 && !is_leap(year) { 28 } else { day };
        let local =
            days_from_civil(year, month, day) * SECONDS_PER_DAY + local.rem_euclid(SECONDS_PER_DAY);
        // The offset of the first reading is kept where it holds in the other year too.
        let kept = local - i64::from(offset);
        let seconds =
            if zone.offset_at(kept)? == offset { kept } else { zone.to_utc_over_gaps(local)? };
        Some(Instant { seconds, nanos: first.nanos })
    }

    /// As [`Fields::in_year_of`] for dates that not every year has, or that are other dates in
    /// every year: of the years that have it the one next to that one, of two the earlier.
    fn in_near_year(&self, zone: &Zone, reference_ns: i64) -> Option<Instant> {
        let (year_now, _) = civil::year_and_month(reference_ns);
        let mut best: Option<(u64, Instant)> = None;
        for distance in 0..=YEARS_APART_MAX {
            for year in [year_now - distance, year_now + distance] {
                let in_year = match self.week {
                    Some(_) => Fields { week_year: Some(year), ..*self },
                    None => Fields { year: Some(year), ..*self },
                };
                let Some(found) = in_year.instant_over_gaps(zone) else { continue };
                let local = found.seconds + i64::from(zone.offset_at(found.seconds)?);
                let (year, month, _) = civil_from_days(local.div_euclid(SECONDS_PER_DAY));
                let off = year.abs_diff(year_of(month, reference_ns));
                if off == 0 {
                    return Some(found);
                }
                if best.is_none_or(|(known, _)| off < known) {
                    best = Some((off, found));
                }
            }
        }
        best.map(|(_, found)| found)
    }
}

/// The year of a date in a month, read at the reference.
fn year_of(month: u32, reference_ns: i64) -> i64 {
    let (year_now, month_now) = civil::year_and_month(reference_ns);
    match (month, month_now) {
        (12, 1) => year_now - 1,
        (1, 12) => year_now + 1,
        _ => year_now,
    }
}
