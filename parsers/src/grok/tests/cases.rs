//! Every stock name of both sets, and every one of ours, on lines that it takes and lines that it
//! does not: `cases/*.jsonl`.
//!
//! A case has `pattern`, `input` and `fields` (null where nothing is found), and `set` where the
//! sets answer differently or only one has the name. Fields are compared with their types.

use std::collections::HashMap;

use serde_json::Value;

use super::examples::found;
use super::*;

const FILES: [(&str, &str); 15] = [
    ("aws", include_str!("cases/aws.jsonl")),
    ("bacula", include_str!("cases/bacula.jsonl")),
    ("bind", include_str!("cases/bind.jsonl")),
    ("bro", include_str!("cases/bro.jsonl")),
    ("core", include_str!("cases/core.jsonl")),
    ("exim", include_str!("cases/exim.jsonl")),
    ("firewalls", include_str!("cases/firewalls.jsonl")),
    ("haproxy", include_str!("cases/haproxy.jsonl")),
    ("httpd", include_str!("cases/httpd.jsonl")),
    ("java", include_str!("cases/java.jsonl")),
    ("junos", include_str!("cases/junos.jsonl")),
    ("nagios", include_str!("cases/nagios.jsonl")),
    ("riverhog", include_str!("cases/riverhog.jsonl")),
    ("small", include_str!("cases/small.jsonl")),
    ("syslog", include_str!("cases/syslog.jsonl")),
];

const SETS: [(&str, PatternSet); 2] =
    [("legacy", PatternSet::Legacy), ("ecs-v1", PatternSet::EcsV1)];

struct Case {
    file: &'static str,
    set: PatternSet,
    pattern: String,
    input: String,
    fields: Value,
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (file, text) in FILES {
        for line in text.lines() {
            let case: Value = serde_json::from_str(line).unwrap();
            for (name, set) in SETS {
                if case.get("set").is_none_or(|it| it == name) {
                    cases.push(Case {
                        file,
                        set,
                        pattern: case["pattern"].as_str().unwrap().to_owned(),
                        input: case["input"].as_str().unwrap().to_owned(),
                        fields: case["fields"].clone(),
                    });
                }
            }
        }
    }
    cases
}

fn compile_in(set: PatternSet, pattern: &str) -> Grok {
    let options = GrokOptions { set, ..GrokOptions::default() };
    match Grok::compile(pattern, &options) {
        Ok(grok) => grok,
        Err(error) => panic!("{set:?} {pattern:?}: {error:?}"),
    }
}

#[test]
fn every_case() {
    let mut compiled = HashMap::new();
    let mut wrong = Vec::new();
    for case in cases() {
        let key = (case.set == PatternSet::EcsV1, case.pattern.clone());
        let grok = compiled.entry(key).or_insert_with(|| compile_in(case.set, &case.pattern));
        let answer = found(grok, &case.input);
        let fields = answer.as_ref().ok().and_then(Option::as_ref).unwrap_or(&Value::Null);
        if answer.is_err() || *fields != case.fields {
            let Case { file, set, pattern, input, fields } = &case;
            wrong.push(format!("{file}: {set:?} {pattern} on {input:?}: {answer:?}, not {fields}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Enough of them for each name: what it takes and what it does not, and more for the core names.
#[test]
fn every_name_has_cases() {
    let mut counts: HashMap<(bool, &str, String), (usize, usize)> = HashMap::new();
    for case in cases() {
        let name = case.pattern.split_once("%{").unwrap().1;
        let name = name[..name.find([':', '}']).unwrap()].to_owned();
        let ecs = case.set == PatternSet::EcsV1;
        let count = counts.entry((ecs, case.file, name)).or_default();
        *(if case.fields.is_null() { &mut count.1 } else { &mut count.0 }) += 1;
    }
    let mut core_names = 0;
    let mut few = Vec::new();
    for (_, set) in SETS {
        for name in stock_names(set) {
            let own = counts
                .iter()
                .filter(|((ecs, _, it), _)| *ecs == (set == PatternSet::EcsV1) && it == name);
            let own: Vec<_> = own.collect();
            let is_core = own.iter().any(|((_, file, _), _)| *file == "core");
            core_names += usize::from(is_core && set == PatternSet::Legacy);
            let matched: usize = own.iter().map(|(_, count)| count.0).sum();
            let unmatched: usize = own.iter().map(|(_, count)| count.1).sum();
            let (matched_min, unmatched_min) = if is_core { (3, 2) } else { (1, 1) };
            if matched < matched_min || unmatched < unmatched_min {
                few.push(format!("{set:?} {name}: {matched} and {unmatched}"));
            }
        }
    }
    assert!(few.is_empty(), "{few:#?}");
    assert_eq!(core_names, 70);
}

/// Also beside another pattern, and under a name.
#[test]
fn every_name_compiles() {
    for (_, set) in SETS {
        for name in stock_names(set) {
            compile_in(set, &format!("%{{{name}:whole}} %{{IP:other}}"));
        }
    }
}

/// The table of the documentation has all our names, and each takes its example whole.
#[test]
fn our_names_are_documented() {
    let page = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/grok.md"));
    let rows: HashMap<&str, &str> =
        page.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` | ")).collect();
    let (_, own) = FILES.iter().find(|(file, _)| *file == "riverhog").unwrap();
    let is_own = |name: &str| [":", "}"].iter().any(|end| own.contains(&format!("%{{{name}{end}")));
    for name in stock_names(PatternSet::Legacy).filter(|it| is_own(it)) {
        let row = rows.get(name).unwrap_or_else(|| panic!("`{name}` is not in docs/grok.md"));
        let Some(example) = row.strip_prefix('`') else { continue };
        let (example, fields) = example.split_once("` | ").unwrap();
        let example = example.replace(r"\|", "|");
        let grok = compile(&format!("^%{{{name}}}$"));
        let found = run(&grok, &example).unwrap();
        for field in fields.split('`').skip(1).step_by(2) {
            assert!(
                found.split('|').any(|it| it.starts_with(&format!("{field}="))),
                "{name} {found}"
            );
        }
        assert_eq!(grok.fields().len(), fields.matches('`').count() / 2, "{name}");
    }
}
