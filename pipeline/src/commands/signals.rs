//! SIGTERM and SIGINT: the first asks for a stop in order, the second cannot wait.
//!
//! Invariant: a signal is never lost, not even one that comes before anything runs. Next stop:
//! `run.rs`, which stops.

use tokio::signal::unix::{Signal, SignalKind, signal};

use super::CommandError;

/// The two signals that end a process in order.
pub(super) struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    /// Takes the signals from now on; must be called within a runtime.
    pub(super) fn take() -> Result<Signals, CommandError> {
        let failed = |error| CommandError::failed(format!("cannot take signals: {error}"));
        Ok(Signals {
            terminate: signal(SignalKind::terminate()).map_err(failed)?,
            interrupt: signal(SignalKind::interrupt()).map_err(failed)?,
        })
    }

    /// The name of the next signal.
    pub(super) async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
        }
    }
}
