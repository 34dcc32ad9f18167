//! The one file that asks for the time. Everything on the trip takes time as an argument; what
//! decides about an event uses record time only (see `docs/delivery.md`).
//!
//! Invariant: no other file of the project calls `SystemTime::now` or `Instant::now`. Tokio's
//! paused clock in the simulation stands still for these two, so they serve telemetry and start
//! positions, never a delivery decision.

use std::sync::LazyLock;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Milliseconds since the epoch, by the wall clock.
#[allow(clippy::disallowed_methods)]
pub fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// Nanoseconds since this was first called, never backwards: for spans of less than a microsecond.
/// Follows no paused clock.
#[allow(clippy::disallowed_methods)]
pub fn ticks_ns() -> u64 {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    u64::try_from(START.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

/// A point for measuring spans; follows tokio's clock, so that paused tests see paused time.
pub fn instant() -> tokio::time::Instant {
    tokio::time::Instant::now()
}
