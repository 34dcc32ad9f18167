//! The time of a line: read by its rule, in the zone that the line may name itself.
//!
//! Invariant: a zone that a line names and nobody knows is as good as none. Next stop: `record`.
use riverhog_parsers::time::TimeZone;

use super::view::Parsed;
use crate::plan::TimeRule;

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
fn text_of<'a>(parsed: &Parsed<'a>, name: &str) -> Option<&'a str> {
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
