//! A share of events or streams, decided by a hash.
//!
//! Invariant: the same text is in the same share on every machine and in every run. Next stop:
//! `transform/steps/choose`.
use twox_hash::XxHash3_64;

/// Shares are counted in millionths.
const WHOLE: u64 = 1_000_000;

/// A share from nothing to everything.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Share {
    millionths: u64,
}

impl Share {
    /// Everything.
    pub const ALL: Share = Share { millionths: WHOLE };

    /// Reads a percentage, `90%` or `0.5%`, with at most four digits behind the point.
    pub fn parse(text: &str) -> Option<Share> {
        let (whole, fraction) = match text.strip_suffix('%')?.trim_end().split_once('.') {
            Some((whole, fraction)) if !fraction.is_empty() => (whole, fraction),
            Some(_) => return None,
            None => (text.strip_suffix('%')?.trim_end(), ""),
        };
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if whole.is_empty() || fraction.len() > 4 || !digits(whole) || !digits(fraction) {
            return None;
        }
        let whole: u64 = whole.parse().ok().filter(|whole| *whole <= 100)?;
        let fraction: u64 = format!("{fraction:0<4}").parse().ok()?;
        let millionths = whole * 10_000 + fraction;
        (millionths <= WHOLE).then_some(Share { millionths })
    }

    /// Whether `part` of `whole` is more than the share.
    pub fn is_exceeded_by(self, part: u64, whole: u64) -> bool {
        u128::from(part) * u128::from(WHOLE) > u128::from(whole) * u128::from(self.millionths)
    }

    /// Whether a hash of [`Hasher`] falls into the share.
    pub(crate) fn has(self, hash: u64) -> bool {
        hash % WHOLE < self.millionths
    }
}

/// Hashes values so that neighbours cannot look like one another, the same everywhere: decisions
/// depend on it.
pub(crate) struct Hasher(u64);

/// What an absent value counts as.
const ABSENT: u64 = 0x9e37_79b9_7f4a_7c15;

impl Hasher {
    /// With a salt, so that two steps decide independently.
    pub(crate) fn new(salt: &str) -> Hasher {
        Hasher(XxHash3_64::oneshot(salt.as_bytes()))
    }

    /// Each value is hashed under the hash of those before it, so that no two of them run together.
    pub(crate) fn push(&mut self, value: Option<&[u8]>) {
        self.0 = match value {
            Some(value) => XxHash3_64::oneshot_with_seed(self.0, value),
            None => self.0.rotate_left(17) ^ ABSENT,
        };
    }

    pub(crate) fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expect: Option<u64>) {
        assert_eq!(Share::parse(text).map(|share| share.millionths), expect, "{text}");
    }

    #[test]
    fn percentages_are_read() {
        check("90%", Some(900_000));
        check("0.5 %", Some(5_000));
        check("0.0001%", Some(1));
        check("100%", Some(1_000_000));
        check("0%", Some(0));
        check("100.0001%", None);
        check("101%", None);
        check("0.00001%", None);
        check("-1%", None);
        check("1.%", None);
        check(".5%", None);
        check("90", None);
        check("%", None);
    }

    #[test]
    fn a_share_is_that_share() {
        let share = Share::parse("12.5%").unwrap();
        let held = (0..80_000_u32).filter(|number| {
            let mut hasher = Hasher::new("step");
            hasher.push(Some(&number.to_le_bytes()));
            share.has(hasher.finish())
        });
        let held = held.count();
        assert!((9_600..=10_400).contains(&held), "{held}");
    }

    #[test]
    fn neighbours_differ_and_hashes_are_for_ever() {
        let hash = |values: &[Option<&[u8]>]| {
            let mut hasher = Hasher::new("");
            for value in values {
                hasher.push(*value);
            }
            hasher.finish()
        };
        assert_ne!(hash(&[Some(b"ab"), Some(b"c")]), hash(&[Some(b"a"), Some(b"bc")]));
        assert_ne!(hash(&[None]), hash(&[Some(b"")]));
    }
}
