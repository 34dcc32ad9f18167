//! The main job on real services: Kafka to OpenSearch and S3, nothing lost and nothing twice.
//!
//! `job.rs` carries a training job that fails, its records joined, by a configuration of its own.
//!
//! The invariant: each test compares *everything* that the stores hold with everything that was
//! produced, document by document and place by place, never a count alone. Next stop:
//! `carry.rs`, `kills.rs` and `members.rs` are the tests; `lines.rs` says what must come out,
//! `stores.rs` reads what did, `compare.rs` puts the two side by side.

mod bed;
mod carry;
mod compare;
mod job;
mod kills;
mod lines;
mod members;
mod reload;
mod rolling;
mod specials;
mod split;
mod stores;
