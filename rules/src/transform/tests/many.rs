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
        transformer.line(&record(), &Line { raw: line.as_bytes(), index: 0, cut: false }, &mut out);
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
