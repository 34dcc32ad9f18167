//! config/schema.json. Invariant: at least as lenient as `load`, so that an editor never marks what
//! works: wherever the environment may be used, any text with `${` is taken. Next: `reference.rs`.

use crate::declare::{self, Choice, Kind, Part, Section, Setting, Shape, Variant};
use serde_json::{Map, Value, json};

/// The JSON schema of a configuration file, with a newline at its end.
pub fn schema() -> String {
    let mut root = of_section(&declare::ROOT, None);
    let properties = root["properties"].as_object_mut().expect("a section has properties");
    for part in &declare::PARTS {
        properties.insert(part.key.to_owned(), of_part(part));
    }
    root["$schema"] = "https://json-schema.org/draft/2020-12/schema".into();
    root["title"] = "Riverhog configuration".into();
    let mut text = format!("{root:#}");
    text.push('\n');
    text
}

fn of_part(part: &Part) -> Value {
    let mut schema = match &part.shape {
        Shape::One(section) => of_section(section, None),
        Shape::OneOf(variants) => of_variants(variants),
        Shape::Named(section) => map_of(&of_section(section, None)),
        Shape::NamedOf(variants) => map_of(&of_variants(variants)),
        Shape::List(section) => json!({ "type": "array", "items": of_section(section, None) }),
    };
    schema["description"] = part.doc.into();
    schema
}

fn map_of(schema: &Value) -> Value {
    json!({ "type": "object", "additionalProperties": schema })
}

fn of_variants(variants: &[Variant]) -> Value {
    let schemas: Vec<Value> =
        variants.iter().map(|it| of_section(it.section, Some(it.word))).collect();
    json!({ "oneOf": schemas })
}

fn of_section(section: &Section, word: Option<&str>) -> Value {
    let mut properties = Map::new();
    let mut required = Vec::new();
    if let Some(word) = word {
        properties.insert("type".to_owned(), json!({ "const": word }));
        required.push("type");
    }
    for setting in section.settings {
        properties.insert(setting.name.to_owned(), of_setting(setting));
        if setting.required {
            required.push(setting.name);
        }
    }
    let mut schema = json!({
        "type": "object",
        "properties": properties,
        "additionalProperties": false,
    });
    if !section.doc.is_empty() {
        schema["description"] = section.doc.into();
    }
    if !required.is_empty() {
        schema["required"] = required.into();
    }
    schema
}

fn of_setting(setting: &Setting) -> Value {
    let text = || json!({ "type": "string" });
    let mut schema = match &setting.kind {
        Kind::Integer { min, max } => json!({
            "oneOf": [
                { "type": "integer", "minimum": min, "maximum": max },
                { "type": "string", "pattern": "\\$\\{" },
            ]
        }),
        Kind::Flag => json!({
            "oneOf": [{ "type": "boolean" }, { "type": "string", "pattern": "\\$\\{" }]
        }),
        Kind::Bytes { .. } => quantity("[kKMGT]?i?B"),
        Kind::Duration { .. } => quantity("(ms|s|m|h|d)[0-9.a-z\\s]*"),
        Kind::Choice(words) => choice(words),
        Kind::Choices(words) => json!({ "type": "array", "items": choice(words), "minItems": 1 }),
        Kind::Texts => json!({ "type": "array", "items": text(), "minItems": 1 }),
        Kind::Grok => json!({
            "oneOf": [text(), { "type": "array", "items": text(), "minItems": 1 }]
        }),
        Kind::TextMap => map_of(&text()),
        Kind::TextLists => map_of(&json!({ "type": "array", "items": text(), "minItems": 1 })),
        Kind::Properties | Kind::Expectations => json!({ "type": "object" }),
        Kind::Section(section) => of_section(section, None),
        Kind::Sections(section) => {
            json!({ "type": "array", "items": of_section(section, None) })
        }
        // An unquoted date reaches the checker of an editor as a string too.
        Kind::Text | Kind::Secret | Kind::Path | Kind::Template | Kind::Condition | Kind::Start => {
            text()
        }
    };
    schema["description"] = setting.doc.into();
    if let Some(default) = setting.default {
        schema["default"] = match setting.kind {
            Kind::Integer { .. } => default.parse::<u64>().map_or(Value::Null, Value::from),
            Kind::Texts => default.split(", ").collect::<Vec<_>>().into(),
            _ => default.into(),
        };
    }
    schema
}

fn quantity(unit: &str) -> Value {
    json!({ "type": "string", "pattern": format!("^\\s*[0-9.]+\\s*{unit}\\s*$|\\$\\{{") })
}

fn choice(words: &[Choice]) -> Value {
    let words: Vec<&str> = words.iter().filter(|it| it.later.is_none()).map(|it| it.word).collect();
    json!({ "anyOf": [{ "enum": words }, { "type": "string", "pattern": "\\$\\{" }] })
}
