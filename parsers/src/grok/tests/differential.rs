//! The engines against each other, on lines that are nearly right.
//!
//! The invariant: PCRE2 with steps to spare is right, and no other engine says otherwise. How many
//! lines are made is `RIVERHOG_GROK_LINES` (50,000).

use super::engine::By;
use super::*;

/// Patterns that the cheapest engine takes.
const SEQUENCES: [&str; 8] = [
    SWIFT,
    r"^\[%{TIMESTAMP_ISO8601:t}\] \[%{LOGLEVEL:l}\] \[%{NOTSPACE:c}\] %{GREEDYDATA:m}",
    r"%{LOGLEVEL:l}%{SPACE:s}:%{SPACE}%{GREEDYDATA:m}",
    r"(?<a>[^|]*)\|(?<b>[^|]*)\|(?<c>\S+)",
    r"(?<outer>(?<inner>[a-z]+)): (?<w>INFO|WARN|warning)=%{NOTSPACE:v}",
    r"%{NOTSPACE:a}: - %{GREEDYDATA:r}",
    r"(?<k>\w+)=(?<v>\w*);%{GREEDYDATA:r}",
    r"<%{TIMESTAMP_ISO8601:t}> %{NOTSPACE:x}",
];

/// Patterns of every other kind: stock ones, anchors, boundaries, cases, what only PCRE2 can do.
const OTHERS: [&str; 26] = [
    "%{COMBINEDAPACHELOG}",
    "%{SYSLOGLINE}",
    "%{SYSLOGBASE2} %{GREEDYDATA:m}",
    "%{HTTPD_ERRORLOG}",
    r"\[%{DATA:t}\] \[%{DATA:l}\] %{DATA:c}: %{GREEDYDATA:m}",
    r"^%{DATA:a} %{INT:rank:int} (?:%{NUMBER:n:float}|%{WORD:w})(?: %{NOTSPACE:x})?$",
    r"step %{INT:step:int}/%{INT:of:int} loss[=:] ?%{NUMBER:loss:float}",
    "%{IP:ip}:%{POSINT:port}",
    "%{NUMBER:a} %{NUMBER:b}",
    "%{WORD:w}[ ,]+%{MONTH:m}",
    "(?i)%{WORD:w}: (?<x>error|stra(?:ss|ß)e|warn)",
    "(?i)^(?<k>[a-k]+)[^k]",
    r"(?<q>%{QUOTEDSTRING})",
    r"%{UNIXPATH:p} %{GREEDYDATA:r}",
    r"^(?<a>\S+)$",
    r"(?<a>\d+)\b(?<b>\W*?)\b(?<c>\w{2,5})",
    r"\A(?<a>[^:]*): (?<b>.*?)(?<c>: |$)",
    r"(?<x>a|ab)(?<y>c|bcd|)(?<z>d*)",
    r"(?<y>(?<x>[a-z])+?)(?<n>[0-9]{2,3}?)(?<r>.{0,70})\z",
    r"(?:(?<l>[a-z]+)|(?<d>[0-9]+)|[ :])+;",
    r"(?<k>[a-z]+)=(?<v>[^ ]*) \k<k>",
    r"(?<x>[[:alpha:]]+)(?<y>\R|\X)",
    r"(?<n>(?>[a-z]+|[0-9]++)-?)+:(?=(?<m> .*))",
    r"(?<l>^|\n)(?<w>\w+)(?<e>$|\Z)",
    r"(?<a>[^\n]{3,})\n(?<b>.+)",
    r"(?<a>a{0,100}[b-z ]{2,90})(?<b>[:=])",
];

const LINES: [&str; 30] = [
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
    "10.0.0.1 - frank [10/Oct/2026:13:55:36 -0700] \"GET /a.gif HTTP/1.0\" 200 2326 \
     \"http://e.org/s?x=1\" \"Mozilla/4.08 [en] (X11; I)\"",
    "Mar  7 04:02:11 node-12 kernel[123]: NVRM: Xid (PCI:0000:3b:00): 79",
    "2026-03-12T10:23:45+08:00 <daemon.info> node sshd: ok",
    "[Thu Jun 07 10:11:12.123456 2026] [core:error] [pid 9:tid 7] [client 1.2.3.4:80] bad: x",
    "step 120/5000 loss=2.104512 lr: 6e-05",
    "abcd 12 4.5 x.y",
    "peer 192.168.100.200:29500, 10.1.2.3:80",
    "Error: error, STRASSE: \u{212a}ing straße: x",
    "'it''s' \"a\\\"b\" `c` /usr/lib/x_é.so rest",
    "12 ab 345-cd: ef",
    "key=v key abc=1 abc",
    "abcd123 xyz99 aaaaaaaaab bcd :=",
    "e\u{301}\u{301}x\r\nnext line\n",
    "word\nnext",
    "12 -4.5 abcd 1.2 x.y",
    "",
];

/// What lines are edited with: the separators of the patterns, and what some take for white space.
const EDITS: [char; 34] = [
    ' ', '\t', '\n', '\r', '\x0b', '\0', ':', ';', '.', ',', '-', '+', 'T', 'Z', '|', '=', '[',
    ']', '"', '0', '1', '5', '9', 'a', 'I', 'N', 'é', 'ß', '训', '\u{3000}', '\u{85}', '\u{2028}',
    '１', '\u{301}',
];

/// A small generator: the same lines each time, however many are asked for.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % limit
    }

    fn of<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())]
    }
}

/// A line with some faults.
fn nearly(line: &str, chance: &mut Chance) -> String {
    let mut letters: Vec<char> = line.chars().collect();
    for _ in 0..chance.below(4) {
        let at = chance.below(letters.len() + 1);
        match chance.below(9) {
            0 | 1 => letters.insert(at, chance.of(&EDITS)),
            2 | 3 if at < letters.len() => letters[at] = chance.of(&EDITS),
            4 if at < letters.len() => drop(letters.remove(at)),
            5 => letters.truncate(at),
            6 => {
                // A separator once more.
                let is_separator = |letter: &char| !letter.is_alphanumeric();
                let from = at.min(letters.len());
                if let Some(found) = letters[from..].iter().position(is_separator) {
                    letters.insert(from + found, letters[from + found]);
                }
            }
            7 => letters.extend("\r\n".chars()),
            _ => {
                let tail: Vec<char> = chance.of(&LINES).chars().collect();
                letters.splice(at.., tail);
            }
        }
    }
    if chance.below(200) == 0 {
        // Beyond what is searched as a short text.
        let filler = chance.of(&["ab ", "训 ", "x", "1."]).repeat(600);
        let at = chance.below(letters.len() + 1);
        letters.splice(at..at, filler.chars());
    }
    letters.into_iter().collect()
}

/// How often an engine had something to say.
#[derive(Debug, Default, Clone, Copy)]
struct Said {
    lines: usize,
    matched: usize,
    by_sequence: usize,
    by_linear: usize,
    shut_out: usize,
}

/// Fails where two engines differ over a text.
fn agree(grok: &Grok, scratch: &mut GrokScratch, text: &str, said: &mut Said) {
    let engine = &grok.inner.engine;
    let scratch = &mut scratch.engine;
    let short = engine.run_by(By::Short, text, scratch).expect("it takes everything");
    said.lines += 1;
    said.matched += usize::from(short.is_ok());
    for by in [By::Long, By::Linear, By::Sequence, By::Gate] {
        let Some(found) = engine.run_by(by, text, scratch) else { continue };
        if found == Err(Reason::Limit) || short == Err(Reason::Limit) {
            continue;
        }
        match by {
            By::Sequence => said.by_sequence += usize::from(found.is_ok()),
            By::Linear => said.by_linear += 1,
            By::Gate => said.shut_out += 1,
            By::Short | By::Long => {}
        }
        assert_eq!(found, short, "{by:?} and PCRE2: {grok:?} on {text:?}");
    }
    for matched_last in [false, true] {
        scratch.matched_last = matched_last;
        let found = engine.run(text, scratch).map(|()| scratch.slots.clone());
        if short != Err(Reason::Limit) {
            assert_eq!(found, short, "all together and PCRE2: {grok:?} on {text:?}");
        }
    }
}

/// The lines to make; and a twentieth of it, the patterns.
fn line_count() -> usize {
    let count = std::env::var("RIVERHOG_GROK_LINES").ok();
    count.map_or(50_000, |count| count.parse().unwrap())
}

fn pattern_cases() -> ProptestConfig {
    ProptestConfig { cases: line_count() as u32 / 20, ..ProptestConfig::default() }
}

#[test]
fn engines_agree() {
    let count = line_count();
    let mut chance = Chance(0x9e37_79b9_7f4a_7c15);
    let patterns: Vec<Grok> =
        SEQUENCES.iter().chain(&OTHERS).map(|pattern| compile(pattern)).collect();
    let mut scratches: Vec<GrokScratch> = patterns.iter().map(Grok::scratch).collect();
    let matched = |grok: &Grok| {
        let is_matched = |line: &&str| run(grok, line).is_ok();
        let lines: Vec<&str> = LINES.into_iter().filter(is_matched).collect();
        assert!(!lines.is_empty(), "no line for {grok:?}");
        lines
    };
    let own: Vec<Vec<&str>> = patterns.iter().map(matched).collect();
    let mut said = vec![Said::default(); patterns.len()];
    for _ in 0..count {
        let pattern = chance.below(patterns.len());
        let lines = if chance.below(4) > 0 { &own[pattern][..] } else { &LINES };
        let text = nearly(chance.of(lines), &mut chance);
        agree(&patterns[pattern], &mut scratches[pattern], &text, &mut said[pattern]);
    }
    let total = |part: fn(&Said) -> usize| said.iter().map(part).sum::<usize>();
    eprintln!(
        "{} lines: {} matched, the sequence said so of {}, the linear engine answered {}, the gate \
         shut out {}; differences: 0",
        total(|said| said.lines),
        total(|said| said.matched),
        total(|said| said.by_sequence),
        total(|said| said.by_linear),
        total(|said| said.shut_out),
    );
    // A test that no line reaches proves nothing.
    for (grok, said) in patterns.iter().zip(&said) {
        assert!(said.matched > 0 && said.matched < said.lines, "{grok:?}: {said:?}");
        assert_eq!(said.by_sequence > 0, grok.tier() == Tier::Sequence, "{grok:?}: {said:?}");
        assert_eq!(
            said.by_linear > 0,
            grok.inner.engine.limit_reason().is_none(),
            "{grok:?}: {said:?}"
        );
    }
    assert!(total(|said| said.shut_out) > count / 4);
}

/// A regular expression from the grammar, with what engines differ in.
fn expression() -> impl Strategy<Value = String> {
    let leaf = proptest::sample::select(vec![
        "a",
        "b",
        "c",
        "1",
        ":",
        " ",
        "-",
        "é",
        "训",
        "ss",
        ".",
        r"\d",
        r"\w",
        r"\s",
        r"\S",
        "[ab]",
        "[^a]",
        "[a-c1]",
        "[[:alpha:]]",
        r"[^\s:]",
        "^",
        "$",
        r"\b",
        r"\B",
        r"\A",
        r"\z",
        r"\Z",
        r"\R",
        "ab",
        "a b",
        ": ",
        "",
    ])
    .prop_map(str::to_owned);
    leaf.prop_recursive(4, 24, 4, |inner| {
        let quantifier = proptest::sample::select(vec![
            "*", "+", "?", "*?", "+?", "??", "{2}", "{1,3}", "{0,70}", "{2,}?", "++", "*+",
        ]);
        prop_oneof![
            4 => proptest::collection::vec(inner.clone(), 2..5).prop_map(|parts| parts.concat()),
            2 => proptest::collection::vec(inner.clone(), 2..4)
                .prop_map(|parts| format!("(?:{})", parts.join("|"))),
            3 => (inner.clone(), quantifier)
                .prop_map(|(part, quantifier)| format!("(?:{part}){quantifier}")),
            3 => inner.clone().prop_map(|part| format!("(?<x>{part})")),
            1 => inner.clone().prop_map(|part| format!("(?<y>{part})")),
            1 => inner.clone().prop_map(|part| format!("(?>{part})")),
            1 => inner.clone().prop_map(|part| format!("(?i:{part})")),
            1 => inner.clone().prop_map(|part| format!("(?!{part})")),
            1 => inner.prop_map(|part| format!("(?={part})")),
        ]
    })
}

proptest! {
    #![proptest_config(pattern_cases())]

    #[test]
    fn engines_agree_on_any_pattern(
        anchor in proptest::sample::select(vec!["", "^", r"\A"]),
        pattern in expression(),
        texts in proptest::collection::vec("[a-c1 :é训ßsS\\n\u{3000}-]{0,14}", 1..5),
        rest in any::<bool>(),
    ) {
        let rest = if rest { "(?<r>.*)" } else { "" };
        let pattern = format!("{anchor}(?:{pattern}){rest}");
        if let Ok(grok) = Grok::compile(&pattern, &GrokOptions::default()) {
            let mut scratch = grok.scratch();
            for text in &texts {
                agree(&grok, &mut scratch, text, &mut Said::default());
                let long = format!("{text}{}{text}", "ab:".repeat(400));
                agree(&grok, &mut scratch, &long, &mut Said::default());
            }
        }
    }

    #[test]
    fn engines_agree_on_odd_patterns(
        tokens in proptest::collection::vec(proptest::sample::select(TOKENS.to_vec()), 1..10),
        text in "[a-c0-2 \\n训ßS.:=-]{0,16}",
        filler in 0usize..700,
    ) {
        if let Ok(grok) = Grok::compile(&tokens.concat(), &GrokOptions::default()) {
            let text = format!("{text}{}{text}", "ab".repeat(filler));
            agree(&grok, &mut grok.scratch(), &text, &mut Said::default());
        }
    }
}

#[test]
fn what_is_no_sequence() {
    for pattern in [
        "%{TIMESTAMP_ISO8601:t}%{GREEDYDATA:m}",
        "%{TIMESTAMP_ISO8601:t},%{GREEDYDATA:m}",
        "%{HOSTNAME:h} %{GREEDYDATA:m}",
        "(?<a>\\S++): x",
        "(?<a>\\S+?)",
        "(?<a>\\S??)b",
        "(?<a>.{3})b",
        "(?<a>(?:ab)+)c",
        "(?<a>)b",
        "(?i)info x",
        "",
    ] {
        assert_ne!(compile(pattern).tier(), Tier::Sequence, "{pattern:?}");
    }
}
