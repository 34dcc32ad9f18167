//! The redact stop: secret values leave the line, and what was captured from it moves along.
//!
//! Invariant: behind this stop no view holds the line as it was. A line without a secret costs the
//! prefilter's walk and nothing else. Next stop: `line`, whose labels may read what was captured.
use std::borrow::Cow;

use riverhog_parsers::fields::Fields;
use riverhog_parsers::grok::{Capture, FieldType, Outcome};
use riverhog_parsers::peel::Marks;

use super::bind::{Bound, BoundField, BoundRule};
use super::format;
use super::times::Zones;
use super::view::{Parsed, Taken, View};
use crate::counters::Counters;
use crate::plan::{LineParser, Plan};
use crate::redact::{Redact, Redacted};

/// Reused from line to line.
#[derive(Debug, Default)]
pub(super) struct RedactScratch {
    message: Redacted,
    /// Of the line without what was peeled off, where that is not the same.
    line: Redacted,
    /// Of the text that was parsed, where that is neither.
    source: Redacted,
    captures: Vec<Capture>,
    /// What a built-in format finds in the redacted text.
    fields: Fields,
}

impl RedactScratch {
    /// Redacts a line that was parsed, and the text that it was parsed from.
    pub(super) fn apply<'a>(
        &'a mut self,
        redact: &Redact,
        (plan, bound): (&Plan, &'a Bound),
        view: &mut View<'a>,
        counters: &mut Counters,
    ) {
        let RedactScratch { message, line, source, captures, fields } = self;
        let (old, old_line) = (view.message, view.line);
        let old_source = if view.parsed.rule.is_some() { view.parsed.source } else { old_line };
        let in_message = redact.redact(old, message);
        // Most lines are parsed as they came; nothing is walked twice then.
        let is_raw = std::ptr::eq(old_line, old);
        let in_line = !is_raw && redact.redact(old_line, line);
        let is_line = std::ptr::eq(old_source, old_line);
        let in_source = !is_line && redact.redact(old_source, source);
        if !in_message && !in_line && !in_source {
            return;
        }
        let (message, line, source): (&'a Redacted, &'a Redacted, &'a Redacted) =
            (message, line, source);
        if in_message {
            counters.count_all_redacted(message);
            view.message = message.text();
        }
        if in_line && hides(old, (message, in_message), line) {
            view.message = line.text();
        }
        if is_raw {
            view.line = view.message;
        } else if in_line {
            // Counted with the raw line, whose end it is.
            view.line = line.text();
        }
        if in_source {
            counters.count_all_redacted(source);
        }
        let parsed = &mut view.parsed;
        if parsed.content.is_some_and(|content| std::ptr::eq(content, old_line)) {
            parsed.content = Some(view.line);
        }
        let (redacted, is_changed) = match (is_line, is_raw) {
            (true, true) => (message, in_message),
            (true, false) => (line, in_line),
            (false, _) => (source, in_source),
        };
        let (Some(rule), true) = (parsed.rule, is_changed) else {
            return;
        };
        if parsed.fields.is_some() {
            read_again(plan, bound, redacted.text(), fields, view);
            return;
        }
        captures.clear();
        let moved = parsed.captures.iter();
        captures.extend(moved.map(|capture| move_along(capture, redacted, &rule.fields)));
        let captures: &'a [Capture] = captures;
        parsed.captures = captures;
        parsed.source = redacted.text();
        let text = |index: usize| captures.get(index).map(|capture| capture.text(redacted.text()));
        if parsed.taken.component != Taken::NONE {
            // Nothing may be left of it.
            parsed.component = text(parsed.taken.component).filter(|text| !text.is_empty());
        }
        if parsed.taken.content != Taken::NONE {
            parsed.content = text(parsed.taken.content);
        }
    }
}

/// True when the line as it came may show a value that was found in what is left of it: colours in
/// the midst of a value, or a prefix in front of each line of a record.
fn hides(raw: &str, (message, in_message): (&Redacted, bool), line: &Redacted) -> bool {
    raw.contains('\u{1b}') || !in_message || message.kinds().count() < line.kinds().count()
}

/// Role, worker and node as they came off a line, without secret values. `message`: the redacted
/// line, where it was changed; what is no longer in it was part of a value.
pub(super) fn masked_marks<'a>(
    redact: &Redact,
    marks: &Marks<'a>,
    message: Option<&str>,
) -> [Option<Cow<'a, str>>; 3] {
    [marks.role, marks.worker, marks.node].map(|mark| {
        let found = mark?;
        match redact.text(found) {
            Cow::Borrowed(_) if message.is_some_and(|message| !message.contains(found)) => None,
            left => Some(left),
        }
    })
}

/// Reads a redacted text by the built-in format that took it before: its fields may be put together
/// from several places, and do not move along. The time stays. Where the format no longer takes
/// the text, the line is without fields.
fn read_again<'a>(
    plan: &Plan,
    bound: &'a Bound,
    text: &'a str,
    fields: &'a mut Fields,
    view: &mut View<'a>,
) {
    let before = view.parsed;
    view.parsed = Parsed::NOTHING;
    let is_rule = |rule: &&BoundRule| before.rule.is_some_and(|known| std::ptr::eq(known, *rule));
    let rules = plan.parse.iter().zip(&bound.rules);
    let found = rules.filter(|(_, bound)| is_rule(bound)).find_map(|(rule, bound)| {
        match (&rule.parser, &bound.format) {
            (LineParser::Format(parser), Some(format)) => Some((rule, bound, parser, format)),
            _ => None,
        }
    });
    if let Some((rule, bound, parser, format)) = found
        && parser.run(text, fields) == Outcome::Matched
    {
        view.parsed.rule = Some(bound);
        view.parsed.source = text;
        view.parsed.fields = Some(fields);
        // The time is taken over from before.
        format::read(rule, format, view, &mut Zones::default());
    } else {
        view.parsed.content = Some(view.line);
        (view.parsed.level, view.parsed.rank) = (before.level, before.rank);
    }
    view.parsed.time_ns = before.time_ns;
    view.parsed.tags = before.tags;
}

/// A capture's place in the redacted text.
fn move_along(capture: &Capture, redacted: &Redacted, fields: &[BoundField]) -> Capture {
    if capture.is_absent() {
        return *capture;
    }
    let (start, end, touched) = redacted.place(capture.start as usize, capture.end as usize);
    if touched && fields[usize::from(capture.field)].kind != FieldType::Text {
        // A store takes no text in the place of a number.
        return Capture { start: u32::MAX, end: u32::MAX, ..*capture };
    }
    Capture { start: start as u32, end: end as u32, ..*capture }
}
