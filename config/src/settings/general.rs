//! What belongs to the process as a whole. Next: `line_test.rs`.

use std::net::SocketAddr;

use super::{ClientFiles, Secret};

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

/// `[http]`: metrics, health and the API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpSettings {
    /// The address listened on; loopback unless configured.
    pub listen: SocketAddr,
    /// Certificate chain and key of the server.
    pub tls: Option<ClientFiles>,
    /// Who may ask `/api/…`; empty: this machine.
    pub access: Vec<HttpAccess>,
}

/// `[[http.access]]`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpAccess {
    /// At least 16 characters.
    pub token: Secret<String>,
    /// Lines of these projects; `None`: of all.
    pub projects: Option<Vec<String>>,
    /// It may ask for a reload.
    pub reload: bool,
}
