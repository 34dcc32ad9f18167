//! `riverhog grok --format text`: each line with its fields marked below it, and where it stopped.
//!
//! Invariant: no control character of a line reaches a terminal raw. Next stop: the room `parsers`,
//! which says how far a line matched.

use std::io::{self, Write};

use riverhog_parsers::grok::{Capture, Grok, Outcome};

use super::super::console::{Console, Mood};
use super::super::marked::{self, first};
use crate::telemetry::escape::escape_control;

/// A longer part of a pattern is cut.
const FAILED_CHARS_MAX: usize = 80;

/// Writes a line, the fields found in it, and a caret where it stopped to match.
pub(super) fn write(
    grok: &Grok,
    outcome: Outcome,
    captures: &[Capture],
    text: &str,
    console: Console,
    out: &mut impl Write,
) -> io::Result<()> {
    writeln!(out, "{}", escape_control(text))?;
    match outcome {
        Outcome::Matched => {
            let width = captures.iter().map(|capture| name(grok, capture).len()).max().unwrap_or(0);
            for capture in captures.iter().filter(|capture| !capture.is_absent()) {
                let value = escape_control(capture.text(text));
                let (start, end) = (columns(text, capture.start), columns(text, capture.end));
                let mark = " ".repeat(start) + &"~".repeat(end.saturating_sub(start).max(1));
                writeln!(out, "{}", console.paint(Mood::Good, &mark))?;
                writeln!(out, "  {:width$}  {value}", name(grok, capture))?;
            }
        }
        Outcome::Unmatched(_) => {
            if let Some(stop) = grok.longest_prefix(text) {
                let caret = " ".repeat(columns(text, stop.place as u32)) + "^";
                let failed = grok.pattern().get(stop.failed).unwrap_or_default();
                let failed = escape_control(failed);
                let failed = first(&failed, FAILED_CHARS_MAX);
                writeln!(out, "{}", console.paint(Mood::Bad, &caret))?;
                writeln!(out, "  no match: here `{failed}` would have to begin")?;
            } else {
                writeln!(out, "  {}", console.paint(Mood::Bad, "no match"))?;
            }
        }
    }
    writeln!(out)
}

fn name<'g>(grok: &'g Grok, capture: &Capture) -> &'g str {
    &grok.fields()[usize::from(capture.field)].name
}

/// Columns before a byte, as the text is written.
fn columns(text: &str, byte: u32) -> usize {
    marked::columns(&escape_control(text.get(..byte as usize).unwrap_or(text)))
}
