//! A case as its golden file has it, and its answer.

use crate::fields::{Duplicates, FieldValue, Fields};
use crate::formats::{
    Delimited, DelimitedOptions, Dissect, FieldConversion, Format, FormatError, FormatParser, Json,
    JsonOptions, KeyValue, KeyValueOptions, LetterCase, Training, Whitespace,
};
use crate::grok::Outcome;
use serde_json::{Map, Value, json};

fn texts(value: &Value) -> Vec<String> {
    value.as_array().unwrap().iter().map(|it| it.as_str().unwrap().to_owned()).collect()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

fn case(value: &Value) -> LetterCase {
    match value.as_str() {
        Some("lowercase") => LetterCase::Lower,
        Some("uppercase") => LetterCase::Upper,
        Some("capitalize") => LetterCase::Capital,
        other => panic!("{other:?}"),
    }
}

fn key_value(options: &Value) -> Result<Format, FormatError> {
    let mut built = KeyValueOptions::default();
    for (name, value) in options.as_object().unwrap_or(&Map::new()) {
        match name.as_str() {
            "field_split" => built.field_split = texts(value),
            "value_split" => built.value_split = texts(value),
            "trim_key" => built.trim_key = text(value),
            "trim_value" => built.trim_value = text(value),
            "remove_char_key" => built.remove_char_key = text(value),
            "remove_char_value" => built.remove_char_value = text(value),
            "transform_key" => built.transform_key = Some(case(value)),
            "transform_value" => built.transform_value = Some(case(value)),
            "prefix" => built.prefix = text(value),
            "include_keys" => built.include_keys = texts(value),
            "exclude_keys" => built.exclude_keys = texts(value),
            "include_brackets" => built.include_brackets = value.as_bool().unwrap(),
            "allow_empty_values" => built.allow_empty_values = value.as_bool().unwrap(),
            "recursive" => built.recursive = value.as_bool().unwrap(),
            "whitespace" if value == "strict" => built.whitespace = Whitespace::Strict,
            "duplicates" if value == "distinct" => built.duplicates = Duplicates::Distinct,
            "duplicates" if value == "first" => built.duplicates = Duplicates::First,
            "duplicates" if value == "last" => built.duplicates = Duplicates::Last,
            "types" => {}
            other => panic!("{other}"),
        }
    }
    Ok(Format::KeyValue(KeyValue::compile(&built)?))
}

fn delimited(options: &Value) -> Result<Format, FormatError> {
    let mut built = DelimitedOptions::default();
    for (name, value) in options.as_object().unwrap_or(&Map::new()) {
        match name.as_str() {
            "separator" => built.separator = text(value),
            "quote" => built.quote = value.as_str().and_then(|quote| quote.chars().next()),
            "columns" => built.columns = texts(value),
            "autogenerate_column_names" => {
                built.autogenerate_column_names = value.as_bool().unwrap();
            }
            "skip_empty_columns" => built.skip_empty_columns = value.as_bool().unwrap(),
            "types" => {}
            other => panic!("{other}"),
        }
    }
    Ok(Format::Delimited(Delimited::compile(&built)?))
}

/// The parser of a case.
pub(super) fn parser(case: &Value) -> Result<FormatParser, FormatError> {
    let options = &case["options"];
    let format = match case["format"].as_str().unwrap() {
        "dissect" => Format::Dissect(Dissect::compile(options["mapping"].as_str().unwrap())?),
        "json" => {
            let target = options["target"].as_str().unwrap_or_default().to_owned();
            Format::Json(Json::new(&JsonOptions { target }))
        }
        "kv" => key_value(options)?,
        "csv" => delimited(options)?,
        "logfmt" => Format::Logfmt,
        "syslog" => Format::Syslog,
        "cri" => Format::Cri,
        "klog" => Format::Klog,
        "training" => Format::Training(Training::all()),
        other => panic!("{other}"),
    };
    let types = options["types"].as_object().cloned().unwrap_or_default();
    let types = types
        .into_iter()
        .map(|(name, word)| (name, FieldConversion::parse(word.as_str().unwrap()).unwrap()));
    Ok(FormatParser::new(format, types))
}

/// What the parser makes of the case's input.
pub(super) fn answer(case: &Value) -> Value {
    let parser = match parser(case) {
        Ok(parser) => parser,
        Err(error) => return json!({"error": error.message}),
    };
    let input = case["input"].as_str().unwrap();
    let mut fields = Fields::new();
    // Twice, so that what is reused is clean.
    parser.run("x y=z", &mut fields);
    match parser.run(input, &mut fields) {
        Outcome::Unmatched(crate::grok::Reason::NoMatch) => json!({"matched": false}),
        Outcome::Unmatched(reason) => json!({"matched": false, "reason": reason.as_str()}),
        Outcome::Matched => json!({"matched": true, "fields": shown(&fields, input)}),
    }
}

/// The fields as an object; those of one name as an array.
pub(super) fn shown(fields: &Fields, text: &str) -> Value {
    let mut object = Map::new();
    for index in (0..fields.len()).filter(|index| fields.is_first(*index)) {
        let mut values = Vec::new();
        let mut at = Some(index);
        while let Some(index) = at {
            values.push(match fields.get(index, text).unwrap().value() {
                FieldValue::Text(text) => text.into(),
                FieldValue::Int(number) => number.into(),
                FieldValue::Float(number) => number.into(),
                FieldValue::Bool(flag) => flag.into(),
                FieldValue::Null => Value::Null,
                FieldValue::Json(json) => serde_json::from_str(json).unwrap(),
                // Beyond u64 and f64 a number is shown as it was written.
                FieldValue::Number(number) => {
                    let read: Value = serde_json::from_str(number).unwrap_or_default();
                    if format!("{read}") == number { read } else { format!("#{number}").into() }
                }
            });
            at = fields.next_of_name(index);
        }
        let value = if values.len() == 1 { values.remove(0) } else { Value::Array(values) };
        object.insert(fields.get(index, text).unwrap().name.to_owned(), value);
    }
    Value::Object(object)
}

/// Equal, where 3 and 3.0 are the same number.
pub(super) fn same(found: &Value, expect: &Value) -> bool {
    match (found, expect) {
        (Value::Number(one), Value::Number(other)) => one.as_f64() == other.as_f64(),
        (Value::Object(one), Value::Object(other)) => {
            let has = |(key, value): (&String, &Value)| {
                other.get(key).is_some_and(|other| same(value, other))
            };
            one.len() == other.len() && one.iter().all(has)
        }
        (one, other) => one == other,
    }
}
