//! `riverhog parse --list`: every format and envelope with who writes it and a line of it.
//!
//! Invariant: what is listed comes from the tables that lines are read by. Next stop: the tables,
//! `parsers/src/known.rs` and that of training logs.

use std::io::{self, Write};

use riverhog_parsers::formats::Training;
use riverhog_parsers::known::{ENVELOPES, FORMATS, Known};
use serde_json::json;

use super::super::console::{Console, Format, Mood};
use crate::telemetry::escape::escape_control;

/// Its word in JSON, what stands above it for people, and what is listed.
type Kind = (&'static str, &'static str, Vec<Known>);

fn kinds() -> [Kind; 3] {
    let training = Training::formats().iter().map(|row| Known {
        name: row.name,
        about: row.about,
        sample: row.sample,
    });
    [
        ("format", "Formats, words of `as`:", FORMATS.to_vec()),
        (
            "training",
            "Training logs; `training` takes any of them, in this order:",
            training.collect(),
        ),
        (
            "envelope",
            "Envelopes, words of a source's `envelope`; `auto` knows each of them:",
            ENVELOPES.to_vec(),
        ),
    ]
}

/// Writes the list.
///
/// # Errors
/// Where it cannot be written.
pub(super) fn write(format: Format, console: Console, out: &mut impl Write) -> io::Result<()> {
    for (index, (kind, title, all)) in kinds().into_iter().enumerate() {
        if format == Format::Text {
            let before = if index == 0 { "" } else { "\n" };
            writeln!(out, "{before}{title}")?;
        }
        for Known { name, about, sample } in all {
            match format {
                Format::Text => {
                    let line = console.paint(Mood::Dim, &escape_control(sample));
                    writeln!(out, "  {name:<16} {about}\n    {line}")?;
                }
                Format::Json => writeln!(
                    out,
                    "{}",
                    json!({ "kind": kind, "name": name, "about": about, "sample": sample })
                )?,
            }
        }
    }
    Ok(())
}
