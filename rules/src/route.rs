//! Routes: an event goes to the union of the sinks of all routes whose condition holds.
//!
//! Invariant: the mask of a route names targets of the plan only; which routes hold depends on the
//! event alone. Next stop: `transform`, which turns the mask into destinations.
use crate::condition::Condition;

/// One route.
#[derive(Clone, Debug, Default)]
pub struct Route {
    /// A name for messages and metrics.
    pub name: Option<String>,
    /// Which events it takes; all where it is `None`.
    pub when: Option<Condition>,
    /// One bit for each target of the plan, the lowest for the first.
    pub sinks: u64,
}

impl Route {
    /// True when it takes every event and sends it somewhere.
    pub fn is_always(&self) -> bool {
        self.sinks != 0 && self.when.as_ref().is_none_or(Condition::is_always)
    }
}
