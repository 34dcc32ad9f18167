//! SIGTERM and SIGINT: the first asks for a stop in order, the second cannot wait. SIGHUP asks for
//! the configuration to be loaded again.
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

/// The signal that asks for a reload.
pub(super) struct HangUp {
    hang_up: Signal,
}

impl Signals {
    /// Takes the signals from now on; must be called within a runtime.
    pub(super) fn take() -> Result<Signals, CommandError> {
        Ok(Signals {
            terminate: taken(SignalKind::terminate())?,
            interrupt: taken(SignalKind::interrupt())?,
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

impl HangUp {
    /// Takes the signal from now on; must be called within a runtime.
    pub(super) fn take() -> Result<HangUp, CommandError> {
        Ok(HangUp { hang_up: taken(SignalKind::hangup())? })
    }

    /// Waits for the next one; those that come close together are one.
    pub(super) async fn next(&mut self) {
        if self.hang_up.recv().await.is_none() {
            std::future::pending::<()>().await;
        }
    }
}

fn taken(kind: SignalKind) -> Result<Signal, CommandError> {
    signal(kind).map_err(|error| CommandError::failed(format!("cannot take signals: {error}")))
}
