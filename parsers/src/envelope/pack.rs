//! Lines that promtail's `pack` stage has wrapped, with the labels it took off.
//!
//! Invariant: see the folder. Next on the trip: [`super::loki`].

use super::fields::EnvelopeFields;
use super::flat::{Flat, Slot};
use super::{LABELS, Taken};

/// The line is `_entry`, and whatever else there is are labels: texts.
pub(super) fn take(flat: &Flat<'_>) -> Option<Taken> {
    flat.text(Slot::Entry)?;
    let mut members = flat.source.members(flat.object);
    if !members.all(|(_, value)| flat.source.string(value).is_some()) {
        return None;
    }
    let host = flat.host(&[Slot::Host, Slot::Hostname]);
    Some(Taken { kind: "pack", line: Slot::Entry, host, time_ns: None })
}

/// The labels have names of their own, as those of Loki.
pub(super) fn relabel(fields: &mut EnvelopeFields, base: usize) {
    let labels: Vec<(String, String)> = fields
        .iter()
        .skip(base)
        .map(|(path, value)| (format!("{LABELS}{path}"), value.to_owned()))
        .collect();
    fields.truncate(base);
    for (path, value) in &labels {
        fields.push(path, value);
    }
}
