//! Vector's events, as its Kafka sink writes them with the codec `json`.
//!
//! Invariant: see the folder. Next on the trip: [`super::docker`].

use super::flat::{Flat, Slot};
use super::{Taken, stamp};

/// Every source of Vector says its `source_type` and a `timestamp`.
pub(super) fn take(flat: &Flat<'_>, forced: bool) -> Option<Taken> {
    flat.text(Slot::Message)?;
    let time_ns = flat.scalar(Slot::Timestamp).and_then(stamp::stamp);
    let is_marked = time_ns.is_some() && flat.text(Slot::SourceType).is_some();
    if !is_marked && !forced {
        return None;
    }
    let host = flat.host(&[Slot::Host, Slot::HostName, Slot::KubernetesPodNode, Slot::Hostname]);
    Some(Taken { kind: "vector", line: Slot::Message, host, time_ns })
}
