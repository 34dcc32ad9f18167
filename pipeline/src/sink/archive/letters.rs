//! Lines that an archive gives to the dead letters.
//!
//! Invariant: a line settles once its letter is stored, by the writer of dead letters; here nothing
//! settles. Next stop: [`crate::sink::dead_letter`].

use std::sync::Arc;

use super::Archive;
use super::chain::Link;
use crate::sink::Batch;
use crate::sink::dead_letter::DeadLetter;
use crate::sink::destination::Halt;

/// Lines whose bucket has been halted for too long.
pub(super) fn divert(
    archive: &Archive,
    batch: &Arc<Batch>,
    events: Vec<u32>,
    halt: &Halt,
    destination: String,
) {
    let context = &archive.context;
    let Some(dead_letters) = context.dead_letters.clone() else { return };
    let detail = format!("{}: {}", halt.reason, halt.detail);
    let (batch, sink, name) = (Arc::clone(batch), context.number, Arc::clone(&context.name));
    tokio::spawn(async move {
        for event in events {
            let letter = DeadLetter {
                batch: Arc::clone(&batch),
                event,
                sink,
                sink_name: Some(Arc::clone(&name)),
                destination: destination.clone(),
                reason: "halted",
                detail: detail.clone(),
            };
            dead_letters.send(letter).await;
        }
    });
}

/// A document no frame can hold.
pub(super) fn refuse(archive: &Archive, batch: &Arc<Batch>, event: u32, link: &Link) {
    let context = &archive.context;
    let Some(dead_letters) = context.dead_letters.clone() else {
        tracing::error!(
            sink = &*context.name,
            "a line is too long to archive, and no [dead_letter]"
        );
        return;
    };
    let letter = DeadLetter {
        batch: Arc::clone(batch),
        event,
        sink: context.number,
        sink_name: Some(Arc::clone(&context.name)),
        destination: format!("{}/{}", link.bucket, link.prefix),
        reason: "too_large",
        detail: "longer than a frame may be".to_owned(),
    };
    tokio::spawn(async move { dead_letters.send(letter).await });
}
