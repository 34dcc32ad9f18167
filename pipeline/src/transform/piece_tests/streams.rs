//! Pieces of several machines, of a program that writes line ends, and of many lines at once.
//!
//! Invariant: a line never goes on in another stream, and what a record becomes is bounded. Next:
//! the delivery simulation.
use super::*;

#[test]
fn machines_are_told_apart_whatever_tells_streams_apart() {
    let wrapped = |host: &str, tag: &str, text: &str| {
        serde_json::json!({
            "@metadata": { "beat": "filebeat" },
            "host": { "name": host },
            "message": out(tag, text),
        })
        .to_string()
    };
    let names = Names::new().at(Stage::Parse);
    let stream = vec![Selector::compile("envelope.stream", &names).expect("a name")];
    let plan = Plan { join: Some(Join { stream, ..Join::builtin() }), ..Plan::default() };
    let lines = [
        wrapped("a", "P", "a1 "),
        wrapped("b", "P", "b1 "),
        wrapped("a", "F", "a2"),
        wrapped("b", "F", "b2"),
    ];
    let lines = lines.each_ref().map(String::as_str);
    check(plan, &lines, &["0-2 x2 a1 a2", "1-3 x2 b1 b2"]);
}

#[test]
fn what_has_line_ends_inside_ends_a_line_too() {
    let docker = |log: &str| {
        serde_json::json!({ "log": log, "stream": "stdout", "time": "2024-05-15T10:23:45Z" })
            .to_string()
    };
    let lines = [docker("x"), docker("y\nz\n"), docker("w\n")];
    let lines = lines.each_ref().map(String::as_str);
    check(Plan::default(), &lines, &["0-1 x2 xy", "0-1 x2 z", "2-2 x1 w"]);
}

/// Each line holds what its record's envelope says, which may be much.
#[test]
fn lines_of_one_record_take_bounded_memory() {
    let pairs = format!("{}\n{}\n", out("P", "a"), out("F", "b")).repeat(2000);
    let record = serde_json::json!({
        "@metadata": { "beat": "filebeat" }, "much": "m".repeat(100_000), "message": pairs,
    });
    let transform = transform(Plan::default(), EnvelopeKind::Auto);
    let batch = batch(0, &[(0, record.to_string().into_bytes())]);
    let (mut carry, mut lines, mut from) = (transform.carry(), 0, Some(Position::default()));
    while let Some(position) = from {
        let part = transform.transform(&batch, "c0ffee00", carry.as_mut(), position);
        assert!(part.events.joined_bytes < PART_BYTES + (1 << 20), "{}", part.events.joined_bytes);
        lines += part.events.events.len();
        from = part.rest;
    }
    assert_eq!(lines, 2000);
}
