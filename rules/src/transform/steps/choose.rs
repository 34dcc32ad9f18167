//! Whether an event goes on: dropping, sampling, rate limits.
//!
//! Invariant: the answer depends on the event, its id and the record times of its partition, so a
//! line that is read again is dropped or kept as before (but see `step/rate`). Next stop: `apply`
//! for what changes an event.
use super::super::bind::Slot;
use super::super::encoded::EncodedRecord;
use super::super::record::push_text;
use super::super::view::View;
use crate::step::{Hasher, Share};

/// What an event is told apart by.
#[derive(Clone, Copy)]
pub(in super::super) struct EventKey<'a> {
    pub(in super::super) record: &'a EncodedRecord,
    pub(in super::super) index: u32,
}

/// Whether the event is in a step's share, by its id.
pub(super) fn in_share(share: Share, step: &str, key: EventKey<'_>) -> bool {
    let mut hasher = Hasher::new(step);
    hasher.push(Some(&key.record.id_head));
    hasher.push(Some(&key.record.id_tail));
    hasher.push(Some(&key.index.to_le_bytes()));
    share.has(hasher.finish())
}

/// The hash of the values that name a stream; an empty value counts as absent.
pub(in super::super) fn stream_hash(
    salt: &str,
    slots: &[Slot],
    view: &View<'_>,
    text: &mut String,
) -> u64 {
    let mut hasher = Hasher::new(salt);
    for slot in slots {
        text.clear();
        let present = push_text(text, *slot, view);
        hasher.push(present.then_some(text.as_bytes()));
    }
    hasher.finish()
}
