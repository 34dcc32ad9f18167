//! Requests on standard input: one JSON object a line, one answer a line.
//!
//! Invariant: an answer follows each request at once and repeats its id, whatever the request is.
//! Next stop: `grok.rs`, `dissect.rs` and `date.rs`, whose requests these are.

use std::io::{BufRead, Write};

use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::CommandError;
use super::input::read_line;

/// Longest line looked at.
pub(super) const LINE_BYTES_MAX: usize = 16 << 20;

/// Something that is asked.
pub(super) trait Request: DeserializeOwned {
    /// Its id, repeated in the answer.
    fn id(&self) -> Value;
    /// The members of the answer but for the id.
    fn answer(&self) -> Value;
}

/// Answers requests until the input ends.
pub(super) fn answer_all<T: Request>(
    input: &mut impl BufRead,
    out: &mut impl Write,
) -> Result<(), CommandError> {
    let mut line = Vec::new();
    while read_line(input, b'\n', &mut line, LINE_BYTES_MAX)? {
        if line.trim_ascii().is_empty() {
            continue;
        }
        let answer = match serde_json::from_slice::<T>(&line) {
            Ok(request) => with_id(request.id(), request.answer()),
            Err(error) => with_id(Value::Null, json!({"error": format!("not a request: {error}")})),
        };
        writeln!(out, "{answer}")?;
        // Whoever asks one after the other waits for the answer.
        out.flush()?;
    }
    Ok(())
}

fn with_id(id: Value, answer: Value) -> Value {
    let mut object = Map::new();
    object.insert("id".to_owned(), id);
    if let Value::Object(answer) = answer {
        object.extend(answer);
    }
    Value::Object(object)
}

/// One request and its answer.
#[cfg(test)]
#[track_caller]
pub(super) fn check<T: Request>(request: &str, expect: &str) {
    let mut out = Vec::new();
    assert!(answer_all::<T>(&mut format!("{request}\n").as_bytes(), &mut out).is_ok());
    let read = |text: &[u8]| serde_json::from_slice::<Value>(text).expect("JSON");
    assert_eq!(read(&out), read(expect.as_bytes()), "{request}");
}
