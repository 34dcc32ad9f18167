//! What the process tells about itself: [`metrics`] for Prometheus, [`health`] for whoever restarts
//! it, and [`unparsed`] for whoever writes parsers, all served by [`http`], and the log on standard
//! error by [`log`]. The log's lines pass [`repeats`] (a storm of equal messages becomes a count)
//! and [`escape`] (nothing in log data moves a terminal's cursor).
//!
//! Invariant: telemetry decides nothing about a line and never waits for a peer; it may be lost
//! without losing a line. Next stop: none, the trip does not pass here.

pub mod escape;
pub mod health;
pub mod http;
pub mod log;
pub mod metrics;
pub mod repeats;
pub mod unparsed;
