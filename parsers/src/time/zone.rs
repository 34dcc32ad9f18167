//! Zones: what a local time means where the text names no offset.
//!
//! Invariant: a local time inside a gap of the clock has no meaning, one inside an overlap takes
//! the earlier offset's (the first of the two), as Joda has it. Next on the trip:
//! [`super::fields`].

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use chrono::offset::LocalResult;
use chrono::{DateTime, NaiveDateTime, Offset, TimeZone};
use chrono_tz::Tz;

use super::TimeFormatError;
use super::civil::SECONDS_PER_DAY;
use crate::suggest;

/// Slots of the cache: the lines of a batch lie within a few days, and a miss costs a search
/// through the zone's transitions.
const CACHE_SLOTS: usize = 8;

/// Where a local time is local.
pub(super) enum Zone {
    /// Seconds east of UTC.
    Fixed(i32),
    /// A zone with transitions.
    Named(Box<NamedZone>),
}

/// An IANA zone with the offsets of the days lately asked for.
pub(super) struct NamedZone {
    zone: Tz,
    // Invariant: a slot is 0 or `pack`ed from a day all of whose local times have the one offset,
    // so that a read needs no look at the zone. Slots are independent of each other: relaxed order
    // will do.
    cache: [AtomicU64; CACHE_SLOTS],
}

impl fmt::Debug for Zone {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Zone::Fixed(seconds) => write!(formatter, "Fixed({seconds})"),
            Zone::Named(named) => write!(formatter, "Named({})", named.zone.name()),
        }
    }
}

impl Zone {
    /// Finds a zone by its IANA name or its offset (`+08:00`, `-0330`, `Z`).
    pub(super) fn compile(name: &str) -> Result<Zone, TimeFormatError> {
        if let Some((seconds, "")) = super::offset::parse(name) {
            return Ok(Zone::Fixed(seconds));
        }
        match name.parse::<Tz>() {
            Ok(Tz::UTC) => Ok(Zone::Fixed(0)),
            Ok(zone) => Ok(Zone::named(zone)),
            Err(_) => {
                let names = chrono_tz::TZ_VARIANTS.iter().map(|zone| zone.name());
                let help = match suggest::closest(name, names) {
                    Some(close) => format!("did you mean `{close}`?"),
                    None => "an IANA name as `Asia/Shanghai`, or an offset as `+08:00`".to_owned(),
                };
                Err(TimeFormatError {
                    format: usize::MAX,
                    is_locale: false,
                    position: 0,
                    message: format!("unknown time zone `{name}`"),
                    help: Some(help),
                })
            }
        }
    }

    pub(super) fn named(zone: Tz) -> Zone {
        Zone::Named(Box::new(NamedZone { zone, cache: Default::default() }))
    }

    /// Seconds since the epoch of local seconds; `None` in a gap and where chrono's years end.
    pub(super) fn to_utc(&self, local: i64) -> Option<i64> {
        match self {
            Zone::Fixed(offset) => Some(local - i64::from(*offset)),
            Zone::Named(named) => Some(local - i64::from(named.offset_of_local(local)?)),
        }
    }

    /// Seconds since the epoch of local seconds where a gap does not fail: its times are moved on
    /// by the length of the gap.
    pub(super) fn to_utc_over_gaps(&self, local: i64) -> Option<i64> {
        self.to_utc(local).or_else(|| {
            // The offset before the gap; no gap is as long as a day but where a date was skipped.
            let before = self.offset_at(local - 2 * SECONDS_PER_DAY)?;
            Some(local - i64::from(before))
        })
    }

    /// Seconds east of UTC at a time.
    pub(super) fn offset_at(&self, utc: i64) -> Option<i32> {
        match self {
            Zone::Fixed(offset) => Some(*offset),
            Zone::Named(named) => {
                let utc = DateTime::from_timestamp(utc, 0)?.naive_utc();
                Some(named.zone.offset_from_utc_datetime(&utc).fix().local_minus_utc())
            }
        }
    }
}

impl NamedZone {
    fn offset_of_local(&self, local: i64) -> Option<i32> {
        let day = local.div_euclid(SECONDS_PER_DAY);
        let slot = &self.cache[day.rem_euclid(CACHE_SLOTS as i64) as usize];
        if let Some(offset) = unpack(slot.load(Ordering::Relaxed), day) {
            return Some(offset);
        }
        let offset = self.search(local)?;
        let midnight = day * SECONDS_PER_DAY;
        // A transition anywhere in the day shows at one of these: its gap or overlap is at least a
        // quarter of an hour long or moves the offset of what follows.
        let steady = (0..=8)
            .map(|part| midnight + (part * SECONDS_PER_DAY / 8).min(SECONDS_PER_DAY - 1))
            .all(|local| self.search_single(local) == Some(offset));
        if steady && let Some(packed) = pack(day, offset) {
            slot.store(packed, Ordering::Relaxed);
        }
        Some(offset)
    }

    fn search(&self, local: i64) -> Option<i32> {
        match self.zone.offset_from_local_datetime(&naive(local)?) {
            LocalResult::Single(offset) => Some(offset.fix().local_minus_utc()),
            // The earlier instant is the one of the larger offset, whichever way chrono lists them.
            LocalResult::Ambiguous(one, other) => {
                Some(one.fix().local_minus_utc().max(other.fix().local_minus_utc()))
            }
            LocalResult::None => None,
        }
    }

    fn search_single(&self, local: i64) -> Option<i32> {
        self.zone
            .offset_from_local_datetime(&naive(local)?)
            .single()
            .map(|offset| offset.fix().local_minus_utc())
    }
}

fn naive(local: i64) -> Option<NaiveDateTime> {
    Some(DateTime::from_timestamp(local, 0)?.naive_utc())
}

/// Bit 63 says that a slot is filled, then 44 bits of day and 18 of offset.
fn pack(day: i64, offset: i32) -> Option<u64> {
    let day = u64::try_from(day + (1 << 43)).ok().filter(|day| *day < 1 << 44)?;
    let offset = u64::try_from(offset + (1 << 17)).ok().filter(|offset| *offset < 1 << 18)?;
    Some(1 << 63 | day << 18 | offset)
}

fn unpack(packed: u64, day: i64) -> Option<i32> {
    if packed == 0 {
        return None;
    }
    let packed_day = ((packed >> 18) & ((1 << 44) - 1)) as i64 - (1 << 43);
    (packed_day == day).then(|| (packed & ((1 << 18) - 1)) as i32 - (1 << 17))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::civil::days_from_civil;
    use proptest::prelude::*;

    fn local(year: i64, month: u32, day: u32, hour: i64, minute: i64) -> i64 {
        days_from_civil(year, month, day) * SECONDS_PER_DAY + hour * 3600 + minute * 60
    }

    #[track_caller]
    fn check(zone: &str, local: i64, offset_hours: Option<f64>) {
        let zone = Zone::compile(zone).unwrap();
        // Twice: the second answer comes from the cache where the day has one.
        for _ in 0..2 {
            let offset = zone.to_utc(local).map(|utc| (local - utc) as f64 / 3600.0);
            assert_eq!(offset, offset_hours);
        }
    }

    #[test]
    fn offsets() {
        check("UTC", local(2026, 1, 1, 0, 0), Some(0.0));
        check("+08:00", local(2026, 1, 1, 0, 0), Some(8.0));
        check("-03:30", local(2026, 6, 1, 0, 0), Some(-3.5));
        check("Asia/Shanghai", local(2026, 6, 1, 0, 0), Some(8.0));
        check("Asia/Shanghai", local(1991, 9, 10, 12, 0), Some(9.0));
        check("America/St_Johns", local(2026, 6, 15, 12, 0), Some(-2.5));
    }

    #[test]
    fn gaps_fail_and_overlaps_take_the_earlier() {
        check("Europe/London", local(2026, 3, 29, 0, 59), Some(0.0));
        check("Europe/London", local(2026, 3, 29, 1, 0), None);
        check("Europe/London", local(2026, 3, 29, 1, 59), None);
        check("Europe/London", local(2026, 3, 29, 2, 0), Some(1.0));
        check("America/New_York", local(2026, 11, 1, 0, 59), Some(-4.0));
        check("America/New_York", local(2026, 11, 1, 1, 30), Some(-4.0));
        check("America/New_York", local(2026, 11, 1, 2, 0), Some(-5.0));
        let zone = Zone::compile("Europe/London").unwrap();
        let gap = local(2026, 3, 29, 1, 30);
        assert_eq!(zone.to_utc_over_gaps(gap), Some(gap));
    }

    #[test]
    fn unknown_zones_are_refused_with_help() {
        let error = Zone::compile("Asia/Shanghia").unwrap_err();
        assert_eq!(error.format, usize::MAX);
        assert_eq!(error.message, "unknown time zone `Asia/Shanghia`");
        assert_eq!(error.help.as_deref(), Some("did you mean `Asia/Shanghai`?"));
        assert!(Zone::compile("").is_err() && Zone::compile("+8").is_err());
    }

    proptest! {
        #[test]
        fn the_cache_changes_nothing(
            times in proptest::collection::vec(-3_000_000_000i64..5_000_000_000, 1..40),
            zone in 0..chrono_tz::TZ_VARIANTS.len(),
        ) {
            let Zone::Named(named) = Zone::named(chrono_tz::TZ_VARIANTS[zone]) else {
                unreachable!("a named zone is named")
            };
            for time in times {
                for near in [time, time + 3600, time + 7 * 3600, time + 13 * 3600, time] {
                    prop_assert_eq!(named.offset_of_local(near), named.search(near));
                }
            }
        }

        #[test]
        fn packing(day in -(1i64 << 43)..(1 << 43), offset in -100_000i32..100_000) {
            let packed = pack(day, offset).unwrap();
            prop_assert_eq!(unpack(packed, day), Some(offset));
            prop_assert_eq!(unpack(packed, day + 1), None);
        }
    }
}
