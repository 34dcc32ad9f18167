//! The scenarios, each by its name: what befalls the binary, and how many rounds are worth it.
//!
//! The invariant: everything that can go wrong between the services and the binary stands in this
//! one list. Next stop: `processes.rs`.

use anyhow::Result;
use std::future::Future;
use std::pin::Pin;

use crate::count::Count;
use crate::place::Round;
use crate::{answers, processes, restarts, wires};

pub(crate) type Running = Pin<Box<dyn Future<Output = Result<Count>> + Send>>;

pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    /// Rounds of the long version.
    pub(crate) rounds: u64,
    /// Does `./x test` run a round of it?
    pub(crate) short: bool,
    pub(crate) run: fn(Round) -> Running,
}

/// A scenario of the long version alone.
const fn long(
    name: &'static str,
    rounds: u64,
    about: &'static str,
    run: fn(Round) -> Running,
) -> Scenario {
    Scenario { name, about, rounds, short: false, run }
}

/// A scenario of both versions.
const fn both(
    name: &'static str,
    rounds: u64,
    about: &'static str,
    run: fn(Round) -> Running,
) -> Scenario {
    Scenario { name, about, rounds, short: true, run }
}

pub(crate) const SCENARIOS: [Scenario; 24] = [
    long("kill", 50, "kill -9 at a random moment, started again", |round| {
        Box::pin(processes::kill(round))
    }),
    both("kill in outage", 5, "killed while one store, or both, answers 503", |round| {
        Box::pin(processes::kill_in_outage(round))
    }),
    long("terminate", 3, "SIGTERM and started again, three times", |round| {
        Box::pin(processes::terminate(round))
    }),
    long("frozen", 5, "SIGSTOP until a second member has taken over, then SIGCONT", |round| {
        Box::pin(processes::frozen(round))
    }),
    long("members", 5, "up to three members join, leave and die", |round| {
        Box::pin(processes::members(round))
    }),
    both("partitions", 3, "partitions are added while it runs", |round| {
        Box::pin(processes::partitions(round))
    }),
    long("503 search", 2, "the search store answers 503 for 10 s", |round| {
        Box::pin(answers::search_503(round))
    }),
    long("503 archive", 2, "the object store answers 503 for 5 s", |round| {
        Box::pin(answers::archive_503(round))
    }),
    long("429", 2, "the search store answers 429 for 5 s", |round| {
        Box::pin(answers::search_429(round))
    }),
    both("429 items", 3, "a fifth of the documents is answered 429 for a while", |round| {
        Box::pin(answers::items_429(round))
    }),
    both("413", 3, "bodies over a limit are answered 413", |round| {
        Box::pin(answers::search_413(round))
    }),
    both("400 items", 3, "one line in 1,000 is refused for ever: dead letters", |round| {
        Box::pin(answers::items_400(round))
    }),
    long("lost answers", 3, "both stores take it and their answers are lost", |round| {
        Box::pin(answers::lost_answers(round))
    }),
    long("broker restart", 3, "the broker is stopped or killed, and comes back", |round| {
        Box::pin(restarts::broker(round))
    }),
    long("search restart", 3, "OpenSearch is stopped or killed, and comes back", |round| {
        Box::pin(restarts::search(round))
    }),
    long("archive restart", 3, "the S3 server is stopped or killed, and comes back", |round| {
        Box::pin(restarts::archive(round))
    }),
    long("full disk", 3, "the disk below a `local` archive is full for a while", |round| {
        Box::pin(restarts::full_disk(round))
    }),
    both("kafka wire", 5, "drops, delays, cuts, stalls, changed record batches", |round| {
        Box::pin(wires::kafka(round))
    }),
    long("damaged backlog", 2, "record batches come changed, many in one answer", |round| {
        Box::pin(wires::backlog(round))
    }),
    both("search wire", 5, "drops, delays, cuts, stalls, changed heads of answers", |round| {
        Box::pin(wires::search(round))
    }),
    both("archive wire", 5, "drops, delays, cuts, stalls, changed bodies and heads", |round| {
        Box::pin(wires::archive(round))
    }),
    long("wire and kill", 5, "all three wires at once, and kill -9 meanwhile", |round| {
        Box::pin(wires::all_and_kill(round))
    }),
    long("no ids", 3, "VictoriaLogs, no fault: nothing is lost, nothing repeated", |round| {
        Box::pin(processes::no_ids(round, 0))
    }),
    long(
        "no ids, kill",
        5,
        "VictoriaLogs, killed twice: repeats of what no commit covered",
        |round| Box::pin(processes::no_ids(round, 2)),
    ),
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn names_are_told_apart() {
        let names: HashSet<_> = SCENARIOS.iter().map(|scenario| scenario.name).collect();
        assert_eq!(names.len(), SCENARIOS.len());
    }
}
