//! Watches one partition: what holds its watermark, and whether anything moves at all.
//!
//! Invariant: it decides about no line; it says what an operator must know, once when it begins and
//! once when it is over. Next stop: the driver's observer, which asks it about once a second.

use std::time::Duration;

use tokio::time::Instant;

use crate::ledger::Holder;

/// How much of a partition has moved: the next offset to read, and how often something settled.
pub(crate) type Progress = (i64, u64);

/// What became of a partition since it was looked at last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Turn {
    /// Nothing that needs a word.
    None,
    /// It has stood still for too long.
    Stalls,
    /// It moves again, after so long.
    Moves(Duration),
}

/// See the module documentation.
#[derive(Debug)]
pub(crate) struct Watch {
    progress: Progress,
    moved_at: Instant,
    is_stalled: bool,
}

impl Watch {
    pub(crate) fn new(progress: Progress, now: Instant) -> Watch {
        Watch { progress, moved_at: now, is_stalled: false }
    }

    /// A look: `has_lag` when there is something to do, `limit` how long it may take until
    /// something of it moves.
    pub(crate) fn look(
        &mut self,
        progress: Progress,
        has_lag: bool,
        now: Instant,
        limit: Duration,
    ) -> Turn {
        let stood = now.saturating_duration_since(self.moved_at);
        if progress != self.progress || !has_lag {
            (self.progress, self.moved_at) = (progress, now);
            return if std::mem::take(&mut self.is_stalled) {
                Turn::Moves(stood)
            } else {
                Turn::None
            };
        }
        if self.is_stalled || stood < limit {
            return Turn::None;
        }
        self.is_stalled = true;
        Turn::Stalls
    }

    /// True from [`Turn::Stalls`] until [`Turn::Moves`].
    pub(crate) fn is_stalled(&self) -> bool {
        self.is_stalled
    }
}

impl Holder {
    /// The word in metrics and in the log; `halted` where lines of that sink were given up.
    pub(crate) fn reason(self, is_halted: bool) -> &'static str {
        match self {
            Holder::Nothing => "source",
            Holder::Unrouted => "transform",
            Holder::Open => "joining",
            Holder::Sink(_) if is_halted => "halted",
            Holder::Sink(_) => "sink",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock;

    #[test]
    fn a_stall_is_told_once_and_so_is_its_end() {
        let (start, limit) = (clock::instant(), Duration::from_secs(100));
        let mut watch = Watch::new((0, 0), start);
        let mut check = |progress, has_lag, second, expect| {
            let now = start + Duration::from_secs(second);
            assert_eq!(watch.look(progress, has_lag, now, limit), expect, "at {second}");
        };
        check((0, 0), true, 99, Turn::None);
        check((0, 1), true, 100, Turn::None);
        check((0, 1), true, 199, Turn::None);
        check((0, 1), true, 200, Turn::Stalls);
        check((0, 1), true, 900, Turn::None);
        check((5, 1), true, 950, Turn::Moves(Duration::from_secs(850)));
        check((5, 1), true, 1040, Turn::None);
        // Nothing to do is no stall.
        check((5, 1), false, 1060, Turn::None);
        check((5, 1), true, 1150, Turn::None);
        check((5, 1), true, 1160, Turn::Stalls);
        check((5, 1), false, 1170, Turn::Moves(Duration::from_secs(110)));
    }
}
