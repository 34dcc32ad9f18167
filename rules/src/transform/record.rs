//! What a record says: its texts, the host and the labels that follow from them, and the parts of a
//! document that are the same for all its lines.
//!
//! Invariant: everything here is rebuilt exactly when a text that a rule reads differs from the
//! record before; `generation` changes with it, so that caches further on know. Next stop: `parse`.
use std::borrow::Cow;
use std::sync::Arc;

use super::Record;
use super::bind::{Bound, BoundCandidate, BoundLabel, Slot, Source};
use super::marks::LineMarks;
use super::steps::stream_hash;
use super::view::{Parsed, View};
use crate::hash::hash_bytes;
use crate::hosts::{HostTable, UNKNOWN_HOST, write_plain_host};
use crate::json::write_string;
use crate::labels::LabelRule;
use crate::plan::Plan;
use crate::redact::Redact;
use crate::value::Value;

/// A longer label is cut: it stands in every document of its record, however many lines that has.
const LABEL_BYTES_MAX: usize = 1024;
/// A longer name of a host is cut, for the same reason; names in DNS have at most 253 bytes.
const HOST_BYTES_MAX: usize = 256;

/// The texts of the record that rules read.
#[derive(Debug, Default)]
pub(super) struct RecordTexts {
    texts: Vec<RecordText>,
    partition: i32,
}

#[derive(Debug, Default)]
struct RecordText {
    present: bool,
    /// As it stands in the record, to compare with the next one.
    raw: Vec<u8>,
    text: String,
    /// The text without secret values, where it has any.
    redacted: Option<String>,
}

impl RecordTexts {
    pub(super) fn new(sources: usize) -> RecordTexts {
        let texts = std::iter::repeat_with(RecordText::default).take(sources).collect();
        RecordTexts { texts, partition: 0 }
    }

    pub(super) fn partition(&self) -> i32 {
        self.partition
    }

    pub(super) fn get(&self, source: u16, redacted: bool) -> Option<&str> {
        let text = self.texts.get(usize::from(source))?;
        let shown = text.redacted.as_ref().filter(|_| redacted).unwrap_or(&text.text);
        text.present.then_some(shown.as_str())
    }

    /// Takes the texts of a record; true when one differs from the record before.
    pub(super) fn update(
        &mut self,
        sources: &[Source],
        record: &Record<'_>,
        redact: Option<&Redact>,
    ) -> bool {
        let mut changed = self.partition != record.partition;
        self.partition = record.partition;
        for (source, text) in sources.iter().zip(&mut self.texts) {
            let found = find(source, record);
            if text.present == found.is_some() && found.is_none_or(|raw| same(raw, &text.raw)) {
                continue;
            }
            changed = true;
            text.present = found.is_some();
            text.raw.clear();
            text.text.clear();
            if let Some(raw) = found {
                text.raw.extend_from_slice(raw);
                text.text.push_str(&riverhog_parsers::lines::to_text(raw));
            }
            text.redacted = redact.and_then(|redact| match redact.text(&text.text) {
                Cow::Owned(redacted) => Some(redacted),
                Cow::Borrowed(_) => None,
            });
        }
        changed
    }
}

/// Equality of two short texts. The names and values compared for each record have some ten bytes,
/// where the call to `memcmp` behind `==` costs more than the comparison.
pub(super) fn same(left: &[u8], right: &[u8]) -> bool {
    fn ends<const N: usize>(text: &[u8]) -> Option<([u8; N], [u8; N])> {
        Some((*text.first_chunk()?, *text.last_chunk()?))
    }
    if left.len() != right.len() {
        return false;
    }
    match left.len() {
        0 => true,
        1..=3 => left.iter().zip(right).all(|(left, right)| left == right),
        4..=8 => ends::<4>(left) == ends::<4>(right),
        9..=16 => ends::<8>(left) == ends::<8>(right),
        _ => left == right,
    }
}

/// The text that a source names.
pub(super) fn find<'a>(source: &Source, record: &Record<'a>) -> Option<&'a [u8]> {
    match source {
        Source::Topic => Some(record.topic.as_bytes()),
        Source::Key => record.key,
        Source::Header(name) => {
            // Kafka allows several headers of one name; clients read the last.
            let headers = record.headers.iter();
            let found = headers.rev().find(|(header, _)| same(header.as_bytes(), name.as_bytes()));
            found.map(|(_, value)| *value)
        }
        Source::EnvelopeHost => record.envelope?.host.as_deref().map(str::as_bytes),
        Source::Envelope(path) => record.envelope?.fields.get(path).map(str::as_bytes),
    }
}

/// A hash of the texts of a record that rules read.
pub(super) fn hash(sources: &[Source], record: &Record<'_>) -> u64 {
    // The topic is one and the same for a batch.
    let of_record = sources.iter().filter(|source| !matches!(source, Source::Topic));
    of_record
        .filter_map(|source| find(source, record))
        .fold(record.partition as u64, |hash, text| hash.rotate_left(5) ^ hash_bytes(text))
}

/// The host of a record or a line.
#[derive(Debug, Default)]
pub(super) struct HostState {
    /// As the record or the line has it, and as it is shown.
    found: String,
    name: String,
    table: Option<Arc<HostTable>>,
    position: Option<u32>,
    /// By `Bound::columns`: the column of the table.
    columns: Vec<Option<u16>>,
    json: Vec<u8>,
}

impl HostState {
    /// Takes another table. The host must be resolved anew.
    pub(super) fn set_table(&mut self, bound: &Bound, table: Option<Arc<HostTable>>) {
        let known = table.as_ref().map_or(&[][..], |table| table.columns());
        let place = |column: &String| known.iter().position(|known| known == column);
        let columns = bound.columns.iter().map(|column| place(column).map(|place| place as u16));
        self.columns = columns.collect();
        self.table = table;
        self.json.clear();
    }

    /// Sets the host by its name. Work is done only when it differs from the one before.
    pub(super) fn set(&mut self, name: Option<&str>, redact: Option<&Redact>) {
        let name = name.unwrap_or(UNKNOWN_HOST);
        let name = &name[..name.floor_char_boundary(HOST_BYTES_MAX)];
        if self.found == name && !self.json.is_empty() {
            return;
        }
        self.found.clear();
        self.found.push_str(name);
        self.name.clear();
        self.name.push_str(name);
        self.json.clear();
        self.position = self.table.as_ref().and_then(|table| table.position(name));
        if let (Some(table), Some(place)) = (&self.table, self.position) {
            self.json.extend_from_slice(table.json(place).unwrap_or_default());
            return;
        }
        // What a table knows is configuration, all else is data.
        if let Some(Cow::Owned(redacted)) = redact.map(|redact| redact.text(name)) {
            self.name = redacted;
        }
        write_plain_host(&mut self.json, &self.name);
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// True when there is a table and it does not know this host.
    pub(super) fn is_unknown(&self) -> bool {
        self.table.is_some() && self.position.is_none()
    }

    pub(super) fn json(&self) -> &[u8] {
        &self.json
    }

    pub(super) fn column(&self, column: u16) -> Option<&str> {
        let place = (*self.columns.get(usize::from(column))?)?;
        self.table.as_ref()?.column(self.position?, usize::from(place))
    }
}

/// One label of a record or a line.
#[derive(Clone, Debug, Default)]
pub(super) struct LabelState {
    present: bool,
    text: String,
}

impl LabelState {
    pub(super) fn text(&self) -> Option<&str> {
        self.present.then_some(self.text.as_str())
    }

    /// Takes over another label and keeps the memory.
    pub(super) fn copy(&mut self, other: &LabelState) {
        self.present = other.present;
        self.text.clone_from(&other.text);
    }

    /// Sets the label from its candidates.
    pub(super) fn set(&mut self, rule: &LabelRule, bound: &BoundLabel, view: &View<'_>) {
        self.text.clear();
        self.present = bound.from.iter().any(|slot| push_text(&mut self.text, *slot, view))
            || bound.presets.iter().any(|candidate| candidate.push(&mut self.text, view));
        self.text.truncate(self.text.floor_char_boundary(LABEL_BYTES_MAX));
        if !self.present
            && let Some(default) = &rule.default
        {
            self.text.push_str(default);
            self.present = true;
        }
    }
}

/// Appends the first value of a slot that is not empty; false when there is none.
pub(super) fn push_text(text: &mut String, slot: Slot, view: &View<'_>) -> bool {
    use std::fmt::Write;
    match view.value(slot, 0) {
        None | Some(Value::Text("") | Value::Time(_)) => return false,
        Some(Value::Float(number)) if number.is_nan() => return false,
        Some(Value::Text(value)) => text.push_str(value),
        Some(Value::Level(level)) => text.push_str(level.as_str()),
        Some(Value::Int(number)) => {
            write!(text, "{number}").expect("writing to a String cannot fail");
        }
        Some(Value::Float(number)) => {
            write!(text, "{number}").expect("writing to a String cannot fail");
        }
    }
    true
}

impl BoundCandidate {
    /// Appends the candidate's value; false where there is none.
    fn push(&self, text: &mut String, view: &View<'_>) -> bool {
        let text_of = |slot| match view.value(slot, 0) {
            Some(Value::Text(text)) => Some(text),
            _ => None,
        };
        let Some(found) = text_of(self.from) else { return false };
        self.when.iter().all(|(slot, expect)| text_of(*slot) == Some(expect))
            && self.reading.push(found, text)
    }
}

/// The rank that the record gives its lines, and that of its node.
fn find_ranks(bound: &Bound, view: &View<'_>) -> [Option<u32>; 2] {
    let mut text = String::new();
    let rank = bound.rank.iter().find_map(|candidate| {
        text.clear();
        candidate.push(&mut text, view).then(|| text.parse().ok()).flatten()
    });
    let node = bound.node_rank.and_then(|label| view.labels.get(label)?.text()?.parse().ok());
    [rank, node]
}

/// The first candidate of the host that is present.
pub(super) fn find_host<'a>(bound: &Bound, view: &View<'a>) -> Option<&'a str> {
    let mut found = bound.hosts.iter().filter_map(|slot| match view.value(*slot, 0) {
        Some(Value::Text(name)) if !name.is_empty() => Some(name),
        _ => None,
    });
    found.next()
}

/// Everything about a record that its lines share.
#[derive(Debug, Default)]
pub(super) struct RecordState {
    pub(super) texts: RecordTexts,
    pub(super) host: HostState,
    pub(super) labels: Vec<LabelState>,
    /// The rank of lines that state none, and that of their node.
    pub(super) ranks: [Option<u32>; 2],
    /// `,"host":{…},"labels":{…}`; empty when one of the two depends on the line.
    pub(super) host_and_labels: Vec<u8>,
    /// What tells its stream from the others of the partition.
    pub(super) stream: u64,
    /// Changes whenever a text that a rule reads changes; 0 before the first record.
    pub(super) generation: u64,
}

impl RecordState {
    pub(super) fn new(bound: &Bound) -> RecordState {
        RecordState {
            texts: RecordTexts::new(bound.sources.len()),
            labels: vec![LabelState::default(); bound.labels.len()],
            ..RecordState::default()
        }
    }

    /// Host and labels as far as the record alone gives them.
    pub(super) fn resolve(&mut self, bound: &Bound, plan: &Plan) {
        let rules = &plan.labels;
        self.generation += 1;
        let nobody = HostState::default();
        let view = View {
            texts: &self.texts,
            host: &nobody,
            labels: &[],
            received_ns: 0,
            template_ns: 0,
            message: "",
            line: "",
            marks: None,
            parsed: Parsed::NOTHING,
            redacted: false,
        };
        self.host.set(find_host(bound, &view), plan.redact.as_deref());
        let view = View { host: &self.host, redacted: true, ..view };
        for ((label, rule), bound) in self.labels.iter_mut().zip(rules).zip(&bound.labels) {
            label.set(rule, bound, &view);
        }
        let view = View { labels: &self.labels, ..view };
        self.ranks = find_ranks(bound, &view);
        self.stream = stream_hash("", &bound.stream, &view, &mut String::new());
        self.host_and_labels.clear();
        if !bound.host_of_line && !bound.label_of_line {
            write_host_and_labels(&mut self.host_and_labels, &self.host, rules, &self.labels);
        }
    }
}

impl<'a> View<'a> {
    /// A view of a line before it was parsed.
    pub(super) fn of_record(
        record: &'a RecordState,
        received_ns: i64,
        (message, line): (&'a str, &'a str),
        marks: Option<&'a LineMarks<'a>>,
    ) -> View<'a> {
        View {
            texts: &record.texts,
            host: &record.host,
            labels: &record.labels,
            received_ns,
            template_ns: received_ns,
            message,
            line,
            marks,
            parsed: Parsed::NOTHING,
            redacted: false,
        }
    }
}

/// Appends `,"host":{…},"labels":{…}`.
pub(super) fn write_host_and_labels(
    out: &mut Vec<u8>,
    host: &HostState,
    rules: &[LabelRule],
    labels: &[LabelState],
) {
    out.extend_from_slice(br#","host":"#);
    out.extend_from_slice(host.json());
    out.extend_from_slice(br#","labels":{"#);
    let mut first = true;
    for (rule, label) in rules.iter().zip(labels) {
        let Some(text) = label.text() else {
            continue;
        };
        if !first {
            out.push(b',');
        }
        first = false;
        write_string(out, &rule.name);
        out.push(b':');
        write_string(out, text);
    }
    out.push(b'}');
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn same_is_equality(left in "[ab]{0,20}", place in 0..20_usize) {
            prop_assert!(same(left.as_bytes(), left.as_bytes()));
            let mut right = left.clone().into_bytes();
            if let Some(byte) = right.get_mut(place) {
                *byte ^= 1;
                prop_assert!(!same(left.as_bytes(), &right));
            }
            right.push(b'a');
            prop_assert!(!same(left.as_bytes(), &right));
        }
    }
}
