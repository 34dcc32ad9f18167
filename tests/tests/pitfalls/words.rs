//! Words that mislead: levels that are none, secrets, repeated messages, odd objects.
use super::*;

#[test]
fn the_word_error_in_a_key_is_no_level() {
    let events =
        parse("error_file: <N/A>\nmax_error=0.1 errors=0\n{'max_error': 0.1, 'errors': 0}\n");
    check(&events, &["level"], &["-", "-", "-"]);
}

#[test]
fn harmless_lines_at_level_error_keep_their_level() {
    let line =
        "E0000 00:00:1773309600.123456 12 cuda_dnn.cc:8310] Unable to register cuDNN factory";
    check(&parse(line), &["level", "component"], &["error cuda_dnn.cc"]);
}

#[test]
fn a_printed_dict_is_no_json() {
    let line = "{'loss': 2.104, 'grad_norm': None, 'ok': True, 'name': \"it's\"}";
    check(&parse(line), &["content"], &[line]);
    check(&parse_enveloped(line), &["content"], &[line]);
}

#[test]
fn a_message_that_was_repeated() {
    let line = "Mar 12 09:00:00 gpu-1 kernel: message repeated 3 times: [ NVRM: x]";
    check(
        &parse(line),
        &["component", "content"],
        &["kernel message repeated 3 times: [ NVRM: x]"],
    );
}

#[test]
fn secrets_in_a_command_line() {
    let line = "[2026-03-12 09:00:00,668] [INFO] [launch.py:100:main] cmd = python --hf_token \
                hf_abcdefghijklmnopqrstuvwxyzABCDEFGH exits with return code = 1";
    let event = parse(line)[0].to_string();
    assert!(!event.contains("hf_abcdef") && event.contains("exits with return code"), "{event}");
}

#[test]
fn the_first_observed_failure_is_evidence_and_no_verdict() {
    let events =
        parse("Root Cause (first observed failure):\n[0]:\n  rank      : 3 (local_rank: 3)\n");
    // Without the table around it these are lines: nobody is named.
    check(&events, &["lines", "rank"], &["[1,1] -", "[2,2] -", "[3,3] -"]);
}
