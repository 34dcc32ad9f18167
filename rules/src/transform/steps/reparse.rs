//! Reading a value by a parser: the second stage of lines that hold one format in another.
//!
//! Invariant: what the parser finds becomes parts and fields of the event exactly as it does at the
//! parse stop; without a match the event stays as it was. Next stop: `edit`.
use riverhog_parsers::fields::{FieldKind, Fields};
use riverhog_parsers::grok::{Capture, GrokScratch, Outcome};

use super::super::bind::{BoundRule, Slot};
use super::super::format;
use super::super::numbers;
use super::super::parse::{read, scratch};
use super::super::record::push_text;
use super::super::times::Zones;
use super::super::view::{Parsed, Taken, View};
use super::edit::{Edit, Failed, Part};
use crate::numbers::Found;
use crate::plan::{LineParser, Plan};
use crate::step::Reparse;

/// Reused from line to line.
#[derive(Default)]
pub(super) struct ReparseScratch {
    text: String,
    groks: Vec<Option<GrokScratch>>,
    captures: Vec<Capture>,
    fields: Fields,
    numbers: Found,
    zones: Zones,
}

impl ReparseScratch {
    pub(super) fn new(reparse: &Reparse) -> ReparseScratch {
        let groks = reparse.rules.iter().map(|rule| scratch(&rule.parser)).collect();
        ReparseScratch { groks, ..ReparseScratch::default() }
    }

    /// Reads the value and gives the event what was found.
    pub(super) fn run(
        &mut self,
        edit: &mut Edit,
        base: &View<'_>,
        (plan, reparse): (&Plan, &Reparse),
        bound: &[BoundRule],
    ) -> Result<(), Failed> {
        let ReparseScratch { text, groks, captures, fields, numbers, zones } = self;
        text.clear();
        let slot = bound.first().map_or(Slot::Content, |rule| rule.field);
        if !push_text(text, slot, &edit.view(base)) {
            return Err(Failed);
        }
        // A value that escapes were taken off may show what could not be seen in the line.
        if let Some(redact) = &plan.redact
            && let std::borrow::Cow::Owned(redacted) = redact.text(text)
        {
            *text = redacted;
        }
        let mut is_limited = false;
        for ((rule, bound), slots) in reparse.rules.iter().zip(bound).zip(groks) {
            let outcome = match (&rule.parser, slots) {
                (LineParser::Grok(grok), Some(slots)) => grok.run(text, slots, captures),
                (LineParser::Format(parser), _) => parser.run(text, fields),
                (LineParser::Grok(_), None) => continue,
            };
            match outcome {
                Outcome::Matched => {
                    let mut view = View { line: text, parsed: Parsed::NOTHING, ..*base };
                    view.parsed.rule = Some(bound);
                    view.parsed.source = text;
                    if let Some(format) = &bound.format {
                        view.parsed.fields = Some(fields);
                        format::read(rule, format, &mut view, zones);
                    } else {
                        view.parsed.captures = captures;
                        read(rule, bound, &mut view, zones);
                    }
                    // With a prefix nothing becomes a part of the event.
                    if reparse.prefix.is_none() {
                        let behind = (numbers, edit.metric_names());
                        numbers::read_behind(plan, rule.numbers, &mut view.parsed, behind);
                    }
                    return take(edit, reparse, bound, &view.parsed);
                }
                Outcome::Unmatched(reason) => {
                    is_limited |= reason == riverhog_parsers::grok::Reason::Limit;
                }
            }
        }
        edit.tags.limit |= is_limited;
        Err(Failed)
    }
}

/// Gives the event what was found; parts that were found take the place of those it has.
fn take(
    edit: &mut Edit,
    reparse: &Reparse,
    bound: &BoundRule,
    found: &Parsed<'_>,
) -> Result<(), Failed> {
    let mut found = *found;
    if let Some(prefix) = &reparse.prefix {
        // Nothing becomes a part of the event but its time, which no field could say.
        found.taken = Taken { time: found.taken.time, ..Taken::NOTHING };
        edit.set_time(found.time_ns);
        return take_fields(edit, reparse, &found, &format!("{prefix}."));
    }
    edit.tags.time_failure |= found.tags.time_failure;
    edit.set_time(found.time_ns);
    edit.level = found.level.or(edit.level);
    edit.rank = found.rank.or(edit.rank);
    if let Some(component) = found.component {
        edit.component = Part::Given { value: edit.add(component)?, made: false };
    }
    if let Some(content) = found.content
        && (found.taken.content != Taken::NONE || bound.has_content)
    {
        edit.content = Part::Given { value: edit.add(content)?, made: false };
    }
    for (name, json) in found.numbers.iter().flat_map(|numbers| numbers.iter()) {
        edit.set_metric(name, json.parse().unwrap_or(f64::NAN))?;
    }
    take_fields(edit, reparse, &found, "")
}

fn take_fields(
    edit: &mut Edit,
    reparse: &Reparse,
    found: &Parsed<'_>,
    prefix: &str,
) -> Result<(), Failed> {
    let before = edit.entries.len();
    let mut result = Ok(());
    let mut name = prefix.to_owned();
    edit.each_field(found, |edit, (field, value, kind): (&str, &str, FieldKind)| {
        name.truncate(prefix.len());
        name.push_str(field);
        let pushed = edit.push((&name, value, kind), false);
        if pushed.is_err() {
            result = pushed;
        }
    });
    if reparse.overwrite.is_empty() {
        return result;
    }
    // Those that were there before go, where a new one of their name has come.
    let names: Vec<String> =
        edit.entries[before..].iter().map(|entry| edit.show(entry.name).to_owned()).collect();
    let replaced = |name: &str| {
        names.iter().any(|new| new == name)
            && reparse.overwrite.iter().any(|pattern| pattern.matches(name))
    };
    let gone: Vec<bool> =
        edit.entries[..before].iter().map(|entry| replaced(edit.show(entry.name))).collect();
    let mut index = 0;
    edit.entries.retain(|_| {
        index += 1;
        !gone.get(index - 1).copied().unwrap_or(false)
    });
    result
}
