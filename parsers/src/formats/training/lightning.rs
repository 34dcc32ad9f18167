//! The progress bar of Lightning:
//! `Epoch 0:  35%|███▌ | 7/20 [00:01<00:02,  5.00it/s, train_loss=2.3]`.
//!
//! Invariant: one bar a line, closed by its bracket; a line with more is left to be split first.
//! Next on the trip: [`super::numbers`].

use nom::Parser as _;
use nom::branch::alt;
use nom::bytes::complete::{tag, take_till, take_until};
use nom::character::complete::{char, digit1, space0};
use nom::combinator::opt;
use nom::sequence::{preceded, separated_pair, terminated};

use super::line::Line;
use super::numbers;
use super::words::{self, Part};
use crate::formats::writer::{Read, Writer};
use crate::grok::Reason;

struct Bar<'t> {
    epoch: Option<&'t str>,
    percent: &'t str,
    step: &'t str,
    total: &'t str,
    inner: &'t str,
}

/// Reads a line.
pub(super) fn read(writer: &mut Writer<'_>, line: &Line<'_>) -> Read {
    let (rest, bar) = bar(line.text).map_err(|_| Reason::NoMatch)?;
    if !rest.trim_end().is_empty() {
        return Err(Reason::NoMatch);
    }
    if let Some(epoch) = bar.epoch {
        writer.whole("epoch", epoch)?;
    }
    writer.whole("percent", bar.percent)?;
    writer.whole("step", bar.step)?;
    writer.whole("step_total", bar.total)?;
    // `00:01<00:02,  5.00it/s, v_num=0, train_loss=2.310`
    for part in bar.inner.split(',').skip(1) {
        match part.split_once('=') {
            Some((key, value)) => numbers::add(writer, key.trim(), value)?,
            None => numbers::add(writer, "rate", part)?,
        };
    }
    writer.part("content", line.text)
}

fn bar(text: &str) -> Part<'_, Bar<'_>> {
    let epoch = terminated(preceded(tag("Epoch "), digit1), char(':'));
    let named = (
        alt((tag("Sanity Checking"), tag("Training"), tag("Validation"), tag("Testing"))),
        terminated(take_till(|letter| letter == ':' || letter == '|'), char(':')),
    );
    let (text, epoch) = alt((epoch.map(Some), named.map(|_| None))).parse(text)?;
    let (text, percent) = terminated(preceded(space0, digit1), tag("%|")).parse(text)?;
    let (text, _) = terminated(take_until("| "), tag("| ")).parse(text)?;
    let count = separated_pair(digit1, char('/'), digit1);
    let (text, (step, total)) = terminated(count, space0).parse(text)?;
    let (text, inner) = preceded(char('['), take_till(|letter| letter == ']')).parse(text)?;
    let (text, _) = (char(']'), opt(words::spaces)).parse(text)?;
    Ok((text, Bar { epoch, percent, step, total, inner }))
}
