//! What Logstash itself answers: cases from a folder named by `RIVERHOG_EXAMPLES`. And how an
//! answer is made of captures.

use serde_json::{Map, Value, json};

use super::*;

/// Reads `grok-semantics.jsonl` in the folder, if one is named, and requires that no case is
/// answered otherwise than Logstash does.
#[test]
fn logstash_answers() {
    let Ok(folder) = std::env::var("RIVERHOG_EXAMPLES") else {
        eprintln!("skipped: RIVERHOG_EXAMPLES is not set");
        return;
    };
    let path = std::path::Path::new(&folder).join("grok-semantics.jsonl");
    let cases = std::fs::read_to_string(&path).unwrap();
    let mut wrong = Vec::new();
    let mut right = 0;
    for line in cases.lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let id = case["id"].as_str().unwrap();
        let found = answer(&case);
        if same(&found, &case["expect"]) {
            right += 1;
        } else {
            wrong.push(format!("{id}: {} on {} gave {found}", case["pattern"], case["input"]));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(right > 0);
}

fn answer(case: &Value) -> Value {
    let flag = |name: &str, default: bool| case[name].as_bool().unwrap_or(default);
    let define = case["define"].as_object().cloned().unwrap_or_default();
    let ecs = case["set"] == "ecs-v1";
    let options = GrokOptions {
        set: if ecs { PatternSet::EcsV1 } else { PatternSet::Legacy },
        definitions: define
            .iter()
            .map(|(name, regex)| (name.clone(), regex.as_str().unwrap().to_owned()))
            .collect(),
        named_captures_only: flag("named_captures_only", true),
        keep_empty_captures: flag("keep_empty_captures", false),
        target: String::new(),
    };
    let grok = match Grok::compile(case["pattern"].as_str().unwrap(), &options) {
        Ok(grok) => grok,
        Err(error) => return json!({"error": true, "message": error.message}),
    };
    match found(&grok, case["input"].as_str().unwrap()) {
        Ok(None) => json!({"matched": false}),
        Ok(Some(fields)) => json!({"matched": true, "fields": fields}),
        Err(reason) => json!({"reason": reason.as_str()}),
    }
}

/// The fields of a match as an object; `None` when unmatched.
pub(super) fn found(grok: &Grok, text: &str) -> Result<Option<Value>, Reason> {
    let mut captures = Vec::new();
    match grok.run(text, &mut grok.scratch(), &mut captures) {
        Outcome::Unmatched(Reason::NoMatch) => return Ok(None),
        Outcome::Unmatched(reason) => return Err(reason),
        Outcome::Matched => {}
    }
    let mut fields = Map::new();
    for capture in captures {
        let field = &grok.fields()[usize::from(capture.field)];
        let part = capture.text(text);
        let value = match field.kind {
            _ if capture.is_absent() => Value::Null,
            // Logstash knows two types.
            FieldType::Int => to_int(part).into(),
            FieldType::Float => to_float(part).into(),
            _ => part.into(),
        };
        insert(&mut fields, &field.path, value);
    }
    Ok(Some(Value::Object(fields)))
}

/// Logstash's rule for a field that is there already: a text and more become a list, a number
/// stays.
fn insert(fields: &mut Map<String, Value>, path: &[String], value: Value) {
    let (last, outer) = path.split_last().unwrap();
    let mut fields = fields;
    for step in outer {
        let inner = fields.entry(step.clone()).or_insert_with(|| json!({}));
        fields = inner.as_object_mut().unwrap();
    }
    match fields.get_mut(last) {
        None | Some(Value::Null) => {
            fields.insert(last.clone(), value);
        }
        Some(Value::Array(values)) => values.push(value),
        Some(known @ Value::String(_)) => *known = json!([known.take(), value]),
        Some(_) => {}
    }
}

fn same(found: &Value, expect: &Value) -> bool {
    if expect["error"] == true {
        return found["error"] == true;
    }
    match (found, expect) {
        (Value::Number(one), Value::Number(other)) => one.as_f64() == other.as_f64(),
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one
                    .iter()
                    .all(|(key, value)| other.get(key).is_some_and(|other| same(value, other)))
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same(one, other))
        }
        (one, other) => one == other,
    }
}
