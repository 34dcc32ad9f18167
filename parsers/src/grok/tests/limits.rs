//! Bounded work: hostile lines end, and nothing that grows with a line's square goes uncounted.
//!
//! The invariant behind these tests: PCRE2's machine code tells no number of steps, but where a
//! search that cannot be done in few steps ends as "no match" and not at the limit, its steps were
//! not counted.

use super::engine::Limited;
use super::*;

const MIB: usize = 1 << 20;

/// Pattern, and a line of about so many bytes on which it needs more than any bound. Each has a
/// look-around that keeps it from the linear engine, and passes the gate.
type Hostile = (&'static str, fn(usize) -> String);

const HOSTILE: [Hostile; 12] = [
    // Nested repeats: exponential.
    (r"^(?<k>(?:\w+ ?)+)(?!=)[=]", |bytes| format!("{}=", "a".repeat(bytes))),
    (r"(?<x>(?:a|aa)+)(?!c)[bc]$", |bytes| format!("{}c", "a".repeat(bytes))),
    // Neighbours that take the same: a power of the length.
    (r"%{GREEDYDATA:a} %{GREEDYDATA:b} %{GREEDYDATA:c} %{GREEDYDATA:d} (?!E)[E]ND", |bytes| {
        format!("{}END", "a ".repeat(bytes / 2))
    }),
    (r"%{DATA:a} %{DATA:b} %{DATA:c} %{DATA:d} (?!d)[d]one$", |bytes| {
        format!("{}done", "a ".repeat(bytes / 2))
    }),
    // Runs from every start: the square of the length.
    (r"(?<a>\S+)\s(?!\d)[1x]", |bytes| format!("{} 1", "a".repeat(bytes))),
    (r"(?<a>a{0,60000})(?!c)[bc]", |bytes| format!("{}c", "a".repeat(bytes))),
    (r"(?<a>a{3,60000}?)(?!c)[bc]", |bytes| format!("{}c", "a".repeat(bytes))),
    (r"(?<a>a{60000}?)(?!c)[bc]", |bytes| format!("{}c", "a".repeat(bytes))),
    (r"(?i)(?<a>[a-c]{5,}+)(?!1)\d", |bytes| format!("{}1", "aBc".repeat(bytes / 3))),
    (r"(?<=a{2000})(?![ac])[a-c]*?(?<x>c)", |bytes| format!("{}c", "a".repeat(bytes))),
    // What looks back at what it took, and what takes any number of marks.
    (r"^(?<a>.*)-\k<a>(?!c)[bc]", |bytes| {
        let half = "a".repeat(bytes / 2);
        format!("{half}-{half}c")
    }),
    (r"(?<a>\X)(?!c)[bc]", |bytes| format!("{}c", "e\u{301}".repeat(bytes / 3))),
];

#[test]
fn hostile_lines_end_at_the_limit() {
    for (pattern, line) in HOSTILE {
        let grok = compile(pattern);
        assert!(grok.inner.engine.limit_reason().is_some(), "{pattern:?}");
        for bytes in [MIB, MIB / 16] {
            assert_eq!(run(&grok, &line(bytes)), Err(Reason::Limit), "{pattern:?} on {bytes}");
        }
    }
}

/// The same without what keeps them from the linear engine: there is an answer.
#[test]
fn linear_patterns_have_no_limit() {
    let last = |text: &str| Ok(text.to_owned());
    let spaced = format!("{}END", "a ".repeat(MIB / 4));
    let cases: [(&str, String, Result<String, Reason>); 6] = [
        (r"^(?<k>(?:\w+ ?)+)=", format!("{}!=", "a".repeat(MIB)), Err(Reason::NoMatch)),
        (r"^(?<k>(?:\w+ ?)+)=", format!("{}!=", "a".repeat(40)), Err(Reason::NoMatch)),
        (r"(?<x>(?:a|aa)+)$", format!("{}b", "a".repeat(MIB)), Err(Reason::NoMatch)),
        (r"(?<a>\S+)\s(?<b>\S+)\s", "a".repeat(MIB), Err(Reason::NoMatch)),
        (
            "%{GREEDYDATA:a} %{GREEDYDATA:b} %{GREEDYDATA:c} (?<d>x?)END",
            spaced.clone(),
            last(&format!("a={}|b=a|c=a", &spaced[..spaced.len() - 8])),
        ),
        ("%{DATA:a} (?<b>a )+%{DATA:c} done", spaced, Err(Reason::NoMatch)),
    ];
    for (pattern, text, expect) in cases {
        let grok = compile(pattern);
        assert_eq!(grok.inner.engine.limit_reason(), None, "{pattern:?}");
        assert!(run(&grok, &text) == expect, "{pattern:?} on {} bytes", text.len());
    }
}

/// A match late in a long line is found: the search begins where one can be.
#[test]
fn long_lines_do_not_use_up_the_steps() {
    let head = "x = y, ".repeat(4 * MIB / 7);
    let text = format!("{head}loss: 2.5");
    check("loss: %{NUMBER:loss}", &text, Some("loss=2.5"));
    check("%{IP:ip}:%{INT:port}", &format!("{head}10.0.0.1:80"), Some("ip=10.0.0.1|port=80"));
}

/// Twice the line costs about twice the steps, where the work is that.
#[test]
fn steps_grow_with_the_line() {
    let cases: [Hostile; 6] = [
        ("%{COMBINEDAPACHELOG}", |bytes| {
            let path = "a/".repeat(bytes / 2);
            format!(
                "10.0.0.1 - frank [10/Oct/2026:13:55:36 -0700] \"GET /{path} HTTP/1.0\" 200 2326 \
                 \"http://e.org/\" \"Mozilla/4.08\""
            )
        }),
        ("%{SYSLOGLINE}", |bytes| {
            format!("Mar  7 04:02:11 node-12 kernel[123]: {}", "x ".repeat(bytes / 2))
        }),
        (r"^\[%{DATA:t}\] %{DATA:m} END(?!x)$", |bytes| {
            format!("[1] {}END", "words and ".repeat(bytes / 10))
        }),
        (r"(?<a>a{0,60000})(?!c)b", |bytes| format!("{}b", "a".repeat(bytes))),
        (r"(?<a>(?:\w+ )*)(?!x)END", |bytes| format!("{}END", "word ".repeat(bytes / 5))),
        ("%{IP:ip}", |bytes| format!("{} 10.0.0.1", "1.2 ".repeat(bytes / 4))),
    ];
    for (pattern, line) in cases {
        let once = steps_needed(pattern, &line(8_000));
        let twice = steps_needed(pattern, &line(16_000));
        assert!(once > 10 && twice <= 2 * once + 200, "{pattern:?}: {once}, then {twice}");
    }
}

/// The fewest steps with which the backtracking engine has an answer.
fn steps_needed(pattern: &str, text: &str) -> u32 {
    let answers =
        |steps: u32| Limited::compile(pattern, steps).run_long(text) != Err(Reason::Limit);
    let (mut too_few, mut enough) = (0, 1_u32 << 22);
    assert!(answers(enough), "{pattern:?}");
    while too_few + 1 < enough {
        let middle = u32::midpoint(too_few, enough);
        if answers(middle) { enough = middle } else { too_few = middle }
    }
    enough
}
