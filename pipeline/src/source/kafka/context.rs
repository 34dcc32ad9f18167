//! What librdkafka calls back: rebalances, errors, log lines. Nothing is decided here: a callback
//! leaves a notice, and the reading loop, which polls on the same thread, acts on it.
//!
//! Invariant: a callback never blocks, and a repeated log line is written once in ten seconds.
//! Next stop: `rebalance`.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rdkafka::TopicPartitionList;
use rdkafka::client::ClientContext;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::consumer::{BaseConsumer, Consumer as _, ConsumerContext, RebalanceProtocol};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::types::RDKafkaRespErr;
use tokio::time::Instant;

use crate::clock;

/// The consumer of a source.
pub(super) type Consumer = BaseConsumer<Context>;

/// A repeated message is written once in this time.
const LOG_INTERVAL: Duration = Duration::from_secs(10);

/// Kinds of messages that are told apart; more share one line.
const LOG_KINDS_MAX: usize = 64;

/// Notices kept; a loop that stands still must not make them pile up.
const NOTICES_MAX: usize = 1024;

/// Something librdkafka told.
#[derive(Debug)]
pub(super) enum Notice {
    /// Partitions come. librdkafka waits for the consumer's (incremental) assign.
    Assign(Vec<(String, i32)>),
    /// Partitions go. librdkafka waits for the consumer's (incremental) unassign.
    Revoke(Vec<(String, i32)>),
    /// An error of the client as a whole.
    Error(RDKafkaErrorCode, String),
}

/// The context of the consumer.
#[derive(Debug, Default)]
pub(super) struct Context {
    notices: Mutex<Vec<Notice>>,
    served: AtomicU64,
    closing: AtomicBool,
    log: Mutex<LogLimit>,
}

impl Context {
    /// What came since the last call.
    pub(super) fn take(&self) -> Vec<Notice> {
        std::mem::take(&mut *self.notices.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// How many callbacks have run; changes when a poll did something.
    pub(super) fn served(&self) -> u64 {
        self.served.load(Ordering::Relaxed)
    }

    /// From now on partitions that go are let go at once: nobody reads notices any more.
    pub(super) fn close(&self) {
        self.closing.store(true, Ordering::Relaxed);
    }

    /// Whether a message of this kind may be written now; how many were not since the last.
    pub(super) fn may_log(&self, kind: &str) -> Option<u64> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner).may_log(kind, clock::instant())
    }

    fn push(&self, notice: Notice) {
        let mut notices = self.notices.lock().unwrap_or_else(PoisonError::into_inner);
        // Errors may be dropped, rebalances may not.
        if notices.len() < NOTICES_MAX || !matches!(notice, Notice::Error(..)) {
            notices.push(notice);
        }
    }
}

impl ClientContext for Context {
    fn log(&self, level: RDKafkaLogLevel, facility: &str, text: &str) {
        self.served.fetch_add(1, Ordering::Relaxed);
        if matches!(level, RDKafkaLogLevel::Debug) {
            tracing::debug!(facility, "librdkafka: {text}");
            return;
        }
        let Some(repeated) = self.may_log(facility) else { return };
        // Why a connection was closed that had never stood, such as by a listener with TLS, is
        // told as a piece of news; so is one that was idle for long.
        if matches!(level, RDKafkaLogLevel::Info | RDKafkaLogLevel::Notice) {
            tracing::info!(facility, repeated, "librdkafka: {text}");
        } else {
            tracing::warn!(facility, repeated, "librdkafka: {text}");
        }
    }

    fn error(&self, error: KafkaError, reason: &str) {
        self.served.fetch_add(1, Ordering::Relaxed);
        let code = error.rdkafka_error_code().unwrap_or(RDKafkaErrorCode::Unknown);
        self.push(Notice::Error(code, reason.to_owned()));
    }
}

impl ConsumerContext for Context {
    fn rebalance(
        &self,
        consumer: &BaseConsumer<Self>,
        kind: RDKafkaRespErr,
        list: &mut TopicPartitionList,
    ) {
        self.served.fetch_add(1, Ordering::Relaxed);
        let comes = kind == RDKafkaRespErr::RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS;
        if self.closing.load(Ordering::Relaxed) {
            let cooperative =
                matches!(consumer.rebalance_protocol(), RebalanceProtocol::Cooperative);
            // Some of the list may never have been assigned, and all goes now.
            let all = consumer.assignment().unwrap_or_default();
            let done = match (comes, cooperative) {
                (false, true) => consumer.incremental_unassign(&all),
                (true, true) => consumer.incremental_assign(&TopicPartitionList::new()),
                (_, false) => consumer.unassign(),
            };
            if let Err(error) = done {
                tracing::debug!("librdkafka refuses the last unassign: {error}");
            }
            return;
        }
        let names = list.elements();
        let partitions = names.iter().map(|e| (e.topic().to_owned(), e.partition())).collect();
        self.push(if comes { Notice::Assign(partitions) } else { Notice::Revoke(partitions) });
    }
}

#[derive(Debug, Default)]
struct LogLimit {
    kinds: HashMap<String, (Instant, u64)>,
}

impl LogLimit {
    fn may_log(&mut self, kind: &str, now: Instant) -> Option<u64> {
        let known = self.kinds.len() < LOG_KINDS_MAX || self.kinds.contains_key(kind);
        let kind = if known { kind } else { "" };
        if let Some((written, repeated)) = self.kinds.get_mut(kind) {
            if now.duration_since(*written) < LOG_INTERVAL {
                *repeated += 1;
                return None;
            }
            *written = now;
            return Some(std::mem::take(repeated));
        }
        self.kinds.insert(kind.to_owned(), (now, 0));
        Some(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repeated_line_is_written_once_in_ten_seconds() {
        let mut limit = LogLimit::default();
        let start = clock::instant();
        assert_eq!(limit.may_log("FAIL", start), Some(0));
        assert_eq!(limit.may_log("FAIL", start + Duration::from_secs(1)), None);
        assert_eq!(limit.may_log("FETCH", start + Duration::from_secs(1)), Some(0));
        assert_eq!(limit.may_log("FAIL", start + Duration::from_secs(11)), Some(1));
        for kind in 0..1000 {
            limit.may_log(&format!("{kind}"), start);
        }
        assert!(limit.kinds.len() <= LOG_KINDS_MAX + 1);
    }
}
