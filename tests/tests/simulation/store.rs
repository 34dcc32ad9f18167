//! Simulated stores: a `_bulk` endpoint, buckets, and a dead-letter target, each with the faults
//! its real counterpart is known for. Every request passes [`call`], where a crash can strike
//! before or after the effect.
//!
//! Invariant: what a store acknowledged it keeps; what it refused or failed it does not have,
//! unless the fault is a lost answer.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use riverhog::sink::archive::store::{
    Answer, Halt, HaltReason, ListRequest, Listed, ObjectStore, Page, PutOutcome, ReadOutcome,
    Retry, RetryReason, Suffix, Unreadable, UnreadableReason,
};
use riverhog::sink::dead_letter::letter::Letter;
use riverhog::sink::dead_letter::{DeadLetterTarget, LetterOutcome, Writing};
use riverhog::sink::elasticsearch::body::Body;
use riverhog::sink::elasticsearch::transport::{
    BulkAnswer, BulkTransport, Sending, TransportError,
};
use serde_json::{Value, json};

use crate::world::World;

/// The world, shared by all members and stores.
#[derive(Debug, Clone)]
pub(crate) struct Shared(pub(crate) Arc<Mutex<World>>);

impl Shared {
    pub(crate) fn lock(&self) -> MutexGuard<'_, World> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Takes time, and may be where the member dies.
async fn call<T>(world: &Shared, member: usize, effect: impl FnOnce(&mut World) -> T) -> T {
    let latency = Duration::from_micros(world.lock().latency_us());
    tokio::time::sleep(latency).await;
    if world.lock().dies_here(member) {
        std::future::pending::<()>().await;
    }
    let done = effect(&mut world.lock());
    if world.lock().dies_here(member) {
        std::future::pending::<()>().await;
    }
    tokio::time::sleep(latency / 2).await;
    done
}

/// The search store as one member sees it.
pub(crate) struct SimBulk {
    pub(crate) world: Shared,
    pub(crate) member: usize,
}

impl BulkTransport for SimBulk {
    fn send(&self, body: Body) -> Sending<'_> {
        Box::pin(async move {
            call(&self.world, self.member, |world| bulk(world, &body.to_bytes())).await
        })
    }
}

fn bulk(world: &mut World, body: &[u8]) -> Result<BulkAnswer, TransportError> {
    let answer = |status: u16, body: String| {
        Ok(BulkAnswer { status, retry_after: None, body: Bytes::from(body) })
    };
    if world.search.unauthorised {
        return answer(401, "{}".to_owned());
    }
    if world.search.down {
        return Err(TransportError::Retry("connection refused".to_owned()));
    }
    let lines: Vec<&[u8]> = body.split(|byte| *byte == b'\n').filter(|l| !l.is_empty()).collect();
    let fault = if world.faulty() { world.random.below(12) } else { 99 };
    match fault {
        0 => return answer(503, "{}".to_owned()),
        1 => return answer(429, "{}".to_owned()),
        2 if lines.len() > 2 => return answer(413, "{}".to_owned()),
        3 if lines.len() > 4 => return answer(400, "{}".to_owned()),
        _ => {}
    }
    let mut items: Vec<Value> = Vec::new();
    for pair in lines.chunks_exact(2) {
        let partial = fault == 4 && world.random.chance(40);
        items.push(item(world, pair[0], pair[1], partial));
    }
    match fault {
        5 => Err(TransportError::Retry("the answer was lost".to_owned())),
        6 => answer(200, r#"{"took":1,"items":[{"#.to_owned()),
        7 => {
            items.pop();
            answer(200, json!({ "items": items }).to_string())
        }
        _ => answer(200, json!({ "items": items }).to_string()),
    }
}

fn item(world: &mut World, action: &[u8], document: &[u8], fails: bool) -> Value {
    let result = |status: u16, kind: &str| {
        let error = json!({ "type": kind, "reason": "simulated" });
        json!({ "create": { "status": status, "error": error } })
    };
    let action: Value = serde_json::from_slice(action).unwrap_or_default();
    let word = |key: &str| action["create"][key].as_str().unwrap_or_default().to_owned();
    let (index, id) = (word("_index"), word("_id"));
    let Ok(document) = std::str::from_utf8(document) else {
        return result(400, "mapper_parsing_exception");
    };
    if fails {
        return result(429, "rejected_execution_exception");
    }
    if world.search.blocked.as_deref().is_some_and(|blocked| index.contains(blocked)) {
        return result(403, "cluster_block_exception");
    }
    if document.contains("poison") {
        return result(400, "mapper_parsing_exception");
    }
    let documents = &mut world.search.documents;
    if documents.contains_key(&(index.clone(), id.clone())) {
        return result(409, "version_conflict_engine_exception");
    }
    documents.insert((index, id), document.to_owned());
    json!({ "create": { "status": 201 } })
}

/// One bucket as one member sees it.
#[derive(Debug)]
pub(crate) struct SimStore {
    pub(crate) world: Shared,
    pub(crate) member: usize,
    pub(crate) bucket: &'static str,
}

fn retry(reason: RetryReason) -> Retry {
    Retry { reason, detail: "simulated".to_owned(), after: None }
}

fn forbidden() -> Halt {
    Halt { reason: HaltReason::Forbidden, detail: "simulated".to_owned() }
}

impl SimStore {
    fn put(&self, world: &mut World, key: &str, bytes: Bytes, exclusive: bool) -> PutOutcome {
        if world.forbidden.contains(self.bucket) {
            return PutOutcome::Halt(forbidden());
        }
        let slot = (self.bucket.to_owned(), key.to_owned());
        let fault = if world.faulty() { world.random.below(8) } else { 99 };
        // One chain's PUTs fail for a while although others work.
        let stubborn = world.stubborn_key.as_deref().is_some_and(|part| key.contains(part));
        if fault < 2 || stubborn {
            return PutOutcome::Retry(retry(RetryReason::Server));
        }
        if fault == 2 && bytes.len() > 4000 {
            return PutOutcome::TooLarge;
        }
        if exclusive && world.objects.contains_key(&slot) {
            return PutOutcome::Exists;
        }
        world.store(slot, bytes);
        if fault == 3 {
            return PutOutcome::Retry(retry(RetryReason::Timeout));
        }
        PutOutcome::Done
    }

    fn read<T>(
        &self,
        world: &mut World,
        key: &str,
        found: impl FnOnce(&Bytes) -> T,
    ) -> ReadOutcome<T> {
        if world.forbidden.contains(self.bucket) {
            return ReadOutcome::Halt(forbidden());
        }
        if world.faulty() && world.random.chance(20) {
            return ReadOutcome::Retry(retry(RetryReason::Connection));
        }
        let slot = (self.bucket.to_owned(), key.to_owned());
        if world.unreadable.contains(&slot) {
            let reason = UnreadableReason::Archived;
            return ReadOutcome::Unreadable(Unreadable { reason, detail: "cold".to_owned() });
        }
        if let Some(bytes) = world.objects.get(&slot) {
            return ReadOutcome::Done(found(bytes));
        }
        let reason = UnreadableReason::Missing;
        ReadOutcome::Unreadable(Unreadable { reason, detail: "gone".to_owned() })
    }
}

impl ObjectStore for SimStore {
    fn put_new<'a>(&'a self, key: &'a str, bytes: Bytes) -> Answer<'a, PutOutcome> {
        Box::pin(async move {
            call(&self.world, self.member, |world| self.put(world, key, bytes, true)).await
        })
    }

    fn put_any<'a>(&'a self, key: &'a str, bytes: Bytes) -> Answer<'a, PutOutcome> {
        Box::pin(async move {
            call(&self.world, self.member, |world| self.put(world, key, bytes, false)).await
        })
    }

    fn get_suffix<'a>(&'a self, key: &'a str, bytes_max: u64) -> Answer<'a, ReadOutcome<Suffix>> {
        let take = move |bytes: &Bytes| {
            let from = bytes.len().saturating_sub(bytes_max as usize);
            Suffix { bytes: bytes.slice(from..), object_bytes: bytes.len() as u64 }
        };
        Box::pin(async move {
            call(&self.world, self.member, |world| self.read(world, key, take)).await
        })
    }

    fn get<'a>(&'a self, key: &'a str, _bytes_max: u64) -> Answer<'a, ReadOutcome<Bytes>> {
        Box::pin(async move {
            call(&self.world, self.member, |world| self.read(world, key, Bytes::clone)).await
        })
    }

    fn list<'a>(&'a self, request: &'a ListRequest) -> Answer<'a, ReadOutcome<Page>> {
        let list = |world: &mut World| {
            if world.forbidden.contains(self.bucket) {
                return ReadOutcome::Halt(forbidden());
            }
            if world.faulty() && world.random.chance(20) {
                return ReadOutcome::Retry(retry(RetryReason::Throttled));
            }
            let of_bucket = world.objects.iter().filter(|((bucket, _), _)| bucket == self.bucket);
            let under = of_bucket.filter(|((_, key), _)| key.starts_with(&request.prefix));
            let mut objects: Vec<Listed> = under
                .map(|((_, key), bytes)| Listed { key: key.clone(), bytes: bytes.len() as u64 })
                .collect();
            // A stale list lacks the newest.
            if world.faulty() && world.random.chance(40) {
                objects.pop();
            }
            ReadOutcome::Done(Page { objects, next: None })
        };
        Box::pin(async move { call(&self.world, self.member, list).await })
    }
}

/// The dead letters as one member sees them.
pub(crate) struct SimLetters {
    pub(crate) world: Shared,
    pub(crate) member: usize,
}

impl DeadLetterTarget for SimLetters {
    fn write<'a>(&'a self, letters: &'a [Letter]) -> Writing<'a> {
        let write = move |world: &mut World| {
            let mut outcomes = Vec::new();
            for letter in letters {
                let fault = if world.faulty() { world.random.below(6) } else { 99 };
                if fault == 0 || world.letters_down {
                    outcomes.push(LetterOutcome::Retry("simulated".to_owned()));
                    continue;
                }
                let text = String::from_utf8_lossy(&letter.value).into_owned();
                world.dead.push(text);
                let lost = fault == 1;
                outcomes.push(if lost {
                    LetterOutcome::Retry("the answer was lost".to_owned())
                } else {
                    LetterOutcome::Done
                });
            }
            outcomes
        };
        Box::pin(async move { call(&self.world, self.member, write).await })
    }
}
