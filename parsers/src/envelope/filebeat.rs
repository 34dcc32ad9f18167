//! Filebeat's envelope, as its Kafka output writes it (version 5 to 9).
//!
//! Invariant: see the folder. Next on the trip: [`super::fluent_bit`].

use super::flat::{Flat, Slot};
use super::{Taken, stamp};

/// A program's own JSON lines have `message`, `host` and the like too: only what Filebeat alone
/// writes counts, unless the source says that all its records are Filebeat's.
pub(super) fn take(flat: &Flat<'_>, forced: bool) -> Option<Taken> {
    flat.text(Slot::Message)?;
    let is_marked = flat.text(Slot::Beat).is_some()
        || flat.raw(Slot::AgentType) == Some(b"filebeat")
        || (flat.text(Slot::AtTimestamp).is_some() && flat.text(Slot::BeatHostname).is_some());
    if !is_marked && !forced {
        return None;
    }
    let host = flat.host(&[
        Slot::HostName,
        Slot::HostHostname,
        Slot::Host,
        Slot::AgentHostname,
        Slot::AgentName,
        Slot::BeatHostname,
    ]);
    let time_ns = flat.scalar(Slot::AtTimestamp).and_then(stamp::stamp);
    Some(Taken { kind: "filebeat", line: Slot::Message, host, time_ns })
}
