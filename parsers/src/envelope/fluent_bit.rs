//! Fluent Bit's records, as its Kafka output writes them with `format json`.
//!
//! Invariant: see the folder. Next on the trip: [`super::vector`].

use super::flat::{Flat, Slot};
use super::{Taken, stamp};

/// The Kafka output puts `@timestamp` before every record. Where that key has another name, what
/// the parser of container logs leaves tells: `_p`, which no other shipper writes.
pub(super) fn take(flat: &Flat<'_>, forced: bool) -> Option<Taken> {
    let is_log = flat.text(Slot::Log).is_some();
    let stamped = flat.scalar(Slot::AtTimestamp).and_then(stamp::stamp);
    // The runtime's own time has nanoseconds, where the shipper's may be a rounded double.
    let written = flat.raw(Slot::Time).and_then(|text| std::str::from_utf8(text).ok());
    let time_ns = written.and_then(stamp::stamp).or(stamped);
    let is_cri = matches!(flat.raw(Slot::Partial), Some(b"F" | b"P"))
        && flat.text(Slot::Stream).is_some()
        && flat.text(Slot::Time).is_some();
    let line = match (is_log, forced) {
        (true, _) => Slot::Log,
        (false, true) if flat.text(Slot::Message).is_some() => Slot::Message,
        _ => return None,
    };
    if stamped.is_none() && !is_cri && !forced {
        return None;
    }
    let host = flat.host(&[Slot::KubernetesHost, Slot::Host, Slot::HostName, Slot::Hostname]);
    Some(Taken { kind: "fluent-bit", line, host, time_ns })
}
