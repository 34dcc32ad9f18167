//! What patterns say of themselves.

use super::*;

fn findings(pattern: &str) -> Vec<(FindingKind, &str)> {
    let found = compile(pattern).explain().findings;
    found.into_iter().map(|finding| (finding.kind, &pattern[finding.span])).collect()
}

#[test]
fn parts_have_engines_and_fields() {
    let pattern = format!("^{SWIFT}");
    let explanation = compile(&pattern).explain();
    assert!(explanation.expansion.starts_with("^(?<TIMESTAMP_ISO8601:log_time>"));
    assert_eq!(explanation.tier, Tier::Sequence);
    let parts: Vec<_> = explanation
        .parts
        .iter()
        .map(|part| (&pattern[part.span.clone()], part.field.as_deref(), part.tier))
        .map(|(text, field, tier)| format!("{text}|{}|{}", field.unwrap_or("-"), tier.as_str()))
        .collect();
    assert_eq!(
        parts,
        [
            "^|-|sequence",
            "%{TIMESTAMP_ISO8601:log_time}|log_time|sequence",
            " |-|sequence",
            "%{LOGLEVEL:level}|level|sequence",
            " |-|sequence",
            "%{NOTSPACE:component}|component|sequence",
            ": |-|sequence",
            "%{GREEDYDATA:content}|content|sequence",
        ]
    );
    let reasons: Vec<&str> = explanation.parts.iter().map(|part| part.reason).collect();
    assert_eq!(reasons[1], "a timestamp");
    assert_eq!(reasons[3], "one of some words");
    assert_eq!(reasons[7], "the rest of the line, if it is the last part");
    assert!(!explanation.parts[1].parts.is_empty());
}

#[test]
fn why_no_cheaper_engine() {
    let explanation = compile(r"(?<a>.*?)-%{WORD:w} (?<b>(?!x)\S+) %{IP:ip}").explain();
    assert_eq!(explanation.tier, Tier::Backtrack);
    assert!(explanation.reason.starts_with("a repeat of something"), "{}", explanation.reason);
    assert_eq!(explanation.limit_reason, Some("a look-around"));
    assert_eq!(explanation.literals, ["-"]);
    let tiers: Vec<Tier> = explanation.parts.iter().map(|part| part.tier).collect();
    assert_eq!((tiers[0], tiers[4]), (Tier::Sequence, Tier::Sequence));
    assert_eq!((tiers[6], explanation.parts[6].reason), (Tier::Backtrack, "a look-around"));
    assert_eq!(compile(r"(?<a>(?:ab)+)c").explain().parts[0].tier, Tier::Linear);
    assert_eq!(compile("^%{DATA:a} end").explain().limit_reason, None);
}

#[test]
fn what_is_suspicious() {
    use FindingKind::{AdjacentRepeats, NeedlessGroup, NestedRepeat, Unanchored};
    assert_eq!(findings("^%{WORD:a} %{GREEDYDATA:b}"), []);
    assert_eq!(findings("%{WORD:a}"), [(Unanchored, "%{WORD:a}")]);
    assert_eq!(findings(r"^(?<k>(?:\w+ ?)+)="), [(NestedRepeat, r"(?:\w+ ?)+")]);
    assert_eq!(findings(r"^(?<k>(?:\.\w+)+)="), []);
    assert_eq!(findings(r"^(?<k>(?:a|b+)*)="), [(NestedRepeat, "(?:a|b+)*")]);
    assert_eq!(
        findings("^%{DATA:a}%{GREEDYDATA:b}x"),
        [(AdjacentRepeats, "%{DATA:a}%{GREEDYDATA:b}")]
    );
    assert_eq!(
        findings("^%{DATA:a} %{GREEDYDATA:b} x"),
        [(AdjacentRepeats, "%{DATA:a} %{GREEDYDATA:b}")]
    );
    assert_eq!(findings(r"^\[%{DATA:a}\] %{WORD:w} %{GREEDYDATA:b}"), []);
    assert_eq!(findings(r"^(?<a>\w+)(?<b>\d+)"), [(AdjacentRepeats, r"(?<a>\w+)(?<b>\d+)")]);
    assert_eq!(findings(r"^(?<a>\w+)(?<b> +)"), []);
    assert_eq!(findings("^(a|b) %{WORD:w}"), [(NeedlessGroup, "(")]);
    assert_eq!(findings("^(?:a|b) %{LOGLEVEL:w}"), []);
}

#[track_caller]
fn check_stop(pattern: &str, text: &str, expect: Option<(&str, &str, &str)>) {
    let stop = compile(pattern).longest_prefix(text);
    let found = stop.as_ref().map(|stop| {
        (&pattern[stop.matched.clone()], &pattern[stop.failed.clone()], &text[stop.place..])
    });
    assert_eq!(found, expect, "{pattern:?} on {text:?}");
}

#[test]
fn where_a_line_stops() {
    let line = "2026-03-12 10:23:45,123 ERRORS swift.trainer: x";
    check_stop(
        SWIFT,
        line,
        Some(("%{TIMESTAMP_ISO8601:log_time} %{LOGLEVEL:level}", " ", "S swift.trainer: x")),
    );
    check_stop(r"^\[%{INT:a}\] (?<b>x+)!", "[12] xx?", Some((r"^\[%{INT:a}\] (?<b>x+)", "!", "?")));
    // The boundary that the word begins with is there.
    check_stop("^%{WORD:a}=%{INT:b}", "键=1", Some(("^%{WORD:a}", "%{WORD:a}", "键=1")));
    // An integer may begin with nothing: the sign is optional.
    check_stop("a%{INT:b}", "banana", Some(("a%{INT:b}", "%{INT:b}", "nana")));
    check_stop("^%{WORD:a}=%{INT:b}", "k=1", None);
    check_stop("a%{INT:b}", "xyz", None);
    check_stop("", "xyz", None);
}
