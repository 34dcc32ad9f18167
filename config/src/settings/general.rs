//! What belongs to the process as a whole. Next: `line_test.rs`.

use std::net::SocketAddr;

/// Settings at the top of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GeneralSettings {
    /// What everything held in memory may add up to; 32 MiB to 1 TiB.
    pub(crate) memory_bytes: u64,
    /// What a stop may take until what is not settled is left for the next start.
    pub(crate) stop_deadline_ms: u64,
    /// How far a partition is read ahead of a halted destination, in record time.
    pub(crate) ahead_max_ms: u64,
    /// When a partition that stands still is told.
    pub(crate) stall_after_ms: u64,
}

/// `[http]`: metrics and health.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpSettings {
    /// The address listened on; loopback unless configured.
    pub listen: SocketAddr,
}
