//! Slurm: its daemons `[2024-05-15T10:23:45.123] [4711.batch] error: …`, its commands
//! `slurmstepd: error: …` and `srun: error: gpu-node-017: task 3: …`.
//!
//! Invariant: the level is the word before the colon, and absent where none stands there. Next on
//! the trip: [`super::words`].

use nom::Parser as _;
use nom::branch::alt;
use nom::bytes::complete::{tag, take_while1};
use nom::character::complete::char;
use nom::combinator::{opt, verify};
use nom::sequence::{delimited, terminated};

use super::line::Line;
use super::stamp::{self, Form, Stamp};
use super::words::{self, Part};
use crate::formats::writer::{Read, Writer};
use crate::grok::Reason;

/// Reads a line of a daemon or a command.
pub(super) fn read(writer: &mut Writer<'_>, line: &Line<'_>) -> Read {
    let Some((stamp, rest)) = time(line) else { return command(writer, line.text) };
    let (step, level, content) = words::matched(daemon(rest))?;
    // Without a word of Slurm's own it is Slurm's by its time alone, unless another logger's level
    // stands there.
    let is_foreign = || content.starts_with('[') || words::level(content).is_ok();
    if step.is_none() && level.is_none() && (stamp.form != Form::Iso || is_foreign()) {
        return Err(Reason::NoMatch);
    }
    writer.log_time(stamp)?;
    if let Some(level) = level {
        writer.part("level", level)?;
    }
    if let Some(step) = step {
        writer.part("slurm_step", step)?;
    }
    writer.part("content", content)
}

/// The time in brackets: ISO 8601 or `May 15 10:23:45`; gives what follows the bracket.
fn time<'t>(line: &Line<'t>) -> Option<(Stamp<'t>, &'t str)> {
    let (stamp, rest) = match line.stamp {
        Some(stamp) if stamp.form == Form::Iso => (stamp, line.rest),
        Some(_) => return None,
        None => {
            let inner = line.text.strip_prefix('[')?;
            let length = stamp::month_name(inner.as_bytes())?;
            let fraction = stamp::fraction(&inner.as_bytes()[length..], b".");
            let form = if fraction == 0 { Form::MonthName } else { Form::MonthNamePoint };
            stamp::cut(inner, length + fraction, form)?
        }
    };
    Some((stamp, rest.strip_prefix("] ")?))
}

type Daemon<'t> = (Option<&'t str>, Option<&'t str>, &'t str);

/// `[4711.batch] error: content`
fn daemon(text: &str) -> Part<'_, Daemon<'_>> {
    let step = verify(words::name, |step: &str| step.starts_with(|it: char| it.is_ascii_digit()));
    let step = delimited(char('['), step, tag("] "));
    let (text, step) = opt(step).parse(text)?;
    let (content, level) = opt(terminated(level, tag(": "))).parse(text)?;
    Ok(("", (step, level, content)))
}

/// The words of Slurm's own log.
fn level(text: &str) -> Part<'_, &str> {
    let word = take_while1(|letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit());
    verify(word, |word: &str| {
        let words = ["error", "fatal", "info", "verbose", "warning"];
        words.contains(&word) || word.starts_with("debug") && word.len() <= 6
    })
    .parse(text)
}

fn command(writer: &mut Writer<'_>, text: &str) -> Read {
    let name = alt((
        tag("slurmstepd"),
        tag("slurmctld"),
        tag("slurmdbd"),
        tag("slurmd"),
        tag("srun"),
        tag("sbatch"),
        tag("salloc"),
        tag("scancel"),
        tag("sattach"),
    ));
    let found: Part<'_, _> =
        (terminated(name, tag(": ")), opt(terminated(level, tag(": ")))).parse(text);
    let (content, (name, level)) = words::split(found)?;
    writer.part("component", name)?;
    if let Some(level) = level {
        writer.part("level", level)?;
    }
    writer.part("content", content)
}
