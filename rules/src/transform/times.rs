//! The time of a line: read by its rule, in the zone that the line may name itself; and the time of
//! the event, from the best source there is.
//!
//! Invariant: a zone that a line names and nobody knows is as good as none; a time far from the
//! record's is kept and tagged. Next stop: `boot`, for lines that count from a machine's start.
use riverhog_parsers::time::TimeZone;

use super::bind::Bound;
use super::boot;
use super::encode::TimestampSource;
use super::record::HostState;
use super::view::{Parsed, View};
use super::{ReceivedSource, Record};
use crate::plan::{Plan, TimeRule};

/// The zone that was named last, kept for the next line of the same zone.
#[derive(Debug, Default)]
pub(super) struct Zones {
    /// `None` before the first.
    name: Option<String>,
    /// `None` where there is no such zone.
    zone: Option<TimeZone>,
}

impl Zones {
    fn find(&mut self, name: &str) -> Option<&TimeZone> {
        if self.name.as_deref() != Some(name) {
            self.name = Some(name.to_owned());
            self.zone = TimeZone::find(name).ok();
        }
        self.zone.as_ref()
    }
}

/// Reads the time of a line. `known` is the number of the format that found the text, where it is
/// one of the rule's own.
pub(super) fn read_time(
    (rule, text): (&TimeRule, &str),
    known: Option<usize>,
    (parsed, received_ns): (&Parsed<'_>, i64),
    zones: &mut Zones,
) -> Option<i64> {
    let zone = rule.zone_field.as_deref().and_then(|field| text_of(parsed, field));
    if let Some(zone) = zone.and_then(|name| zones.find(name)) {
        return rule.parser.parse_in(text, zone, received_ns);
    }
    match known {
        Some(format) if rule.is_own => rule.parser.parse_by(format, text, received_ns),
        _ => rule.parser.parse(text, received_ns),
    }
}

/// The text of a field that the line's own parser found.
pub(super) fn text_of<'a>(parsed: &Parsed<'a>, name: &str) -> Option<&'a str> {
    if let Some(fields) = parsed.fields {
        return Some(fields.get(fields.find(name, parsed.source)?, parsed.source)?.text);
    }
    let rule = parsed.rule?;
    let mut captures = parsed.captures.iter();
    let capture = captures.find(|capture| {
        rule.fields[usize::from(capture.field)].name == name && !capture.is_absent()
    })?;
    Some(capture.text(parsed.source))
}

/// Gives the event its time, from the best source there is. `host`: of the line, as far as it is
/// known.
pub(super) fn set_times(
    view: &mut View<'_>,
    record: &Record<'_>,
    (plan, bound): (&Plan, &Bound),
    host: &HostState,
) -> TimestampSource {
    let of_envelope = record.envelope.and_then(|envelope| envelope.time_ns);
    if view.parsed.time_ns.is_none() && !bound.boot.is_empty() {
        boot::set_time(view, bound, plan.skew_tag_ns, host);
    }
    let (time_ns, source) = match (view.parsed.time_ns, of_envelope) {
        (Some(time_ns), _) => (time_ns, TimestampSource::Line),
        (None, Some(time_ns)) => (time_ns, TimestampSource::Envelope),
        (None, None) => (record.received_ns, TimestampSource::Record),
    };
    view.parsed.time_ns = Some(time_ns);
    let skew_ns = time_ns.abs_diff(record.received_ns);
    // Nothing stamps the records of a file, and an old file read again must open no day of today.
    let is_unstamped = record.received_source == ReceivedSource::File;
    if is_unstamped || skew_ns <= plan.skew_max_ns.unsigned_abs() {
        view.template_ns = time_ns;
    }
    view.parsed.tags.time_skew = !is_unstamped && skew_ns > plan.skew_tag_ns.unsigned_abs();
    source
}
