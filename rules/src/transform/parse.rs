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
use super::view::{Bind, Parsed, View};
use crate::condition::Condition;
use crate::counters::Counters;
use crate::plan::{LineParser, ParseRule, Plan, TimeRule};
use crate::value::Value;

/// What a worker reuses from line to line to parse.
pub(super) struct ParseScratch {
    candidates: Option<Candidates>,
    /// One for each rule that is a pattern.
    groks: Vec<Option<GrokScratch>>,
    /// Of the rule that ran last.
    captures: Vec<Capture>,
    /// Of the built-in format that ran last.
    fields: Fields,
    /// By rule: what the record alone says about its `when`.
    applies: Vec<Applies>,
    generation: u64,
}

/// What the record alone says about a condition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Applies {
    Yes,
    No,
    AskLine,
}

impl Applies {
    /// `of_record`: the condition reads nothing but the record.
    pub(super) fn ask(
        (when, slots): (Option<&Condition>, &[Slot]),
        of_record: bool,
        view: &View<'_>,
    ) -> Applies {
        match when {
            None => Applies::Yes,
            Some(_) if !of_record => Applies::AskLine,
            Some(when) if when.holds(&Bind(view, slots)) => Applies::Yes,
            Some(_) => Applies::No,
        }
    }

    /// The whole answer; the line is only shown where it is needed.
    pub(super) fn holds<'a>(
        self,
        when: Option<&Condition>,
        slots: &[Slot],
        view: impl FnOnce() -> View<'a>,
    ) -> bool {
        match self {
            Applies::Yes => true,
            Applies::No => false,
            Applies::AskLine => when.is_none_or(|when| when.holds(&Bind(&view(), slots))),
        }
    }
}

impl ParseScratch {
    pub(super) fn new(plan: &Plan) -> ParseScratch {
        ParseScratch {
            candidates: Candidates::new(plan),
            groks: plan.parse.iter().map(|rule| scratch(&rule.parser)).collect(),
            captures: Vec::new(),
            fields: Fields::new(),
            applies: Vec::new(),
            generation: 0,
        }
    }

    fn ask_record(&mut self, plan: &Plan, bound: &Bound, generation: u64, view: &View<'_>) {
        if self.generation == generation {
            return;
        }
        self.generation = generation;
        self.applies.clear();
        for (rule, bound) in plan.parse.iter().zip(&bound.rules) {
            let when = (rule.when.as_ref(), &bound.when[..]);
            self.applies.push(Applies::ask(when, bound.when_of_record, view));
        }
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
    scratch.ask_record(plan, bound, generation, view);
    let open = scratch.candidates.as_mut().map(|candidates| candidates.of(view.line));
    for (index, (rule, bound)) in plan.parse.iter().zip(&bound.rules).enumerate() {
        if !scratch.applies[index].holds(rule.when.as_ref(), &bound.when, || *view) {
            continue;
        }
        if open.is_some_and(|open| !open[index]) {
            counters.parsers[index].count_unmatched(Reason::NoMatch);
            continue;
        }
        let Some(text) = text_of(bound.field, view) else {
            continue;
        };
        let outcome = match (&rule.parser, &mut scratch.groks[index]) {
            (LineParser::Grok(grok), Some(slots)) => grok.run(text, slots, &mut scratch.captures),
            (LineParser::Format(parser), _) => parser.run(text, &mut scratch.fields),
            (LineParser::Grok(_), None) => continue,
        };
        match outcome {
            Outcome::Matched => {
                counters.parsers[index].matched += 1;
                view.parsed.rule = Some(bound);
                view.parsed.source = text;
                if let Some(format) = &bound.format {
                    view.parsed.fields = Some(&scratch.fields);
                    format::read(rule, format, view);
                } else {
                    view.parsed.captures = &scratch.captures;
                    read(rule, bound, view);
                }
                return;
            }
            Outcome::Unmatched(reason) => {
                view.parsed.tags.limit |= reason == Reason::Limit;
                counters.parsers[index].count_unmatched(reason);
            }
        }
    }
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
pub(super) fn read<'a>(rule: &ParseRule, bound: &'a BoundRule, view: &mut View<'a>) {
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
                parsed.time_ns = parse_time(rule.time.as_ref(), text, received_ns);
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

pub(super) fn parse_time(rule: Option<&TimeRule>, text: &str, received_ns: i64) -> Option<i64> {
    rule.and_then(|rule| rule.parser.parse(text, received_ns))
}

fn parse_rank(text: &str, kind: FieldType) -> Option<i64> {
    match kind {
        FieldType::Int => to_int(text),
        FieldType::Text => text.parse().ok(),
        FieldType::Float => None,
    }
}
