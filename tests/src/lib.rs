//! The harness of the tests that run the real binary against real services.
//!
//! A test asks [`services`] for the addresses that `./x test` has put into the environment, makes
//! what it needs under a [`unique`] name, produces a [`corpus`], runs the binary by [`Riverhog`],
//! waits by [`eventually`], and compares what the stores hold with what the corpus expects.
//!
//! The invariant: nothing here knows riverhog's code. What is compared with the stores is written
//! down a second time, so that an error in a room cannot hide itself. Next stop: `services.rs`.

pub mod corpus;
mod eventually;
mod feed;
mod http_client;
mod kafka;
mod logs;
mod metrics;
mod objects;
mod process;
mod proxy;
mod search;
mod services;
mod wire;

pub use eventually::{eventually, pass};
pub use feed::{Feed, Pace};
pub use http_client::{HttpClient, Reply};
pub use kafka::{Broker, NewRecord, StoredRecord};
pub use logs::LogStore;
pub use metrics::Metrics;
pub use objects::{Object, ObjectStore, events_in};
pub use process::{Finished, Launch, Riverhog, binary, free_port, run_command, run_on_file};
pub use proxy::{Exchange, Fault, Items, Pick, Proxy};
pub use search::{Document, SearchStore};
pub use services::{Alone, Service, Services, alone, services};
pub use wire::{Corrupt, Harm, Wire};

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};

/// A name for a topic, group, index or bucket that no other test and no earlier run has used:
/// lower case letters, digits and `-`, at most 24 bytes longer than `name`.
pub fn unique(name: &str) -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("{name}-{:08x}-{count}", random() as u32)
}

/// A random number: each `RandomState` has keys of its own.
pub fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

#[cfg(test)]
mod tests {
    #[test]
    fn names_do_not_repeat() {
        let first = super::unique("topic");
        let second = super::unique("topic");
        assert_ne!(first, second);
        assert!(first.starts_with("topic-"));
        assert!(first.len() <= "topic".len() + 24);
    }
}
