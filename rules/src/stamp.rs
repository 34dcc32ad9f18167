//! Writes times as RFC 3339 with nine digits, quickly where many fall on one day.
//!
//! Invariant: exactly what `riverhog_parsers::time::write_rfc3339` writes. Next stop: `encode`.
use riverhog_parsers::time::write_rfc3339;

use crate::digits::PAIRS;

const DAY_NS: i64 = 86_400_000_000_000;
/// `2026-03-12T`
const DATE_BYTES: usize = 11;
/// `2026-03-12T02:23:45.123000000Z`
const STAMP_BYTES: usize = 30;

/// Remembers the time it wrote last and changes only the digits that differ: the calendar is the
/// expensive part, and lines that follow each other mostly share the second too.
#[derive(Debug)]
pub(crate) struct Stamp {
    day: i64,
    second: u32,
    sub_millis: u32,
    text: [u8; STAMP_BYTES],
}

impl Default for Stamp {
    fn default() -> Stamp {
        // No time that fits in an i64 lies on this day.
        Stamp { day: i64::MAX, second: 0, sub_millis: 0, text: [0; STAMP_BYTES] }
    }
}

impl Stamp {
    /// Appends the time.
    pub(crate) fn write(&mut self, out: &mut Vec<u8>, epoch_ns: i64) {
        let day = epoch_ns.div_euclid(DAY_NS);
        let of_day = epoch_ns.rem_euclid(DAY_NS) as u64;
        let (second, nanos) = ((of_day / 1_000_000_000) as u32, (of_day % 1_000_000_000) as u32);
        let (millis, sub_millis) = (nanos / 1_000_000, nanos % 1_000_000);
        if day != self.day {
            let start = out.len();
            write_rfc3339(out, epoch_ns);
            if let Ok(text) = out[start..].try_into() {
                *self = Stamp { day, second, sub_millis, text };
            }
            return;
        }
        if second != self.second {
            self.second = second;
            self.put_pair(DATE_BYTES, second / 3600);
            self.put_pair(DATE_BYTES + 3, second / 60 % 60);
            self.put_pair(DATE_BYTES + 6, second % 60);
        }
        if sub_millis != self.sub_millis {
            self.sub_millis = sub_millis;
            self.put_pair(DATE_BYTES + 12, sub_millis / 10_000);
            self.put_pair(DATE_BYTES + 14, sub_millis / 100 % 100);
            self.put_pair(DATE_BYTES + 16, sub_millis % 100);
        }
        self.text[DATE_BYTES + 9] = b'0' + (millis / 100) as u8;
        self.put_pair(DATE_BYTES + 10, millis % 100);
        out.extend_from_slice(&self.text);
    }

    fn put_pair(&mut self, place: usize, number: u32) {
        self.text[place..place + 2].copy_from_slice(&PAIRS[number as usize]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_time_is_written_as_without_memory(
            start in any::<i64>(),
            steps in proptest::collection::vec(
                prop_oneof![0..2 * DAY_NS, 0..2_000_000_i64, Just(1_000_000), Just(1_000_000_000)],
                1..8,
            ),
        ) {
            let mut stamp = Stamp::default();
            let mut time = start;
            for step in steps {
                let (mut found, mut expect) = (Vec::new(), Vec::new());
                stamp.write(&mut found, time);
                write_rfc3339(&mut expect, time);
                prop_assert_eq!(found, expect);
                time = time.wrapping_add(step);
            }
        }
    }
}
