//! What is made from the declarations: the JSON schema for editors and the reference page.
//! Invariant: neither says anything that `declare` does not; both are committed, and a test fails
//! when they are stale. Next: `generate/schema.rs`, `generate/reference.rs`.

mod reference;
mod schema;

pub use reference::reference_page;
pub use schema::schema;

use crate::declare::{Kind, Setting};

/// The default of a setting as TOML.
fn default_toml(setting: &Setting) -> Option<String> {
    let default = setting.default?;
    Some(match setting.kind {
        Kind::Integer { .. } | Kind::Flag => default.to_owned(),
        Kind::Texts => {
            let quoted: Vec<String> = default.split(", ").map(|it| format!("\"{it}\"")).collect();
            format!("[{}]", quoted.join(", "))
        }
        _ => format!("\"{default}\""),
    })
}

#[cfg(test)]
mod tests {
    use crate::declare::{DEAD_LETTERS, PARTS, ROOT, SINKS, SOURCES, Section, Shape};

    fn sections() -> Vec<&'static Section> {
        let variants = [&SOURCES[..], &SINKS, &DEAD_LETTERS].into_iter().flatten();
        let single = PARTS.iter().filter_map(|part| match part.shape {
            Shape::One(section) | Shape::Named(section) | Shape::List(section) => Some(section),
            Shape::OneOf(_) | Shape::NamedOf(_) => None,
        });
        [&ROOT].into_iter().chain(variants.map(|it| it.section)).chain(single).collect()
    }

    #[test]
    fn every_example_is_toml_and_every_text_ends() {
        for section in sections() {
            let title = section.title;
            assert!(section.example.parse::<toml::Table>().is_ok(), "{title}");
            assert!(!section.example.is_empty(), "{title} has no example");
            for setting in section.settings {
                let name = setting.name;
                assert!(setting.doc.ends_with('.'), "{title}: {name}");
                assert!(!setting.required || setting.default.is_none(), "{title}: {name}");
            }
        }
    }

    #[test]
    fn the_schema_is_json_and_knows_every_section() {
        let schema: serde_json::Value = serde_json::from_str(&super::schema()).expect("JSON");
        for part in &PARTS {
            assert!(schema["properties"][part.key].is_object(), "{}", part.key);
        }
    }
}
