//! The binary against real services that fail: gone for a while, refusing one document in a
//! thousand, refusing a whole destination, topics and clusters that only look like the ones before.
//!
//! The invariant of each test: every line that was produced stands in each store it was routed to,
//! exactly once, or in the dead letters with the store's reason; whatever the fault, other
//! destinations flow on. Next stop: `place.rs`, what the tests share.

mod compare;
mod divert;
mod halts;
mod mapping;
mod memory;
mod outages;
mod place;
mod redrive;
mod topics;
