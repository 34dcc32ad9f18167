//! `riverhog dissect`: tries a mapping on lines, or many mappings on one input each with `--batch`.
//!
//! Invariant: one JSON object a line of output for each line of input, whatever the input is. Next
//! stop: the room `parsers`, which takes lines apart.

use std::io::{self, BufRead, Write};

use clap::Args;
use riverhog_parsers::fields::{FieldValue, Fields};
use riverhog_parsers::formats::{Dissect, FieldConversion, Format, FormatError, FormatParser};
use riverhog_parsers::grok::Outcome;
use riverhog_parsers::lines::to_text;
use serde::Deserialize;
use serde_json::{Map, Number, Value, json};

use super::batch::{LINE_BYTES_MAX, Request, answer_all};
use super::input::read_line;
use super::marked::marked;
use super::{CommandError, Console, Exit};

const EXAMPLES: &str = r#"Examples:
  riverhog dissect '%{date} %{time} %{level->} %{component}: %{content}' < train.log
  riverhog dissect --convert rank=int '[rank%{rank}] %{content}' < train.log
  riverhog dissect '%{?name}=%{&name}' < pairs.txt
  echo '{"id":1,"mapping":"%{a} %{b}","input":"x y"}' | riverhog dissect --batch

%{name} takes what stands before the next delimiter, the last field the rest. %{} and %{?name}
skip, %{+name} appends (%{+name/2} as the second), %{&name} is saved under the value of %{?name},
and %{name->} lets its delimiter stand several times.

Each line is answered by {"matched":true,"fields":{…}} or {"matched":false}. --batch takes objects
with id, mapping, input and convert_datatype, one a line, and repeats the id; a mapping that is
refused is answered by {"error":"…"}."#;

/// Arguments of `dissect`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct DissectArgs {
    /// The mapping
    #[arg(value_name = "MAPPING", required_unless_present = "batch")]
    mapping: Option<String>,
    /// A field that is a number, int or float; may be given several times
    #[arg(long, value_name = "NAME=TYPE", value_parser = conversion)]
    convert: Vec<(String, FieldConversion)>,
    /// Lines end in a NUL byte, so that they may hold newlines
    #[arg(long)]
    null: bool,
    /// Read requests from standard input, one JSON object a line
    #[arg(long, conflicts_with_all = ["mapping", "convert", "null"])]
    batch: bool,
}

pub(super) fn run(args: &DissectArgs, console: Console) -> Result<Exit, CommandError> {
    let mut out = console.out();
    let input = &mut io::stdin().lock();
    match &args.mapping {
        Some(mapping) => {
            let parser = Parser::compile(mapping, args.convert.iter().cloned())
                .map_err(|error| wrong(mapping, &error))?;
            if let Some(slip) = parser.dissect.slips().first() {
                let (span, message) = (slip.span.clone(), slip.message.clone());
                let help = Some(slip.help.to_owned());
                return Err(wrong(
                    mapping,
                    &FormatError { option: "mapping", span, message, help },
                ));
            }
            each_line(&parser, if args.null { 0 } else { b'\n' }, input, &mut out)?;
        }
        None => answer_all::<DissectRequest>(input, &mut out)?,
    }
    out.flush()?;
    Ok(Exit::Done)
}

fn conversion(text: &str) -> Result<(String, FieldConversion), String> {
    text.split_once('=')
        .and_then(|(name, word)| Some((name.to_owned(), FieldConversion::parse(word)?)))
        .filter(|(name, _)| !name.is_empty())
        .ok_or_else(|| "write NAME=int or NAME=float".to_owned())
}

/// The mapping with a mark below what is wrong in it.
fn wrong(mapping: &str, error: &FormatError) -> CommandError {
    let message = format!("{}\n{}", error.message, marked(mapping, error.span.clone()));
    error.help.iter().fold(CommandError::wrong(message), CommandError::with_help)
}

/// A mapping, ready to be run.
struct Parser {
    dissect: Dissect,
    parser: FormatParser,
}

impl Parser {
    fn compile(
        mapping: &str,
        types: impl Iterator<Item = (String, FieldConversion)>,
    ) -> Result<Parser, FormatError> {
        let dissect = Dissect::compile(mapping)?;
        // `[a][b]` and `a.b` name the same field.
        let dotted = |name: String| match name.strip_prefix('[') {
            Some(inner) => inner.trim_end_matches(']').replace("][", "."),
            None => name,
        };
        let types = types.map(|(name, conversion)| (dotted(name), conversion));
        let parser = FormatParser::new(Format::Dissect(dissect.clone()), types);
        Ok(Parser { dissect, parser })
    }

    fn answer(&self, text: &str, fields: &mut Fields) -> Value {
        match self.parser.run(text, fields) {
            Outcome::Unmatched(_) => json!({"matched": false}),
            Outcome::Matched => {
                let mut root = Map::new();
                for field in fields.iter(text) {
                    let own = [field.name.to_owned()];
                    let path = self.dissect.steps(field.name).unwrap_or(&own);
                    put(&mut root, path, value(field.value()));
                }
                json!({"matched": true, "fields": root})
            }
        }
    }
}

fn each_line(
    parser: &Parser,
    end: u8,
    input: &mut impl BufRead,
    out: &mut impl Write,
) -> Result<(), CommandError> {
    let (mut line, mut fields) = (Vec::new(), Fields::new());
    while read_line(input, end, &mut line, LINE_BYTES_MAX)? {
        let text = to_text(&line);
        writeln!(out, "{}", parser.answer(&text, &mut fields))?;
    }
    Ok(())
}

/// Puts a value at a path; a value in the way makes room for the object.
fn put(object: &mut Map<String, Value>, path: &[String], value: Value) {
    let Some((name, rest)) = path.split_first() else { return };
    if rest.is_empty() {
        object.insert(name.clone(), value);
        return;
    }
    let inner = object.entry(name.as_str()).or_insert_with(|| Value::Object(Map::new()));
    if !inner.is_object() {
        *inner = Value::Object(Map::new());
    }
    if let Value::Object(inner) = inner {
        put(inner, rest, value);
    }
}

fn value(value: FieldValue<'_>) -> Value {
    match value {
        FieldValue::Int(number) => number.into(),
        FieldValue::Float(number) => Number::from_f64(number).map_or(Value::Null, Value::Number),
        FieldValue::Text(text) | FieldValue::Number(text) | FieldValue::Json(text) => text.into(),
        FieldValue::Bool(flag) => flag.into(),
        FieldValue::Null => Value::Null,
    }
}

/// One request of `--batch`.
#[derive(Debug, Deserialize)]
struct DissectRequest {
    #[serde(default)]
    id: Value,
    mapping: String,
    #[serde(default)]
    convert_datatype: Map<String, Value>,
    input: String,
}

impl Request for DissectRequest {
    fn id(&self) -> Value {
        self.id.clone()
    }

    fn answer(&self) -> Value {
        let mut types = Vec::new();
        for (name, word) in &self.convert_datatype {
            match word.as_str().and_then(FieldConversion::parse) {
                Some(conversion) => types.push((name.clone(), conversion)),
                None => return json!({"error": format!("{word} is no type: write int or float")}),
            }
        }
        match Parser::compile(&self.mapping, types.into_iter()) {
            Err(error) => json!({"error": error.message}),
            Ok(parser) => parser.answer(&self.input, &mut Fields::new()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::batch;
    use super::*;

    fn check(request: &str, expect: &str) {
        batch::check::<DissectRequest>(request, expect);
    }

    #[test]
    fn a_batch_answers_each_request() {
        check(
            r#"{"id":"a","mapping":"%{[job][name]} %{[job][id]} %{a.b}","input":"run 42 x",
               "convert_datatype":{"[job][id]":"int"}}"#
                .replace('\n', " ")
                .as_str(),
            r#"{"id":"a","matched":true,"fields":{"job":{"name":"run","id":42},"a.b":"x"}}"#,
        );
        check(r#"{"id":2,"mapping":"%{a}|%{b}","input":"x"}"#, r#"{"id":2,"matched":false}"#);
        check(
            r#"{"id":3,"mapping":"%{+}","input":"x"}"#,
            r#"{"id":3,"error":"`%{+}` has no name"}"#,
        );
        check(
            r#"{"id":4,"mapping":"%{a}","input":"x","convert_datatype":{"a":"long"}}"#,
            r#"{"id":4,"error":"\"long\" is no type: write int or float"}"#,
        );
        check(
            r#"{"id":5,"mapping":"%{a} %{b}","input":"1e400 -7.9",
               "convert_datatype":{"a":"float","b":"int"}}"#
                .replace('\n', " ")
                .as_str(),
            r#"{"id":5,"matched":true,"fields":{"a":"1e400","b":-7}}"#,
        );
    }

    #[test]
    fn what_is_no_request_is_an_answer_too() {
        for bad in ["{", "[]", r#"{"id":1}"#, r#"{"id":1,"mapping":7,"input":""}"#] {
            let mut out = Vec::new();
            answer_all::<DissectRequest>(&mut bad.as_bytes(), &mut out).unwrap();
            let answer: Value = serde_json::from_slice(&out).unwrap();
            assert!(answer["error"].is_string(), "{bad}: {answer}");
        }
    }
}
