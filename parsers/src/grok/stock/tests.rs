//! That the tables are whole: every file is read, every field renamed, every name there once.

use std::collections::HashSet;

use super::super::syntax::{Definitions, expand};
use super::*;
use crate::grok::GrokOptions;

/// Bytes of the largest stock pattern, written out: its addresses make it so.
const EXPANDED_BYTES_MAX: usize = 32 * 1024;

#[test]
fn the_sets_have_logstashs_names() {
    // Logstash has 317, and the crate seven more.
    assert_eq!(patterns(PatternSet::Legacy).len(), 317 + 7);
    // Logstash has 361, and its later versions one more.
    assert_eq!(patterns(PatternSet::EcsV1).len(), 361 + 1);
    for name in grok::patterns().iter().map(|(name, _)| *name) {
        assert!(patterns(PatternSet::EcsV1).contains_key(name), "{name}");
    }
}

/// What Logstash adds to a set must not lie in wait behind a name of ours, and the other way round.
#[test]
fn our_names_are_ours() {
    for name in riverhog().keys() {
        for set in [PatternSet::Legacy, PatternSet::EcsV1] {
            assert!(!patterns(set).contains_key(name), "{name} in {set:?}");
        }
        assert_eq!(definition(PatternSet::EcsV1, name), definition(PatternSet::Legacy, name));
    }
}

#[test]
fn the_files_are_read() {
    for text in ECS.into_iter().chain([LEGACY, RIVERHOG]) {
        let file = PatternFile::read(text).unwrap();
        let mut names = HashSet::new();
        let legacy = file.legacy.iter().map(|(name, _)| name);
        for name in file.definitions.iter().map(|(name, _)| name).chain(legacy) {
            assert!(names.insert(name), "{name} stands there twice");
            assert!(name.bytes().all(|it| matches!(it, b'A'..=b'Z' | b'0'..=b'9' | b'_')));
        }
    }
    let mut names = HashSet::new();
    for (name, _) in ECS.into_iter().flat_map(|text| read(text).definitions) {
        assert!(names.insert(name.clone()), "{name} stands in two files");
    }
}

/// Our text is there where the crate's is another one, and not where it is the same.
#[test]
fn own_text_is_needed() {
    for (name, text) in read(LEGACY).definitions {
        assert_ne!(grok::patterns().iter().find(|it| it.0 == name), Some(&(&*name, &*text)));
    }
    for (name, text) in ECS.into_iter().flat_map(|text| read(text).definitions) {
        assert_ne!(patterns(PatternSet::Legacy).get(&name), Some(&text), "{name}");
    }
}

/// Every field of a legacy definition has a new name, and every new name is used.
#[test]
fn every_field_is_renamed() {
    for text in ECS {
        let file = read(text);
        let mut used = HashSet::new();
        for (name, source) in &file.legacy {
            let legacy = &patterns(PatternSet::Legacy)[source];
            assert!(name != source || !fields(legacy).is_empty(), "{name} need not stand there");
            for field in fields(legacy) {
                let own = format!("{name}.{field}");
                let key = if file.fields.contains_key(&own) { own } else { field };
                assert!(file.fields.contains_key(&key), "{name} has `{key}`");
                used.insert(key);
            }
        }
        let unused: Vec<_> = file.fields.keys().filter(|key| !used.contains(*key)).collect();
        assert!(unused.is_empty(), "{unused:?}");
    }
}

/// The names of the fields that stand in a definition itself.
fn fields(text: &str) -> Vec<String> {
    let references =
        text.split("%{").skip(1).filter_map(|it| it.split_once('}')?.0.split_once(':'));
    let groups = text.split("(?<").skip(1).filter(|it| !it.starts_with(['=', '!']));
    // `(?<NAME:field>`, or `(?<field>`.
    let groups = groups.filter_map(|it| it.split_once('>'));
    let groups = groups.map(|it| it.0.split_once(':').map_or(it.0, |parts| parts.1));
    let names = references.map(|it| it.1).chain(groups);
    names.map(|it| it.split(':').next().unwrap_or(it).to_owned()).collect()
}

/// No field of the legacy set's is left over in the other one.
#[test]
fn ecs_fields_are_references() {
    const PLAIN: [&str; 2] = ["message", "timestamp"];
    for (name, text) in patterns(PatternSet::EcsV1) {
        for field in fields(text) {
            let is_reference = field.starts_with('[') && field.ends_with(']');
            assert!(is_reference || PLAIN.contains(&&*field), "{name} has `{field}`");
        }
    }
}

#[test]
fn definitions_are_of_bounded_size() {
    for set in [PatternSet::Legacy, PatternSet::EcsV1] {
        let options = GrokOptions { set, ..GrokOptions::default() };
        for name in names(set) {
            let mut definitions = Definitions::new(&options).unwrap();
            let expanded = expand(&format!("%{{{name}}}"), &mut definitions, true).unwrap();
            assert!(expanded.text.len() < EXPANDED_BYTES_MAX, "{name}: {}", expanded.text.len());
        }
    }
}

/// `%{NAME}` inside a definition names something in both sets.
#[test]
fn names_are_found() {
    assert_eq!(definition(PatternSet::Legacy, "NOTSPACE"), Some(r"\S+"));
    assert_eq!(definition(PatternSet::Legacy, "NOTHING"), None);
    assert!(names(PatternSet::EcsV1).is_sorted());
}
