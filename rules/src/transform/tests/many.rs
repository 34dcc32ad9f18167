//! Many parse rules: the first that matches wins, however few of them are tried.
use riverhog_parsers::grok::{Outcome, Reason};

use super::*;

/// Each with a line of its own; some lines are taken by an earlier one too.
const FORMATS: [(&str, &str); 9] = [
    (r"^%{TIMESTAMP_ISO8601:log_time} %{LOGLEVEL:level} a: %{GREEDYDATA:content}", "T INFO a: x"),
    (SWIFT, "T INFO b: x"),
    (r"^\[rank%{INT:rank:int}\]: %{GREEDYDATA:content}", "[rank3]: step=5"),
    (r"step=%{INT:step:int}", "at step=12 loss=2"),
    (r"%{IP:peer} connected", "from 192.0.2.7 connected"),
    (r"(?<word>\w+)$", "训练 ends"),
    (r"^<%{INT:pri}>%{GREEDYDATA:content}", "<13>hello there."),
    (r"loss=%{NUMBER:loss:float}", "loss=2.5 now."),
    (r"(?<quoted>'[^']*')", "say 'this'."),
];

fn lines() -> impl Iterator<Item = String> {
    let own = FORMATS.iter().map(|(_, line)| line.replace('T', "2026-03-12 10:23:45,123"));
    let own: Vec<String> = own.chain(["nothing.".to_owned(), String::new()]).collect();
    let pairs: Vec<String> =
        own.iter().flat_map(|one| own.iter().map(move |two| format!("{one}\n{two}"))).collect();
    own.into_iter().chain(pairs)
}

#[test]
fn the_first_rule_that_matches_wins_and_all_before_it_are_counted() {
    let mut rules: Vec<ParseRule> =
        FORMATS.iter().map(|(pattern, _)| rule(pattern, pattern)).collect();
    // One that reads another text, and one that most records do not want.
    rules[4].field = Some(selectors(Stage::Parse, &["key"]).remove(0));
    let names = names().at(Stage::Parse);
    rules[7].when = Some(Condition::compile(r#"header.host == "gpu-07""#, &names).unwrap());
    let groks: Vec<Grok> = FORMATS.iter().map(|(pattern, _)| grok(pattern)).collect();
    let reads = |index: usize| index != 4;
    for line in lines() {
        let first = (0..groks.len()).filter(|index| reads(*index)).find(|index| {
            let (grok, mut captures) = (&groks[*index], Vec::new());
            grok.run(&line, &mut grok.scratch(), &mut captures) == Outcome::Matched
        });
        let plan =
            Plan { parse: std::mem::take(&mut rules), unparsed: UnparsedPolicy::Keep, ..plan() };
        let plan = Arc::new(plan);
        let mut transformer = Transformer::new(Arc::clone(&plan));
        let mut out = EventBuffer::new();
        transformer.begin_record(&record());
        transformer.line(
            &record(),
            &Line { raw: line.as_bytes(), index: 0, cut: false, returns: false },
            &mut out,
        );
        let counters = transformer.take_counters();
        for (index, parser) in
            counters.parsers.iter().enumerate().filter(|(index, _)| reads(*index))
        {
            let is_before = first.is_none_or(|first| index < first);
            let expect = (u64::from(first == Some(index)), u64::from(is_before));
            let found = (parser.matched, parser.unmatched[Reason::NoMatch as usize]);
            assert_eq!(found, expect, "rule {index} on {line:?}");
        }
        drop(transformer);
        rules = Arc::into_inner(plan).expect("nobody else has it").parse;
    }
}

/// Counting where lines ended, once a batch, gives what counting at each rule gives.
#[test]
fn the_counts_of_a_batch_are_those_of_its_lines() {
    let condition = |text: &str| {
        let names = names().at(Stage::Parse);
        Some(Condition::compile(text, &names).unwrap())
    };
    // More rules than a word has bits, some wanted by one host only, some by lines of a kind, one
    // that reads what most records do not have, one that fails for another reason.
    let mut rules = Vec::new();
    for number in 0..8 {
        rules.extend(FORMATS.iter().map(|(pattern, _)| rule(&format!("{number}"), pattern)));
    }
    for index in (0..rules.len()).step_by(5) {
        rules[index].when = condition(r#"header.host == "gpu-07""#);
        rules[index + 1].when = condition(r#"message =~ "rank""#);
    }
    rules[3].field = Some(selectors(Stage::Parse, &["key"]).remove(0));
    rules.insert(4, rule("hard", r"(?<x>(?:a|aa)+)(?!c)[bc]$"));
    let plan = Arc::new(Plan { parse: rules, ..plan() });
    let elsewhere = Record { headers: &[("host", b"gpu-08")], key: Some(b"step=1"), ..record() };
    let hard = "a".repeat(65_536) + "c";
    let lines: Vec<String> = lines().take(40).chain([hard]).collect();
    let mut out = EventBuffer::new();
    let mut batch = Transformer::new(Arc::clone(&plan));
    let mut expect = Counters::default();
    for (index, line) in lines.iter().enumerate() {
        let record = if index % 3 == 0 { elsewhere } else { record() };
        let line = Line { raw: line.as_bytes(), index: 0, cut: false, returns: false };
        let mut alone = Transformer::new(Arc::clone(&plan));
        for transformer in [&mut alone, &mut batch] {
            transformer.begin_record(&record);
            transformer.line(&record, &line, &mut out);
        }
        expect.merge(&alone.take_counters());
    }
    let found = batch.take_counters();
    assert_eq!(found, expect);
    let limits: u64 = found.parsers.iter().map(|it| it.unmatched[Reason::Limit as usize]).sum();
    assert_eq!(limits, 1);
    assert_eq!(batch.take_counters(), Counters::new(plan.parse.len(), 0));
}

#[test]
fn one_line_in_64_is_measured_where_there_is_a_clock() {
    use std::sync::atomic::{AtomicU64, Ordering};
    static TICKS: AtomicU64 = AtomicU64::new(0);
    let measure = |ticks: Option<Ticks>| {
        let rules = vec![rule("a", "^a%{GREEDYDATA}"), rule("b", "^b%{GREEDYDATA}")];
        let mut transformer = Transformer::new(Arc::new(Plan { parse: rules, ..plan() }));
        if let Some(ticks) = ticks {
            transformer.set_ticks(ticks);
        }
        let mut out = EventBuffer::new();
        transformer.begin_record(&record());
        for number in 1..=64 * 3 {
            // Of those that are measured, the second is taken by no rule.
            let raw: &[u8] = if number == 128 { b"c" } else { b"b" };
            transformer.line(
                &record(),
                &Line { raw, index: 0, cut: false, returns: false },
                &mut out,
            );
        }
        transformer.take_counters().parse_times
    };
    // Each look at the clock finds it ten on: the time of the rule that took the line and of none
    // before it.
    let ticks: Ticks = || TICKS.fetch_add(10, Ordering::Relaxed);
    let expect = crate::counters::ParseTime { rule: 1, ns: 10 };
    assert_eq!(measure(Some(ticks)), [expect, expect]);
    assert_eq!(measure(None), []);
}

#[test]
fn a_few_lines_that_no_rule_took_are_kept() {
    let mut transformer = Transformer::new(Arc::new(plan()));
    let mut out = EventBuffer::new();
    let long = "训".repeat(1000);
    transformer.begin_record(&record());
    for raw in ["password=hunter2", LINE, &long, "3", "4", "5", "6", "7", "8", "9"] {
        let line = Line { raw: raw.as_bytes(), index: 5, cut: false, returns: false };
        transformer.line(&record(), &line, &mut out);
    }
    let kept = transformer.take_unparsed();
    assert_eq!(kept.len(), UNPARSED_LINES_MAX);
    assert_eq!((kept[0].text.as_str(), kept[0].cut), ("password=[redacted:password]", false));
    assert_eq!((kept[0].offset, kept[0].index), (record().offset, 5));
    assert_eq!((kept[1].text.as_str(), kept[1].cut), (&long[..1023], true));
    assert_eq!(kept[7].text, "8");
    assert_eq!(transformer.take_unparsed(), []);
}

#[test]
fn a_pattern_that_gave_up_leaves_a_tag() {
    let hard = r"(?<x>(?:a|aa)+)(?!c)[bc]$";
    let line = "a".repeat(65_536) + "c";
    let tags = |rules: Vec<ParseRule>| {
        let (out, counters) = run(Plan { parse: rules, ..plan() }, &[(record(), line.as_bytes())]);
        assert_eq!(counters.parsers[0].unmatched[Reason::Limit as usize], 1);
        let document: Json = serde_json::from_slice(out.document(&out.events[0])).unwrap();
        document["tags"].to_string()
    };
    assert_eq!(tags(vec![rule("hard", hard)]), r#"["_unparsed","_limit"]"#);
    let easy = rule("easy", "%{WORD:word}");
    assert_eq!(tags(vec![rule("hard", hard), easy]), r#"["_limit"]"#);
}
