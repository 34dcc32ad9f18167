//! Lines in, records out: the forms, interleaved processes, limits, and reading on from anywhere.
use std::fmt::Write;

use proptest::prelude::*;
use riverhog_parsers::peel::{Layers, peel};

use super::*;
use crate::transform::{ReceivedSource, Record};

fn join() -> Join {
    Join::builtin()
}

fn record(offset: i64, time_ms: i64) -> Record<'static> {
    Record {
        topic: "train",
        partition: 3,
        offset,
        key: None,
        headers: &[],
        received_ns: time_ms * 1_000_000,
        received_source: ReceivedSource::LogAppendTime,
        envelope: None,
        lineage: "c0ffee00",
        time_ms,
    }
}

/// The texts of the records of more than one line.
fn texts(lines: &[(i64, String)]) -> Vec<String> {
    let (mut joiner, mut out, mut scratch) = (Joiner::default(), Vec::new(), String::new());
    for (offset, (time_ms, text)) in lines.iter().enumerate() {
        feed(&mut joiner, &join(), (offset as i64, *time_ms, text), &mut scratch, &mut out);
    }
    joiner.close_all(&mut out);
    out.into_iter().filter(|closed| closed.lines.len() > 1).map(|closed| closed.text).collect()
}

/// A line of the only stream; true when it is a record of its own.
fn feed(
    joiner: &mut Joiner,
    join: &Join,
    (offset, time_ms, text): (i64, i64, &str),
    scratch: &mut String,
    out: &mut Vec<Closed>,
) -> bool {
    let raw = text.strip_suffix('\r').unwrap_or(text);
    let peeled = peel(raw, Layers::ALL, scratch);
    let line = LineOf {
        index: 0,
        raw: raw.as_bytes(),
        text: peeled.text,
        marks: peeled.marks,
        cut: false,
        returns: raw.len() < text.len(),
        part: None,
    };
    joiner.advance(join, time_ms, out);
    joiner.line(join, 7, (&record(offset, time_ms), &line), out) == Held::Alone
}

/// Numbers of the lines of each record, in the order in which the records are complete. Lines are
/// (record time in ms, text); each is a record of Kafka's.
fn records(join: &Join, lines: &[(i64, String)], from: usize) -> Vec<Vec<i64>> {
    let (mut joiner, mut out, mut found) = (Joiner::default(), Vec::new(), Vec::new());
    let mut scratch = String::new();
    for (offset, (time_ms, text)) in lines.iter().enumerate().skip(from) {
        let line = (offset as i64, *time_ms, text.as_str());
        let is_alone = feed(&mut joiner, join, line, &mut scratch, &mut out);
        found.extend(out.drain(..).map(|closed| closed.lines.iter().map(|it| it.0).collect()));
        if is_alone {
            found.push(vec![offset as i64]);
        }
    }
    joiner.close_all(&mut out);
    assert!(joiner.is_empty() && joiner.open_from().is_none() && joiner.bytes() == 0);
    for closed in out {
        let lines = (0..closed.lines.len()).map(|number| closed.line(number));
        assert_eq!(lines.collect::<Vec<_>>().join(&b'\n'), closed.raw);
        found.push(closed.lines.iter().map(|it| it.0).collect());
    }
    found
}

/// `expect`: the lines of each record of more than one, as `first-last` or single numbers.
#[track_caller]
fn check(text: &str, expect: &str) {
    check_with(&join(), text, expect);
}

#[track_caller]
fn check_with(join: &Join, text: &str, expect: &str) {
    let lines = text.trim_end_matches('\n').split('\n');
    let lines: Vec<(i64, String)> = lines.map(|line| (0, line.to_owned())).collect();
    let mut found = records(join, &lines, 0);
    let mut all: Vec<i64> = found.concat();
    all.sort_unstable();
    assert_eq!(all, (0..lines.len() as i64).collect::<Vec<_>>(), "every line once");
    found.retain(|lines| lines.len() > 1);
    found.sort();
    let mut shown = String::new();
    for lines in &found {
        let (first, last) = (lines[0], lines[lines.len() - 1]);
        if last - first + 1 == lines.len() as i64 {
            write!(shown, "{first}-{last} ").unwrap();
        } else {
            let numbers: Vec<String> = lines.iter().map(ToString::to_string).collect();
            write!(shown, "{} ", numbers.join(",")).unwrap();
        }
    }
    assert_eq!(shown.trim_end(), expect, "{text}");
}

const TRACEBACK: &str = "Traceback (most recent call last):\n  File \"a.py\", line 3, in f\n    \
    x = g()\n        ^^^\n  [Previous line repeated 9 more times]\nKeyError: 'a'";

#[test]
fn a_traceback() {
    check(&format!("INFO before\n{TRACEBACK}\nINFO after"), "1-6");
    check(&format!("{TRACEBACK}\n{TRACEBACK}"), "0-5 6-11");
    check(
        "Traceback (most recent call last):\n  File \"a.py\", line 3\nNotImplementedError\nx",
        "0-2",
    );
    check("Traceback (most recent call last):\n  File \"a.py\"\nINFO: not an exception", "0-1");
    check("KeyError: without a traceback\n  File \"a.py\"", "");
}

#[test]
fn chains_hold_their_blank_lines_and_no_others() {
    let cause = "The above exception was the direct cause of the following exception:";
    check(&format!("{TRACEBACK}\n\n{cause}\n\n{TRACEBACK}\n\nnext"), "0-14");
    check(&format!("{TRACEBACK}\n\n\nnext"), "0-5");
    let during = "During handling of the above exception, another exception occurred:";
    check(&format!("{TRACEBACK}\n{during}\n{TRACEBACK}"), "0-12");
}

#[test]
fn messages_of_several_lines() {
    check(
        "Traceback (most recent call last):\n  File \"a.py\"\nRuntimeError: CUDA error: x\n\
         CUDA kernel errors might be asynchronously reported\nFor debugging consider passing \
         CUDA_LAUNCH_BLOCKING=1\n\nException raised from f at a.cpp:3 (most recent call first):\n\
         frame #0: a\nframe #1: b\n\nINFO next",
        "0-8",
    );
    check(
        "Traceback (most recent call last):\n  File \"a.py\"\ngrpc._channel._InactiveRpcError: \
         <_InactiveRpcError of RPC that terminated with:\n\tstatus = StatusCode.UNAVAILABLE\n\t\
         details = \"\"\n>\nINFO next",
        "0-5",
    );
}

#[test]
fn a_traceback_in_the_message_of_another() {
    check(
        "Traceback (most recent call last):\n  File \"a.py\"\nray.exceptions.RayTaskError(KeyError): \
         ray::f() (pid=1)\n  File \"b.py\", line 3, in f\n    x\nKeyError\nnext",
        "0-5",
    );
}

#[test]
fn groups_and_boxes() {
    check(
        "  + Exception Group Traceback (most recent call last):\n  |   File \"a.py\"\n  | \
         ExceptionGroup: w (2 sub-exceptions)\n  +-+---------------- 1 ----------------\n    | \
         ValueError: a\n    +------------------------------------\nnext",
        "0-5",
    );
    check(
        "╭───── Traceback (most recent call last) ─────╮\n│ /a.py:3 in f      │\n│ ❱ 753 x   │\n\
         ╰──────────╯\nRuntimeError: x\nnext",
        "0-4",
    );
}

#[test]
fn torchruns_table_belongs_to_its_exception() {
    let border = "=".repeat(60);
    let table = format!(
        "{border}\ntrain.py FAILED\n{}\nFailures:\n  <NO_OTHER_FAILURES>\n{}\nRoot Cause (first \
         observed failure):\n[0]:\n  time      : 2024-05-15_10:23:46\n  rank      : 3\n{border}",
        "-".repeat(60),
        "-".repeat(60)
    );
    let raised = "Traceback (most recent call last):\n  File \"a\"\n\
                  torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ";
    check(&format!("{raised}\n{table}\nnext"), "0-13");
    check(&format!("{table}\nnext"), "0-10");
    check(&format!("{border}\n  banner\n{border}"), "");
}

#[test]
fn stacks_warnings_and_reports() {
    check(
        "terminate called after throwing an instance of 'E'\n  what():  CUDA error\n\
           Exception raised from f\nframe #0: a\nINFO x",
        "0-3",
    );
    check("/a/b.py:12: UserWarning: text\n  warnings.warn(\n  indented", "0-1");
    check("/a/b.py:12: FutureWarning: text\nand more\n\nstill\n  warnings.warn(\nx", "0-4");
    check(
        "/a/b.py:12: UserWarning: \n\n          !! WARNING !!\n\nUse g++.\n  warnings.warn(\nx",
        "0-5",
    );
    check("/a/b.py:12: FutureWarning: text\n2024-05-15 10:00:00 INFO x", "");
    check("[2025-01-02 15:47:32,711] [INFO] [fused.py:392:_update]\nGrad overflow\nx", "0-1");
    check(
        "[2025-01-02 15:47:32,711] [INFO] [a.py:1:f]\n[2025-01-02 15:47:33,000] [INFO] [a] x",
        "",
    );
    check(
        "[NeMo W 2024-05-01 22:04:12 a:349] /b.py:1: UserWarning: x\n      warnings.warn(\n    \nx",
        "0-2",
    );
    check(
        "==== backtrace (tid:    227) ====\n 0 0x42 f() ???:0\n11 0x15 g() ???:0\n=====\nx",
        "0-3",
    );
    check(
        "java.lang.IllegalStateException: x\n\tat a.B.c(B.java:3)\nCaused by: x\n\t... 3 more\nx",
        "0-3",
    );
    check("{'a': {'b': 1,\n       'c': 2},\n 'd': 3}\nx", "0-2");
    check(
        "[ 12.5] python invoked oom-killer: gfp_mask=0x0\n[ 12.5] CPU: 3\n[ 12.6] Out of memory: \
           Killed process 7 (python)\n[ 12.7] oom_reaper: reaped process 7\n[ 12.8] eth0: up",
        "0-3",
    );
}

#[test]
fn messages_in_columns_and_payloads() {
    let columns = " ".repeat(26);
    check(
        &format!(
            "08/21 [01:46:27] WARNING  | >> Skipping `a` due  data.py:135\n{columns}to Error: x    \n\
             {columns}supported!\n\n[05/15/24 10:23:45] INFO     a   b.py:1\n{columns}   b\n\
             {columns}   INFO     c"
        ),
        "0-2 4-5",
    );
    check("[10:23:45] INFO     a\n   b\n[10:23:45 x] INFO y\n                      b", "");
    check(
        "[Feb 25 2025 13:59:45] [INFO] [tid 1803] Received an inband message:  Message header \
         details: magic Id:adbc\nMessage payload details:Team release request: x\n\n\
         [Feb 25 2025 13:59:45] [INFO] [tid 1808] multicast group 0 is freed.",
        "0-1",
    );
}

#[test]
fn a_return_and_the_same_header_go_on() {
    let header = "(APIServer pid=4) INFO 08-02 10:27:03 [api_utils.py:339] ";
    check(&format!("{header}\r\n{header}a\r\n{header}b\n{header}c\nx"), "0-2");
    check(&format!("{header}a\n{header}b"), "");
    check(&format!("{header}a\r\nINFO 08-02 10:27:03 [api_utils.py:340] b\r\nx\r\ny\r"), "");
    let lines = [format!("{header}a\r"), format!("{header}b")].map(|line| (0, line));
    assert_eq!(texts(&lines), ["INFO 08-02 10:27:03 [api_utils.py:339] a\nb"]);
}

#[test]
fn processes_of_one_stream_do_not_mix() {
    check(
        "[rank0]: Traceback (most recent call last):\n[rank1]: Traceback (most recent call last):\n\
         [rank0]:   File \"a\"\n[rank1]:   File \"b\"\nINFO of the launcher\n[rank1]: KeyError: b\n\
         [rank0]: KeyError: a\n[rank0]: x",
        "0,2,6 1,3,5",
    );
    // The stack of C++ has no prefix: it goes on with what was written last.
    check(
        "[rank3]:[E515 10:23:45.1 P.cpp:6] terminated with exception: CUDA error: x\n\
         [rank5]: Traceback (most recent call last):\n[rank5]:   File \"a\"\n[rank5]: KeyError: x\n\
         [rank3]:[E515 10:23:45.2 P.cpp:6] terminated with exception: CUDA error: y\nframe #0: a\n\
         frame #1: b",
        "1-3 4-6",
    );
}

#[test]
fn forms_of_ones_own_come_first() {
    let mut join = join();
    join.rules.push(JoinRule::compile("^BEGIN", None, Some("^END")).unwrap());
    join.rules.push(JoinRule::compile(r"^\d{4}-", Some(r"^\s+\S"), None).unwrap());
    check_with(&join, "BEGIN a\nx\ny\nEND\nz", "0-3");
    check_with(&join, "2024-05-15 a\n  b\n  c\n2024-05-15 d\nx", "0-2");
    let error = JoinRule::compile("a", Some("("), None).unwrap_err();
    assert_eq!((error.key, error.error.span), ("continue", 0..1));
}

#[test]
fn limits_end_a_record() {
    let mut join = join();
    join.lines_max = 3;
    check_with(&join, TRACEBACK, "0-2");
    join.lines_max = 1000;
    join.bytes_max = 70;
    check_with(&join, TRACEBACK, "0-1");
    // Many processes that never come to an end.
    let many: String =
        (0..400).fold(String::new(), |text, rank| text + &format!("[rank{rank}]: {TRACEBACK}\n"));
    check(&many, &many_expected());
}

/// Only the first line of each traceback above has a rank; the others go on with what was last.
fn many_expected() -> String {
    let each = (0..400).map(|rank| format!("{}-{}", rank * 6, rank * 6 + 5));
    each.collect::<Vec<_>>().join(" ")
}

#[test]
fn blank_lines_that_may_go_on_count_for_the_limit() {
    let mut join = join();
    join.bytes_max = 200;
    let blanks = " ".repeat(80);
    let raised = "Traceback (most recent call last):\n  File \"a.py\"\nKeyError: x";
    let during = "During handling of the above exception, another exception occurred:";
    check_with(&join, &format!("{raised}\n{blanks}\n{blanks}\n{during}\nx"), "0-2");
}

#[test]
fn a_record_does_not_depend_on_older_ones_that_are_open() {
    // An open record that refuses a line hides no other one that takes it.
    let lines = |text: &str| text.lines().map(|line| (0, line.to_owned())).collect::<Vec<_>>();
    let text = lines(
        "java.lang.Error: x\n[rank1]: Traceback (most recent call last):\n  File \"a\"\n\
         [rank1]: KeyError: x",
    );
    assert_eq!(records(&join(), &text, 1), [vec![1, 2, 3]]);
    assert_eq!(records(&join(), &text, 0), [vec![0], vec![1, 2, 3]]);
    // Nor does what older ones hold count against its bytes.
    let mut join = join();
    join.bytes_max = 1 << 20;
    let line = |rank: usize, text: &str| (0, format!("[rank{rank}]: {text}"));
    let long = format!("  {}", "x".repeat(200_000));
    let start = "Traceback (most recent call last):";
    let lines = [line(0, start), line(0, &long), line(1, start), line(1, &long), line(1, &long)];
    let whole = records(&join, &lines, 0);
    assert_eq!(whole.iter().max(), records(&join, &lines, 2).iter().max());
    assert_eq!(whole, [vec![0, 1], vec![2, 3, 4]]);
}

#[test]
fn record_time_ends_a_record() {
    let line = |time_ms, text: &str| (time_ms, text.to_owned());
    let lines = [
        line(0, "Traceback (most recent call last):"),
        line(4000, "  File \"a\""),
        line(9000, "  File \"b\""),
        line(14_001, "  File \"c\""),
    ];
    assert_eq!(records(&join(), &lines, 0), [vec![0, 1, 2], vec![3]]);
}

proptest! {
    /// Reading again from the first line of any record gives the records behind it once more.
    #[test]
    fn what_is_read_again_is_joined_alike(
        kinds in proptest::collection::vec((0..12_usize, 0..4_usize), 1..60),
        at in 0..60_usize,
    ) {
        let texts = [
            "INFO x", "Traceback (most recent call last):", "  File \"a\"", "KeyError: x", "",
            "The above exception was the direct cause of the following exception:", "frame #0: x",
            "terminate called x", "/a.py:1: UserWarning: x", "  warnings.warn(", "plain", "====",
        ];
        // The launcher of the ranks writes without a prefix.
        let lines: Vec<(i64, String)> = kinds.iter().map(|(kind, rank)| {
            (0, if texts[*kind].is_empty() || *rank == 3 { texts[*kind].to_owned() } else {
                format!("[rank{rank}]: {}", texts[*kind])
            })
        }).collect();
        let mut whole = records(&join(), &lines, 0);
        // A watermark cuts no record: it falls back to the first line of each that it would cut.
        let mut from = (at % lines.len()) as i64;
        while let Some(cut) = whole.iter().find(|it| it[0] < from && it[it.len() - 1] >= from) {
            from = cut[0];
        }
        let mut again = records(&join(), &lines, from as usize);
        whole.retain(|lines| lines[0] >= from);
        whole.sort();
        again.sort();
        prop_assert_eq!(whole, again);
    }
}
