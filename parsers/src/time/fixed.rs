//! The usual shape of a format, `yyyy-MM-dd HH:mm:ss,SSS`, at fixed positions.
//!
//! Invariant: accepts nothing that the items would read otherwise; a text of any other shape goes
//! to them. Next on the trip: [`super::format`].

use super::civil::{SECONDS_PER_DAY, days_from_civil, fraction_nanos};
use super::fields::date;
use super::format::{Item, Part};

/// `yyyy-MM-dd HH:mm:ss` with any one-byte separators, and a fraction after it or none.
#[derive(Debug)]
pub(super) struct FixedShape {
    separators: [u8; 5],
    /// The byte before the fraction, and the most digits that may follow it.
    fraction: Option<(u8, usize)>,
}

/// Positions of the separators in the nineteen bytes.
const SEPARATORS_AT: [usize; 5] = [4, 7, 10, 13, 16];
const FIXED_BYTES: usize = 19;

impl FixedShape {
    pub(super) fn of(items: &[Item]) -> Option<FixedShape> {
        use Part::{Day, Hour, Minute, Month, Second, Year};
        let byte = |index: usize| match items.get(index) {
            Some(Item::Literal(text)) if text.len() == 1 => Some(text.as_bytes()[0]),
            _ => None,
        };
        let mut separators = [0; 5];
        for (index, part) in [Year, Month, Day, Hour, Minute, Second].into_iter().enumerate() {
            match items.get(index * 2)? {
                Item::Number { part: found, .. } if *found == part => {}
                _ => return None,
            }
            if index < 5 {
                // Letters compare in any case, signs and digits would change how numbers read.
                separators[index] = byte(index * 2 + 1)
                    .filter(|byte| !byte.is_ascii_alphanumeric() || *byte == b'T')?;
            }
        }
        let fraction = match &items[11..] {
            [] => None,
            [Item::Literal(_), Item::Fraction { digits_max }] => Some((byte(11)?, *digits_max)),
            _ => return None,
        };
        Some(FixedShape { separators, fraction })
    }

    /// Local seconds and nanoseconds; `None` sends the text to the items.
    pub(super) fn parse(&self, bytes: &[u8]) -> Option<(i64, u32)> {
        let (fixed, rest) = bytes.split_first_chunk::<FIXED_BYTES>()?;
        if !SEPARATORS_AT.iter().zip(self.separators).all(|(at, separator)| fixed[*at] == separator)
        {
            return None;
        }
        let nanos = match (self.fraction, rest) {
            (None, []) => 0,
            (Some((point, digits_max)), [first, digits @ ..]) if *first == point => {
                if digits.is_empty()
                    || digits.len() > digits_max.min(9)
                    || !digits.iter().all(u8::is_ascii_digit)
                {
                    return None;
                }
                fraction_nanos(digits)
            }
            _ => return None,
        };
        Some((fixed_local_seconds(fixed)?, nanos))
    }
}

/// Local seconds of `yyyy?MM?dd?HH?mm?ss`, whatever the separators; `None` unless all else is
/// digits and the date and the time of day exist.
pub(super) fn fixed_local_seconds(fixed: &[u8; FIXED_BYTES]) -> Option<i64> {
    let [to_month, day_to_minute, to_second] = [0, 8, 11].map(|at| {
        let mut word = [0; 8];
        word.copy_from_slice(&fixed[at..at + 8]);
        u64::from_le_bytes(word)
    });
    let to_month = pairs(to_month, 0x00ff_ff00_ffff_ffff)?;
    let day_to_minute = pairs(day_to_minute, 0xffff_00ff_ff00_ffff)?;
    let to_second = pairs(to_second, 0xffff_0000_0000_0000)?;
    let at = |pairs: u64, index: usize| u32::from(pairs.to_le_bytes()[index]);
    let year = i64::from(at(to_month, 0) * 100 + at(to_month, 2));
    let (month, day) = (at(to_month, 5), at(day_to_minute, 0));
    let (hour, minute, second) = (at(day_to_minute, 3), at(day_to_minute, 6), at(to_second, 6));
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    // Every month has 28 days; the other days ask for the month's length.
    let days = if (1..=28).contains(&day) && (1..=12).contains(&month) {
        days_from_civil(year, month, day)
    } else {
        date(year, month, day)?
    };
    Some(days * SECONDS_PER_DAY + i64::from(hour * 3600 + minute * 60 + second))
}

/// Eight bytes at once: where two digits stand side by side, their number is at the place of the
/// first. `None` unless all bytes that `mask` leaves are digits.
fn pairs(word: u64, mask: u64) -> Option<u64> {
    const EACH: u64 = u64::MAX / 255;
    let digits = (word ^ (EACH * u64::from(b'0'))) & mask;
    // Above nine the high bit is set, or sets itself here; the lowest such byte is right, and one
    // is enough.
    let above = (digits.wrapping_add(EACH * (0x80 - 10)) | digits) & (EACH * 0x80);
    (above == 0).then(|| (digits * 10).wrapping_add(digits >> 8))
}
