//! Builds the body of a `_bulk` request: for each event an action line with its index and id, then
//! its document, copied as it was encoded.
//!
//! Invariant: every event is sent as `create` under its event id, so that a repeat meets its twin.
//! Next stop: [`super::request`].

use std::io::Write;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;

use crate::sink::Batch;

/// What an action line takes beside index and id.
const ACTION_BYTES: usize = r#"{"create":{"_index":"","_id":""}}"#.len() + 2;

/// One event in a request: its batch (by number in the request), event and destination.
#[derive(Debug, Clone, Copy)]
pub(super) struct Item {
    /// Which of the request's batches.
    pub(super) batch: u32,
    /// Event number in the batch.
    pub(super) event: u32,
    /// Destination number in the batch.
    pub(super) destination: u32,
}

/// Bytes that an event takes in a body.
pub(super) fn item_bytes(batch: &Batch, event: u32, destination: u32, omit_message: bool) -> usize {
    let entry = &batch.events.events[event as usize];
    let end = if omit_message { entry.message_at + 1 } else { entry.doc.1 };
    let index = index_of(batch, destination);
    (end - entry.doc.0) as usize + (entry.id.1 - entry.id.0) as usize + index.len() + ACTION_BYTES
}

/// The index an event goes to.
pub(super) fn index_of(batch: &Batch, destination: u32) -> &str {
    batch.events.destinations.get(destination).first().map_or("", |part| part)
}

/// Appends one event to a body.
pub(super) fn push_item(body: &mut Vec<u8>, batch: &Batch, item: Item, omit_message: bool) {
    let entry = &batch.events.events[item.event as usize];
    let bytes = &batch.events.bytes;
    body.extend_from_slice(br#"{"create":{"_index":""#);
    body.extend_from_slice(index_of(batch, item.destination).as_bytes());
    body.extend_from_slice(br#"","_id":""#);
    body.extend_from_slice(&bytes[entry.id.0 as usize..entry.id.1 as usize]);
    body.extend_from_slice(b"\"}}\n");
    if omit_message {
        body.extend_from_slice(&bytes[entry.doc.0 as usize..entry.message_at as usize]);
        body.push(b'}');
    } else {
        body.extend_from_slice(&bytes[entry.doc.0 as usize..entry.doc.1 as usize]);
    }
    body.push(b'\n');
}

/// Compresses a body; level 1, since a log store's network is rarely the narrowest place.
pub(super) fn gzip(body: &[u8]) -> Bytes {
    let mut encoder = GzEncoder::new(Vec::with_capacity(body.len() / 6), Compression::fast());
    // Writing to a vector cannot fail.
    let written = encoder.write_all(body).and_then(|()| encoder.finish());
    written.map(Bytes::from).unwrap_or_default()
}
