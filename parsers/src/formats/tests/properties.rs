//! Properties that hold for every format: no panic, places within the line, linear work.

use super::support::{parser, shown};
use super::take_count;
use crate::fields::{FIELDS_MAX, FieldKind, FieldValue, Fields};
use crate::formats::FormatParser;
use crate::grok::{Outcome, Reason};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

fn all() -> Vec<FormatParser> {
    let cases = [
        json!({"format": "dissect", "options": {"mapping": "%{a->} %{+a/2} [%{?k}:%{&k}] %{c}"}}),
        json!({"format": "json", "options": {"target": "t", "types": {"t.a": "int"}}}),
        json!({"format": "kv"}),
        json!({"format": "kv", "options": {
            "field_split": [",", "; ", " "], "value_split": [": ", "="], "recursive": true,
            "trim_key": "训-", "trim_value": "\"' ", "prefix": "p.", "whitespace": "strict",
            "duplicates": "distinct", "allow_empty_values": true
        }}),
        json!({"format": "csv", "options": {"columns": ["a", "b"]}}),
        json!({"format": "csv", "options": {"separator": "训", "quote": "'"}}),
        json!({"format": "logfmt"}),
        json!({"format": "syslog"}),
        json!({"format": "cri"}),
        json!({"format": "klog"}),
        json!({"format": "training"}),
    ];
    cases.iter().map(|case| parser(case).unwrap()).collect()
}

/// Lines that lead far into some format.
fn line() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(vec![
        "{",
        "}",
        "[",
        "]",
        "\"",
        "'",
        "(",
        ")",
        "<",
        ">",
        ":",
        ",",
        "=",
        " ",
        "\\",
        "\\\"",
        "\\u8bad",
        "训",
        "a",
        "b1",
        "-1.5e3",
        "true",
        "null",
        "<34>",
        "<165>1 ",
        "Oct 11 22:14:15 ",
        "host ",
        "su[12]: ",
        "2026-03-12T10:23:45.5Z ",
        "stdout F ",
        "I0102 15:04:05.000000 ",
        "12 f.go:1] ",
        "[x@1 a=\"b\"]",
        "\"k\":",
        "\u{feff}",
        "\t",
        "\n",
    ]);
    proptest::collection::vec(pieces, 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn nothing_panics_and_places_are_in_the_line(text in line()) {
        let mut fields = Fields::new();
        for parser in all() {
            if parser.run(&text, &mut fields) != Outcome::Matched {
                prop_assert!(fields.is_empty());
                continue;
            }
            for index in 0..fields.len() {
                let field = fields.get(index, &text).unwrap();
                if let Some(place) = fields.place(index) {
                    prop_assert_eq!(text.get(place), Some(field.text));
                }
                match field.value() {
                    FieldValue::Json(json) | FieldValue::Number(json) => {
                        prop_assert!(serde_json::from_str::<Value>(json).is_ok(), "{}", json);
                    }
                    _ => {}
                }
                prop_assert_eq!(fields.find(field.name, &text).is_some(), true);
            }
        }
    }

    /// What serde_json takes for an object is matched, and nothing else.
    #[test]
    fn json_agrees_with_serde_json(
        value in tree(),
        cut in 0usize..200,
        letter in "[{}\\[\\],:\"0a\\\\ ]",
    ) {
        let text = value.to_string();
        check_json(&text)?;
        let at = text.floor_char_boundary(cut.min(text.len()));
        check_json(&text[..at])?;
        check_json(&format!("{}{letter}{}", &text[..at], &text[at..]))?;
    }

    #[test]
    fn json_agrees_with_serde_json_on_anything(
        text in "\\{[{}\\[\\],:\"0-9eE.a\\\\u+ \t\n-]{0,20}\\}",
    ) {
        check_json(&text)?;
    }

    /// Pairs that are written are read.
    #[test]
    fn logfmt_and_kv_read_what_is_written(
        pairs in proptest::collection::btree_map("[a-z]{1,6}", "[a-zA-Z0-9 训,]{1,12}", 1..9),
    ) {
        let quoted = |(key, value): (&String, &String)| format!("{key}=\"{value}\"");
        let line: Vec<String> = pairs.iter().map(quoted).collect();
        let line = line.join(" ");
        let options = json!({"whitespace": "strict"});
        let mut fields = Fields::new();
        for case in [json!({"format": "logfmt"}), json!({"format": "kv", "options": options})] {
            prop_assert_eq!(parser(&case).unwrap().run(&line, &mut fields), Outcome::Matched);
            let expect: Map<String, Value> =
                pairs.iter().map(|(key, value)| (key.clone(), value.as_str().into())).collect();
            prop_assert_eq!(shown(&fields, &line), Value::Object(expect));
        }
    }

    #[test]
    fn csv_reads_what_is_written(values in proptest::collection::vec("[a\", 训\n]{0,6}", 2..7)) {
        let quoted: Vec<String> =
            values.iter().map(|value| format!("\"{}\"", value.replace('"', "\"\""))).collect();
        let line = quoted.join(",");
        let mut fields = Fields::new();
        let parser = parser(&json!({"format": "csv"})).unwrap();
        prop_assert_eq!(parser.run(&line, &mut fields), Outcome::Matched);
        let found: Vec<&str> = fields.iter(&line).map(|field| field.text).collect();
        prop_assert_eq!(found, values);
    }
}

fn tree() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[a\"\\\\\n训😀]{0,6}".prop_map(Value::from),
    ];
    let inner = leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map("[ab.\"训]{0,3}", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    });
    proptest::collection::btree_map("[ab训]{0,3}", inner, 0..5)
        .prop_map(|map| Value::Object(map.into_iter().collect()))
}

fn check_json(text: &str) -> Result<(), TestCaseError> {
    let parser = parser(&json!({"format": "json"})).unwrap();
    let mut fields = Fields::new();
    let outcome = parser.run(text, &mut fields);
    // A number beyond f64 is an error there and kept here.
    match serde_json::from_str::<Value>(text) {
        Ok(Value::Object(object)) => {
            prop_assert_eq!(outcome, Outcome::Matched, "{}", text);
            let mut expect = Vec::new();
            flatten("", &object, &mut expect);
            for (name, value) in expect {
                let found = fields.find(&name, text).and_then(|index| fields.get(index, text));
                let found = found.expect("each leaf is a field");
                let read = match found.kind {
                    FieldKind::Text => Value::from(found.text),
                    _ => serde_json::from_str(found.text).unwrap(),
                };
                // Of two ways to one dotted name the last one counts.
                if !name.contains('.') {
                    prop_assert_eq!(read, value, "{} in {}", name, text);
                }
            }
        }
        Ok(_) => prop_assert_ne!(outcome, Outcome::Matched, "{}", text),
        Err(error) if error.to_string().contains("out of range") => {}
        Err(_) => prop_assert_ne!(outcome, Outcome::Matched, "{}", text),
    }
    Ok(())
}

fn flatten(prefix: &str, object: &Map<String, Value>, out: &mut Vec<(String, Value)>) {
    for (key, value) in object {
        let name = format!("{prefix}{key}");
        match value {
            Value::Object(inner) if !inner.is_empty() => {
                flatten(&format!("{name}."), inner, out);
            }
            value => out.push((name, value.clone())),
        }
    }
}

#[test]
fn limits() {
    let run = |case: &Value, text: &str| parser(case).unwrap().run(text, &mut Fields::new());
    let limit = Outcome::Unmatched(Reason::Limit);
    let case = json!({"format": "json"});
    for (open, close) in [("{\"a\":", "}"), ("[", "]")] {
        let nested =
            |depth: usize| format!("{{\"a\":{}1{}}}", open.repeat(depth), close.repeat(depth));
        assert_eq!(run(&case, &nested(31)), Outcome::Matched, "{open}");
        assert_eq!(run(&case, &nested(32)), limit, "{open}");
        assert_eq!(run(&case, &nested(100_000)), limit, "{open}");
    }
    let many = |count: usize| {
        let pairs: Vec<String> = (0..count).map(|index| format!("k{index}=1")).collect();
        pairs.join(" ")
    };
    for case in [json!({"format": "kv"}), json!({"format": "logfmt"})] {
        assert_eq!(run(&case, &many(FIELDS_MAX)), Outcome::Matched);
        assert_eq!(run(&case, &many(FIELDS_MAX + 1)), limit);
    }
    assert_eq!(run(&json!({"format": "csv"}), &",".repeat(FIELDS_MAX)), limit);
    // A long name that comes again and again would be put together each time.
    let again = format!("{{\"{}\":{{{}}}}}", "k".repeat(500), vec!["\"b\":1"; 2000].join(","));
    assert_eq!(run(&json!({"format": "json"}), &again), limit);
    let long = format!("{{\"{}\":1}}", "k".repeat(1000));
    assert_eq!(run(&json!({"format": "json"}), &long), limit);
}

/// Lines made to be searched again and again: twice the line is twice the work.
#[test]
fn long_lines_are_looked_at_once() {
    let lines = |length: usize| {
        let repeated = |part: &str| part.repeat(length / part.len());
        [
            repeated("a=( b=[ c=\" d=' e=< "),
            repeated("\"a 'b "),
            repeated("\\\" \"\\"),
            format!("{} \"", repeated("\"\\\"")),
            repeated("a=\"\\"),
            repeated("x y z "),
            repeated("\"\"\"\"\"\","),
            format!("{{\"a\":{}", repeated("[")),
            format!("{{\"a\":\"{}\"}}", repeated("\\\\")),
            format!("<34>{}", repeated("a")),
            format!("<165>1 - - - - - [a {}", repeated("a=\"\\\"\" ")),
            repeated(" "),
            repeated("a ["),
            format!("a={}", repeated("(b=")),
            repeated("[rank3]: "),
            format!("{{'a': 1, {}}}", repeated("'b': [1, 2], ")),
            format!("{{'a': {}", repeated("{'b': '")),
            format!("iteration 1/ 2 | {}", repeated("lm loss: 1.0E+00 | ")),
            format!("iteration 1/ 2 | a: {}", repeated("1,234")),
            format!("2024-05-15 10:23:45 [info     ] x {}", repeated("a='b ")),
            format!("[titan] 2024-05-15 10:23:45,1 - root - INFO - step: {}", repeated("\u{1b}[m")),
            format!("[titan] 2024-05-15 10:23:45,1 - root - INFO - step: {}", repeated(" eta: x")),
            format!("2024-05-15 10:23:45,123 [INFO] {}", repeated("a.b")),
            format!("Epoch 0:  35%|{}", repeated("| ")),
        ]
    };
    let mut fields = Fields::new();
    let mut work = |line: &str, parser: &FormatParser| {
        fields.steps = 0;
        let _before = take_count();
        parser.run(line, &mut fields);
        take_count() + fields.steps
    };
    for (index, parser) in all().iter().enumerate() {
        for (short, long) in lines(1 << 12).iter().zip(&lines(1 << 13)) {
            let (once, twice) = (work(short, parser), work(long, parser));
            let start = &short[..short.floor_char_boundary(40)];
            // Near its end a line has less to look at.
            assert!(twice <= 2 * once + 500, "{index}: {once} and {twice} on {start:?}");
        }
    }
}
