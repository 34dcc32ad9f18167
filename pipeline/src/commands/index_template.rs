//! The index template of an `elasticsearch` sink: which fields a store indexes, and how.
//!
//! Invariant: what is parsed from lines (`fields.*`) is kept in the source and never indexed, so no
//! line can blow up a mapping; labels and the host's columns are keywords, `content` is text
//! without a keyword copy. Next stop: `setup.rs`, which installs it.

use serde_json::{Map, Value, json};

/// Above what stores bring along and people write first.
const PRIORITY: u32 = 300;
/// Longest keyword that is indexed: Lucene refuses terms of 32,766 bytes.
const KEYWORD_MAX: u32 = 1_024;

/// The name of a sink's template.
pub(super) fn name(sink: &str) -> String {
    format!("riverhog-{sink}")
}

/// The indices that an index template text can name: placeholders become `*`.
pub(super) fn pattern(index: &str) -> String {
    let mut pattern = String::new();
    let mut rest = index.chars().peekable();
    while let Some(letter) = rest.next() {
        match letter {
            '{' if rest.next_if_eq(&'{').is_some() => pattern.push('{'),
            '}' if rest.next_if_eq(&'}').is_some() => pattern.push('}'),
            '{' => {
                rest.by_ref().find(|letter| *letter == '}');
                if !pattern.ends_with('*') {
                    pattern.push('*');
                }
            }
            letter => pattern.push(letter),
        }
    }
    pattern
}

/// The template for a pattern of indices, or of data streams.
pub(super) fn body(pattern: &str, data_stream: bool) -> Value {
    let mut body = json!({
        "index_patterns": [pattern],
        "priority": PRIORITY,
        "template": {
            "mappings": {
                "dynamic": false,
                "dynamic_templates": [
                    dynamic("labels", &keyword()),
                    dynamic("host", &keyword()),
                    dynamic("failure", &keyword()),
                    dynamic("metrics", &json!({"type": "double"})),
                ],
                "properties": properties(),
            },
        },
        "_meta": {"managed_by": "riverhog"},
    });
    if data_stream {
        body["data_stream"] = json!({});
        // A data stream goes by this field, so it must be there and read.
        body["template"]["mappings"]["properties"]["@timestamp"] = json!({"type": "date_nanos"});
    }
    body
}

fn dynamic(object: &str, mapping: &Value) -> Value {
    let mut template = Map::new();
    let path = format!("{object}.*");
    template.insert(object.to_owned(), json!({"path_match": path, "mapping": mapping}));
    Value::Object(template)
}

fn keyword() -> Value {
    json!({"type": "keyword", "ignore_above": KEYWORD_MAX})
}

fn properties() -> Value {
    // A line that says the year 9999 is stored all the same: only this one field is not indexed.
    let time = json!({"type": "date_nanos", "ignore_malformed": true});
    let open = json!({"type": "object", "dynamic": true});
    json!({
        "@timestamp": time,
        "timestamp_source": keyword(),
        "received": time,
        "received_source": keyword(),
        "level": keyword(),
        "component": keyword(),
        "content": {"type": "text"},
        "message": {"type": "text", "index": false},
        "host": open,
        "labels": open,
        "failure": open,
        "metrics": open,
        "rank": {"type": "long"},
        "fields": {"type": "object", "enabled": false},
        "tags": keyword(),
        "origin": {
            "type": "object",
            "properties": {
                "lineage": keyword(),
                "topic": keyword(),
                "partition": {"type": "integer"},
                "offset": {"type": "long"},
                "time": {"type": "long"},
                "index": {"type": "integer"},
                "part": {"type": "integer"},
            },
        },
        "event_id": keyword(),
        "v": {"type": "short"},
    })
}

/// What differs between the template in a store and ours, one line a value. What a store adds of
/// its own outside of the mappings is no difference.
pub(super) fn differences(stored: &Value, ours: &Value) -> Vec<String> {
    let mut differences = Vec::new();
    for part in ["index_patterns", "priority", "template"] {
        compare(part, &stored[part], &ours[part], &mut differences);
    }
    for (is_there, sign) in [(&stored, '-'), (&ours, '+')] {
        let is_in_both = stored["data_stream"].is_object() == ours["data_stream"].is_object();
        if is_there["data_stream"].is_object() && !is_in_both {
            differences.push(format!("{sign} data_stream"));
        }
    }
    differences
}

/// Our template in place of a stored one, with what the user has added to that: settings, aliases,
/// component templates.
pub(super) fn merged(stored: &Value, ours: &Value) -> Value {
    let mut merged = stored.clone();
    for part in ["index_patterns", "priority", "_meta"] {
        merged[part] = ours[part].clone();
    }
    if let Some(merged) = merged.as_object_mut() {
        merged.remove("data_stream");
        // What a store says of it beside our empty object is what it would say again.
        merged.extend(ours.get("data_stream").map(|it| ("data_stream".to_owned(), it.clone())));
    }
    if merged["template"].is_object() {
        merged["template"]["mappings"] = ours["template"]["mappings"].clone();
    } else {
        merged["template"] = ours["template"].clone();
    }
    merged
}

fn compare(path: &str, stored: &Value, ours: &Value, out: &mut Vec<String>) {
    match (stored, ours) {
        (Value::Object(stored), Value::Object(ours)) => {
            for (name, value) in ours {
                let path = format!("{path}.{name}");
                match stored.get(name) {
                    None => out.push(format!("+ {path}: {value}")),
                    Some(stored) => compare(&path, stored, value, out),
                }
            }
            // Settings and aliases beside the mappings are the user's.
            let is_ours = path.starts_with("template.mappings");
            for (name, value) in
                stored.iter().filter(|(name, _)| is_ours && !ours.contains_key(*name))
            {
                out.push(format!("- {path}.{name}: {value}"));
            }
        }
        _ if is_same(stored, ours) => {}
        _ => out.push(format!("~ {path}: {stored} → {ours}")),
    }
}

/// Stores give numbers and booleans back as text now and then.
fn is_same(stored: &Value, ours: &Value) -> bool {
    match (stored, ours) {
        (Value::Array(stored), Value::Array(ours)) => {
            let pairs = stored.iter().zip(ours);
            stored.len() == ours.len() && pairs.into_iter().all(|(a, b)| is_same(a, b))
        }
        (Value::Object(stored), Value::Object(ours)) => {
            let same = |(name, value)| stored.get(name).is_some_and(|it| is_same(it, value));
            stored.len() == ours.len() && ours.iter().all(same)
        }
        (Value::String(stored), Value::Bool(ours)) => stored.parse() == Ok(*ours),
        (Value::String(stored), Value::Number(ours)) => stored.parse().ok() == ours.as_u64(),
        _ => stored == ours,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_become_stars() {
        let table = [
            ("ms-swift-train-logs-{timestamp:%Y.%m.%d}", "ms-swift-train-logs-*"),
            ("logs-{project}{task}-x-{timestamp:%Y}", "logs-*-x-*"),
            ("plain", "plain"),
            ("{{a}}-{b}", "{a}-*"),
            ("{open", "*"),
        ];
        for (index, expect) in table {
            assert_eq!(pattern(index), expect, "{index}");
        }
    }

    fn check(change: impl FnOnce(&mut Value), expect: &[&str]) {
        let ours = body("logs-*", false);
        let mut stored = ours.clone();
        change(&mut stored);
        assert_eq!(differences(&stored, &ours), expect);
    }

    #[test]
    fn only_what_matters_differs() {
        check(|_| {}, &[]);
        check(|stored| stored["composed_of"] = json!([]), &[]);
        check(|stored| stored["template"]["settings"] = json!({"number_of_shards": "3"}), &[]);
        check(|stored| stored["template"]["mappings"]["dynamic"] = json!("false"), &[]);
        check(|stored| stored["priority"] = json!(1), &["~ priority: 1 → 300"]);
        check(
            |stored| stored["template"]["mappings"]["properties"]["rank"] = json!({"type": "text"}),
            &["~ template.mappings.properties.rank.type: \"text\" → \"long\""],
        );
        check(
            |stored| stored["template"]["mappings"]["properties"]["new"] = json!({"type": "ip"}),
            &["- template.mappings.properties.new: {\"type\":\"ip\"}"],
        );
    }

    #[test]
    fn settings_of_the_user_are_kept() {
        let ours = body("logs-*", false);
        let stored = json!({"priority": 1, "template": {"settings": {"x": 1}, "mappings": {}}});
        let merged = merged(&stored, &ours);
        assert_eq!(merged["template"]["settings"]["x"], 1);
        assert_eq!(differences(&merged, &ours), Vec::<String>::new());
        assert_eq!(super::merged(&json!({"priority": 1}), &ours), ours);
    }

    #[test]
    fn a_data_stream_is_told_from_an_index() {
        let (index, stream) = (body("logs-*", false), body("logs-*", true));
        assert!(
            stream["template"]["mappings"]["properties"]["@timestamp"]["ignore_malformed"]
                .is_null()
        );
        let mut stored = stream.clone();
        stored["data_stream"] = json!({"timestamp_field": {"name": "@timestamp"}});
        assert_eq!(differences(&stored, &stream), Vec::<String>::new());
        let said = differences(&stored, &index);
        assert!(said.contains(&"- data_stream".to_owned()), "{said:?}");
        let said = differences(&index, &stream);
        assert!(said.contains(&"+ data_stream".to_owned()), "{said:?}");
        for (stored, ours) in [(&stored, &index), (&index, &stream)] {
            assert_eq!(differences(&merged(stored, ours), ours), Vec::<String>::new());
        }
    }

    /// Every part of the documented event is mapped.
    #[test]
    fn the_documented_event_is_covered() {
        let sample: Value =
            serde_json::from_str(&riverhog_rules::transform::document_sample()).unwrap();
        let properties = properties();
        for name in sample.as_object().unwrap().keys() {
            assert!(properties.get(name).is_some(), "{name}");
        }
        for name in sample["origin"].as_object().unwrap().keys() {
            assert!(properties["origin"]["properties"].get(name).is_some(), "origin.{name}");
        }
    }

    #[test]
    fn the_guide_maps_metrics_alike() {
        let page = include_str!("../../../docs/numbers.md");
        let (_, rest) = page.split_once("```json\n").unwrap();
        let (snippet, _) = rest.split_once("```").unwrap();
        let snippet: Value = serde_json::from_str(snippet).unwrap();
        let template = body("train-*", false);
        let templates = template["template"]["mappings"]["dynamic_templates"].as_array().unwrap();
        assert!(templates.contains(&snippet["dynamic_templates"][0]), "{snippet}");
    }
}
