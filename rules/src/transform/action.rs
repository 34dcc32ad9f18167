//! The action line: what a `_bulk` request says in front of a document, written there by the
//! transform for one sink, so that a request is a stretch of the batch's bytes and copies nothing.
//!
//! Invariant: an action line is a line of its own right in front of its document, and names the
//! index that the event's target names. Next stop: `encode`.
use super::encoded::EncodedRecord;
use crate::event::{Event, EventBuffer, EventTarget};
use crate::json::write_escaped;
use crate::origin::write_id_index;
use crate::plan::{ActionForm, Op, Plan};
use crate::sanitise::TargetKind;

/// The target whose action lines are written: the first that wants whole documents in an index.
pub(super) fn action_target(plan: &Plan) -> Option<u8> {
    let wants = plan.targets.iter().map(|t| t.kind == TargetKind::Index && !t.omit_message);
    wants.into_iter().position(|wants| wants).map(|target| target as u8)
}

/// Appends a `_bulk` action line, `{"create":{"_index":…,"_id":…}}` and a newline, with `routing`
/// and `pipeline` where the form has them. `parts` are those of the destination. Neither index nor
/// event id holds anything to escape: one is sanitised, the other ASCII.
pub fn write_action(
    out: &mut Vec<u8>,
    form: ActionForm,
    parts: &[Box<str>],
    write_id: impl FnOnce(&mut Vec<u8>),
) {
    let (index, rest) = parts.split_first().map_or(("", &[][..]), |(index, rest)| (index, rest));
    out.extend_from_slice(match form.op {
        Op::Create => br#"{"create":{"_index":""#,
        Op::Index => br#"{"index":{"_index":""#,
    });
    out.extend_from_slice(index.as_bytes());
    out.extend_from_slice(br#"","_id":""#);
    write_id(out);
    if !form.routing && !form.pipeline {
        out.extend_from_slice(b"\"}}\n");
        return;
    }
    out.push(b'"');
    let keys = [(form.routing, "routing"), (form.pipeline, "pipeline")];
    for ((_, key), value) in keys.iter().filter(|(is_there, _)| *is_there).zip(rest) {
        // A store takes an empty text for one that is not there.
        if !value.is_empty() {
            out.extend_from_slice(b",\"");
            out.extend_from_slice(key.as_bytes());
            out.extend_from_slice(b"\":\"");
            write_escaped(out, value);
            out.push(b'"');
        }
    }
    out.extend_from_slice(b"}}\n");
}

/// Appends the action line of an event whose document comes next, if it goes to the target.
pub(super) fn write_action_of(
    (target, form): (u8, ActionForm),
    record: &EncodedRecord,
    event: &Event,
    out: &mut EventBuffer,
) {
    let targets = event.targets.0 as usize..event.targets.1 as usize;
    let EventBuffer { bytes, targets: all, destinations, .. } = out;
    let destination = all[targets].iter().find(|entry| entry.sink == target);
    let Some(EventTarget { result: Ok(destination), .. }) = destination else { return };
    write_action(bytes, form, destinations.get(*destination), |bytes| {
        bytes.extend_from_slice(&record.id_head);
        bytes.extend_from_slice(&record.id_tail);
        write_id_index(bytes, event.index, event.joined);
    });
}
