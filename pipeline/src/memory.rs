//! The one memory budget. `memory` in the configuration is divided into parts that are held by
//! permits; what has no permit is not read. Invariant: the parts add up to the limit, and a permit
//! gives its bytes back when it is dropped.
//!
//! Off the trip: sources, sinks and the archive take from it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Granularity of permits: tokio's semaphore counts in u32.
const UNIT: u64 = 1024;

/// What a batch takes for each raw byte.
const RAW_FACTOR: u64 = 8;

/// Least that a batch takes, so that the number of batches is bounded too.
const BATCH_BYTES_MIN: u64 = 64 << 10;

/// How the limit is divided; shares in sixteenths. The rest is for what has no permit: librdkafka's
/// bookkeeping of each message, requests in flight, compressors, and what the allocator keeps.
const BATCHES_SHARE: u64 = 6;
const PREFETCH_SHARE: u64 = 3;
const ARCHIVE_SHARE: u64 = 3;
const SHARES: u64 = 16;

/// The budget of one process.
#[derive(Debug, Clone)]
pub struct Memory {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    limit: u64,
    batches: Arc<Semaphore>,
    batch_units: u32,
    archive: AtomicU64,
}

/// Bytes held for one batch.
#[derive(Debug)]
pub struct MemoryPermit {
    permit: Option<OwnedSemaphorePermit>,
}

impl Memory {
    /// A budget of `limit` bytes (at least 16 MiB).
    pub fn new(limit: u64) -> Memory {
        let limit = limit.max(16 << 20);
        let batch_units = u32::try_from(limit * BATCHES_SHARE / SHARES / UNIT).unwrap_or(u32::MAX);
        let batches = Arc::new(Semaphore::new(batch_units as usize));
        let archive = AtomicU64::new(0);
        Memory { inner: Arc::new(Inner { limit, batches, batch_units, archive }) }
    }

    /// The whole budget, bytes.
    pub fn limit(&self) -> u64 {
        self.inner.limit
    }

    /// Bytes that librdkafka may hold as prefetched records, over all partitions.
    pub fn prefetch_bytes(&self) -> u64 {
        self.inner.limit * PREFETCH_SHARE / SHARES
    }

    /// Bytes that open archive objects may hold, over all archive sinks.
    pub fn archive_limit(&self) -> u64 {
        self.inner.limit * ARCHIVE_SHARE / SHARES
    }

    /// Most batches that can hold a permit at once.
    pub fn batches_max(&self) -> usize {
        (u64::from(self.inner.batch_units) * UNIT / BATCH_BYTES_MIN) as usize
    }

    /// Bytes held by batches now.
    pub fn batches_used(&self) -> u64 {
        let free = self.inner.batches.available_permits() as u64;
        (u64::from(self.inner.batch_units)).saturating_sub(free) * UNIT
    }

    /// Bytes held by open archive objects now.
    pub fn archive_used(&self) -> u64 {
        self.inner.archive.load(Ordering::Relaxed)
    }

    /// An archive sink reports that its open objects grew or shrank.
    pub fn archive_changed(&self, before: u64, after: u64) {
        if after >= before {
            self.inner.archive.fetch_add(after - before, Ordering::Relaxed);
        } else {
            self.inner.archive.fetch_sub(before - after, Ordering::Relaxed);
        }
    }

    /// Memory for a batch of `raw_bytes`: the raw bytes and the documents made of them. `None`
    /// while the budget is used up: the caller does not read. One batch always fits.
    pub fn try_batch(&self, raw_bytes: u64) -> Option<MemoryPermit> {
        let units = self.batch_units(raw_bytes);
        let permit = Arc::clone(&self.inner.batches).try_acquire_many_owned(units).ok()?;
        Some(MemoryPermit { permit: Some(permit) })
    }

    /// As [`Memory::try_batch`], waiting until there is room.
    pub async fn batch(&self, raw_bytes: u64) -> MemoryPermit {
        let units = self.batch_units(raw_bytes);
        let permit = Arc::clone(&self.inner.batches).acquire_many_owned(units).await.ok();
        MemoryPermit { permit }
    }

    /// Raw bytes at which a source ends a batch: 1 MiB, less when the budget is small.
    pub fn batch_bytes(&self) -> usize {
        (self.inner.limit / 256).clamp(BATCH_BYTES_MIN, 1 << 20) as usize
    }

    fn batch_units(&self, raw_bytes: u64) -> u32 {
        // The raw line once, its document about six times, and the entries beside them.
        let bytes = raw_bytes.saturating_mul(RAW_FACTOR).max(BATCH_BYTES_MIN);
        u32::try_from(bytes.div_ceil(UNIT)).unwrap_or(u32::MAX).min(self.inner.batch_units)
    }
}

impl MemoryPermit {
    /// A permit of nothing, for tests and finite sources.
    pub fn none() -> MemoryPermit {
        MemoryPermit { permit: None }
    }

    /// Bytes held.
    pub fn bytes(&self) -> u64 {
        self.permit.as_ref().map_or(0, |permit| permit.num_permits() as u64 * UNIT)
    }

    /// Gives back what the batch turned out not to need.
    pub fn shrink_to(&mut self, bytes: u64) {
        let Some(permit) = &mut self.permit else { return };
        let bytes = bytes.max(BATCH_BYTES_MIN);
        let keep = usize::try_from(bytes.div_ceil(UNIT)).unwrap_or(usize::MAX);
        let held = permit.num_permits();
        if keep < held {
            drop(permit.split(held - keep));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_permit_gives_back_what_it_does_not_need() {
        let memory = Memory::new(64 << 20);
        let mut permit = memory.try_batch(1 << 20).expect("room");
        assert_eq!(permit.bytes(), 8 << 20);
        permit.shrink_to(1 << 20);
        assert_eq!(memory.batches_used(), 1 << 20);
        drop(permit);
        assert_eq!(memory.batches_used(), 0);
    }

    #[test]
    fn the_budget_ends_and_one_huge_batch_still_fits() {
        let memory = Memory::new(16 << 20);
        let huge = memory.try_batch(1 << 40).expect("one batch always fits");
        assert!(memory.try_batch(1).is_none());
        drop(huge);
        assert!(memory.try_batch(1).is_some());
    }
}
