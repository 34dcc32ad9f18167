//! Records of several lines: what belongs to one, and what does not.
use super::*;

#[test]
fn the_empty_line_before_an_nccl_warning() {
    let events =
        parse("\ngpu-1:1:2 [3] misc/socket.cc:58 NCCL WARN socketProgress: Connection closed\n");
    check(&events, &["lines", "level", "component"], &["[1,1] - -", "[2,2] warn NCCL"]);
}

#[test]
fn blank_lines_inside_a_chain() {
    let one = "Traceback (most recent call last):\n  File \"a.py\", line 16, in step\n    x\n    ^\n\
               KeyError: 1\n";
    let cause = "\nThe above exception was the direct cause of the following exception:\n\n";
    let events = parse(format!("{one}{cause}{one}\nINFO 03-12 10:00:00 [a.py:1] next\n"));
    check(&events, &["lines", "level"], &["[1,13] -", "[14,14] -", "[15,15] info"]);
}

#[test]
fn exception_groups() {
    let events = parse(
        "  + Exception Group Traceback (most recent call last):\n  |   File \"a.py\", line 12, in <module>\n\
         \x20 | ExceptionGroup: workers (2 sub-exceptions)\n  +-+---------------- 1 ----------------\n\
         \x20   | ValueError: a\n    +---------------- 2 ----------------\n    | TypeError: b\n\
         \x20   +------------------------------------\nnext\n",
    );
    check(&events, &["lines"], &["[1,8]", "[9,9]"]);
}

#[test]
fn boxes_of_rich() {
    let events = parse(
        "╭─ Traceback (most recent call last) ─╮\n│ a.py:753 in main │\n│ ❱ 753 x │\n╰────╯\n\
         KeyError: 1\nnext\n",
    );
    check(&events, &["lines"], &["[1,5]", "[6,6]"]);
}

#[test]
fn columns_of_rich() {
    let columns = " ".repeat(26);
    let events = parse(format!(
        "03/12 [01:46:27] WARNING  | >> Skipping `a` due  data.py:135\n{columns}to Error   \nnext\n"
    ));
    check(
        &events,
        &["lines", "component", "content"],
        &["[1,2] data.py | >> Skipping `a` due\nto Error", "[3,3] - next"],
    );
}

#[test]
fn a_traceback_after_a_good_end() {
    let events = parse(
        "INFO 03-12 10:00:00 [a.py:1] status: success\nTraceback (most recent call last):\n  File \"a.py\", line 1\n\
         KeyError: 1\n",
    );
    check(&events, &["lines", "level"], &["[1,1] info", "[2,4] -"]);
}

#[test]
fn the_table_of_the_launcher_is_one_record() {
    let (border, section) = ("=".repeat(60), "-".repeat(60));
    let events = parse(format!(
        "{border}\ntrain.py FAILED\n{section}\nFailures:\n  <NO_OTHER_FAILURES>\n{section}\n\
         Root Cause (first observed failure):\n[0]:\n  time      : 2026-03-12_10:23:45\n\
         \x20 host      : gpu-node-017\n  rank      : 3 (local_rank: 3)\n  exitcode  : -9 (pid: 12349)\n\
         \x20 error_file: <N/A>\n  traceback : Signal 9 (SIGKILL) received by PID 12349\n{border}\nnext\n"
    ));
    check(&events, &["lines", "level"], &["[1,15] -", "[16,16] -"]);
}
