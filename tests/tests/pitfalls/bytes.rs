//! Line ends, frames of progress bars, colours, and bytes that are no text.
use super::*;

#[test]
fn crlf() {
    let events =
        parse("2026-03-12 10:00:00,1 - a - INFO - x\r\n2026-03-12 10:00:01,1 - a - INFO - y\r\n");
    check(&events, &["level", "content", "lines"], &["info x [1,1]", "info y [2,2]"]);
}

#[test]
fn a_missing_final_newline() {
    check(&parse("a\nb"), &["content", "lines"], &["a [1,1]", "b [2,2]"]);
}

#[test]
fn frames_of_a_bar() {
    let bar =
        |step: u32| format!("Train:  10%|█  | {step}/1000 [03:12<28:51,  1.92s/it, loss=2.1]");
    let events = parse(format!("\r{}\r{}\r{}\nnext\n", bar(1), bar(2), bar(3)));
    check(&events, &["content", "lines"], &[&format!("{} [1,1]", bar(3)), "next [2,2]"]);
}

#[test]
fn a_log_line_glued_behind_a_frame() {
    let bar = "Epoch 0:   6%|▋   | 320/5001 [6:28:43<94:39:17,  1.37it/s, loss=2.6]";
    let events = parse(format!("\r{bar}[E ProcessGroupNCCL.cpp:458] [Rank 0] Watchdog caught\n"));
    let expect = [&format!("- {bar} - 1"), "error [Rank 0] Watchdog caught 0 2"];
    check(&events, &["level", "content", "rank", "origin.part"], &expect);
}

#[test]
fn a_line_of_ten_megabytes() {
    let events = parse(format!("INFO 03-12 10:00:00 [a.py:1] {}\nnext\n", "x".repeat(10 << 20)));
    assert!(events[0].to_string().len() < 3 << 20);
    check(
        &events,
        &["level", "tags", "lines"],
        &[r#"info ["_cut"] [1,1]"#, r#"- ["_unparsed"] [2,2]"#],
    );
}

#[test]
fn a_bar_of_ten_megabytes() {
    let frame = |step: usize| format!("\r  1%|#  | {step}/99999 [00:01<00:09,  1.92s/it]");
    let frames: String = (0..200_000).map(frame).collect();
    let events = parse(format!("{frames}INFO 03-12 10:00:00 [a.py:1] x\n"));
    let last = format!("{} -", frame(199_999).trim());
    check(&events, &["content", "level"], &[&last, "x info"]);
}

#[test]
fn colours_cursor_movements_and_links() {
    let line = "\u{1b}[31m[titan] 2026-03-12 10:00:00,1 - root - INFO - \u{1b}[38;2;180;60;0m\
                see \u{1b}]8;;http://a/b\u{1b}\\here\u{1b}]8;;\u{1b}\\\u{1b}[2K\u{1b}[0m\u{1b}[A";
    check(&parse(line), &["level", "content"], &["info see here"]);
    assert!(show(&parse(line)[0], "message").starts_with("\u{1b}[31m"));
}

#[test]
fn bytes_that_are_not_utf8() {
    let events = parse(b"INFO 03-12 10:00:00 [a.py:1] caf\xe9 \xff\n");
    check(&events, &["level", "content"], &[r"info caf\xE9 \xFF"]);
}

#[test]
fn nul_bytes_after_a_crash() {
    let events = parse(b"\0\0\0\0INFO 03-12 10:00:00 [a.py:1] x\nnext\n");
    assert_eq!(events.len(), 2);
    assert!(show(&events[0], "content").starts_with("\0\0\0\0INFO"), "{}", events[0]);
}

#[test]
fn a_byte_order_mark() {
    check(
        &parse("\u{feff}[rank1]: INFO 03-12 10:00:00 [a.py:1] x"),
        &["rank", "level"],
        &["1 info"],
    );
}

#[test]
fn a_bar_that_srun_cuts_into_pieces() {
    let events = parse("0: Epoch 0:  10%|#  | 1\n0: 0/100 [00:01<00:09, 1\n0: .92s/it]\n");
    check(&events, &["rank", "lines"], &["0 [1,1]", "0 [2,2]", "0 [3,3]"]);
    check(&events[2..], &["content"], &[".92s/it]"]);
}

#[test]
fn the_lines_of_vllm_that_end_in_a_return() {
    let header = "(APIServer pid=4) INFO 03-12 10:27:03 [api_utils.py:339] ";
    let events = parse(format!("{header}\r\n{header}  █ 0.25\r\n{header}  end\n{header}other\n"));
    let expect = ["[1,3] info \n  █ 0.25\n  end", "[4,4] info other"];
    check(&events, &["lines", "level", "content"], &expect);
}
