//! What was peeled off a line, as fields of the event.
//!
//! Invariant: a field that a parser gave is not given again. Next stop: `encode`.
use riverhog_parsers::peel::Marks;

use crate::json::{write_int, write_string};
use crate::value::Value;

/// The fields, in the order of the document. The rank is a part of the event.
const NAMES: [&str; 6] = ["local_rank", "task_number", "torchrun_role", "worker", "pid", "node"];

/// True for a field that peeling may give.
pub(crate) fn may_give(field: &str) -> bool {
    NAMES.contains(&field)
}

/// Which of the fields rules read, by their ids.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct MarkIds([Option<u16>; NAMES.len()]);

impl MarkIds {
    /// `fields`: the names that rules read, by id.
    pub(super) fn new(fields: &[String]) -> MarkIds {
        let id = |name: &str| fields.iter().position(|field| field == name).map(|id| id as u16);
        MarkIds(NAMES.map(id))
    }

    /// The value of a field by its id.
    pub(super) fn value<'a>(&self, id: u16, marks: &Marks<'a>) -> Option<Value<'a>> {
        let index = self.0.iter().position(|known| *known == Some(id))?;
        value(index, marks)
    }
}

/// What was peeled off a line, and which of it rules read. A view refers to it only where there is
/// something: most lines have nothing in front of them.
#[derive(Clone, Copy)]
pub(super) struct LineMarks<'a> {
    pub(super) marks: Marks<'a>,
    pub(super) ids: MarkIds,
}

fn value<'a>(index: usize, marks: &Marks<'a>) -> Option<Value<'a>> {
    let number = |it: Option<u32>| it.map(|number| Value::Int(i64::from(number)));
    match index {
        0 => number(marks.local_rank),
        1 => number(marks.task),
        2 => marks.role.map(Value::Text),
        3 => marks.worker.map(Value::Text),
        4 => number(marks.pid),
        _ => marks.node.map(Value::Text),
    }
}

/// The fields that are there: name and value, a number or a text.
pub(super) fn fields<'a>(marks: &Marks<'a>) -> impl Iterator<Item = (&'static str, Value<'a>)> {
    let marks = *marks;
    let named = NAMES.iter().enumerate();
    named.filter_map(move |(index, name)| Some((*name, value(index, &marks)?)))
}

/// Adds the fields to `,"fields":{…}` at the end of `out`, which begins at `start` and may be
/// missing; `is_given` knows those that a parser gave.
pub(super) fn write(
    out: &mut Vec<u8>,
    start: usize,
    marks: &Marks<'_>,
    is_given: impl Fn(&str) -> bool,
) {
    for (name, value) in fields(marks).filter(|(name, _)| !is_given(name)) {
        if out.len() == start {
            out.extend_from_slice(br#","fields":{"#);
        } else {
            out.pop();
            out.push(b',');
        }
        write_string(out, name);
        out.push(b':');
        match value {
            Value::Int(number) => write_int(out, number),
            Value::Text(text) => write_string(out, text),
            Value::Float(_) | Value::Level(_) | Value::Time(_) => out.extend_from_slice(b"null"),
        }
        out.push(b'}');
    }
}
