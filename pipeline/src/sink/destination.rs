//! The state of each destination (sink × index or bucket): open or halted. A halted destination
//! takes no lines: they are given up to be read again, all other destinations flow on, and a slow
//! probe finds out when it is cured.
//!
//! Invariant: giving up and the end of a halt happen under one lock, so that no line is given up
//! after the cure was told. Next stop: [`crate::driver`], which reads partitions again.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use super::{Cured, SinkContext};
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

/// The halted destinations of one sink.
#[derive(Debug, Default)]
pub struct Destinations {
    halted: Mutex<BTreeMap<String, Halt>>,
}

impl Destinations {
    /// Halts a destination, or keeps it halted with a newer reason. True when it was open.
    pub fn halt(&self, context: &SinkContext, destination: &str, halt: Halt) -> bool {
        let mut halted = self.halted.lock().unwrap_or_else(PoisonError::into_inner);
        let is_new = match halted.get(destination) {
            None => true,
            Some(before) => before.reason != halt.reason,
        };
        if is_new {
            tracing::error!(
                sink = &*context.name, destination, reason = halt.reason, detail = %halt.detail,
                "destination halted: its lines stay unsettled until it is cured"
            );
            if let Some(before) = halted.get(destination) {
                context.show_halt(destination, before, false);
            }
            context.show_halt(destination, &halt, true);
        }
        halted.insert(destination.to_owned(), halt).is_none()
    }

    /// When the destination is halted, notes in the generation that a line of it is given up, and
    /// answers true.
    pub fn give_up_if_halted(
        &self,
        context: &SinkContext,
        generation: &Generation,
        destination: &str,
    ) -> bool {
        let halted = self.halted.lock().unwrap_or_else(PoisonError::into_inner);
        let whole = halted.contains_key(WHOLE_SINK);
        if !whole && !halted.contains_key(destination) {
            return false;
        }
        if context.rules.halted_lines_stay_unsettled {
            generation.give_up(context.number, if whole { WHOLE_SINK } else { destination });
        }
        true
    }

    /// True while nothing is halted; cheap enough for a look per request.
    pub fn all_open(&self) -> bool {
        self.halted.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// The halted destinations with their reasons.
    pub fn halted(&self) -> Vec<(String, Halt)> {
        let halted = self.halted.lock().unwrap_or_else(PoisonError::into_inner);
        halted.iter().map(|(name, halt)| (name.clone(), halt.clone())).collect()
    }

    /// The destination works again: the driver is told, and reads what was given up.
    pub async fn cure(&self, context: &SinkContext, destination: &str) {
        let removed = {
            let mut halted = self.halted.lock().unwrap_or_else(PoisonError::into_inner);
            halted.remove(destination)
        };
        let Some(halt) = removed else { return };
        tracing::info!(sink = &*context.name, destination, "destination works again");
        context.show_halt(destination, &halt, false);
        let cured = Cured { sink: context.number, destination: destination.to_owned() };
        if context.cured.send(cured).await.is_err() {
            tracing::debug!("the driver has gone");
        }
    }
}
