//! What `/health/live` and `/health/ready` answer. Ready means: lines flow as far as this process
//! can see to it. A halted destination is told in the body and does not make the process unready:
//! a restart would not cure it, and the other destinations flow on.
//!
//! Invariant: 503 is for no broker or input, before the first assignment, and for stopping or a
//! fatal error; nothing a store does makes the process unready. Next stop: [`super::http`].

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use chrono::{DateTime, SecondsFormat};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::escape::escape_control;
use crate::clock;

/// Most halted destinations listed in a body; `halted_count` tells all of them.
const HALTED_LISTED_MAX: usize = 100;

/// Most characters of a store's words that are repeated in a body.
const DETAIL_CHARS_MAX: usize = 500;

/// The state of the process as its keeper sees it. Clones share it.
#[derive(Clone, Debug)]
pub struct Health {
    state: Arc<Mutex<State>>,
    started: Instant,
}

#[derive(Debug, Default)]
struct State {
    /// No source reads from a broker.
    without_broker: bool,
    connected: bool,
    assigned: bool,
    stopping: bool,
    fatal: Option<String>,
    /// By sink and destination.
    halted: BTreeMap<(String, String), Halted>,
}

#[derive(Debug)]
struct Halted {
    reason: String,
    detail: String,
    since_ms: i64,
}

impl Default for Health {
    fn default() -> Self {
        Self::new()
    }
}

impl Health {
    /// A process that starts now: not connected, nothing assigned.
    pub fn new() -> Health {
        Health { state: Arc::default(), started: clock::instant() }
    }

    /// Says that all sources are files or standard input, so that what is waited for has its name.
    pub fn set_without_broker(&self, without_broker: bool) {
        self.state().without_broker = without_broker;
    }

    /// Whether a broker is reached, or the input is open.
    pub fn set_connected(&self, connected: bool) {
        self.state().connected = connected;
    }

    /// An assignment came. It may be empty (more members than partitions), and what a rebalance
    /// takes away later does not make the process unready: `false` changes nothing.
    pub fn set_assigned(&self, assigned: bool) {
        self.state().assigned |= assigned;
    }

    /// The process takes no more lines and is about to end.
    pub fn set_stopping(&self) {
        self.state().stopping = true;
    }

    /// The process cannot go on, and why. The first reason is kept.
    pub fn set_fatal(&self, reason: &str) {
        self.state().fatal.get_or_insert_with(|| shorten(reason));
    }

    /// A destination is halted, or no longer for this reason. Halting it again for another reason
    /// keeps the time of the first.
    pub fn set_halted(
        &self,
        sink: &str,
        destination: &str,
        reason: &str,
        detail: &str,
        halted: bool,
    ) {
        self.set_halted_at(sink, destination, reason, halted.then_some(detail), clock::now_ms());
    }

    /// As [`Health::set_halted`], with the time; no `detail` means cured.
    fn set_halted_at(
        &self,
        sink: &str,
        destination: &str,
        reason: &str,
        detail: Option<&str>,
        now_ms: i64,
    ) {
        let key = (sink.to_owned(), destination.to_owned());
        let mut state = self.state();
        let known = state.halted.get(&key);
        if let Some(detail) = detail {
            let since_ms = known.map_or(now_ms, |known| known.since_ms);
            let halted = Halted { reason: reason.to_owned(), detail: shorten(detail), since_ms };
            state.halted.insert(key, halted);
        } else if known.is_some_and(|known| known.reason == reason) {
            state.halted.remove(&key);
        }
    }

    /// No destination is halted any more, as far as is known: the sinks are new.
    pub fn forget_halted(&self) {
        self.state().halted.clear();
    }

    /// Status code and body of `/health/ready`: 200 or 503.
    pub fn ready(&self) -> (u16, Value) {
        let state = self.state();
        let unready = state.unready();
        let mut body = match unready {
            None => json!({ "status": "ready" }),
            Some((reason, detail)) => {
                json!({ "status": "not_ready", "reason": reason, "detail": detail })
            }
        };
        let listed = state.halted.iter().take(HALTED_LISTED_MAX);
        body["halted_count"] = state.halted.len().into();
        body["halted"] = listed
            .map(|((sink, destination), halted)| {
                json!({
                    "sink": sink,
                    "destination": destination,
                    "reason": halted.reason,
                    "detail": halted.detail,
                    "since": rfc3339(halted.since_ms),
                })
            })
            .collect();
        (if unready.is_none() { 200 } else { 503 }, body)
    }

    /// Status code and body of `/health/live`: 200 for as long as the process can answer.
    pub fn live(&self) -> (u16, Value) {
        let body = json!({
            "status": "live",
            "version": env!("CARGO_PKG_VERSION"),
            "uptime_seconds": clock::instant().duration_since(self.started).as_secs(),
        });
        (200, body)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Why the process is not ready: a closed word, and a sentence.
    fn unready(&self) -> Option<(&'static str, &str)> {
        if let Some(fatal) = &self.fatal {
            Some(("fatal", fatal))
        } else if self.stopping {
            Some(("stopping", "the process takes no more lines and is about to end"))
        } else if !self.connected && self.without_broker {
            Some((
                "no_input",
                "the input is not open yet; a pipe waits until something writes to it",
            ))
        } else if !self.connected {
            Some(("no_broker", "no broker is reached; see brokers of the source and the log"))
        } else if !self.assigned {
            Some(("no_assignment", "the group has not assigned partitions to this process yet"))
        } else {
            None
        }
    }
}

/// The words of others, at a bounded length and harmless on a terminal.
fn shorten(text: &str) -> String {
    match text.char_indices().nth(DETAIL_CHARS_MAX) {
        None => escape_control(text).into_owned(),
        Some((end, _)) => format!("{}…", escape_control(&text[..end])),
    }
}

fn rfc3339(time_ms: i64) -> String {
    DateTime::from_timestamp_millis(time_ms)
        .unwrap_or_default()
        .to_rfc3339_opts(SecondsFormat::Secs, true)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(health: &Health, status: u16, reason: Option<&str>) {
        let (code, body) = health.ready();
        assert_eq!(code, status, "{body}");
        assert_eq!(body.get("reason").and_then(Value::as_str), reason, "{body}");
        assert_eq!(body["status"], if status == 200 { "ready" } else { "not_ready" }, "{body}");
    }

    fn ready() -> Health {
        let health = Health::new();
        health.set_connected(true);
        health.set_assigned(true);
        health
    }

    #[test]
    fn from_start_to_stop() {
        let health = Health::new();
        check(&health, 503, Some("no_broker"));
        health.set_connected(true);
        check(&health, 503, Some("no_assignment"));
        health.clone().set_assigned(true);
        check(&health, 200, None);
        // A rebalance that takes everything away is not a reason to send the probe away.
        health.set_assigned(false);
        check(&health, 200, None);
        health.set_connected(false);
        check(&health, 503, Some("no_broker"));
        health.set_connected(true);
        check(&health, 200, None);
        health.set_stopping();
        check(&health, 503, Some("stopping"));
        health.set_fatal("group is fenced");
        health.set_fatal("a later reason");
        check(&health, 503, Some("fatal"));
        assert_eq!(health.ready().1["detail"], "group is fenced");
        assert_eq!(health.live().0, 200);
    }

    #[test]
    fn a_halted_destination_is_told_and_leaves_the_process_ready() {
        let health = ready();
        assert_eq!(health.ready().1, json!({"status": "ready", "halted_count": 0, "halted": []}));
        health.set_halted_at("search", "logs-nlp", "forbidden", Some("403: read-only"), 1_000);
        check(&health, 200, None);
        let halted = json!([{
            "sink": "search",
            "destination": "logs-nlp",
            "reason": "forbidden",
            "detail": "403: read-only",
            "since": "1970-01-01T00:00:01Z",
        }]);
        assert_eq!(health.ready().1["halted"], halted);
        health.set_stopping();
        check(&health, 503, Some("stopping"));
        assert_eq!(health.ready().1["halted"], halted);
    }

    #[test]
    fn a_halt_ends_with_its_own_cure_only() {
        let health = ready();
        health.set_halted_at("search", "*", "unauthorised", Some("401"), 1_000);
        health.set_halted_at("search", "*", "tls", Some("expired"), 9_000);
        // The cure of the reason before comes late: the halt goes on.
        health.set_halted_at("search", "*", "unauthorised", None, 9_000);
        let halted = health.ready().1["halted"][0].clone();
        assert_eq!(halted["reason"], "tls");
        assert_eq!(halted["since"], "1970-01-01T00:00:01Z");
        health.set_halted("search", "*", "tls", "", false);
        health.set_halted("search", "never halted", "tls", "", false);
        assert_eq!(health.ready().1["halted_count"], 0);
    }

    #[test]
    fn bodies_are_bounded_and_harmless() {
        let health = ready();
        let detail = "中\x1b".repeat(DETAIL_CHARS_MAX);
        for number in 0..HALTED_LISTED_MAX + 7 {
            health.set_halted("search", &format!("logs-{number}"), "blocked", &detail, true);
        }
        let (_, body) = health.ready();
        assert_eq!(body["halted_count"], HALTED_LISTED_MAX + 7);
        assert_eq!(body["halted"].as_array().unwrap().len(), HALTED_LISTED_MAX);
        let told = body["halted"][0]["detail"].as_str().unwrap();
        assert_eq!(told.matches("中\\x1b").count(), DETAIL_CHARS_MAX / 2);
        assert!(told.ends_with('…') && !told.contains('\x1b'), "{told}");
    }

    #[test]
    fn live_tells_version_and_uptime() {
        let (status, body) = Health::new().live();
        assert_eq!(status, 200);
        assert_eq!(body["version"], env!("CARGO_PKG_VERSION"));
        assert_eq!(body["uptime_seconds"], 0);
    }
}
