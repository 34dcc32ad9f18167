//! The state of each destination (sink × index or bucket): open or halted. A halted destination
//! takes no lines: they are given up to be read again, all other destinations flow on, and a slow
//! probe finds out when it is cured. After `halt_after` its lines go to the dead letters instead.
//!
//! Invariant: giving up and the end of a halt happen under one lock, so that no line is given up
//! after the cure was told. Next stop: [`crate::driver`], which reads partitions again.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::time::Instant;

use super::{Cured, SinkContext};
use crate::clock;
use crate::generation::Generation;

/// The destination that stands for all of a sink: wrong credentials, a broken certificate.
pub const WHOLE_SINK: &str = "*";

/// Why a destination is halted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Halt {
    /// A closed word for metrics: `unauthorised`, `forbidden`, `not_found`, `blocked`, `tls`, ….
    pub reason: &'static str,
    /// What the store said.
    pub detail: String,
}

/// What becomes of a line by the state of its destination.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fate {
    /// It is sent.
    Open,
    /// It was given up, to be read again.
    GivenUp,
    /// It goes to the dead letters: its destination has been halted for too long.
    Divert(Halt),
}

/// One halted destination.
#[derive(Debug)]
struct Halted {
    halt: Halt,
    since: Instant,
    is_diverted: bool,
}

/// The halted destinations of one sink.
#[derive(Debug, Default)]
pub struct Destinations {
    halted: Mutex<BTreeMap<String, Halted>>,
}

impl Destinations {
    /// Halts a destination, or keeps it halted with a newer reason. True when it was open.
    pub fn halt(&self, context: &SinkContext, destination: &str, halt: Halt) -> bool {
        let mut halted = self.halted();
        let before = halted.get(destination).map(|it| &it.halt);
        if before.is_none_or(|before| before.reason != halt.reason) {
            tracing::error!(
                sink = &*context.name, destination, reason = halt.reason, detail = %halt.detail,
                "destination halted: its lines stay unsettled until it is cured"
            );
            if let Some(before) = before {
                context.show_halt(destination, before, false);
            }
            context.show_halt(destination, &halt, true);
        }
        if let Some(known) = halted.get_mut(destination) {
            known.halt = halt;
            return false;
        }
        let entry = Halted { halt, since: clock::instant(), is_diverted: false };
        halted.insert(destination.to_owned(), entry);
        true
    }

    /// What becomes of a line. When it is given up, that is noted in its generation.
    pub fn fate(&self, context: &SinkContext, generation: &Generation, destination: &str) -> Fate {
        let halted = self.halted();
        let whole = halted.get_key_value(WHOLE_SINK);
        let Some((name, entry)) = whole.or_else(|| halted.get_key_value(destination)) else {
            return Fate::Open;
        };
        if entry.is_diverted {
            return Fate::Divert(entry.halt.clone());
        }
        if context.rules.halted_lines_stay_unsettled {
            generation.give_up(context.number, name);
        }
        Fate::GivenUp
    }

    /// Waits until a destination has been halted for `halt_after`; from then on its lines go to the
    /// dead letters, and the driver is told to read those again that were given up. Returns at once
    /// where nothing is diverted, and when the destination is cured before.
    pub async fn divert_in_time(&self, context: &SinkContext, destination: &str) {
        let Some(after) = context.halt_after else { return };
        let since = self.halted().get(destination).map(|it| it.since);
        let Some(since) = since else { return };
        tokio::time::sleep_until(since + after).await;
        let reason = {
            let mut halted = self.halted();
            // A halt that came after a cure has a task of its own.
            let this = halted.get_mut(destination).filter(|it| it.since == since);
            let Some(entry) = this.filter(|it| !it.is_diverted) else { return };
            entry.is_diverted = true;
            entry.halt.reason
        };
        tracing::error!(
            sink = &*context.name,
            destination,
            reason,
            halt_after_s = after.as_secs(),
            "halted for too long: its lines go to the dead letters until it is cured"
        );
        self.tell(context, destination).await;
    }

    /// True while nothing is halted; cheap enough for a look per request.
    pub fn all_open(&self) -> bool {
        self.halted().is_empty()
    }

    /// Why a destination is halted.
    pub fn halt_of(&self, destination: &str) -> Option<Halt> {
        self.halted().get(destination).map(|it| it.halt.clone())
    }

    /// The destination works again: the driver is told, and reads what was given up.
    pub async fn cure(&self, context: &SinkContext, destination: &str) {
        let removed = self.halted().remove(destination);
        let Some(Halted { halt, .. }) = removed else { return };
        tracing::info!(sink = &*context.name, destination, "destination works again");
        context.show_halt(destination, &halt, false);
        self.tell(context, destination).await;
    }

    async fn tell(&self, context: &SinkContext, destination: &str) {
        let cured = Cured { sink: context.number, destination: destination.to_owned() };
        if context.cured.send(cured).await.is_err() {
            tracing::debug!("the driver has gone");
        }
    }

    fn halted(&self) -> MutexGuard<'_, BTreeMap<String, Halted>> {
        self.halted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
