//! Pieces of lines, through batches as a partition's dispatcher takes them.
//!
//! The invariant: a line comes out whole, once and in the order of its stream, wherever it was cut
//! and however its pieces were sent. Next: the delivery simulation, which does it under faults.

mod streams;

use std::collections::VecDeque;
use std::sync::Arc;

use proptest::prelude::*;
use riverhog_parsers::lines::to_text;
use riverhog_rules::join::Join;
use riverhog_rules::names::{Names, Stage};
use riverhog_rules::selector::Selector;

use super::*;
use crate::source::Partition;

/// Record time of the first record.
const START_MS: i64 = 1_700_000_000_000;

/// One record: milliseconds after the start, and its value.
type Given = (i64, Vec<u8>);

fn batch(first: usize, records: &[Given]) -> RecordBatch {
    let partition = Partition { topic: Arc::from("train"), number: 3 };
    let mut batch = RecordBatch::empty(partition);
    for (number, (time_ms, value)) in records.iter().enumerate() {
        let start = batch.bytes.len() as u32;
        batch.bytes.extend_from_slice(value);
        batch.records.push(RecordEntry {
            offset: (first + number) as i64,
            time_ms: START_MS + time_ms,
            key: None,
            value: Some((start, batch.bytes.len() as u32)),
            headers: (0, 0),
        });
    }
    batch.next_offset = (first + records.len()) as i64;
    batch
}

fn transform(plan: Plan, kind: EnvelopeKind) -> PlanTransform {
    let plan = Plan { redact: None, ..plan };
    PlanTransform::new(Arc::new(plan), kind, 1 << 20, Metrics::new())
}

/// An event: the offsets of its first and last line, number of lines or pieces, id, and message.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Seen {
    offsets: (i64, i64),
    lines: u32,
    id: String,
    message: String,
    /// The bytes of each line or piece, where its record is not at hand.
    kept: Vec<Vec<u8>>,
    document: serde_json::Value,
}

fn seen(transformed: &Transformed) -> Vec<Seen> {
    let events = &transformed.events;
    let one = |(number, event): (usize, &riverhog_rules::event::Event)| {
        let document: serde_json::Value =
            serde_json::from_slice(events.document(event)).expect("JSON");
        let message = document.get("message").unwrap_or(&document["content"]);
        let kept = events
            .lines_of(number as u32)
            .map(|closed| (0..closed.lines.len()).map(|line| closed.line(line).to_vec()).collect());
        Seen {
            offsets: (event.first_offset, event.last_offset),
            lines: event.joined.map_or(1, |joined| joined.lines),
            id: events.id(event).to_owned(),
            message: message.as_str().expect("a text").to_owned(),
            kept: kept.unwrap_or_default(),
            document,
        }
    };
    events.events.iter().enumerate().map(one).collect()
}

/// All events of records in batches of these sizes, from a record on; every batch is transformed
/// ahead where the transform does that.
fn events(transform: &PlanTransform, records: &[Given], from: usize, sizes: &[usize]) -> Vec<Seen> {
    let (mut all, mut at, mut sizes) = (Vec::new(), from, sizes.iter().cycle());
    let mut carry = transform.carry();
    while at < records.len() {
        let size = sizes.next().map_or(1, |size| (*size).clamp(1, records.len() - at));
        let batch = batch(at, &records[at..at + size]);
        let mut transformed = if transform.runs_ahead() {
            let ahead = transform.ahead(&batch, "c0ffee00");
            transform.accept(&batch, "c0ffee00", &mut carry, ahead)
        } else {
            transform.transform(&batch, "c0ffee00", carry.as_mut(), Position::default())
        };
        loop {
            all.extend(seen(&transformed));
            let Some(rest) = transformed.rest else { break };
            transformed = transform.transform(&batch, "c0ffee00", carry.as_mut(), rest);
        }
        at += size;
    }
    if let Some(carry) = &mut carry {
        assert_eq!(transform.close_after(carry).is_some(), holds(carry));
        let end = batch(records.len(), &[]);
        all.extend(seen(&transform.close(&end, "c0ffee00", carry)));
        assert!(!holds(carry));
    }
    all
}

fn holds(carry: &Carry) -> bool {
    let state = carry.downcast_ref::<PartitionState>().expect("a partition's state");
    state.held_from().is_some()
}

/// `lines` are single records, a second apart. `expect`: `first-last xN message`.
#[track_caller]
fn check(plan: Plan, lines: &[&str], expect: &[&str]) {
    check_at(plan, &lines.iter().map(|line| (1000, *line)).collect::<Vec<_>>(), expect);
}

/// As [`check`], with the milliseconds since the record before.
#[track_caller]
fn check_at(plan: Plan, lines: &[(i64, &str)], expect: &[&str]) {
    let mut at = 0;
    let records: Vec<Given> = lines
        .iter()
        .map(|(after, line)| {
            at += after;
            (at, line.as_bytes().to_vec())
        })
        .collect();
    let transform = transform(plan, EnvelopeKind::Auto);
    let found = events(&transform, &records, 0, &[2, 1, 3]);
    let shown: Vec<String> = found
        .iter()
        .map(|it| format!("{}-{} x{} {}", it.offsets.0, it.offsets.1, it.lines, it.message))
        .collect();
    assert_eq!(shown, expect);
}

fn cri(stream: &str, tag: &str, text: &str) -> String {
    format!("2024-05-15T10:23:45.123456789Z {stream} {tag} {text}")
}

fn out(tag: &str, text: &str) -> String {
    cri("stdout", tag, text)
}

fn docker(log: &str) -> String {
    let log = serde_json::to_string(log).expect("a text is JSON");
    format!(r#"{{"log":{log},"stream":"stdout","time":"2024-05-15T10:23:45.5Z"}}"#)
}

#[test]
fn pieces_of_one_stream_make_a_line_and_nobody_else_waits() {
    check(
        Plan::default(),
        &[
            &out("P", "{'loss': 2.104, "),
            &cri("stderr", "F", "[rank3]: other"),
            "raw",
            &out("P", "'grad_norm': "),
            &out("F", "0.87}"),
            &out("F", ""),
        ],
        &[
            "1-1 x1 [rank3]: other",
            "2-2 x1 raw",
            "0-4 x3 {'loss': 2.104, 'grad_norm': 0.87}",
            "5-5 x1 ",
        ],
    );
    check(
        Plan::default(),
        &[&docker("a"), &docker("b"), &docker("c\n"), &docker("d\n"), &docker("e\n")],
        &["0-2 x3 abc", "3-3 x1 d", "4-4 x1 e"],
    );
    // Several in one record, and the end of the partition.
    let two = format!("{}\n{}\n{}\n", out("F", "a"), out("P", "b"), cri("stderr", "P", "c"));
    check(Plan::default(), &[&two, &out("F", "d")], &["0-0 x1 a", "0-1 x2 bd", "0-0 x1 c"]);
}

#[test]
fn containers_are_told_apart_wherever_the_shipper_says_which_it_is() {
    let wrapped = |path: &str, text: &str| {
        serde_json::json!({
            "@metadata": { "beat": "filebeat" },
            "host": { "name": "gpu-07" },
            "log": { "file": { "path": path } },
            "message": text,
        })
        .to_string()
    };
    check(
        Plan::default(),
        &[
            &wrapped("/a", &out("P", "a1 ")),
            &wrapped("/b", &docker("b1 ")),
            &wrapped("/a", &out("F", "a2")),
            &wrapped("/b", &docker("b2\n")),
        ],
        &["0-2 x2 a1 a2", "1-3 x2 b1 b2"],
    );
}

#[test]
fn a_line_ends_in_time_or_at_its_limits() {
    // The next piece comes too late: it is an event of its own. The others do not wait for it.
    check_at(
        Plan::default(),
        &[(0, &out("P", "a")), (5000, "x"), (1, "y"), (0, &out("F", "b"))],
        &["1-1 x1 x", "0-0 x1 a", "2-2 x1 y", "3-3 x1 b"],
    );
    let slow = Plan { join: Some(Join { gap_ms: 60_000, ..Join::builtin() }), ..Plan::default() };
    check_at(
        slow,
        &[(0, &out("P", "a")), (60_000, "x"), (0, &out("F", "b"))],
        &["1-1 x1 x", "0-2 x2 ab"],
    );
    let few = Plan { join: Some(Join { lines_max: 2, ..Join::builtin() }), ..Plan::default() };
    let pieces = ["P", "P", "P", "F"].map(|tag| out(tag, tag));
    check(few, &pieces.each_ref().map(String::as_str), &["0-1 x2 PP", "2-3 x2 PF"]);
    // A piece that does not fit any more begins another line, and one of that length is a line.
    let half = "x".repeat(600 << 10);
    let whole = "y".repeat((1 << 20) + 1);
    let pieces = [out("P", &half), out("P", &half), out("P", &whole), out("F", "z")];
    let transform = transform(Plan::default(), EnvelopeKind::Cri);
    let records: Vec<Given> = pieces.iter().map(|piece| (0, piece.clone().into_bytes())).collect();
    let found = events(&transform, &records, 0, &[1]);
    let shown: Vec<_> = found.iter().map(|it| (it.offsets, it.lines, it.message.len())).collect();
    let expect = [((0, 0), 1, half.len()), ((1, 1), 1, half.len()), ((2, 2), 1, 1 << 20)];
    assert_eq!(shown, [&expect[..], &[((3, 3), 1, 1)]].concat());
    assert_eq!(found[2].document["tags"].to_string(), r#"["_unparsed","_timeskew","_cut"]"#);
}

#[test]
fn many_open_lines_are_bounded_and_the_oldest_goes() {
    let wrapped = |number: usize| {
        serde_json::json!({
            "@metadata": { "beat": "filebeat" },
            "log": { "file": { "path": format!("/{number}") } },
            "message": out("P", "a"),
        })
        .to_string()
    };
    let records: Vec<Given> = (0..300).map(|number| (0, wrapped(number).into_bytes())).collect();
    let transform = transform(Plan::default(), EnvelopeKind::Auto);
    let found = events(&transform, &records, 0, &[300]);
    let offsets: Vec<i64> = found.iter().map(|it| it.offsets.0).collect();
    assert_eq!(offsets, (0..300).collect::<Vec<_>>());
}

#[test]
fn an_envelope_in_pieces_is_taken_off_too() {
    // A program that writes what a shipper does, over the runtime's limit, cut inside of a string.
    let inner = r#"{"_entry":"one\ntwo\nthree","pod":"p"}"#;
    let (head, tail) = inner.split_at(14);
    let records: Vec<Given> = [out("P", head), "raw".to_owned(), out("F", tail)]
        .map(|line| (0, line.into_bytes()))
        .to_vec();
    for kind in [EnvelopeKind::Auto, EnvelopeKind::Cri] {
        let transform = transform(Plan::default(), kind);
        let found = events(&transform, &records, 0, &[1]);
        let shown: Vec<_> = found[1..]
            .iter()
            .map(|it| (it.offsets, it.lines, it.message.as_str(), it.kept.clone()))
            .collect();
        let pieces = vec![head.as_bytes().to_vec(), tail.as_bytes().to_vec()];
        if kind == EnvelopeKind::Cri {
            // Looks for no other.
            assert_eq!(shown, [((0, 2), 2, inner, pieces)]);
            continue;
        }
        let own = |text: &str| vec![text.as_bytes().to_vec(), Vec::new()];
        assert_eq!(
            shown,
            [
                ((0, 2), 2, "one", pieces),
                ((0, 2), 2, "two", own("two")),
                ((0, 2), 2, "three", own("three")),
            ]
        );
        let mut ids: Vec<&str> = found.iter().map(|it| it.id.as_str()).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), 4);
    }
}

#[test]
fn what_would_be_too_many_events_at_once_is_not_looked_into() {
    let entry = serde_json::json!({ "_entry": "\n".repeat(100_000) }).to_string();
    let (head, tail) = entry.split_at(9);
    let transform = transform(Plan::default(), EnvelopeKind::Auto);
    let records = [out("P", head), out("F", tail)].map(|line| (0, line.into_bytes()));
    let found = events(&transform, &records, 0, &[2]);
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].message.as_str(), found[0].offsets), (entry.as_str(), (0, 1)));
}

#[test]
fn a_line_of_pieces_is_joined_with_others() {
    let plan = || {
        let names = Names::new().at(Stage::Parse);
        let stream = vec![Selector::compile("envelope.stream", &names).expect("a name")];
        Plan { join: Some(Join { stream, ..Join::builtin() }), ..Plan::default() }
    };
    let lines = [
        out("F", "Traceback (most recent call last):"),
        out("P", "  File \"a.py\", "),
        cri("stderr", "F", "between"),
        out("F", "line 3, in f"),
        out("F", "KeyError: 'a'"),
        out("F", "next"),
    ];
    let lines = lines.each_ref().map(String::as_str);
    let joined = "Traceback (most recent call last):\n  File \"a.py\", line 3, in f\nKeyError: 'a'";
    check(plan(), &lines, &["2-2 x1 between", &format!("0-4 x4 {joined}"), "5-5 x1 next"]);
    let records: Vec<Given> = lines.iter().map(|line| (0, line.as_bytes().to_vec())).collect();
    let found = events(&transform(plan(), EnvelopeKind::Auto), &records, 0, &[6]);
    let kept: Vec<String> = found[1].kept.iter().map(|it| to_text(it).into_owned()).collect();
    assert_eq!(kept.len(), 4);
    assert_eq!(kept[1..3], ["  File \"a.py\", ", "line 3, in f"]);
    // One that opens a record, whose pieces came before a line of another stream.
    check(
        plan(),
        &[
            &out("P", "Traceback (most "),
            "raw",
            &out("F", "recent call last):"),
            &out("F", "  File \"a\""),
            &out("F", "INFO: next"),
        ],
        &[
            "1-1 x1 raw",
            "0-3 x3 Traceback (most recent call last):\n  File \"a\"",
            "4-4 x1 INFO: next",
        ],
    );
}

/// Streams may be told apart by less than pieces are.
#[test]
fn the_first_line_of_a_record_is_its_oldest() {
    let join = Join { stream: Vec::new(), ..Join::builtin() };
    let plan = Plan { join: Some(join), ..Plan::default() };
    check(
        plan,
        &[
            &cri("stderr", "P", "  File \"b.py\","),
            &out("F", "Traceback (most recent call last):"),
            &cri("stderr", "F", " line 3"),
            &out("F", "  File \"a.py\""),
            &out("F", "KeyError"),
            &out("F", "next"),
        ],
        &[
            "0-2 x2   File \"b.py\", line 3",
            "1-4 x3 Traceback (most recent call last):\n  File \"a.py\"\nKeyError",
            "5-5 x1 next",
        ],
    );
}

#[test]
fn a_batch_that_is_transformed_again_is_counted_once() {
    let metrics = Metrics::new();
    let plan = Arc::new(Plan::default());
    let transform = PlanTransform::new(plan, EnvelopeKind::Auto, 1 << 20, metrics.clone());
    let records: Vec<Given> =
        ["P", "P", "F", "F"].map(|tag| (0, out(tag, tag).into_bytes())).to_vec();
    let found = events(&transform, &records, 0, &[1]);
    assert_eq!(found.iter().map(|it| it.message.as_str()).collect::<Vec<_>>(), ["PPF", "F"]);
    let page = metrics.render();
    for counted in [
        "riverhog_source_records_total{topic=\"train\"} 4\n",
        "riverhog_source_lines_total{topic=\"train\"} 4\n",
    ] {
        assert!(page.contains(counted), "{page}");
    }
}

#[test]
fn a_record_of_very_many_pieces_comes_in_parts() {
    let pair = format!("{}\n{}\n", out("P", "a"), out("F", r#"{"_entry":"b\nc"}"#));
    let single = format!("{}\n", out("F", r#"{"_entry":"d\ne"}"#));
    let value = (pair + &single).repeat(20_000);
    let transform = transform(Plan::default(), EnvelopeKind::Auto);
    let found = events(&transform, &[(0, value.into_bytes())], 0, &[1]);
    assert_eq!(found.len(), 60_000);
    for (number, three) in found.chunks(3).enumerate() {
        let messages: Vec<&str> = three.iter().map(|it| it.message.as_str()).collect();
        assert_eq!(messages, [r#"a{"_entry":"b\nc"}"#, "d", "e"], "{number}");
        // Two pieces, and two lines.
        let index: Vec<u64> =
            three.iter().filter_map(|it| it.document["origin"]["index"].as_u64()).collect();
        assert_eq!(index, [0, 2, 3].map(|it| number as u64 * 4 + it));
    }
}

/// How a piece is sent.
fn sent(is_docker: bool, stream: usize, text: &[u8], is_last: bool) -> Vec<u8> {
    let name = ["stdout", "stderr"][stream];
    let time = "2024-05-15T10:23:45.5Z";
    if !is_docker {
        let tag = if is_last { "F" } else { "P" };
        return [format!("{time} {name} {tag} ").as_bytes(), text].concat();
    }
    let mut value = br#"{"log":""#.to_vec();
    let end: &[u8] = if is_last { b"\n" } else { b"" };
    for byte in text.iter().chain(end) {
        match byte {
            b'"' | b'\\' => value.extend([b'\\', *byte]),
            0..0x20 => value.extend_from_slice(format!("\\u{byte:04x}").as_bytes()),
            other => value.push(*other),
        }
    }
    value.extend_from_slice(format!(r#"","stream":"{name}","time":"{time}"}}"#).as_bytes());
    value
}

/// A line's bytes, and where it is cut.
fn line() -> impl Strategy<Value = (Vec<u8>, Vec<usize>)> {
    let bytes = prop_oneof![
        proptest::collection::vec(
            any::<u8>().prop_filter("one line", |byte| *byte != b'\n'),
            0..30
        ),
        "[训练a\\r\"\\\\]{0,10}".prop_map(String::into_bytes),
    ];
    (bytes, proptest::collection::vec(0..40_usize, 0..5))
}

fn pieces((bytes, cuts): &(Vec<u8>, Vec<usize>), is_docker: bool) -> Vec<(Vec<u8>, bool)> {
    let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut % (bytes.len() + 1)).collect();
    cuts.sort_unstable();
    let (mut start, mut all) = (0, Vec::new());
    for cut in cuts {
        // Docker's driver writes no empty piece.
        if !(is_docker && cut == start) {
            all.push((bytes[start..cut].to_vec(), false));
        }
        start = cut;
    }
    all.push((bytes[start..].to_vec(), true));
    all
}

fn lines() -> impl Strategy<Value = Vec<(Vec<u8>, Vec<usize>)>> {
    proptest::collection::vec(line(), 0..5)
}

/// The records that the pieces of two streams come in: the next piece is of this stream, and begins
/// a record or not. With it whether a line is open before each record.
fn mixed(
    streams: &[Vec<(Vec<u8>, Vec<usize>)>; 2],
    is_docker: bool,
    mixture: &[(usize, bool)],
) -> (Vec<Given>, Vec<bool>) {
    let mut left = streams.each_ref().map(|lines| {
        let pieces = lines.iter().flat_map(|line| pieces(line, is_docker));
        pieces.collect::<VecDeque<_>>()
    });
    let (mut records, mut open, mut is_open) = (Vec::<Given>::new(), vec![false], [false; 2]);
    for (wanted, begins) in mixture.iter().cycle() {
        let stream = if left[*wanted].is_empty() { 1 - wanted } else { *wanted };
        let Some((text, is_last)) = left[stream].pop_front() else { break };
        is_open[stream] = !is_last;
        let value = sent(is_docker, stream, &text, is_last);
        match records.last_mut().zip(open.last_mut()) {
            // Docker's objects come one by one.
            Some((record, open)) if !is_docker && !begins => {
                record.1.push(b'\n');
                record.1.extend(value);
                *open = is_open.contains(&true);
            }
            _ => {
                records.push((records.len() as i64 * 100, value));
                open.push(is_open.contains(&true));
            }
        }
    }
    (records, open)
}

proptest! {
    /// Any bytes, cut anywhere, of two streams in any mixture, over any records and batches.
    #[test]
    fn lines_come_out_whole_and_once(
        is_docker in any::<bool>(),
        streams in [lines(), lines()],
        mixture in proptest::collection::vec((0..2_usize, any::<bool>()), 1..40),
        sizes in proptest::collection::vec(1..6_usize, 1..5),
        from in 0..60_usize,
    ) {
        let (records, open) = mixed(&streams, is_docker, &mixture);
        let transform = transform(Plan::default(), EnvelopeKind::Auto);
        let found = events(&transform, &records, 0, &sizes);
        // One batch after the other, each alone, and all at once.
        prop_assert_eq!(&found, &events(&transform, &records, 0, &[usize::MAX]));
        for (stream, lines) in streams.iter().enumerate() {
            let name = ["stdout", "stderr"][stream];
            let of_stream = |it: &&Seen| stream_of(&it.document, &records) == name;
            let messages: Vec<&str> =
                found.iter().filter(of_stream).map(|it| it.message.as_str()).collect();
            let expect: Vec<String> = lines
                .iter()
                .map(|(bytes, _)| to_text(bytes.strip_suffix(b"\r").unwrap_or(bytes)).into_owned())
                .collect();
            prop_assert_eq!(messages, expect);
        }
        let mut ids: Vec<&str> = found.iter().map(|it| it.id.as_str()).collect();
        ids.sort_unstable();
        ids.dedup();
        prop_assert_eq!(ids.len(), found.len());
        // Whoever begins where no line is open sees the same.
        let from = from % (records.len() + 1);
        if !open[from] {
            let rest: Vec<Seen> =
                found.into_iter().filter(|it| it.offsets.0 >= from as i64).collect();
            prop_assert_eq!(events(&transform, &records, from, &sizes), rest);
        }
    }

    /// Without pieces nothing changes.
    #[test]
    fn whole_lines_are_as_if_nobody_looked_for_pieces(
        lines in proptest::collection::vec((any::<bool>(), 0..2_usize, "\\PC{0,12}"), 1..12),
        sizes in proptest::collection::vec(1..6_usize, 1..5),
    ) {
        let records: Vec<Given> = lines
            .iter()
            .map(|(is_docker, stream, text)| (0, sent(*is_docker, *stream, text.as_bytes(), true)))
            .collect();
        let transform = transform(Plan::default(), EnvelopeKind::Auto);
        let whole = batch(0, &records);
        let plain = transform.transform(&whole, "c0ffee00", None, Position::default());
        prop_assert_eq!(events(&transform, &records, 0, &sizes), seen(&plain));
    }
}

/// The stream of an event, by the record that its first piece came in.
fn stream_of<'r>(document: &serde_json::Value, records: &'r [Given]) -> &'r str {
    let place = |name: &str| document["origin"][name].as_u64().expect("a number") as usize;
    let value = &records[place("offset")].1;
    let mut lines = value.split(|byte| *byte == b'\n');
    let line = lines.nth(place("index")).expect("a line of the record");
    let is_stdout = line.windows(6).any(|word| word == b"stdout");
    if is_stdout { "stdout" } else { "stderr" }
}
