//! What launchers put in front of lines, and ranks that write into one another.
use super::*;

#[test]
fn a_prefix_twice() {
    let events = parse("[rank3]:[rank3]: INFO 03-12 10:00:00 [a.py:1] x");
    check(&events, &["rank", "level", "content"], &["3 info x"]);
}

#[test]
fn prefixes_of_several_launchers() {
    let events =
        parse("slurm0-a3-8: [rank17]:[E ProcessGroupNCCL.cpp:543] x\n[default7]: iteration 1\n");
    let names = ["rank", "fields.local_rank", "fields.node", "component"];
    check(&events, &names, &["17 - slurm0-a3-8 ProcessGroupNCCL.cpp", "- 7 - -"]);
}

#[test]
fn interleaved_ranks_in_one_file() {
    let events = parse(
        "[rank0]: Traceback (most recent call last):\n[rank1]: Traceback (most recent call last):\n\
         [rank0]:   File \"a.py\", line 1, in f\n[rank1]:   File \"b.py\", line 2, in g\n\
         [rank1]: ValueError: 2\n[rank0]: KeyError: 1\n",
    );
    let mut shown: Vec<_> = events.iter().map(|it| show(it, "content")).collect();
    shown.sort();
    let of = |file: &str, error: &str| {
        format!("Traceback (most recent call last):\n  File \"{file}\n{error}")
    };
    assert_eq!(
        shown,
        [of("a.py\", line 1, in f", "KeyError: 1"), of("b.py\", line 2, in g", "ValueError: 2")]
    );
}

#[test]
fn a_line_torn_by_another_process() {
    let input = "[rank0]: Traceback (most recent call last):\n[rank1]: Traceback (most recent call last):\n\
                 [rank0]:   File \"a.py\", line 1, in f\nFi[rank1]:   File \"b.py\"\n\
                 [rank0]: KeyError: 1\n[rank1]: ValueError: 2\n";
    let events = parse(input);
    for line in input.lines().map(|line| line.rsplit("]: ").next().unwrap_or_default()) {
        let holders = events.iter().filter(|event| show(event, "content").contains(line.trim()));
        assert!(holders.count() >= 1, "{line}: {events:?}");
    }
    // What is surely of one rank is in no record of the other.
    for event in &events {
        let content = show(event, "content");
        assert!(!(content.contains("KeyError") && content.contains("ValueError")), "{content}");
        assert!(!content.contains("b.py") || show(event, "rank") == "1", "{event}");
    }
}

#[test]
fn two_records_on_one_line() {
    let events = parse(
        "[Rank 39] (after 1 iterations) memory (MB) | x: 1.0[Rank 38] (after 1 iterations) memory (MB) | x: 2.0",
    );
    check(&events, &["rank", "lines"], &["39 [1,1]", "38 [1,1]"]);
}

#[test]
fn a_device_in_brackets_is_no_rank() {
    let events = parse("gpu-1:12:13 [3] NCCL INFO Channel 00/0 : 3[3] -> 4[4] via P2P/CUMEM");
    check(&events, &["rank", "fields.device", "level"], &["- 3 info"]);
}
