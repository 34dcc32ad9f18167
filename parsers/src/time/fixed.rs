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
    let two = |at: usize| {
        let (tens, ones) = (fixed[at].wrapping_sub(b'0'), fixed[at + 1].wrapping_sub(b'0'));
        (tens <= 9 && ones <= 9).then(|| u32::from(tens) * 10 + u32::from(ones))
    };
    let year = i64::from(two(0)? * 100 + two(2)?);
    let (month, day) = (two(5)?, two(8)?);
    let (hour, minute, second) = (two(11)?, two(14)?, two(17)?);
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
