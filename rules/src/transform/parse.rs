//! The parse stop: the first rule that accepts the line gives its time, level, component and
//! content.
//!
//! Invariant: a line that no rule accepts is an event all the same; its content is the line. Next
//! stop: `record`, whose host and labels may read what was parsed.
use riverhog_parsers::fields::Fields;
use riverhog_parsers::grok::{Capture, FieldType, GrokScratch, Outcome, Reason, to_int};
use riverhog_parsers::level::Level;

use super::bind::{Bound, BoundRule, Role, Slot};
use super::candidates::Candidates;
use super::format;
use super::sampler::{self, Sampler, Ticks};
use super::tally::Tally;
use super::times::{Zones, read_time};
use super::view::{Bind, Parsed, View};
use crate::counters::Counters;
use crate::plan::{LineParser, ParseRule, Plan};
use crate::value::Value;

/// What a worker reuses from line to line to parse.
pub(super) struct ParseScratch {
    candidates: Candidates,
    tally: Tally,
    sampler: Sampler,
    /// One for each rule that is a pattern.
    groks: Vec<Option<GrokScratch>>,
    /// Of the rule that ran last.
    captures: Vec<Capture>,
    /// Of the built-in format that ran last.
    fields: Fields,
    zones: Zones,
}

impl ParseScratch {
    pub(super) fn new(plan: &Plan, bound: &Bound) -> ParseScratch {
        ParseScratch {
            candidates: Candidates::new(plan),
            tally: Tally::new(plan, bound),
            sampler: Sampler::default(),
            groks: plan.parse.iter().map(|rule| scratch(&rule.parser)).collect(),
            captures: Vec::new(),
            fields: Fields::new(),
            zones: Zones::default(),
        }
    }

    /// Measures some lines by this clock.
    pub(super) fn set_ticks(&mut self, ticks: Ticks) {
        self.sampler.set(ticks);
    }

    /// What was set by [`ParseScratch::set_ticks`].
    pub(super) fn ticks(&self) -> Option<Ticks> {
        self.sampler.ticks()
    }

    /// Completes the counters.
    pub(super) fn flush(&mut self, counters: &mut Counters) {
        self.tally.flush(counters);
    }
}

/// Runs the rules over a line until one accepts it, and completes the view by what it found.
pub(super) fn parse<'a>(
    plan: &Plan,
    bound: &'a Bound,
    generation: u64,
    view: &mut View<'a>,
    scratch: &'a mut ParseScratch,
    counters: &mut Counters,
) {
    let ParseScratch { candidates, tally, sampler, groks, captures, fields, zones } = scratch;
    tally.ask_record((plan, bound), generation, view, counters);
    let open = candidates.of(view.line);
    let ticks = sampler.next();
    let mut from = 0;
    while let Some(index) = tally.next(open, from) {
        from = index + 1;
        let (rule, bound) = (&plan.parse[index], &bound.rules[index]);
        if tally.is_asking(index)
            && !rule.when.as_ref().is_none_or(|when| when.holds(&Bind(view, &bound.when)))
        {
            continue;
        }
        if !open.has(index) {
            tally.unmatched(index, Reason::NoMatch, counters);
            continue;
        }
        let Some(text) = text_of(bound.field, view) else {
            continue;
        };
        let measured = ticks.map(|ticks| (ticks, ticks()));
        let outcome = match (&rule.parser, &mut groks[index]) {
            (LineParser::Grok(grok), Some(slots)) => grok.run(text, slots, captures),
            (LineParser::Format(parser), _) => parser.run(text, fields),
            (LineParser::Grok(_), None) => continue,
        };
        if let Outcome::Unmatched(reason) = outcome {
            view.parsed.tags.limit |= reason == Reason::Limit;
            tally.unmatched(index, reason, counters);
            continue;
        }
        tally.ended_at(index);
        view.parsed.rule = Some(bound);
        view.parsed.source = text;
        if let Some(format) = &bound.format {
            view.parsed.fields = Some(fields);
            format::read(rule, format, view, zones);
        } else {
            view.parsed.captures = captures;
            read(rule, bound, view, zones);
        }
        if let Some((ticks, started)) = measured {
            sampler::note(index, ticks, started, counters);
        }
        return;
    }
    tally.ended_at(plan.parse.len());
    view.parsed.content = Some(view.line);
    view.parsed.tags.unparsed = true;
}

pub(super) fn scratch(parser: &LineParser) -> Option<GrokScratch> {
    match parser {
        LineParser::Grok(grok) => Some(grok.scratch()),
        LineParser::Format(_) => None,
    }
}

fn text_of<'a>(slot: Slot, view: &View<'a>) -> Option<&'a str> {
    if slot == Slot::Line {
        return Some(view.line);
    }
    match view.value(slot, 0)? {
        Value::Text(text) => Some(text),
        _ => None,
    }
}

/// Gives the captures their parts in the event.
pub(super) fn read<'a>(
    rule: &ParseRule,
    bound: &'a BoundRule,
    view: &mut View<'a>,
    zones: &mut Zones,
) {
    let (line, received_ns, parsed) = (view.line, view.received_ns, &mut view.parsed);
    let mut time_seen = false;
    for (index, capture) in parsed.captures.iter().enumerate() {
        let field = &bound.fields[usize::from(capture.field)];
        if field.role == Role::Other || capture.is_absent() {
            continue;
        }
        let text = capture.text(parsed.source);
        match field.role {
            Role::Time if parsed.time_ns.is_none() => {
                time_seen = true;
                let time = rule.time.as_ref();
                let place = (&*parsed, received_ns);
                parsed.time_ns = time.and_then(|time| read_time((time, text), None, place, zones));
                take(&mut parsed.taken.time, index, parsed.time_ns.is_some());
            }
            Role::Rank if parsed.rank.is_none() => {
                parsed.rank = parse_rank(text, field.kind);
                take(&mut parsed.taken.rank, index, parsed.rank.is_some());
            }
            role => give(parsed, role, text, index),
        }
    }
    parsed.tags.time_failure = time_seen && parsed.time_ns.is_none();
    if parsed.content.is_none() {
        // A pattern with a content that took nothing has said where the content ends.
        parsed.content = Some(if bound.has_content { "" } else { line });
    }
}

/// Gives the event level, component or content, unless it has that part already. `index` is that of
/// the capture or field.
pub(super) fn give<'a>(parsed: &mut Parsed<'a>, role: Role, text: &'a str, index: usize) {
    match role {
        Role::Level if parsed.level.is_none() => {
            parsed.level = Level::parse(text);
            take(&mut parsed.taken.level, index, parsed.level.is_some());
        }
        Role::Component if parsed.component.is_none() && !text.is_empty() => {
            parsed.component = Some(text);
            parsed.taken.component = index;
        }
        Role::Content if parsed.content.is_none() => {
            parsed.content = Some(text);
            parsed.taken.content = index;
        }
        _ => {}
    }
}

pub(super) fn take(taken: &mut usize, index: usize, is_taken: bool) {
    if is_taken {
        *taken = index;
    }
}

fn parse_rank(text: &str, kind: FieldType) -> Option<i64> {
    match kind {
        FieldType::Int => to_int(text),
        FieldType::Text | FieldType::Long => text.parse().ok(),
        FieldType::Float | FieldType::Double | FieldType::Boolean => None,
    }
}
