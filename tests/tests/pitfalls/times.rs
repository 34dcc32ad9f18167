//! Times: their spellings, what they leave out, and clocks that disagree.
use super::*;

#[track_caller]
fn check_time(line: &str, time: &str, source: &str) {
    check(&parse(line), &["@timestamp", "timestamp_source"], &[&format!("{time} {source}")]);
}

#[test]
fn comma_and_point_and_any_number_of_digits() {
    for (fraction, expect) in [
        ("", "000000000"),
        (",123", "123000000"),
        (".123", "123000000"),
        (".123456", "123456000"),
        (",5", "500000000"),
    ] {
        let line = format!("2026-03-12 09:00:00{fraction} - a - INFO - x");
        check_time(&line, &format!("2026-03-12T09:00:00.{expect}Z"), "line");
    }
    let nanoseconds = "[rank3]:[E312 09:00:00.123456789 ProcessGroupNCCL.cpp:632] x";
    check_time(nanoseconds, "2026-03-12T09:00:00.123456789Z", "line");
}

#[test]
fn a_date_of_three_digits() {
    check_time("[E321 02:07:08.408271257 a.cpp:5] x", "2026-03-21T02:07:08.408271257Z", "line");
}

#[test]
fn an_epoch_behind_a_date_of_zeros() {
    check_time(
        "W0000 00:00:1773309600.123456 12 a.cc:3] x",
        "2026-03-12T10:00:00.123456000Z",
        "line",
    );
}

#[test]
fn a_missing_year_at_new_year() {
    let lines = "I1231 23:59:59.000001 12 a.cc:3] x\nI0101 00:00:01.000001 12 a.cc:3] x\n";
    let events = parse_with(lines, &["--as", "training", "--reference", "2026-01-01T00:00:10Z"]);
    let expect = ["2025-12-31T23:59:59.000001000Z", "2026-01-01T00:00:01.000001000Z"];
    check(&events, &["@timestamp"], &expect);
}

#[test]
fn an_hour_that_the_clock_skips() {
    let arguments = ["--as", "training", "--reference", REFERENCE, "--zone", "Europe/Berlin"];
    let events = parse_with("2026-03-29 02:30:00,123 - a - INFO - x", &arguments);
    let names = ["timestamp_source", "tags", "fields.log_time"];
    check(&events, &names, &[r#"record ["_timefailure"] 2026-03-29 02:30:00,123"#]);
}

#[test]
fn names_of_months_in_the_machines_language() {
    for month in ["Mi Mai 15", "mer. mai 15", "三 5月 15", "Wed May 15"] {
        let line = format!(
            "[{month} 10:23:45 2024] NVRM: Xid (PCI:0000:3b:00): 79, pid=1, GPU has fallen"
        );
        let events = parse(&line);
        check(
            &events,
            &["@timestamp", "component", "fields.xid"],
            &["2024-05-15T10:23:45.000000000Z NVRM 79"],
        );
    }
}

#[test]
fn time_that_goes_backwards_between_ranks() {
    let line = |rank: u32, second: u32| {
        format!("[rank{rank}]:[I312 09:00:{second:02}.000000001 a.cpp:1] x\n")
    };
    let events = parse([line(0, 9), line(1, 7), line(0, 8)].concat());
    let expect = [
        "0 2026-03-12T09:00:09.000000001Z",
        "1 2026-03-12T09:00:07.000000001Z",
        "0 2026-03-12T09:00:08.000000001Z",
    ];
    check(&events, &["rank", "@timestamp"], &expect);
    // On the axis of the record's clock they stand as they came.
    assert!(events.iter().all(|event| show(event, "received") == "2026-03-12T10:00:00.000000000Z"));
}

#[test]
fn what_says_no_time_has_the_records() {
    check_time(
        "[E ProcessGroupNCCL.cpp:828] [Rank 2] x",
        "2026-03-12T10:00:00.000000000Z",
        "record",
    );
}

#[test]
fn a_line_read_again_years_later() {
    let line = "2024-05-15 10:23:45,123 - a - INFO - x";
    check_time(line, "2024-05-15T10:23:45.123000000Z", "line");
}

#[test]
fn seconds_since_the_boot_are_no_time_of_day() {
    let events =
        parse("[123456.789012] NVRM: Xid (PCI:0000:9b:00): 79, pid=1, GPU has fallen off the bus.");
    check(
        &events,
        &["timestamp_source", "fields.uptime", "fields.xid"],
        &["record 123456.789012 79"],
    );
}
