//! The formats of training logs, through the public entrance: golden lines, labelled excerpts, the
//! guide's page, properties.
//!
//! The invariant: whatever is promised of a format stands in one of these files as lines and what
//! becomes of them. Next: `golden.rs`.

mod documents;
mod examples;
mod golden;
mod properties;

use riverhog_parsers::fields::{FieldValue, Fields};
use riverhog_parsers::formats::{Format, FormatParser, Training};
use riverhog_parsers::grok::Outcome;
use serde_json::{Map, Value};

/// A parser of all formats or of one.
pub(crate) fn parser(training: Training) -> FormatParser {
    FormatParser::new(Format::Training(training), [])
}

/// What a parser makes of a line; `None` where it does not match.
pub(crate) fn read(parser: &FormatParser, line: &str) -> Option<Map<String, Value>> {
    let mut fields = Fields::new();
    (parser.run(line, &mut fields) == Outcome::Matched).then(|| shown(&fields, line))
}

/// The fields as an object; those of one name as an array.
fn shown(fields: &Fields, line: &str) -> Map<String, Value> {
    let mut object = Map::new();
    for index in (0..fields.len()).filter(|index| fields.is_first(*index)) {
        let of_name = std::iter::successors(Some(index), |index| fields.next_of_name(*index));
        let mut values: Vec<Value> = of_name
            .map(|index| match fields.get(index, line).expect("it is there").value() {
                FieldValue::Text(text) => text.into(),
                FieldValue::Int(number) => number.into(),
                FieldValue::Float(number) => number.into(),
                other => panic!("training logs have no {other:?}"),
            })
            .collect();
        let value = if values.len() == 1 { values.remove(0) } else { Value::Array(values) };
        object.insert(fields.get(index, line).expect("it is there").name.to_owned(), value);
    }
    object
}
