//! `riverhog grok`: tries a pattern on lines, or many patterns on one input each with `--batch`.
//!
//! Invariant: one JSON object a line of output for each line of input, whatever the input is. Next
//! stop: the room `parsers`, which matches.

mod explain;
mod table;

use std::io::{self, BufRead, Write};
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use riverhog_config::{PatternFile, read_pattern_files};
use riverhog_parsers::fields::FieldValue;
use riverhog_parsers::grok::{
    Capture, FieldType, Grok, GrokError, GrokOptions, Outcome, PatternSet,
};
use riverhog_parsers::lines::to_text;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::batch::{LINE_BYTES_MAX, Request, answer_all};
use super::input::read_line;
use super::marked::marked;
use super::{CommandError, Console, Exit, Format};

const EXAMPLES: &str = r#"Examples:
  riverhog grok '%{LOGLEVEL:level} %{GREEDYDATA:content}' < train.log
  riverhog grok --define 'STEP=step [0-9]+' '%{STEP:step}' < train.log
  riverhog grok --explain '%{LOGLEVEL:level} %{GREEDYDATA:content}'
  echo '{"id":1,"pattern":"%{INT:n:int}","input":"7"}' | riverhog grok --batch

Each line is answered by {"matched":true,"fields":{…}}, {"matched":false} or {"error":"…"};
with --format text, by the line, its fields below it, and a caret where it stopped to match.
--batch takes objects with id, set, pattern, define, input, named_captures_only and
keep_empty_captures, one a line, and repeats the id."#;

/// `--set`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum SetArg {
    // Logstash's `legacy` patterns.
    #[default]
    Legacy,
    // Logstash's `ecs-v1` patterns.
    EcsV1,
}

/// Arguments of `grok`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct GrokArgs {
    /// The pattern
    #[arg(value_name = "PATTERN", required_unless_present = "batch")]
    pattern: Option<String>,
    /// The stock patterns
    #[arg(long, value_enum, default_value_t)]
    set: SetArg,
    /// A pattern of your own for %{NAME}; may be given several times
    #[arg(long, value_name = "NAME=REGEX", value_parser = definition)]
    define: Vec<(String, String)>,
    /// A file of patterns, or a folder of them, a NAME and a REGEX a line
    #[arg(long, value_name = "PATH")]
    patterns: Option<PathBuf>,
    /// How a line is answered
    #[arg(long, value_enum, default_value = "json")]
    format: Format,
    /// Lines end in a NUL byte, so that they may hold newlines
    #[arg(long)]
    null: bool,
    /// Say how the pattern is run and which fields it has, and read nothing
    #[arg(long, conflicts_with = "batch")]
    explain: bool,
    /// Read requests from standard input, one JSON object a line
    #[arg(long, conflicts_with_all = ["pattern", "set", "define", "patterns", "null"])]
    batch: bool,
}

pub(super) fn run(args: &GrokArgs, console: Console) -> Result<Exit, CommandError> {
    let mut out = console.out();
    let input = &mut io::stdin().lock();
    match &args.pattern {
        Some(pattern) => {
            let mut definitions = Vec::new();
            if let Some(path) = &args.patterns {
                let files = read_pattern_files(path).map_err(CommandError::wrong)?;
                definitions.extend(files.iter().flat_map(PatternFile::definitions));
            }
            definitions.extend(args.define.iter().cloned());
            let set = args.set.into();
            let options = GrokOptions { set, definitions, ..GrokOptions::default() };
            let grok = Grok::compile(pattern, &options).map_err(|error| wrong(pattern, &error))?;
            if args.explain {
                explain::explain(&grok, &mut out)?;
            } else {
                let end = if args.null { 0 } else { b'\n' };
                let as_text = (args.format == Format::Text).then_some(console);
                each_line(&grok, end, as_text, input, &mut out)?;
            }
        }
        None => answer_all::<GrokRequest>(input, &mut out)?,
    }
    out.flush()?;
    Ok(Exit::Done)
}

fn definition(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, regex)) if !name.is_empty() => Ok((name.to_owned(), regex.to_owned())),
        _ => Err("write NAME=REGEX".to_owned()),
    }
}

/// The pattern with a mark below what is wrong in it.
fn wrong(pattern: &str, error: &GrokError) -> CommandError {
    let message = format!("{}\n{}", error.message, marked(pattern, error.span.clone()));
    error.help.iter().fold(CommandError::wrong(message), CommandError::with_help)
}

fn each_line(
    grok: &Grok,
    end: u8,
    as_text: Option<Console>,
    input: &mut impl BufRead,
    out: &mut impl Write,
) -> Result<(), CommandError> {
    let mut scratch = grok.scratch();
    let (mut line, mut captures) = (Vec::new(), Vec::new());
    while read_line(input, end, &mut line, LINE_BYTES_MAX)? {
        let text = to_text(&line);
        let outcome = grok.run(&text, &mut scratch, &mut captures);
        match as_text {
            Some(console) => table::write(grok, outcome, &captures, &text, console, out)?,
            None => writeln!(out, "{}", answer(grok, outcome, &captures, &text, Types::Events))?,
        }
    }
    Ok(())
}

/// Whose types a field is converted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Types {
    /// Logstash's, which knows `int` and `float` alone.
    Logstash,
    /// Those of events.
    Events,
}

fn answer(grok: &Grok, outcome: Outcome, captures: &[Capture], text: &str, types: Types) -> Value {
    match outcome {
        Outcome::Matched => json!({"matched": true, "fields": fields(grok, captures, text, types)}),
        Outcome::Unmatched(riverhog_parsers::grok::Reason::NoMatch) => json!({"matched": false}),
        Outcome::Unmatched(reason) => json!({"error": reason.as_str()}),
    }
}

/// The captures as objects. As in Logstash, texts of one name become an array, and what comes after
/// a number is left out.
fn fields(grok: &Grok, captures: &[Capture], text: &str, types: Types) -> Value {
    let mut root = Map::new();
    for capture in captures {
        let field = &grok.fields()[usize::from(capture.field)];
        let kind = match (field.kind, types) {
            (kind @ (FieldType::Int | FieldType::Float), _) | (kind, Types::Events) => kind,
            _ => FieldType::Text,
        };
        let value = value(kind, capture, text);
        put(&mut root, &field.path, value);
    }
    Value::Object(root)
}

fn put(object: &mut Map<String, Value>, path: &[String], value: Value) {
    let Some((name, rest)) = path.split_first() else { return };
    if rest.is_empty() {
        match object.get_mut(name) {
            None | Some(Value::Null) => drop(object.insert(name.clone(), value)),
            Some(Value::Array(values)) => values.push(value),
            Some(first @ Value::String(_)) => *first = Value::Array(vec![first.take(), value]),
            Some(_) => {}
        }
        return;
    }
    let inner = object.entry(name.as_str()).or_insert_with(|| Value::Object(Map::new()));
    match inner {
        Value::Object(inner) => put(inner, rest, value),
        // A field that is both a value and an object: the object is what can hold both.
        other => {
            let mut inner = Map::new();
            put(&mut inner, rest, value);
            *other = Value::Object(inner);
        }
    }
}

fn value(kind: FieldType, capture: &Capture, text: &str) -> Value {
    if capture.is_absent() {
        return Value::Null;
    }
    let text = capture.text(text);
    match kind.value(text) {
        FieldValue::Int(number) => number.into(),
        FieldValue::Float(number) => number.into(),
        FieldValue::Bool(flag) => flag.into(),
        _ => text.into(),
    }
}

/// One request of `--batch`.
#[derive(Debug, Deserialize)]
struct GrokRequest {
    #[serde(default)]
    id: Value,
    #[serde(default)]
    set: SetArg,
    pattern: String,
    #[serde(default)]
    define: Map<String, Value>,
    input: String,
    named_captures_only: Option<bool>,
    #[serde(default)]
    keep_empty_captures: bool,
}

impl Request for GrokRequest {
    fn id(&self) -> Value {
        self.id.clone()
    }

    fn answer(&self) -> Value {
        let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let options = GrokOptions {
            set: self.set.into(),
            definitions: self.define.iter().map(|(name, it)| (name.clone(), text(it))).collect(),
            named_captures_only: self.named_captures_only.unwrap_or(true),
            keep_empty_captures: self.keep_empty_captures,
            target: String::new(),
        };
        match Grok::compile(&self.pattern, &options) {
            Err(error) => json!({"error": error.message}),
            Ok(grok) => {
                let mut captures = Vec::new();
                let outcome = grok.run(&self.input, &mut grok.scratch(), &mut captures);
                answer(&grok, outcome, &captures, &self.input, Types::Logstash)
            }
        }
    }
}

impl From<SetArg> for PatternSet {
    fn from(set: SetArg) -> PatternSet {
        match set {
            SetArg::Legacy => PatternSet::Legacy,
            SetArg::EcsV1 => PatternSet::EcsV1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::batch;
    use super::*;

    fn check(request: &str, expect: &str) {
        batch::check::<GrokRequest>(request, expect);
    }

    #[test]
    fn a_batch_answers_each_request() {
        check(
            r#"{"id":"a","pattern":"%{WORD:[job][name]} %{INT:[job][id]:int}","input":"run 42"}"#,
            r#"{"id":"a","matched":true,"fields":{"job":{"name":"run","id":42}}}"#,
        );
        check(
            r#"{"id":2,"pattern":"%{WORD:w} %{WORD:w}","input":"a b"}"#,
            r#"{"id":2,"matched":true,"fields":{"w":["a","b"]}}"#,
        );
        check(
            r#"{"id":2,"pattern":"%{INT:n:int} %{INT:n}","input":"1 2"}"#,
            r#"{"id":2,"matched":true,"fields":{"n":1}}"#,
        );
        check(
            r#"{"id":2,"set":"ecs-v1","pattern":"%{SYSLOGPROG}","input":"a[99999999999999999999]"}"#,
            r#"{"id":2,"matched":true,
                "fields":{"process":{"name":"a","pid":"99999999999999999999"}}}"#,
        );
        check(
            r#"{"id":2,"pattern":"%{INT:n:long} %{WORD:b:boolean}","input":"1 true"}"#,
            r#"{"id":2,"matched":true,"fields":{"n":"1","b":"true"}}"#,
        );
        check(r#"{"id":3,"pattern":"^b","input":"a"}"#, r#"{"id":3,"matched":false}"#);
        check(
            r#"{"id":4,"pattern":"%{N:x:float}","define":{"N":"[0-9.]+"},"input":"1.5"}"#,
            r#"{"id":4,"matched":true,"fields":{"x":1.5}}"#,
        );
    }

    #[test]
    fn what_is_no_request_is_an_answer_too() {
        for bad in
            ["{", "[]", r#"{"id":1}"#, r#"{"id":1,"pattern":"%{NO:x}","input":"","set":"x"}"#]
        {
            let mut out = Vec::new();
            answer_all::<GrokRequest>(&mut bad.as_bytes(), &mut out).unwrap();
            let answer: Value = serde_json::from_slice(&out).unwrap();
            assert!(answer["error"].is_string(), "{bad}: {answer}");
        }
    }

    #[test]
    fn a_wrong_pattern_is_marked() {
        let error = GrokError { span: 3..6, message: "no".to_owned(), help: Some("do".to_owned()) };
        let text = wrong("训a%{X}", &error).render(false);
        assert_eq!(text, "error: no\n  训a%{X}\n    ^^^\nhelp: do");
    }
}
