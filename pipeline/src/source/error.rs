//! What can stop a source from starting. Once it runs, a source tells of trouble through
//! [`crate::source::SourceEvent`]; what ends it is `SourceEvent::Fatal`.
//!
//! Invariant: a broker that cannot be reached is no error, it is tried again. Next stop:
//! [`crate::source::kafka`].

use std::io;
use std::path::PathBuf;

/// Why a source did not start. All of these are settings to correct; none goes away by itself.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// librdkafka refuses a property or a combination of them.
    #[error("kafka properties are refused: {0}")]
    Property(String),
    /// No topic to read.
    #[error("no topic to read: `topics` is empty")]
    NoTopics,
    /// The subscription is refused, a bad pattern for one.
    #[error("cannot subscribe to {topics}: {reason}")]
    Subscribe {
        /// Topics or pattern.
        topics: String,
        /// librdkafka's words.
        reason: String,
    },
    /// `lineage` becomes part of ids and keys.
    #[error("lineage {value:?} may use a-z, 0-9 and '-' only, at most {max} characters")]
    Lineage {
        /// The setting.
        value: String,
        /// Longest that is taken.
        max: usize,
    },
    /// A file that cannot be opened.
    #[error("cannot open {}: {source}", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A thread that could not be started.
    #[error("cannot start a thread for the source: {0}")]
    Thread(io::Error),
    /// The thread ended before it was ready.
    #[error("the source ended before it was ready")]
    Ended,
}
