//! Megatron-LM and its forks: ` iteration      100/  500000 | consumed samples: … | lm loss: … |`,
//! a time before it or none; checkpoints, timers, memory and unexpected results.
//!
//! Invariant: a unit inside a key stays in it (`elapsed_time_per_iteration_ms`, `…_s`). Next on the
//! trip: [`super::numbers`].

use nom::Parser as _;
use nom::branch::alt;
use nom::bytes::complete::{tag, take_until, take_while};
use nom::character::complete::{char, digit1, space0};
use nom::sequence::{delimited, preceded, terminated};

use super::c10::rank_in_brackets;
use super::line::Line;
use super::numbers;
use super::stamp;
use super::words::{self, Part};
use crate::formats::writer::{Read, Writer};
use crate::grok::Reason;

/// Reads a line of any of its kinds.
pub(super) fn read(writer: &mut Writer<'_>, line: &Line<'_>) -> Read {
    let text = match line.stamp {
        None => line.text,
        Some(stamp) => {
            let (text, ()) = words::closed(line.rest).map_err(|_| Reason::NoMatch)?;
            if !text.starts_with("iteration ") && !is_checkpoint(text) {
                return Err(Reason::NoMatch);
            }
            writer.log_time(stamp)?;
            text
        }
    };
    match text.as_bytes() {
        [b'i', ..] => iteration(writer, text),
        [b'v', ..] => validation(writer, text),
        [b'[', b'R', ..] => memory(writer, text),
        [b'[', ..] => milestone(writer, text),
        [b'R', ..] => unexpected(writer, text),
        [b't', ..] => timers(writer, text),
        _ if is_checkpoint(text) => checkpoint(writer, text),
        _ => Err(Reason::NoMatch),
    }
}

/// ` 100/  500000 `
fn progress(text: &str) -> Part<'_, (&str, &str)> {
    (preceded(space0, digit1), preceded((space0, char('/'), space0), digit1)).parse(text)
}

fn iteration(writer: &mut Writer<'_>, text: &str) -> Read {
    let header = (tag("iteration "), progress, space0, char('|')).parse(text);
    let (pairs, (_, (step, total), _, _)) = words::split(header)?;
    writer.whole("iteration", step)?;
    writer.whole("iteration_total", total)?;
    numbers::pairs(writer, pairs, b'|', b':')?;
    writer.part("content", text)
}

/// `validation loss at iteration 1000 | lm loss value: 1.9E+00 | lm loss PPL: 7.1E+00 |`
fn validation(writer: &mut Writer<'_>, text: &str) -> Read {
    let header = preceded(tag("validation loss at "), take_until(" | ")).parse(text);
    let (rest, at): (&str, &str) = words::split(header)?;
    if let Some(step) = at.strip_prefix("iteration ") {
        numbers::add(writer, "iteration", step)?;
    }
    numbers::pairs(writer, rest, b'|', b':')?;
    writer.part("content", text)
}

/// `[Rank 56] (after 1 iterations) memory (MB) | allocated: 10837.4 | max allocated: … |`
fn memory(writer: &mut Writer<'_>, text: &str) -> Read {
    let after = delimited(tag("(after "), digit1, tag(" iterations) memory (MB) |"));
    let (pairs, (rank, step)) = words::split((rank_in_brackets, after).parse(text))?;
    writer.rank(rank)?;
    writer.whole("iteration", step)?;
    numbers::pairs(writer, pairs, b'|', b':')?;
    writer.part("content", text)
}

/// `[after megatron is initialized] datetime: 2024-05-15 10:20:01 `
fn milestone(writer: &mut Writer<'_>, text: &str) -> Read {
    let (rest, _) = words::split((words::bracketed, tag(" datetime: ")).parse(text))?;
    let (stamp, _) = stamp::date_time(rest).ok_or(Reason::NoMatch)?;
    // It stands in the message and not in a header.
    writer.part("datetime", stamp.text)?;
    writer.part("content", text)
}

fn is_checkpoint(text: &str) -> bool {
    let starts = [
        "saving checkpoint ",
        "loading checkpoint ",
        "successfully saved checkpoint ",
        "successfully loaded checkpoint ",
        "scheduled an async checkpoint ",
    ];
    starts.iter().any(|start| text.starts_with(start))
}

/// `successfully saved checkpoint from iteration     100 to /ckpt/job-4711 [ t 1/8, p 1/4 ]`
fn checkpoint(writer: &mut Writer<'_>, text: &str) -> Read {
    let before = alt((take_until(" at iteration "), take_until(" from iteration ")));
    let word = alt((tag(" at iteration "), tag(" from iteration ")));
    let found: Part<'_, _> = (before, word, space0, digit1).parse(text);
    if let Ok((_, (_, _, _, step))) = found {
        writer.whole("iteration", step)?;
    }
    writer.part("content", text)
}

/// `Rank 3, node gpu-node-017, device 3, iteration 101: Unexpected result nan (message='…')`
fn unexpected(writer: &mut Writer<'_>, text: &str) -> Read {
    let host = take_while(|letter: char| letter > ' ' && letter != ',');
    let header = (
        preceded(tag("Rank "), digit1),
        preceded(tag(", node "), host),
        preceded(tag(", device "), digit1),
        terminated(preceded(tag(", iteration "), digit1), tag(": ")),
    )
        .parse(text);
    let (rank, host, device, step) = words::matched(header)?;
    writer.rank(rank)?;
    writer.part("host", host)?;
    writer.whole("device", device)?;
    writer.whole("iteration", step)?;
    writer.part("content", text)
}

/// `time (ms) | forward: 35346.30 | backward: 87957.05`
fn timers(writer: &mut Writer<'_>, text: &str) -> Read {
    let (rest, _) = words::split(terminated(tag("time (ms)"), space0).parse(text))?;
    if !rest.is_empty() && !rest.starts_with('|') {
        return Err(Reason::NoMatch);
    }
    numbers::pairs(writer, rest, b'|', b':')?;
    writer.part("content", text)
}
