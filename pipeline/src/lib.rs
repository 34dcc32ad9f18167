//! Riverhog's engine: one line's trip from Kafka to the stores, and the promise that nothing is
//! lost and nothing comes twice.
//!
//! The trip, with the file of each stop:
//!
//! 1. [`source`] takes a batch of records of one partition (`source/kafka/`, `source/file.rs`).
//! 2. [`unwrap`] takes the envelope off and splits a record into raw lines.
//! 3. [`transform`] parses, adds host and labels, routes, and encodes the event's JSON document
//!    once into the batch's buffer (the work is in the rooms `parsers` and `rules`).
//! 4. [`dispatch`] hands each sink its part of that buffer.
//! 5. A [`sink`] batches, sends, and reads each item's outcome (`sink/elasticsearch/`,
//!    `sink/archive/`, `sink/dead_letter/`).
//! 6. [`ledger`] learns what is settled.
//! 7. [`commit`] says what is written with each partition's watermark.
//!
//! [`driver`] runs the trip for one source, [`partition`] for one partition of it;
//! [`generation`] ties all that belongs to one assignment together.
//!
//! Invariant: the unit of work is the batch (about 1 MiB of lines of one partition), never the
//! line: locks, channels, clock reads and foreign calls happen per batch, and everything is bounded
//! in bytes.

// A line that the program fails on becomes a dead letter, which needs unwinding.
#[cfg(panic = "abort")]
compile_error!("riverhog must be built with panic = \"unwind\"");

mod allocator;
pub mod assemble;
pub mod backoff;
pub mod buffers;
pub mod clock;
pub mod commands;
pub mod commit;
pub mod delivery_rules;
pub mod dispatch;
pub mod driver;
mod feed;
mod followed;
pub mod generation;
pub mod ledger;
pub mod memory;
pub mod partition;
pub mod redrive;
pub mod share;
pub mod sink;
pub mod source;
pub mod tables;
pub mod telemetry;
pub mod transform;
pub mod unwrap;
mod watch;
