//! Loki's push requests in JSON: streams of labels, each with its lines.
//!
//! Invariant: a request is taken when all of it has the shape, or not at all, so that no line is
//! lost. Next on the trip: [`super::otlp`].

use std::ops::ControlFlow;

use super::LABELS;
use super::many::Many;
use super::text::{Source, Span, Text};

/// The names that agents give to the label of the machine, the better ones first.
const HOSTS: [&str; 5] = ["host", "hostname", "node_name", "node", "nodename"];

/// How many lines the streams have; `None` when they are none.
pub(super) fn count(source: &Source<'_>, streams: Span) -> Option<usize> {
    if !source.is_array(streams) {
        return None;
    }
    let mut lines = 0;
    for element in source.elements(streams) {
        let (_, values) = stream(source, element)?;
        for value in source.elements(values) {
            entry(source, value)?;
            lines += 1;
        }
    }
    Some(lines)
}

/// Gives the lines away.
pub(super) fn give(source: &Source<'_>, streams: Span, many: &mut Many<'_, '_>) -> ControlFlow<()> {
    let base = many.mark();
    for element in source.elements(streams) {
        let Some((labels, values)) = stream(source, element) else { continue };
        many.restore(&base);
        push(source, labels, LABELS, many);
        let hosts = HOSTS.iter().find_map(|name| label(source, labels, name));
        if let Some(host) = hosts {
            many.set_host(&source.to_string(host));
        }
        let of_stream = many.mark();
        for value in source.elements(values) {
            let Some((time_ns, line, metadata)) = entry(source, value) else { continue };
            many.restore(&of_stream);
            if let Some(metadata) = metadata {
                push(source, metadata, "metadata.", many);
            }
            many.set_time(Some(time_ns));
            many.give(|message| source.decode(line, message))?;
        }
    }
    ControlFlow::Continue(())
}

/// Labels and values of a stream.
fn stream(source: &Source<'_>, element: Span) -> Option<(Span, Span)> {
    if !source.is_object(element) {
        return None;
    }
    let (mut labels, mut values) = (None, None);
    for (key, value) in source.members(element) {
        match source.raw(key) {
            b"stream" => labels = Some(value).filter(|value| source.is_object(*value)),
            b"values" => values = Some(value).filter(|value| source.is_array(*value)),
            _ => {}
        }
    }
    Some((labels?, values?))
}

/// Time, line and, in newer requests, what is known of this line alone.
fn entry(source: &Source<'_>, value: Span) -> Option<(i64, Text, Option<Span>)> {
    if !source.is_array(value) {
        return None;
    }
    let mut parts = source.elements(value);
    let time = source.raw(source.string(parts.next()?)?);
    let time_ns = std::str::from_utf8(time).ok()?.parse().ok()?;
    let line = source.string(parts.next()?)?;
    let metadata = parts.next();
    if metadata.is_some_and(|metadata| !source.is_object(metadata)) || parts.next().is_some() {
        return None;
    }
    Some((time_ns, line, metadata))
}

fn label(source: &Source<'_>, labels: Span, name: &str) -> Option<Text> {
    let mut named = source.members(labels).filter(|(key, _)| source.raw(*key) == name.as_bytes());
    source.string(named.next()?.1).filter(|text| !text.is_empty())
}

fn push(source: &Source<'_>, object: Span, prefix: &str, many: &mut Many<'_, '_>) {
    for (key, value) in source.members(object) {
        if let Some(value) = source.scalar(value) {
            many.push(prefix, &source.to_string(key), &source.to_string(value));
        }
    }
}
