//! Patterns against lines, from end to end.

mod cases;
mod differential;
mod examples;
mod explain;
mod limits;
mod stock;

use std::ops::Range;

use proptest::prelude::*;

use super::*;

/// The pattern of the documentation.
const SWIFT: &str = "%{TIMESTAMP_ISO8601:log_time} %{LOGLEVEL:level} %{NOTSPACE:component}: \
                     %{GREEDYDATA:content}";

fn compile(pattern: &str) -> Grok {
    match Grok::compile(pattern, &GrokOptions::default()) {
        Ok(grok) => grok,
        Err(error) => panic!("{pattern:?}: {error:?}"),
    }
}

/// The captures as `name=text` joined by `|`; `None` when unmatched.
fn run(grok: &Grok, text: &str) -> Result<String, Reason> {
    let mut captures = Vec::new();
    match grok.run(text, &mut grok.scratch(), &mut captures) {
        Outcome::Unmatched(reason) => Err(reason),
        Outcome::Matched => {
            let show = |capture: &Capture| {
                let name = &grok.fields()[usize::from(capture.field)].name;
                let text = if capture.is_absent() { "(absent)" } else { capture.text(text) };
                format!("{name}={text}")
            };
            Ok(captures.iter().map(show).collect::<Vec<_>>().join("|"))
        }
    }
}

#[track_caller]
fn check(pattern: &str, text: &str, expect: Option<&str>) {
    let found = run(&compile(pattern), text);
    assert_eq!(found.as_deref(), expect.ok_or(&Reason::NoMatch), "{pattern:?} on {text:?}");
}

#[test]
fn the_documented_pattern() {
    check(
        SWIFT,
        "2026-03-12 10:23:45,123 ERROR swift.trainer: CUDA out of memory.",
        Some(
            "log_time=2026-03-12 10:23:45,123|level=ERROR|component=swift.trainer|\
             content=CUDA out of memory.",
        ),
    );
    check(SWIFT, "[rank0] 26-3-2T1:02 Warnings a:b:c: x\ny: z", None);
    check(
        SWIFT,
        "[rank0] 26-3-2T1:02 warning a:b:c: x\ny: z\n",
        Some("log_time=26-3-2T1:02|level=warning|component=a:b:c|content=x\ny: z\n"),
    );
    check(
        SWIFT,
        "2026-03-12 10:23:45 INFO a: ",
        Some("log_time=2026-03-12 10:23:45|level=INFO|component=a"),
    );
    check(SWIFT, "2026-03-12 10:23:45 INFO a:", None);
    check(SWIFT, "", None);
    let grok = compile(SWIFT);
    assert_eq!(grok.tier(), Tier::Sequence, "{}", grok.tier_reason());
    let names: Vec<&str> = grok.fields().iter().map(|field| &*field.name).collect();
    assert_eq!(names, ["log_time", "level", "component", "content"]);
}

#[test]
fn fields() {
    check("(?<[job][name]>[a-z]+) (?<[step]>[0-9]+)", "run 5", Some("job.name=run|step=5"));
    check("%{WORD:t} %{INT:t} %{WORD:t}", "x 5 z", Some("t=x|t=z|t=5"));
    check(
        "%{WORD:[job][name]} %{INT:[job][id]:int}",
        "pretrain 42",
        Some("job.name=pretrain|job.id=42"),
    );
    check("(?:%{WORD:t}|%{INT:t})!", "abc!", Some("t=abc"));
    check("(?:%{WORD:w},?)+$", "a,b,c", Some("w=c"));
    check("%{WORD:w}:%{DATA:d};", "only:;", Some("w=only"));
    check("(?<a:int>\\d+)", "42", Some("int=42"));
    let grok = compile("%{INT:n:int} %{NUMBER:f:float} %{INT:n}");
    let kinds: Vec<_> = grok.fields().iter().map(|field| (&*field.name, field.kind)).collect();
    assert_eq!(kinds, [("n", FieldType::Int), ("f", FieldType::Float), ("n", FieldType::Text)]);
    assert_eq!(compile("%{WORD:[a][b]}").fields()[0].path, ["a", "b"]);
    assert_eq!(compile("%{WORD:a.b}").fields()[0].path, ["a.b"]);
}

#[test]
fn fields_stand_in_a_target() {
    let compile = |target: &str| {
        let options = GrokOptions { target: target.to_owned(), ..GrokOptions::default() };
        Grok::compile("%{WORD:w} %{INT:[a][b]:int} %{WORD:w}", &options)
    };
    let named = |target: &str| -> Vec<(String, Vec<String>)> {
        let grok = compile(target).unwrap();
        grok.fields().iter().map(|field| (field.name.clone(), field.path.clone())).collect()
    };
    let steps = |steps: &[&str]| {
        let path: Vec<String> = steps.iter().map(|step| (*step).to_owned()).collect();
        (path.join("."), path)
    };
    assert_eq!(named("x"), [steps(&["x", "w"]), steps(&["x", "a", "b"])]);
    assert_eq!(named("[x][y]"), [steps(&["x", "y", "w"]), steps(&["x", "y", "a", "b"])]);
    assert_eq!(run(&compile("x").unwrap(), "k 1 v").as_deref(), Ok("x.w=k|x.w=v|x.a.b=1"));
    assert_eq!(compile("[x").unwrap_err().message, "`[x` is no field name");
}

#[test]
fn empty_captures_are_kept_on_demand() {
    let options = GrokOptions { keep_empty_captures: true, ..GrokOptions::default() };
    let pattern = "%{WORD:w}:%{DATA:d};(?: %{INT:n:int})?";
    let grok = Grok::compile(pattern, &options).unwrap();
    assert_eq!(run(&grok, "only:;").as_deref(), Ok("w=only|d=|n=(absent)"));
    assert_eq!(run(&grok, "only:;").as_deref(), Ok("w=only|d=|n=(absent)"));
}

#[test]
fn scratch_is_clean_between_lines() {
    let grok = compile("(?:%{INT:n}|%{WORD:w})!(?: %{GREEDYDATA:rest})?");
    let mut scratch = grok.scratch();
    let mut captures = Vec::new();
    for (text, expect) in [("12! more", 2), ("ab!", 1), ("?", 0), ("ab! x", 2)] {
        let outcome = grok.run(text, &mut scratch, &mut captures);
        assert_eq!(outcome == Outcome::Matched, expect > 0, "{text:?}");
        assert_eq!(captures.len(), expect, "{text:?}");
    }
}

#[test]
fn definitions_of_the_user() {
    let define = |definitions: &[(&str, &str)]| GrokOptions {
        definitions: definitions
            .iter()
            .map(|(name, regex)| ((*name).into(), (*regex).into()))
            .collect(),
        ..GrokOptions::default()
    };
    let options = define(&[("RANK", "rank[0-9]"), ("RANK", "rank[0-9]+"), ("HOUR", "[0-9]")]);
    let grok = Grok::compile("%{RANK:r}", &options).unwrap();
    assert_eq!(run(&grok, "rank12").as_deref(), Ok("r=rank12"));
    // A definition below a stock pattern changes it, and then it is not the stock one any more.
    let grok = Grok::compile(SWIFT, &options).unwrap();
    assert_ne!(grok.tier(), Tier::Sequence);
    assert_eq!(run(&grok, "2026-03-12 10:23:45,123 ERROR a: x"), Err(Reason::NoMatch));
}

#[test]
fn long_texts_are_searched_alike() {
    let line = "2026-03-12T10:23:45Z INFO a.b: x";
    for pattern in [SWIFT, "%{LOGLEVEL:l} %{DATA:d}: (?<r>x*+)", r"(?<=\S)%{SPACE:s}(?<w>\S{2,}):"]
    {
        let grok = compile(pattern);
        let short = run(&grok, &format!("{} {line}", "é ".repeat(10))).unwrap();
        let long = run(&grok, &format!("{} {line}", "é ".repeat(10_000))).unwrap();
        assert_eq!(short, long, "{pattern:?}");
    }
    let text = "ab ".repeat(10_000);
    check("%{NOTSPACE:a}%{SPACE:b}%{GREEDYDATA:c}(?<d>b )$", &text.replace("ab ", "ab"), None);
    let expect = format!("a={}|b=b", "a".repeat(99_999));
    check("(?<a>a+)(?<b>b)", &format!("{}b", "a".repeat(99_999)), Some(&expect));
    let expect = format!("a={}|b=a", "a".repeat(99_998));
    check("(?<a>a*)(?<b>a)$", &"a".repeat(99_999), Some(&expect));
    let line = format!("{} END", "a b ".repeat(262_000));
    check(
        "^%{GREEDYDATA:g} (?<e>END)$",
        &line,
        Some(&format!("g={}|e=END", &line[..line.len() - 4])),
    );
    let expect = format!("b={}", "a".repeat(7));
    check("a*(?<b>a{7})$", &"a".repeat(5_000), Some(&expect));
}

/// Boundaries of words are Unicode's; what Ruby and PCRE2 count as words differs in marks and
/// numbers.
#[test]
fn words_are_rubys() {
    check(r"\b(?<w>job)", "训job", None);
    check(r"\b(?<w>job)", "①job", Some("w=job"));
    check(r"(?<w>job)\B", "job①", None);
    check(r"\b(?<w>job)", "\u{0903}job", None);
    check(r"(?<w>job)\B", "job\u{0903}", Some("w=job"));
    check(r"(?a)\b(?<w>job)", "训job", Some("w=job"));
    check("%{WORD:w}", "训练abc xyz", Some("w=xyz"));
}

#[test]
fn classes_are_rubys() {
    check(r"(?<x>[\S\h]+)", "\u{3000}\u{85} ", Some("x=\u{3000}\u{85}"));
    check(r"(?<x>[^\W_]+)", "_训a1", Some("x=a1"));
    check(r"(?i)(?<x>[\wß]+)", "\u{212a}ẞk", Some("x=ẞk"));
    check("(?<x>[[:punct:]]+)", "a$+。b", Some("x=$+。"));
    check("(?<x>[[:^alpha:]]+)", "训1 é", Some("x=1 "));
    check("(?<x>[a-z&&[^aeiou]]+)", "eabcde", Some("x=bcd"));
    check("(?<x>[^a-z&&[^aeiou]]+)", "bcaed1x", Some("x=ae"));
    check(r"(?<x>[a-\d]+)", "b-a1", Some("x=-a1"));
    check("(?<x>[[:digit:]]+)", "１2x", Some("x=１2"));
    check(r"(?<x>\p{Letter}+)", "1a训", Some("x=a训"));
    check("(?-m)(?<x>.+)", "a\nb", Some("x=a"));
}

#[track_caller]
fn check_error(pattern: &str, span: Range<usize>, message: &str) {
    let error = Grok::compile(pattern, &GrokOptions::default()).unwrap_err();
    assert_eq!((error.span, &*error.message), (span, message), "{pattern:?}");
}

#[test]
fn errors_have_spans() {
    check_error("%{WORD:a} %{WRD:b}", 10..18, "pattern `WRD` is not defined");
    check_error("%{WORD:a} (b", 10..12, "a group that is not closed");
    check_error("%{WORD:a} [b", 10..12, "a set of characters that is not closed");
    check_error("%{WORD:a}(?<!x+)", 9..16, "a look-behind of no fixed width");
    check_error("%{WORD:[a][b}", 0..13, "`[a][b` is no field name");
    check_error(r"%{WORD:a} \1", 10..12, "a numbered reference beside named groups");
    check_error(r"%{WORD:a} \k<b>", 10..15, "reference to the undefined group `b`");
    check_error(r"x \p{Nonsense}", 2..14, "unknown property after \\P or \\p");
}

#[test]
fn what_is_not_supported_has_a_cure() {
    for (pattern, span, cure) in
        [(r"%{WORD:a} (?<x>a)\g<x>", 17..18, "`%{NAME}`"), ("%{WORD:a} (?~b)", 10..13, "`.*?`")]
    {
        let error = Grok::compile(pattern, &GrokOptions::default()).unwrap_err();
        assert_eq!(error.span, span, "{pattern:?}: {error:?}");
        assert!(error.message.ends_with("not supported"), "{error:?}");
        assert!(error.help.unwrap().contains(cure), "{pattern:?}");
    }
}

#[test]
fn names_are_listed() {
    for set in [PatternSet::Legacy, PatternSet::EcsV1] {
        for known in ["TIMESTAMP_ISO8601", "IPTABLES", "STEP"] {
            assert!(stock_names(set).any(|name| name == known), "{known} in {set:?}");
        }
    }
    assert!(!stock_names(PatternSet::Legacy).any(|name| name == "ZEEK_CONN"));
}

#[test]
fn a_compiled_pattern_may_be_shared() {
    fn shared<T: Send + Sync + Clone>(_: &T) {}
    fn sent<T: Send>(_: &T) {}
    let grok = compile(SWIFT);
    shared(&grok);
    sent(&grok.scratch());
    assert_eq!(format!("{grok:?}"), format!("Grok({SWIFT:?}, Sequence)"));
}

const TOKENS: [&str; 63] = [
    "%{",
    "WORD",
    ":",
    "a",
    "}",
    "%{INT:n:int}",
    "%{DATA:d}",
    "%{GREEDYDATA}",
    "=",
    "(",
    ")",
    "(?:",
    "(?<x>",
    "(?>",
    "(?=",
    "(?!",
    "(?<=",
    "(?<!",
    "(?i)",
    "(?-m:",
    "(?x)",
    "(?~",
    "(?(<x>)",
    "[",
    "[^",
    "]",
    "&&",
    "-",
    "[:alpha:]",
    "{2}",
    "{1,3}",
    "{,2}",
    "*",
    "+",
    "?",
    "|",
    ".",
    "^",
    "$",
    "\\w",
    "\\S",
    "\\b",
    "\\B",
    "\\h",
    "\\R",
    "\\K",
    "\\G",
    "\\Z",
    "\\X",
    "\\1",
    "\\k<x>",
    "\\p{Han}",
    "\\p{^Upper}",
    "\\x41",
    "\\",
    "ß",
    "ss",
    "训",
    " ",
    "#",
    "\n",
    "(?u)",
    "(?a)",
];

proptest! {
    /// Made of the tokens that mean something, so that many of them compile.
    #[test]
    fn no_pattern_panics(
        tokens in proptest::collection::vec(
            proptest::sample::select(TOKENS.to_vec()),
            0..14,
        ),
        text in "[a-c0-2 \\n训ßS.:=-]{0,16}",
    ) {
        let pattern = tokens.concat();
        match Grok::compile(&pattern, &GrokOptions::default()) {
            Ok(grok) => {
                let _outcome = run(&grok, &text);
            }
            Err(error) => {
                prop_assert!(error.span.start <= error.span.end);
                prop_assert!(error.span.end <= pattern.len(), "{error:?} in {pattern:?}");
                prop_assert!(!error.message.is_empty());
            }
        }
    }

    #[test]
    fn no_text_of_a_pattern_panics(pattern in "\\PC{0,24}", text in "\\PC{0,24}") {
        if let Ok(grok) = Grok::compile(&pattern, &GrokOptions::default()) {
            let _outcome = run(&grok, &text);
        }
    }

    #[test]
    fn captures_lie_within_the_text(text in "[ -~训\\n]{0,60}") {
        let grok = compile("%{DATA:d}(?:%{NUMBER:n}|%{IP:i}|%{WORD:w})%{GREEDYDATA:g}");
        let mut captures = Vec::new();
        grok.run(&text, &mut grok.scratch(), &mut captures);
        for capture in captures {
            prop_assert!(text.get(capture.start as usize..capture.end as usize).is_some());
        }
    }
}
