//! What is redacted, what is not, and what it costs: two corpora with exact results, laws on any
//! text, and a bound on the work of hostile lines.
use proptest::prelude::*;

use super::*;

const POSITIVE: &str = include_str!("tests/positive.txt");
const NEGATIVE: &str = include_str!("tests/negative.txt");

fn check(rules: RedactRules, text: &str, expect: &str) {
    assert_eq!(Redact::new(rules).text(text), expect, "{text}");
}

/// One action for all there is.
pub(crate) fn all(action: Action) -> RedactRules {
    RedactRules {
        secrets: action,
        email: action,
        ip: action,
        home: action,
        salt: "a salt of sixteen".to_owned(),
        patterns: Vec::new(),
    }
}

fn positive() -> impl Iterator<Item = (&'static str, &'static str)> {
    let lines: Vec<&str> = POSITIVE.lines().filter(|line| !line.starts_with('#')).collect();
    assert!(lines.len().is_multiple_of(2));
    (0..lines.len() / 2).map(move |pair| (lines[pair * 2], lines[pair * 2 + 1]))
}

#[test]
fn secrets_are_masked() {
    let redact = Redact::default();
    let mut failed = Vec::new();
    for (line, expect) in positive() {
        let found = redact.text(line);
        if found != expect {
            failed.push(format!("{line}\n  found {found}\n  not   {expect}"));
        }
    }
    assert!(positive().count() >= 40);
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

#[test]
fn words_of_training_stay() {
    let redact = Redact::default();
    let mut failed = Vec::new();
    for line in NEGATIVE.lines() {
        let found = redact.text(line);
        if found != line {
            failed.push(format!("{line}\n  found {found}"));
        }
    }
    assert!(NEGATIVE.lines().count() >= 60);
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

#[test]
fn each_action_leaves_its_own() {
    let line = "login password=hunter2 by https://a:b@host, \"token\": \"4f9d2c7b1a3e5f60\"";
    check(RedactRules { secrets: Action::Keep, ..RedactRules::default() }, line, line);
    let removed = "login  by https://a:@host, \"token\": \"\"";
    check(all(Action::Remove), line, removed);
    let hashed = "login password=[redacted:password#a92b3a47c4c5] by \
        https://a:[redacted:url_password#278bd646ceee]@host, \
        \"token\": \"[redacted:token#0f7ba99b646c]\"";
    check(all(Action::Hash), line, hashed);
    // Equal values under one salt are equal, under another salt they are others.
    let redact = |salt: &str, text: &str| {
        let salt = salt.to_owned();
        Redact::new(RedactRules { salt, ..all(Action::Hash) }).text(text).into_owned()
    };
    let hash = |text: String| text.split(['#', ']']).nth(1).map(str::to_owned);
    let first = hash(redact("one", "password=hunter2"));
    assert_eq!(first, hash(redact("one", "\"password\":\"hunter2\"")));
    assert_ne!(first, hash(redact("two", "password=hunter2")));
    assert_ne!(salt_mark("one"), salt_mark("two"));
}

#[test]
fn personal_values_leave_on_request() {
    let text = "alice.b+x@mail.example.com. at 10.0.0.7:29500 and [fe80::1%eth0], /home/alice/a.py";
    check(RedactRules::default(), text, text);
    let masked = "[redacted:email]. at [redacted:ip]:29500 and [[redacted:ip]%eth0], \
        /home/[redacted:home]/a.py";
    check(all(Action::Mask), text, masked);
    let nothing = "10:23:45 v12.4.1 1.2.3 std::vector a@b 2001: 999.1.1.1 C:\\Users\\ @x.com";
    check(all(Action::Mask), nothing, nothing);
}

#[test]
fn own_patterns_leave_on_request() {
    let pattern = |regex: &str, action| RedactPattern::compile("badge", regex, action).unwrap();
    let rules = |pattern| RedactRules { patterns: vec![pattern], ..RedactRules::default() };
    let text = "badge E-1234 and password=E-99";
    let masked = "badge [redacted:badge] and password=[redacted:password]";
    check(rules(pattern(r"\bE-\d+", Action::Mask)), text, masked);
    let kept = "badge E-1234 and password=[redacted:password]";
    check(rules(pattern(r"\bE-\d+", Action::Keep)), text, kept);
    // An empty match is no value, and those behind it count.
    check(rules(pattern(r"\b|c", Action::Mask)), "abc", "ab[redacted:badge]");
    let many = "E-1 ".repeat(300);
    let found = Redact::new(rules(pattern(r"E-\d", Action::Mask))).text(&many).into_owned();
    assert!(!found.contains("E-1"), "{found}");
    assert_eq!(found.matches("badge").count(), 257);
}

/// What hostile lines are made of.
const PIECES: [&str; 33] = [
    "://",
    "Bearer ",
    "eyJ",
    "eyJhbGciOiJIUzI1",
    ".",
    "@",
    "password=",
    "password=\"",
    "token: '",
    "\"",
    "\\\"",
    "'",
    ":",
    "=",
    " ",
    "\n",
    "-----BEGIN ",
    "-----BEGIN PRIVATE KEY-----",
    "-----END ",
    "hf_",
    "AKIAIOSFODNN7EXAMPLE",
    "aaaaaaaaaaaaaaaaaaaa",
    "Authorization: ",
    "--token ",
    "0123456789abcdef",
    "/home/",
    "a",
    "训",
    "]",
    "[redacted:token]",
    "10.0.0.1",
    "sk-",
    "api_key: ",
];

#[test]
fn a_long_value_goes_to_its_end() {
    let long = "a1".repeat(10_000);
    for (before, after) in [
        ("password=", " x"),
        ("password=\"", "\" x"),
        ("Authorization: Bearer ", " x"),
        ("see Bearer ", " x"),
        ("eyJhbGciOiJIUzI1NiJ9.", ".sig-of-it x"),
        ("https://a:", "@b x"),
        ("-----BEGIN PRIVATE KEY-----", ""),
    ] {
        let text = [before, &long, after].concat();
        let found = Redact::default().text(&text).into_owned();
        assert!(!found.contains("a1a1"), "{before}: {}", found.len());
    }
}

#[test]
fn the_work_for_a_hostile_line_is_linear() {
    let redact = Redact::new(all(Action::Mask));
    let mut found = Vec::new();
    for first in PIECES {
        for second in ["", "://", "\"", ".", " ", "password=\\\"", "eyJhbGciOiJIUzI1."] {
            let piece = [first, second].concat();
            let mut steps = |bytes: usize| {
                let text = piece.repeat(bytes / piece.len());
                redact.find(&text, &mut found)
            };
            let (once, twice) = (steps(32 << 10), steps(64 << 10));
            assert!(twice <= once * 2 + once / 8 + 16_384, "{piece:?}: {once}, then {twice}");
            assert!(twice <= 600 * (64 << 10), "{piece:?}: {twice}");
        }
    }
    // A mebibyte of the worst.
    for piece in ["://", "Bearer ", "eyJ", "password=\"", "-----BEGIN PRIVATE KEY-----\n"] {
        let text = piece.repeat((1 << 20) / piece.len());
        assert!(redact.text(&text).len() <= 20 << 20, "{piece}");
    }
}

/// Redacting again changes nothing more; nothing panics at the border of a character.
fn check_laws(action: Action, text: &str) {
    let redact = Redact::new(all(action));
    let once = redact.text(text).into_owned();
    assert_eq!(redact.text(&once), once, "{action:?} {text:?}");
}

#[test]
fn redacting_the_corpora_twice_changes_nothing_more() {
    for action in [Action::Mask, Action::Hash, Action::Remove] {
        for line in positive().map(|it| it.0).chain(NEGATIVE.lines()) {
            check_laws(action, line);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]
    #[test]
    fn redacting_twice_changes_nothing_more(
        pieces in prop::collection::vec(prop::sample::select(&PIECES[..]), 0..16),
        any in "\\PC{0,8}",
        at in 0..16_usize,
    ) {
        let mut text = String::new();
        for (index, piece) in pieces.iter().enumerate() {
            text.push_str(piece);
            if index == at {
                text.push_str(&any);
            }
        }
        for action in [Action::Mask, Action::Hash, Action::Remove] {
            check_laws(action, &text);
        }
    }

    #[test]
    fn places_move_with_their_text(
        pieces in prop::collection::vec(prop::sample::select(&PIECES[..]), 0..12),
        start in 0..200_usize,
        length in 0..40_usize,
    ) {
        let text = pieces.concat();
        let redact = Redact::new(all(Action::Mask));
        let mut out = Redacted::default();
        if redact.redact(&text, &mut out) {
            let start = text.floor_char_boundary(start.min(text.len()));
            let end = text.ceil_char_boundary((start + length).min(text.len()));
            let (new_start, new_end, touched) = out.place(start, end);
            let part = &out.text()[new_start..new_end];
            if touched {
                prop_assert!(part.contains("[redacted:") || start == end, "{:?}", part);
            } else {
                prop_assert_eq!(part, &text[start..end]);
            }
        }
    }
}
