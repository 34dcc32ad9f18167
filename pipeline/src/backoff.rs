//! How long to wait before the next try: exponential, with full jitter, so that many writers do
//! not come back in step. Invariant: a wait the server asked for (`Retry-After`) is never undercut.
//!
//! Off the trip: sinks and sources use it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Seeds of backoffs in one process: each gets its own sequence, reproducible in the simulation.
#[derive(Debug)]
pub struct Jitter(AtomicU64);

impl Jitter {
    /// A source of jitter from a seed.
    pub fn new(seed: u64) -> Jitter {
        Jitter(AtomicU64::new(seed | 1))
    }

    /// A number that looks random (splitmix64 over a counter).
    pub fn next(&self) -> u64 {
        let mut state = self.0.fetch_add(0x9E37_79B9_7F4A_7C15, Ordering::Relaxed);
        state = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        state = (state ^ (state >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        state ^ (state >> 31)
    }
}

/// One sequence of waits.
#[derive(Debug, Clone)]
pub struct Backoff {
    base: Duration,
    max: Duration,
    attempt: u32,
}

impl Backoff {
    /// Waits from `base`, doubled each time, up to `max`.
    pub fn new(base: Duration, max: Duration) -> Backoff {
        Backoff { base, max, attempt: 0 }
    }

    /// The next wait; at least `asked` when the server named one (at most five minutes of it).
    pub fn next(&mut self, jitter: &Jitter, asked: Option<Duration>) -> Duration {
        let ceiling = self.base.saturating_mul(1 << self.attempt.min(16)).min(self.max);
        self.attempt = self.attempt.saturating_add(1);
        let nanos = ceiling.as_nanos().min(u128::from(u64::MAX)) as u64;
        let half = nanos / 2;
        let wait = Duration::from_nanos(half + jitter.next() % (half + 1));
        asked.map_or(wait, |asked| wait.max(asked.min(Duration::from_mins(5))))
    }

    /// Tries so far.
    pub fn attempts(&self) -> u32 {
        self.attempt
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_to_the_ceiling_and_keep_what_was_asked() {
        let jitter = Jitter::new(7);
        let mut backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(5));
        for _ in 0..40 {
            let wait = backoff.next(&jitter, None);
            assert!(wait >= Duration::from_millis(50) && wait <= Duration::from_secs(5));
        }
        assert!(backoff.next(&jitter, None) >= Duration::from_millis(2500));
        let asked = backoff.next(&jitter, Some(Duration::from_secs(9)));
        assert_eq!(asked, Duration::from_secs(9));
    }
}
