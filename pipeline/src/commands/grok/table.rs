//! `riverhog grok --format text`: each line with its fields marked below it, and where it stopped.
//!
//! Invariant: no control character of a line reaches a terminal raw. Next stop: the room `parsers`,
//! which says how far a line matched.

use std::io::{self, Write};

use riverhog_parsers::grok::{Capture, Grok, Outcome};

use super::super::console::{Console, Mood};
use crate::telemetry::escape::escape_control;

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
                let mark = " ".repeat(start) + &"~".repeat((end - start).max(1));
                writeln!(out, "{}", console.paint(Mood::Good, &mark))?;
                writeln!(out, "  {:width$}  {value}", name(grok, capture))?;
            }
        }
        Outcome::Unmatched(_) => {
            if let Some(stop) = grok.longest_prefix(text) {
                let caret = " ".repeat(columns(text, stop.place as u32)) + "^";
                let failed = grok.pattern().get(stop.failed).unwrap_or_default();
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

/// Characters before a byte, as they are written.
fn columns(text: &str, byte: u32) -> usize {
    escape_control(text.get(..byte as usize).unwrap_or(text)).chars().count()
}
