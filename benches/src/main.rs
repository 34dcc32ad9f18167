//! The benchmarks, run by hand: what a line costs from a real broker to a store, beside consumers
//! that do nothing but consume, and what parsing alone costs. Method and figures:
//! `docs/benchmarks.md`.
//!
//! The invariant: whatever is measured runs in a process of its own, started by this program from
//! itself, so that its CPU time and memory are nobody else's. Next stop: `end_to_end.rs`.

mod broker;
mod bulk_store;
mod chain;
mod child;
mod consumer;
mod end_to_end;
mod engines;
mod envelopes;
mod formats;
mod http;
mod instructions;
mod load;
mod object_store;
mod parsing;
mod report;
mod row;
mod source;
mod tally;
mod training;

use anyhow::Result;
use clap::{Parser, Subcommand};
use std::process::ExitCode;

#[derive(Parser)]
#[command(name = "riverhog-benches", about = "The benchmarks: see docs/benchmarks.md")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// From a real broker to stores that count, beside bare consumers
    EndToEnd(end_to_end::Args),
    /// The same with a backlog in 200 partitions and the default memory: peak RSS
    Backlog(end_to_end::Args),
    /// What one line costs from its bytes to its document, without Kafka and stores
    Parsing(parsing::Args),
    /// One line of each kind through grok, PCRE2 alone and the regex crate
    Engines(engines::Args),
    /// Instructions of the hottest paths beside stored baselines; fails above 5 % more
    Instructions(instructions::Args),
    /// The formats of training logs, beside splitting lines alone
    Training(training::Args),
    /// Envelopes taken off, beside a tree of the same JSON
    Envelopes(envelopes::Args),
    /// The whole way of a training job's line, from Filebeat's envelope to the document
    Chain(chain::Args),
    /// A child: consumes the topic and does nothing with it
    #[command(hide = true)]
    Consumer(consumer::Args),
    /// A child: riverhog's own source alone, its batches thrown away
    #[command(hide = true)]
    Source(consumer::Args),
    /// A child: takes `_bulk` requests and counts event ids
    #[command(hide = true)]
    BulkStore(tally::Args),
    /// A child: takes S3 requests, keeps objects, counts event ids
    #[command(hide = true)]
    ObjectStore(tally::Args),
}

fn main() -> ExitCode {
    // The measured process is riverhog's own command line, linked into this program.
    if std::env::args().nth(1).as_deref() == Some("run") {
        return riverhog::commands::main();
    }
    match run(Cli::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            report::complain(&error);
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> Result<()> {
    match command {
        Command::EndToEnd(args) => end_to_end::run(&args),
        Command::Backlog(args) => end_to_end::run(&args.for_backlog()),
        Command::Parsing(args) => parsing::run(&args),
        Command::Engines(args) => engines::run(&args),
        Command::Instructions(args) => instructions::run(&args),
        Command::Training(args) => training::run(&args),
        Command::Envelopes(args) => envelopes::run(&args),
        Command::Chain(args) => chain::run(&args),
        Command::Consumer(args) => consumer::run(&args),
        Command::Source(args) => source::run(&args),
        Command::BulkStore(args) => bulk_store::run(args),
        Command::ObjectStore(args) => object_store::run(args),
    }
}
