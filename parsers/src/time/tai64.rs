//! `TAI64N`: `@4000000069b29f1c00000000`, as daemontools' multilog writes it.
//!
//! Invariant: exactly 24 hexadecimal digits, of which the first 16 count seconds from 2^62 and the
//! last 8 nanoseconds. Next on the trip: [`super::TimeParser`].

use super::Instant;

/// The label of 1970-01-01T00:00:00 TAI.
const EPOCH_LABEL: u64 = 1 << 62;
/// What Logstash takes off: TAI was ahead of UTC by this at the epoch. Leap seconds since are not
/// known to it.
const TAI_SECONDS: i64 = 10;

/// Reads a label, with or without its `@`.
pub(super) fn parse(text: &str) -> Option<Instant> {
    let digits = text.strip_prefix('@').unwrap_or(text);
    if digits.len() != 24 || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let (seconds, nanos) = digits.split_at(16);
    let label = u64::from_str_radix(seconds, 16).ok()?;
    let nanos = u32::from_str_radix(nanos, 16).ok().filter(|nanos| *nanos < 1_000_000_000)?;
    // Above 2^63 labels are reserved.
    let seconds = i64::try_from(label).ok()? - EPOCH_LABEL as i64 - TAI_SECONDS;
    Some(Instant { seconds, nanos })
}
