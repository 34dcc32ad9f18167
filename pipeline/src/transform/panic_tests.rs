//! Batches on which the program fails somewhere.
//!
//! The invariant: the line, or the record, that it fails on is a dead letter, once; every other
//! line is the event that it is anyway, and what is held from batch to batch is as if nothing had
//! been. Next: `careful` in the rules, which does it.
use std::panic;
use std::sync::{Arc, Once};

use proptest::prelude::*;
use riverhog_parsers::envelope::EnvelopeKind;
use riverhog_rules::event::{DeadReason, Disposition};
use riverhog_rules::join::Join;
use riverhog_rules::plan::Plan;
use riverhog_rules::transform::Stop;

use super::*;
use crate::source::Partition;

/// Fails on an event whose text holds `bad-event`, a line that holds `bad-line`, a record whose key
/// is `bad-record`.
fn trap(stop: Stop, bytes: &[u8]) {
    let (word, place) = match stop {
        Stop::Record => ("bad-record", "record"),
        Stop::Line => ("bad-line", "line"),
        Stop::Event => ("bad-event", "event"),
    };
    assert!(memchr::memmem::find(bytes, word.as_bytes()).is_none(), "trapped at a {place}");
}

/// The failures that are wanted are not shown; all others are.
fn hide_traps() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let show = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !info.payload_as_str().is_some_and(|words| words.contains("trapped at a")) {
                show(info);
            }
        }));
    });
}

fn transform(has_trap: bool, metrics: &Metrics) -> PlanTransform {
    hide_traps();
    let plan = Plan { join: Some(Join::builtin()), ..Plan::default() };
    let metrics = metrics.clone();
    let mut transform = PlanTransform::new(Arc::new(plan), EnvelopeKind::Auto, 1 << 20, metrics);
    transform.trap = has_trap.then_some(trap);
    transform
}

/// Records of key and value, in batches that end behind those whose last member is true.
fn batches(records: &[(String, String, bool)]) -> Vec<RecordBatch> {
    let partition = Partition { topic: Arc::from("train"), number: 3 };
    let mut batches = vec![RecordBatch::empty(partition.clone())];
    for (offset, (key, value, is_last)) in records.iter().enumerate() {
        let batch = batches.last_mut().expect("there is one");
        let start = batch.bytes.len() as u32;
        batch.bytes.extend_from_slice(key.as_bytes());
        let middle = batch.bytes.len() as u32;
        batch.bytes.extend_from_slice(value.as_bytes());
        let end = batch.bytes.len() as u32;
        batch.records.push(RecordEntry {
            offset: offset as i64,
            time_ms: 1_700_000_000_000,
            key: Some((start, middle)),
            value: Some((middle, end)),
            headers: (0, 0),
        });
        batch.next_offset = offset as i64 + 1;
        if *is_last {
            batches.push(RecordBatch::empty(partition.clone()));
        }
    }
    batches.retain(|batch| !batch.records.is_empty());
    batches
}

/// The id of an event, what became of it, and its document.
type Outcome = (String, Option<DeadReason>, String);

/// What becomes of the records.
fn run(transform: &PlanTransform, records: &[(String, String, bool)]) -> Vec<Outcome> {
    let mut carry = transform.carry();
    let mut outcomes = Vec::new();
    let mut add = |part: &Transformed| {
        for event in &part.events.events {
            let dead = match event.disposition {
                // The plan has no route.
                Disposition::DeadLetter(DeadReason::NoRoute) => None,
                Disposition::DeadLetter(reason) => Some(reason),
                other => panic!("{other:?}"),
            };
            let document = String::from_utf8_lossy(part.events.document(event)).into_owned();
            outcomes.push((part.events.id(event).to_owned(), dead, document));
        }
    };
    let batches = batches(records);
    for batch in &batches {
        let mut from = Some(Position::default());
        while let Some(position) = from {
            let part = transform.transform(batch, "c0ffee00", carry.as_mut(), position);
            add(&part);
            from = part.rest;
        }
    }
    if let Some(carry) = &mut carry {
        let mut end = RecordBatch::empty(Partition { topic: Arc::from("train"), number: 3 });
        end.next_offset = records.len() as i64;
        add(&transform.close(&end, "c0ffee00", carry));
    }
    outcomes
}

fn record(key: &str, value: &str) -> (String, String, bool) {
    (key.to_owned(), value.to_owned(), false)
}

/// The ends of the ids that are dead letters, and why; how many other events there are; batches
/// that were taken again.
#[track_caller]
fn check(records: &[(String, String, bool)], dead: &[(&str, DeadReason)], others: usize) {
    let metrics = Metrics::new();
    let outcomes = run(&transform(true, &metrics), records);
    let found: Vec<(String, DeadReason)> =
        outcomes.iter().filter_map(|(id, dead, _)| Some((id.clone(), (*dead)?))).collect();
    assert_eq!(found.len(), dead.len(), "{found:?}");
    for ((id, reason), (end, expect)) in found.iter().zip(dead) {
        assert!(id.contains(end) && reason == expect, "{id} {reason:?}: {end} {expect:?}");
    }
    assert_eq!(outcomes.len() - found.len(), others, "{outcomes:?}");
    let counted = "riverhog_transform_panics_total{topic=\"train\"} 1\n";
    assert!(metrics.render().contains(counted), "{}", metrics.render());
}

#[test]
fn the_line_that_fails_is_a_dead_letter_and_all_others_are_events() {
    let records = [record("a", "one"), record("a", "two\nbad-line\nthree"), record("b", "four")];
    check(&records, &[("-3-1-", DeadReason::Panicked)], 4);
    let records = [record("a", "one"), record("a", "bad-event"), record("b", "two")];
    check(&records, &[("-3-1-", DeadReason::Panicked)], 2);
}

#[test]
fn a_record_that_fails_is_one_dead_letter() {
    let records = [record("a", "one"), record("bad-record", "two\nthree"), record("b", "four")];
    check(&records, &[("-3-1-", DeadReason::RecordPanicked)], 2);
}

/// Its lines were held over a batch that failed, and another.
#[test]
fn a_joined_record_that_fails_is_one_dead_letter() {
    let mut records = vec![
        record("a", "Traceback (most recent call last):"),
        record("a", "  File \"a.py\", line 1, in <module>\n    bad-event()"),
        record("a", "ValueError: x"),
        record("a", "one"),
        record("b", "two"),
    ];
    records[1].2 = true;
    check(&records, &[("x4-", DeadReason::Panicked)], 2);
}

fn any_record() -> impl Strategy<Value = (String, String, bool)> {
    let key = prop_oneof![8 => Just("a"), 4 => Just("b"), 1 => Just("bad-record")];
    let line = prop_oneof![
        6 => "[a-z]{0,6}".prop_map(|text| text),
        2 => Just("Traceback (most recent call last):".to_owned()),
        2 => Just("  File \"a.py\", line 1, in f".to_owned()),
        1 => Just("ValueError: x".to_owned()),
        1 => Just("ValueError: bad-event".to_owned()),
        1 => Just("bad-line".to_owned()),
        1 => Just("2024-05-15T10:23:45Z stdout P half".to_owned()),
        1 => Just("2024-05-15T10:23:45Z stdout F a bad-line".to_owned()),
        1 => Just("2024-05-15T10:23:45Z stdout F whole".to_owned()),
    ];
    let value = prop::collection::vec(line, 1..4).prop_map(|lines| lines.join("\n"));
    (key.prop_map(str::to_owned), value, any::<bool>())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// A line that fails alone is no line for its neighbours: without it they are what they are.
    #[test]
    fn nothing_is_lost_or_repeated_and_nothing_else_changes(
        records in prop::collection::vec(any_record(), 1..12),
    ) {
        let metrics = Metrics::new();
        let failing = run(&transform(true, &metrics), &records);
        let mut ids: Vec<&String> = failing.iter().map(|(id, ..)| id).collect();
        ids.sort_unstable();
        ids.dedup();
        prop_assert_eq!(ids.len(), failing.len(), "an id twice: {:?}", &failing);
        // How batches are cut makes no difference.
        let mut other_cuts = records.clone();
        for (.., is_last) in &mut other_cuts {
            *is_last = !*is_last;
        }
        prop_assert_eq!(&failing, &run(&transform(true, &metrics), &other_cuts));
        // Events without a failure in them are those of a program that does not fail.
        let is_bad = |text: &str| text.contains("bad-");
        if !records.iter().any(|(key, value, _)| is_bad(key) || value.contains("bad-line")) {
            let sound = run(&transform(false, &metrics), &records);
            prop_assert_eq!(failing.len(), sound.len());
            for (failing, sound) in failing.iter().zip(&sound) {
                prop_assert_eq!(&failing.0, &sound.0);
                match failing.1 {
                    None => prop_assert_eq!(&failing.2, &sound.2),
                    Some(reason) => {
                        prop_assert_eq!(reason, DeadReason::Panicked);
                        prop_assert!(is_bad(&sound.2));
                    }
                }
            }
        }
    }
}
