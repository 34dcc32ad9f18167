//! How far the broker's log reaches beyond what was read, told about once a second. The lag in
//! lines and seconds is the driver's to compute.
//!
//! Invariant: telling it costs no request; the broker is asked only every few seconds, for
//! partitions that are not fetched and whose cached end grows old. Off the trip.

use tokio::time::Instant;

use super::reader::{Active, Reader};
use crate::source::SourceEvent;

impl Reader {
    /// Tells every partition's end. What finds no room in the channel is told a second later.
    pub(super) fn tell_ends(&mut self) {
        for active in &mut self.active {
            let partition = &active.partition;
            let cached = active.queue.cached_end(&partition.topic, partition.number);
            active.end_offset = newest(cached, active.end_offset);
            if active.end_offset < 0 || !self.outbox.is_empty() {
                continue;
            }
            let (partition, end_offset) = (partition.clone(), active.end_offset);
            if self.events.try_send(SourceEvent::End { partition, end_offset }).is_err() {
                return;
            }
        }
    }
}

/// An end never falls while a topic lives: of two answers the higher is the newer one.
pub(super) fn newest(told: Option<i64>, known: i64) -> i64 {
    told.unwrap_or(-1).max(known)
}

/// True at most once in an interval.
pub(super) fn due(last: &mut Instant, now: Instant, interval: std::time::Duration) -> bool {
    if now.duration_since(*last) < interval {
        return false;
    }
    *last = now;
    true
}

impl Active {
    /// Where the batch in hand leaves the partition: next offset, and its end as known.
    pub(super) fn ends(&self) -> (i64, i64) {
        let next = self.cursor.next_offset;
        // What was read exists, however old the last answer about the end is.
        (next, if self.end_offset < 0 { -1 } else { self.end_offset.max(next) })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::clock;

    #[test]
    fn the_higher_end_is_the_newer() {
        assert_eq!(newest(None, -1), -1);
        assert_eq!(newest(Some(5), -1), 5);
        assert_eq!(newest(Some(5), 7), 7);
    }

    #[test]
    fn an_interval_is_due_once() {
        let start = clock::instant();
        let mut last = start;
        assert!(!due(&mut last, start + Duration::from_millis(999), Duration::from_secs(1)));
        assert!(due(&mut last, start + Duration::from_secs(1), Duration::from_secs(1)));
        assert!(!due(&mut last, start + Duration::from_secs(1), Duration::from_secs(1)));
    }
}
