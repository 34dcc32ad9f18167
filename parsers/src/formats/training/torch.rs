//! torch._logging and torch elastic: `E0515 10:23:46.101000 12345 torch/distributed/run.py:851] …`,
//! and what they wrote before: `[2025-08-21 01:34:23,146] torch.distributed.run: [ERROR] …`.
//!
//! Invariant: a line is torch's when its source file or logger is. Next on the trip:
//! [`super::glog`].

use nom::Parser as _;
use nom::bytes::complete::tag;
use nom::sequence::terminated;

use super::glog;
use super::line::Line;
use super::words::{self, Part};
use crate::formats::writer::{Read, Writer};
use crate::grok::Reason;

/// Reads a line of either kind.
pub(super) fn read(writer: &mut Writer<'_>, line: &Line<'_>) -> Read {
    if let Some(stamp) = line.stamp {
        let (tags, (name, level, content)) = words::matched(older(line.rest))?;
        writer.log_time(stamp)?;
        writer.part("level", level)?;
        writer.part("component", name)?;
        if let Some(tags) = tags {
            writer.part("trace_id", tags)?;
        }
        return writer.part("content", content);
    }
    let header = glog::header(line)?;
    if !header.file.starts_with("torch/") && !header.file.contains("/torch/") {
        return Err(Reason::NoMatch);
    }
    glog::write(writer, &header, "pid")?;
    let (mut rest, mut tags) = (header.content, 0);
    while let (Ok((after, tag)), 0..2) = (glog::tag(rest), tags) {
        (rest, tags) = (after, tags + 1);
        match tag.strip_prefix("__") {
            Some(artifact) => writer.part("artifact", artifact)?,
            None if is_trace_id(tag) => writer.part("trace_id", tag)?,
            None => break,
        }
    }
    Ok(())
}

/// `0/1` or `0/1_1`: compilation and attempt.
fn is_trace_id(tag: &str) -> bool {
    tag.contains('/') && tag.bytes().all(|byte| byte.is_ascii_digit() || b"/_-".contains(&byte))
}

type Older<'t> = (Option<&'t str>, (&'t str, &'t str, &'t str));

/// `] [0/0] torch.x.y: [ERROR] content`
fn older(text: &str) -> Part<'_, Older<'_>> {
    let (text, ()) = words::closed(text)?;
    let trace_id = nom::combinator::verify(glog::tag, |tag: &str| is_trace_id(tag));
    let (text, trace_id) = nom::combinator::opt(trace_id).parse(text)?;
    let name = nom::combinator::verify(words::name, |name: &str| name.starts_with("torch"));
    let (text, name) = terminated(name, tag(": ")).parse(text)?;
    let (text, level) = words::in_brackets(words::level).parse(text)?;
    let (text, content) = words::content(text)?;
    Ok((text, (trace_id, (name, level, content))))
}
