//! An event while steps change it: its parts and fields, copied from what was parsed when the first
//! step changes anything.
//!
//! Invariant: every text is a stretch of one buffer and never moves once it is written, so a value
//! is replaced by writing another behind it; what a line may add has a bound. An event that no step
//! touches is never copied. Next stop: `encode`, which writes the fields.
use riverhog_parsers::fields::{FIELDS_MAX, Field, FieldKind, FieldValue};
use riverhog_parsers::level::Level;

use super::super::format;
use super::super::marks;
use super::super::view::{Parsed, Tags, Taken, View};
use crate::json::{write_float, write_int, write_string};
use crate::numbers::{METRICS_MAX, Read, WantedMetric, read_text, value_of_json};
use crate::step::{FAILURE_TAG, Target};
use crate::value::Value;

/// What steps may add to one event, in bytes.
pub(super) const ADDED_BYTES_MAX: usize = 8 << 20;

/// A step could not do what it was to do; the event is as it was.
#[derive(Debug)]
pub(super) struct Failed;

/// A stretch of the buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Span(u32, u32);

#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) name: Span,
    pub(super) value: Span,
    pub(super) kind: FieldKind,
    /// A step put the value together, of texts that may not have stood together before.
    pub(super) made: bool,
}

/// A metric; its value as JSON writes it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Metric {
    name: Span,
    value: Span,
}

/// A text of the event, if a step gave it one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Part {
    /// As it was parsed.
    #[default]
    Parsed,
    Absent,
    Given {
        value: Span,
        made: bool,
    },
}

/// An event that is being changed. Reused from line to line.
#[derive(Debug, Default)]
pub(in super::super) struct Edit {
    active: bool,
    text: String,
    pub(super) entries: Vec<Entry>,
    metrics: Vec<Metric>,
    pub(super) content: Part,
    pub(super) component: Part,
    pub(super) level: Option<Level>,
    pub(super) rank: Option<i64>,
    pub(super) time_ns: Option<i64>,
    /// A step read the time.
    pub(super) time_given: bool,
    pub(super) tags: Tags,
    added_tags: Vec<Span>,
    /// Bytes of the buffer that were there before the first step.
    copied: usize,
    /// The names that rules read, by id.
    wanted: Vec<String>,
    /// The same of metrics.
    wanted_metrics: Vec<WantedMetric>,
}

impl Edit {
    pub(super) fn new(wanted: Vec<String>, wanted_metrics: Vec<WantedMetric>) -> Edit {
        Edit { wanted, wanted_metrics, ..Edit::default() }
    }

    /// Begins with another line, of which nothing is changed yet.
    pub(super) fn clear(&mut self) {
        self.active = false;
    }

    pub(super) fn is_active(&self) -> bool {
        self.active
    }

    /// The line as it is now.
    pub(super) fn view<'a>(&'a self, base: &View<'a>) -> View<'a> {
        if !self.active {
            return *base;
        }
        let parsed = &base.parsed;
        let (content, content_place) = match self.content {
            Part::Parsed => (parsed.content, parsed.taken.content),
            Part::Absent => (Some(base.line), Taken::NONE),
            Part::Given { value, .. } => (Some(self.show(value)), Taken::NONE),
        };
        let component = match self.component {
            Part::Parsed => parsed.component,
            Part::Absent => None,
            Part::Given { value, .. } => Some(self.show(value)),
        };
        let parsed = Parsed {
            edit: Some(self),
            content,
            component,
            level: self.level,
            rank: self.rank,
            time_ns: self.time_ns,
            tags: self.tags,
            taken: Taken { content: content_place, ..parsed.taken },
            ..*parsed
        };
        View { parsed, ..*base }
    }

    pub(super) fn show(&self, Span(start, end): Span) -> &str {
        self.text.get(start as usize..end as usize).unwrap_or_default()
    }

    /// Copies what was parsed, unless that is done.
    pub(super) fn open(&mut self, base: &View<'_>) {
        if self.active {
            return;
        }
        self.active = true;
        self.text.clear();
        self.entries.clear();
        self.added_tags.clear();
        self.metrics.clear();
        (self.content, self.component) = (Part::Parsed, Part::Parsed);
        let parsed = &base.parsed;
        (self.level, self.rank) = (parsed.level, parsed.rank);
        (self.time_ns, self.time_given) = (parsed.time_ns, false);
        self.tags = parsed.tags;
        self.each_field(parsed, |edit, (name, value, kind)| {
            let (name, value) = (edit.write(name), edit.write(value));
            edit.entries.push(Entry { name, value, kind, made: false });
        });
        for (name, value) in parsed.numbers.iter().flat_map(|numbers| numbers.iter()) {
            let (name, value) = (self.write(name), self.write(value));
            self.metrics.push(Metric { name, value });
        }
        for (name, value) in base.marks.iter().flat_map(|line| marks::fields(&line.marks)) {
            if self.find(name, 0).is_none() {
                let (value, kind) = match value {
                    Value::Text(text) => (self.write(text), FieldKind::Text),
                    Value::Int(number) => (self.write(&number.to_string()), FieldKind::Int),
                    Value::Float(_) | Value::Level(_) | Value::Time(_) => continue,
                };
                let name = self.write(name);
                self.entries.push(Entry { name, value, kind, made: false });
            }
        }
        self.copied = self.text.len();
    }

    /// Calls `take` with name, text and kind of each field that is no part of the event.
    pub(super) fn each_field(
        &mut self,
        parsed: &Parsed<'_>,
        mut take: impl FnMut(&mut Edit, (&str, &str, FieldKind)),
    ) {
        if let Some(fields) = parsed.fields {
            for (index, field) in fields.iter(parsed.source).enumerate() {
                if !parsed.is_taken(index) {
                    take(self, (field.name, field.text, field.kind));
                }
            }
            return;
        }
        let Some(rule) = parsed.rule else { return };
        let mut number = Vec::new();
        for (index, capture) in parsed.captures.iter().enumerate() {
            if parsed.is_taken(index) {
                continue;
            }
            let field = &rule.fields[usize::from(capture.field)];
            if capture.is_absent() {
                take(self, (&field.name, "", FieldKind::Null));
                continue;
            }
            // As the type reads it: what follows a number may be cut off.
            let text = capture.text(parsed.source);
            number.clear();
            let kind = match field.kind.value(text) {
                FieldValue::Int(whole) => {
                    write_int(&mut number, whole);
                    FieldKind::Int
                }
                FieldValue::Float(float) if float.is_finite() => {
                    write_float(&mut number, float);
                    FieldKind::Float
                }
                FieldValue::Bool(flag) => {
                    number.extend_from_slice(if flag { b"true" } else { b"false" });
                    FieldKind::Bool
                }
                _ => FieldKind::Text,
            };
            match (kind, std::str::from_utf8(&number)) {
                (FieldKind::Text, _) | (_, Err(_)) => take(self, (&field.name, text, kind)),
                (kind, Ok(number)) => take(self, (&field.name, number, kind)),
            }
        }
    }

    /// Writes a text whose size has a bound of its own.
    pub(super) fn write(&mut self, text: &str) -> Span {
        let start = self.text.len() as u32;
        self.text.push_str(text);
        Span(start, self.text.len() as u32)
    }

    /// Writes a text, within the bound.
    pub(super) fn add(&mut self, text: &str) -> Result<Span, Failed> {
        if self.text.len() - self.copied + text.len() > ADDED_BYTES_MAX {
            return Err(Failed);
        }
        Ok(self.write(text))
    }

    /// Adds a field behind the others.
    pub(super) fn push(
        &mut self,
        (name, value, kind): (&str, &str, FieldKind),
        made: bool,
    ) -> Result<(), Failed> {
        if self.entries.len() >= FIELDS_MAX {
            return Err(Failed);
        }
        let (name, value) = (self.add(name)?, self.add(value)?);
        self.entries.push(Entry { name, value, kind, made });
        Ok(())
    }

    /// Index of the first field of a name at or behind an index.
    pub(super) fn find(&self, name: &str, from: usize) -> Option<usize> {
        let rest = self.entries.get(from..)?;
        let found = rest.iter().position(|entry| self.show(entry.name) == name);
        found.map(|index| from + index)
    }

    /// Takes away the fields for which this holds.
    pub(super) fn remove_fields(&mut self, gone: impl Fn(&str) -> bool) {
        let Edit { text, entries, .. } = self;
        entries.retain(|entry| {
            let Span(start, end) = entry.name;
            !gone(text.get(start as usize..end as usize).unwrap_or_default())
        });
    }

    /// Gives a target one value, in the place of those it has.
    pub(super) fn set(
        &mut self,
        target: &Target,
        (text, kind): (&str, FieldKind),
        made: bool,
    ) -> Result<(), Failed> {
        match target {
            Target::Level => self.level = Some(Level::parse(text).ok_or(Failed)?),
            Target::Rank => self.rank = Some(text.trim().parse().map_err(|_| Failed)?),
            Target::Content => self.content = Part::Given { value: self.add(text)?, made },
            Target::Component if text.is_empty() => self.component = Part::Absent,
            Target::Component => self.component = Part::Given { value: self.add(text)?, made },
            Target::Metric(name) => match read_text(text) {
                Some(Read::Number(number)) => self.set_metric(name, number)?,
                _ => return Err(Failed),
            },
            Target::Field(name) => match self.find(name, 0) {
                None => self.push((name, text, kind), made)?,
                Some(first) => {
                    let value = self.add(text)?;
                    let name = self.entries[first].name;
                    self.entries[first] = Entry { name, value, kind, made };
                    self.remove_others(first);
                }
            },
        }
        Ok(())
    }

    /// Gives a metric a value, in the place of the one it has.
    pub(super) fn set_metric(&mut self, name: &str, number: f64) -> Result<(), Failed> {
        let mut json = Vec::new();
        write_float(&mut json, number);
        let known = self.find_metric(name);
        if known.is_none() && self.metrics.len() >= METRICS_MAX {
            return Err(Failed);
        }
        let value = self.add(&String::from_utf8_lossy(&json))?;
        if let Some(at) = known {
            self.metrics[at].value = value;
        } else {
            let name = self.add(name)?;
            self.metrics.push(Metric { name, value });
        }
        self.tell_not_finite();
        Ok(())
    }

    fn tell_not_finite(&mut self) {
        let is_null = |metric: &Metric| self.show(metric.value) == "null";
        self.tags.not_finite = self.metrics.iter().any(is_null);
    }

    fn find_metric(&self, name: &str) -> Option<usize> {
        self.metrics.iter().position(|metric| self.show(metric.name) == name)
    }

    /// Takes away the metrics for which this holds.
    pub(super) fn remove_metrics(&mut self, gone: impl Fn(&str) -> bool) {
        let Edit { text, metrics, .. } = self;
        metrics.retain(|metric| {
            let Span(start, end) = metric.name;
            !gone(text.get(start as usize..end as usize).unwrap_or_default())
        });
        self.tell_not_finite();
    }

    /// Moves a metric as it is written, in the place of one that has the new name.
    pub(super) fn rename_metric(&mut self, from: &str, to: &str) -> Result<(), Failed> {
        if from == to || self.find_metric(from).is_none() {
            return Ok(());
        }
        let name = self.add(to)?;
        self.remove_metrics(|known| known == to);
        if let Some(at) = self.find_metric(from) {
            self.metrics[at].name = name;
        }
        Ok(())
    }

    /// The names of the metrics that there are.
    pub(super) fn metric_names(&self) -> impl Iterator<Item = &str> {
        self.metrics.iter().map(|metric| self.show(metric.name))
    }

    /// The text of a metric.
    pub(super) fn metric_text(&self, name: &str) -> Option<&str> {
        self.find_metric(name).map(|at| self.show(self.metrics[at].value))
    }

    /// The value of a metric that rules read.
    pub(in super::super) fn metric(&self, id: u16) -> Option<Value<'_>> {
        let wanted = self.wanted_metrics.get(usize::from(id))?;
        self.metric_text(wanted.name()).map(value_of_json)
    }

    /// Appends `,"metrics":{…}`.
    pub(in super::super) fn write_metrics(&self, out: &mut Vec<u8>) {
        for (index, metric) in self.metrics.iter().enumerate() {
            out.extend_from_slice(if index == 0 { br#","metrics":{"# } else { b"," });
            write_string(out, self.show(metric.name));
            out.push(b':');
            out.extend_from_slice(self.show(metric.value).as_bytes());
        }
        if !self.metrics.is_empty() {
            out.push(b'}');
        }
    }

    /// Takes away the fields of the same name behind one.
    pub(super) fn remove_others(&mut self, first: usize) {
        let Edit { text, entries, .. } = self;
        let show = |Span(start, end): Span| text.get(start as usize..end as usize);
        let name = show(entries[first].name);
        let mut index = 0;
        entries.retain(|entry| {
            index += 1;
            index - 1 <= first || show(entry.name) != name
        });
    }

    /// Takes a part of the event, or a field, away.
    pub(super) fn remove(&mut self, target: &Target) {
        match target {
            Target::Level => self.level = None,
            Target::Rank => self.rank = None,
            Target::Component => self.component = Part::Absent,
            Target::Content => self.content = Part::Absent,
            Target::Field(field) => self.remove_fields(|name| name == field),
            Target::Metric(metric) => self.remove_metrics(|name| name == metric),
        }
    }

    /// Takes over the time that a parser found.
    pub(super) fn set_time(&mut self, time_ns: Option<i64>) {
        if time_ns.is_some() {
            (self.time_ns, self.time_given) = (time_ns, true);
        }
    }

    /// Adds a tag, once.
    pub(super) fn add_tag(&mut self, tag: &str) {
        if self.all_tags().any(|known| known == tag) {
            return;
        }
        if let Ok(tag) = self.add(tag) {
            self.added_tags.push(tag);
        }
    }

    /// Says that a step failed.
    pub(super) fn fail(&mut self) {
        self.add_tag(FAILURE_TAG);
    }

    pub(super) fn remove_tag(&mut self, tag: &str) {
        self.tags.remove(tag);
        let Edit { text, added_tags, .. } = self;
        added_tags.retain(|Span(start, end)| {
            text.get(*start as usize..*end as usize).is_some_and(|known| known != tag)
        });
    }

    fn all_tags(&self) -> impl Iterator<Item = &str> {
        self.tags.iter().map(|tag| -> &str { tag }).chain(self.added_tags())
    }

    /// The tags that steps added.
    pub(in super::super) fn added_tags(&self) -> impl Iterator<Item = &str> {
        self.added_tags.iter().map(|tag| self.show(*tag))
    }

    fn field(&self, entry: &Entry) -> Field<'_> {
        let (name, text) = (self.show(entry.name), self.show(entry.value));
        Field { name, text, kind: entry.kind }
    }

    /// The `nth` value of a field that rules read.
    pub(in super::super) fn value(&self, id: u16, nth: usize) -> Option<Value<'_>> {
        let name = self.wanted.get(usize::from(id))?;
        let mut found = self.entries.iter().filter(|entry| self.show(entry.name) == name);
        format::as_value(self.field(found.nth(nth)?).value())
    }

    /// Appends `,"fields":{…}`; values of one name are one member.
    pub(in super::super) fn write_fields(&self, out: &mut Vec<u8>) {
        if self.entries.is_empty() {
            return;
        }
        let chain = self.chain();
        out.extend_from_slice(br#","fields":{"#);
        let mut is_first = true;
        for (index, entry) in self.entries.iter().enumerate() {
            if chain[index].0 != index {
                continue;
            }
            if !is_first {
                out.push(b',');
            }
            is_first = false;
            write_string(out, self.show(entry.name));
            out.push(b':');
            let Some(mut next) = chain[index].1 else {
                format::write_value(out, self.field(entry).value());
                continue;
            };
            out.push(b'[');
            format::write_value(out, self.field(entry).value());
            loop {
                out.push(b',');
                format::write_value(out, self.field(&self.entries[next]).value());
                match chain[next].1 {
                    Some(after) => next = after,
                    None => break,
                }
            }
            out.push(b']');
        }
        out.push(b'}');
    }

    /// By field: the first and the next one of its name.
    fn chain(&self) -> Vec<(usize, Option<usize>)> {
        let mut order: Vec<usize> = (0..self.entries.len()).collect();
        let name = |index: &usize| self.show(self.entries[*index].name);
        // A line may have a thousand fields: sorting them keeps it from comparing each with each.
        order.sort_by(|left, right| name(left).cmp(name(right)).then(left.cmp(right)));
        let mut chain: Vec<(usize, Option<usize>)> = vec![(0, None); order.len()];
        let mut first = usize::MAX;
        for (place, index) in order.iter().enumerate() {
            if place == 0 || name(&order[place - 1]) != name(index) {
                first = *index;
            } else {
                chain[order[place - 1]].1 = Some(*index);
            }
            chain[*index].0 = first;
        }
        chain
    }
}
