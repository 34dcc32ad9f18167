//! One line with everything known about it so far, read through slots.
//!
//! Invariant: a view borrows and never changes; what a stage has not found yet is absent in it.
//! Next stop: `Values`, through which conditions and templates ask.
use std::ops::Range;

use riverhog_parsers::fields::Fields;
use riverhog_parsers::grok::Capture;
use riverhog_parsers::level::Level;

use super::bind::{BoundRule, Slot};
use super::format;
use super::marks::LineMarks;
use super::record::{HostState, LabelState, RecordTexts};
use super::steps::Edit;
use crate::numbers::{Found, NOT_FINITE_TAG};
use crate::plan::Plan;
use crate::value::{Value, Values};

/// A line and what is known about it.
#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    pub(super) texts: &'a RecordTexts,
    pub(super) host: &'a HostState,
    pub(super) labels: &'a [LabelState],
    pub(super) received_ns: i64,
    /// `timestamp`, or `received` where that is too far away.
    pub(super) template_ns: i64,
    /// The raw line as text.
    pub(super) message: &'a str,
    /// The line without what was peeled off.
    pub(super) line: &'a str,
    /// What was peeled off.
    pub(super) marks: Option<&'a LineMarks<'a>>,
    pub(super) parsed: Parsed<'a>,
    /// Secret values have left the line, and the record's texts are shown without theirs. Before
    /// that they are whole: parsers read lines as they were written, and tables know hosts by name.
    pub(super) redacted: bool,
}

/// What the parse stage found.
#[derive(Clone, Copy)]
pub(super) struct Parsed<'a> {
    /// The rule that accepted the line.
    pub(super) rule: Option<&'a BoundRule>,
    pub(super) captures: &'a [Capture],
    /// What a built-in format found in place of captures.
    pub(super) fields: Option<&'a Fields>,
    /// Those of captures or fields that are metrics.
    pub(super) numbers: Option<&'a Found>,
    /// What steps made of captures or fields.
    pub(super) edit: Option<&'a Edit>,
    /// The text that captures and fields point into.
    pub(super) source: &'a str,
    pub(super) taken: Taken,
    pub(super) content: Option<&'a str>,
    pub(super) component: Option<&'a str>,
    pub(super) level: Option<Level>,
    pub(super) rank: Option<i64>,
    pub(super) time_ns: Option<i64>,
    pub(super) tags: Tags,
}

/// Captures or fields that became a part of the event of their own, by index; the rest are its
/// `fields`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Taken {
    pub(super) time: usize,
    pub(super) level: usize,
    pub(super) component: usize,
    pub(super) content: usize,
    pub(super) rank: usize,
}

impl Taken {
    pub(super) const NONE: usize = usize::MAX;
    pub(super) const NOTHING: Taken = Taken {
        time: Taken::NONE,
        level: Taken::NONE,
        component: Taken::NONE,
        content: Taken::NONE,
        rank: Taken::NONE,
    };

    /// How many captures are taken.
    pub(super) fn count(&self) -> usize {
        self.all().into_iter().filter(|&capture| capture != Taken::NONE).count()
    }

    pub(super) fn has(&self, capture: usize) -> bool {
        self.all().contains(&capture)
    }

    fn all(&self) -> [usize; 5] {
        [self.time, self.level, self.component, self.content, self.rank]
    }
}

/// The tags of an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Tags {
    pub(super) unparsed: bool,
    pub(super) time_failure: bool,
    pub(super) cut: bool,
    /// A pattern was given up at its limit of steps.
    pub(super) limit: bool,
    /// A metric is no finite number.
    pub(super) not_finite: bool,
    /// The event's time is far from the record's.
    pub(super) time_skew: bool,
}

impl Tags {
    /// Takes a tag away; one that is none of these is left alone.
    pub(super) fn remove(&mut self, tag: &str) {
        match tag {
            "_unparsed" => self.unparsed = false,
            "_limit" => self.limit = false,
            "_timefailure" => self.time_failure = false,
            "_timeskew" => self.time_skew = false,
            "_cut" => self.cut = false,
            NOT_FINITE_TAG => self.not_finite = false,
            _ => {}
        }
    }

    /// True where no tag is set.
    pub(super) fn is_empty(self) -> bool {
        self == Tags::default()
    }

    /// The tags that are set, as they are written.
    pub(super) fn iter(self) -> impl Iterator<Item = &'static str> {
        let all = [
            (self.unparsed, "_unparsed"),
            (self.limit, "_limit"),
            (self.time_failure, "_timefailure"),
            (self.time_skew, "_timeskew"),
            (self.cut, "_cut"),
            (self.not_finite, NOT_FINITE_TAG),
        ];
        all.into_iter().filter_map(|(set, tag)| set.then_some(tag))
    }
}

impl Parsed<'_> {
    /// Before anything was parsed.
    pub(super) const NOTHING: Parsed<'static> = Parsed {
        rule: None,
        captures: &[],
        fields: None,
        numbers: None,
        edit: None,
        source: "",
        taken: Taken::NOTHING,
        content: None,
        component: None,
        level: None,
        rank: None,
        time_ns: None,
        tags: Tags {
            unparsed: false,
            time_failure: false,
            cut: false,
            limit: false,
            not_finite: false,
            time_skew: false,
        },
    };
}

impl<'a> Parsed<'a> {
    /// Where in the line the content stands, if it was captured from the line itself.
    pub(super) fn content_place(&self, message: &str) -> Option<Range<usize>> {
        let place = if let Some(fields) = self.fields {
            fields.place(self.taken.content)?
        } else {
            let capture = self.captures.get(self.taken.content)?;
            capture.start as usize..capture.end as usize
        };
        // What was peeled off stood in front of it, or the line was copied.
        let before = (self.source.as_ptr() as usize).checked_sub(message.as_ptr() as usize)?;
        let is_inside = before + self.source.len() <= message.len();
        is_inside.then(|| before + place.start..before + place.end)
    }

    /// True for a capture or field that became another part of the event, by its index.
    pub(super) fn is_taken(&self, index: usize) -> bool {
        self.taken.has(index) || self.numbers.is_some_and(|numbers| numbers.has_taken(index))
    }

    /// How many captures or fields became other parts of the event.
    pub(super) fn taken_count(&self) -> usize {
        self.taken.count() + self.numbers.map_or(0, Found::taken_count)
    }

    fn metric(&self, id: u16) -> Option<Value<'a>> {
        match self.edit {
            Some(edit) => edit.metric(id),
            None => self.numbers?.value(id),
        }
    }

    /// True for a field that a parser gave.
    pub(super) fn has_field(&self, name: &str) -> bool {
        if let Some(fields) = self.fields {
            return fields.find(name, self.source).is_some();
        }
        let Some(rule) = self.rule else { return false };
        let mut captures = self.captures.iter();
        captures.any(|capture| rule.fields[usize::from(capture.field)].name == name)
    }

    /// All tags, those of steps last.
    pub(super) fn tags(&self) -> impl Iterator<Item = &'a str> {
        let own = self.tags.iter().map(|tag| -> &'a str { tag });
        own.chain(self.edit.into_iter().flat_map(Edit::added_tags))
    }

    fn field(&self, id: u16, nth: usize) -> Option<Value<'a>> {
        if let Some(edit) = self.edit {
            return edit.value(id, nth);
        }
        let rule = self.rule?;
        if let (Some(fields), Some(bound)) = (self.fields, &rule.format) {
            return format::value(fields, bound, self, (id, nth));
        }
        let captures = self.captures.iter().enumerate();
        let mut found = captures.filter(|(index, capture)| {
            rule.fields[usize::from(capture.field)].id == Some(id)
                && !capture.is_absent()
                && !self.numbers.is_some_and(|numbers| numbers.has_taken(*index))
        });
        let (_, capture) = found.nth(nth)?;
        let kind = rule.fields[usize::from(capture.field)].kind;
        format::as_value(kind.value(capture.text(self.source)))
    }
}

impl<'a> View<'a> {
    fn record_text(&self, source: u16) -> Option<Value<'a>> {
        self.texts.get(source, self.redacted).map(Value::Text)
    }

    /// The `nth` value of a slot.
    pub(super) fn value(&self, slot: Slot, nth: usize) -> Option<Value<'a>> {
        match slot {
            Slot::Tags => self.parsed.tags().nth(nth).map(Value::Text),
            Slot::Field { field, record } => match self.parsed.field(field, nth) {
                None if nth == 0 && self.parsed.edit.is_none() => {
                    let mark = self.marks.and_then(|it| it.ids.value(field, &it.marks));
                    mark.or_else(|| self.record_text(record))
                }
                None if nth == 0 => self.record_text(record),
                value => value,
            },
            _ if nth > 0 => None,
            Slot::Timestamp => self.parsed.time_ns.map(Value::Time),
            Slot::TemplateTime => Some(Value::Time(self.template_ns)),
            Slot::Received => Some(Value::Time(self.received_ns)),
            Slot::Level => self.parsed.level.map(Value::Level),
            Slot::Component => self.parsed.component.map(Value::Text),
            Slot::Content => self.parsed.content.map(Value::Text),
            Slot::Line => Some(Value::Text(self.line)),
            Slot::Message => Some(Value::Text(self.message)),
            Slot::Rank => self.parsed.rank.map(Value::Int),
            Slot::Partition => Some(Value::Int(i64::from(self.texts.partition()))),
            Slot::Host => Some(Value::Text(self.host.name())),
            Slot::HostColumn(column) => self.host.column(column).map(Value::Text),
            Slot::Record(source) => self.record_text(source),
            Slot::Metric(metric) => self.parsed.metric(metric),
            Slot::Label(label) => {
                self.labels.get(usize::from(label)).and_then(LabelState::text).map(Value::Text)
            }
            Slot::Nothing => None,
        }
    }
}

impl View<'_> {
    /// The text of a label, by its name.
    pub(super) fn label(&self, plan: &Plan, name: &str) -> Option<&str> {
        let place = plan.labels.iter().position(|label| label.name == name)?;
        self.labels.get(place).and_then(LabelState::text)
    }
}

/// A view as one condition or template sees it.
pub(super) struct Bind<'a>(pub(super) &'a View<'a>, pub(super) &'a [Slot]);

impl Values for Bind<'_> {
    fn value(&self, name: usize, nth: usize) -> Option<Value<'_>> {
        self.0.value(*self.1.get(name)?, nth)
    }
}
