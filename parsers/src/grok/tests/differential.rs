//! The cheap engines against the general one, on lines that are nearly right.

use std::sync::LazyLock;

use super::*;

/// Patterns that a cheap engine takes.
const PATTERNS: [&str; 8] = [
    SWIFT,
    r"^\[%{TIMESTAMP_ISO8601:t}\] \[%{LOGLEVEL:l}\] \[%{NOTSPACE:c}\] %{GREEDYDATA:m}",
    r"%{LOGLEVEL:l}%{SPACE:s}:%{SPACE}%{GREEDYDATA:m}",
    r"(?<a>[^|]*)\|(?<b>[^|]*)\|(?<c>\S+)",
    r"(?<outer>(?<inner>[a-z]+)): (?<w>INFO|WARN|warning)=%{NOTSPACE:v}",
    r"%{NOTSPACE:a}: - %{GREEDYDATA:r}",
    r"(?<k>\w+)=(?<v>\w*);%{GREEDYDATA:r}",
    r"<%{TIMESTAMP_ISO8601:t}> %{NOTSPACE:x}",
];

const LINES: [&str; 14] = [
    "2026-03-12 10:23:45,123 ERROR swift.trainer: CUDA out of memory.",
    "2026-03-12T10:23:45.123456+08:00 warning a:b:c: x: y",
    "2026-03-12T10:23:45Z INFO a: \u{3000}训练 x\n  next",
    "2026-03-12 10:23:45,123 INFO a.b:\u{a0}c: x",
    "[2026-03-12 10:23:45,123] [INFO] [c10d.cpp:42] rank 3 is here",
    "<2026-03-12T10:23:45.1-0330> host",
    "WARNING\t \x0b: rest of it",
    "info:x",
    "abc|d\ne|f g",
    "训练||x",
    "trainer: WARN=12 x",
    "a.b:: - c: - d",
    "key=value;rest\n",
    "k=;",
];

/// What lines are edited with: the separators of the patterns, and what some take for white space.
const EDITS: [char; 31] = [
    ' ', '\t', '\n', '\r', '\x0b', ':', ';', '.', ',', '-', '+', 'T', 'Z', '|', '=', '[', ']', '0',
    '1', '5', '9', 'a', 'I', 'N', 'O', 'é', '训', '\u{3000}', '\u{85}', '\u{2028}', '１',
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 4_000, ..ProptestConfig::default() })]

    #[test]
    fn tiers_agree(
        pattern in 0..PATTERNS.len(),
        line in 0..LINES.len(),
        edits in proptest::collection::vec(
            (
                0usize..70,
                0usize..3,
                proptest::sample::select(EDITS.to_vec()),
            ),
            0..4,
        ),
    ) {
        let mut letters: Vec<char> = LINES[line].chars().collect();
        for (at, edit, letter) in edits {
            let at = at % (letters.len() + 1);
            match edit {
                0 => letters.insert(at, letter),
                1 if at < letters.len() => letters[at] = letter,
                _ if at < letters.len() => {
                    letters.remove(at);
                }
                _ => {}
            }
        }
        let text: String = letters.into_iter().collect();
        agree(pattern, &text)?;
    }
}

fn agree(pattern: usize, text: &str) -> Result<(), TestCaseError> {
    static COMPILED: LazyLock<Vec<Grok>> =
        LazyLock::new(|| PATTERNS.iter().map(|pattern| compile(pattern)).collect());
    let grok = &COMPILED[pattern];
    prop_assert_eq!(grok.tier(), Tier::Sequence, "{:?}: {}", grok, grok.tier_reason());
    let mut scratch = grok.scratch();
    let engine = &grok.inner.engine;
    let found = found(engine.run(text, &mut scratch.engine), &scratch);
    let general = engine.run_general(text, &mut scratch.engine);
    prop_assert_eq!(found, self::found(general, &scratch), "{:?} on {:?}", grok, text);
    Ok(())
}

/// The places of all groups, or why there are none.
fn found(outcome: Result<(), Reason>, scratch: &GrokScratch) -> Result<Vec<(u32, u32)>, Reason> {
    outcome.map(|()| scratch.engine.slots.clone())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, ..ProptestConfig::default() })]

    /// The two forms of the general engine's expression.
    #[test]
    fn long_and_short_agree(
        tokens in proptest::collection::vec(proptest::sample::select(TOKENS.to_vec()), 1..10),
        text in "[a-c0-2 \\n训ßS.:=-]{0,16}",
        filler in 0usize..200,
    ) {
        let pattern = tokens.concat();
        if let Ok(grok) = Grok::compile(&pattern, &GrokOptions::default()) {
            let text = format!("{text}{}{text}", "ab".repeat(filler));
            let mut scratch = grok.scratch();
            let engine = &grok.inner.engine;
            let short = found(engine.run_general(&text, &mut scratch.engine), &scratch);
            let long = found(engine.run_long(&text, &mut scratch.engine), &scratch);
            // The limits are not the same.
            if short != Err(Reason::Limit) && long != Err(Reason::Limit) {
                prop_assert_eq!(short, long, "{:?} on {:?}", pattern, text);
            }
        }
    }
}

/// That the lines above reach the cheap engine at all: each pattern accepts one of them itself.
#[test]
fn every_pattern_has_a_line() {
    for pattern in PATTERNS {
        let grok = compile(pattern);
        assert!(
            LINES.iter().any(|line| grok.inner.engine.accepts_by_sequence(line)),
            "{pattern:?}"
        );
    }
}

#[test]
fn what_is_no_sequence() {
    for pattern in [
        "%{LOGLEVEL:l}%{GREEDYDATA:m}",
        "%{NOTSPACE:a}:%{GREEDYDATA:m}",
        "%{TIMESTAMP_ISO8601:t}%{GREEDYDATA:m}",
        "%{TIMESTAMP_ISO8601:t},%{GREEDYDATA:m}",
        "%{DATA:a} %{GREEDYDATA:m}",
        "%{NUMBER:n} %{GREEDYDATA:m}",
        "(?<a>\\S++): x",
        "(?<a>\\S+?)",
        "(?i)info x",
        "a|b",
        "",
    ] {
        assert_eq!(compile(pattern).tier(), Tier::Backtrack, "{pattern:?}");
    }
}
