//! Copies messages out of librdkafka into a [`RecordBatch`]: one buffer for all keys, values and
//! headers. Pure but for the queue it takes from.
//!
//! Invariant: a batch holds consecutive records of one partition stamped by one clock, at most the
//! size it was given, or a single larger record; what does not fit stays in the queue. Next stop:
//! [`crate::unwrap`], by way of the driver.

use rdkafka::types::RDKafkaRespErr;

use super::queue::{Message, PartitionQueue};
use crate::memory::MemoryPermit;
use crate::source::{HeaderEntry, Partition, RecordBatch, RecordEntry, StampKind};

/// What a record costs beside its bytes; counted, so that empty records are bounded too.
const RECORD_COST: usize = 64;

/// A batch is counted four times its raw size, as [`crate::memory::Memory::try_batch`] does.
const COST_FACTOR: u64 = 4;

/// Messages asked for at once before the mean size is known.
const FIRST_TAKE: usize = 64;

/// Where reading stands in a partition.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cursor {
    /// The next offset to deliver.
    pub(super) next_offset: i64,
    /// Mean size of its records, bytes; 0 when unknown.
    pub(super) mean_bytes: usize,
}

/// What an attempt to take a batch gave.
#[derive(Debug)]
pub(super) enum Taken {
    /// A batch; its permit is the caller's to set.
    Batch(Filled),
    /// Nothing is there.
    Nothing,
    /// The next record alone needs a permit for this many bytes.
    TooLarge(u64),
    /// An error came in place of a record.
    Failed {
        /// librdkafka's code.
        code: i32,
        /// Its words.
        text: String,
    },
}

/// A batch in the making.
#[derive(Debug)]
pub(super) struct Filled {
    bytes: Vec<u8>,
    records: Vec<RecordEntry>,
    headers: Vec<HeaderEntry>,
    stamp: StampKind,
}

/// Takes up to `limit` bytes of records from `cursor` on, and moves it.
pub(super) fn take(queue: &mut PartitionQueue, cursor: &mut Cursor, limit: usize) -> Taken {
    let mut filled = Filled::new();
    loop {
        if queue.front().is_none() {
            let count = messages_for(limit.saturating_sub(filled.size()), cursor.mean_bytes);
            if queue.refill(count) == 0 {
                break;
            }
            filled.reserve(queue.bytes_ahead(), limit);
        }
        let Some(message) = queue.front() else { break };
        if message.error() != 0 {
            if !filled.records.is_empty() {
                break;
            }
            let failed = Taken::Failed { code: message.error(), text: message.error_text() };
            queue.pop();
            return failed;
        }
        // Fetched again after a rebalance or a move: delivered already.
        if message.offset() < cursor.next_offset {
            queue.pop();
            continue;
        }
        if !filled.takes(&message, limit) {
            if filled.records.is_empty() {
                return Taken::TooLarge(record_size(&message) as u64);
            }
            break;
        }
        cursor.next_offset = message.offset() + 1;
        filled.push(&message);
        queue.pop();
    }
    if filled.records.is_empty() {
        return Taken::Nothing;
    }
    let mean = filled.bytes.len() / filled.records.len();
    let before = if cursor.mean_bytes == 0 { mean } else { cursor.mean_bytes };
    cursor.mean_bytes = (before * 3 + mean) / 4;
    Taken::Batch(filled)
}

/// How many messages to ask for to fill `room` bytes.
fn messages_for(room: usize, mean_bytes: usize) -> usize {
    if mean_bytes == 0 { FIRST_TAKE } else { room / (mean_bytes + RECORD_COST) + 1 }
}

fn record_size(message: &Message<'_>) -> usize {
    let mut size = message.size() + RECORD_COST;
    message.headers(|name, value| size += name.len() + value.unwrap_or_default().len());
    size
}

impl Filled {
    fn new() -> Filled {
        let (bytes, records, headers) = (Vec::new(), Vec::new(), Vec::new());
        Filled { bytes, records, headers, stamp: StampKind::None }
    }

    /// Makes room for what was taken in one step, rather than by doubling.
    fn reserve(&mut self, ahead: usize, limit: usize) {
        self.bytes.reserve(ahead.min(limit.saturating_sub(self.bytes.len())));
    }

    fn size(&self) -> usize {
        self.bytes.len() + self.records.len() * RECORD_COST
    }

    /// Whether the record fits: into the size, and to the clock of those before it.
    fn takes(&self, message: &Message<'_>, limit: usize) -> bool {
        let (_, stamp) = message.time();
        if !self.records.is_empty() && stamp != self.stamp {
            return false;
        }
        // Headers are parsed only where the size is close.
        let rough = self.size() + message.size() + RECORD_COST;
        if rough > limit {
            return false;
        }
        rough + (limit / 8) <= limit || self.size() + record_size(message) <= limit
    }

    fn push(&mut self, message: &Message<'_>) {
        let (time_ms, stamp) = message.time();
        self.stamp = stamp;
        let first_header = self.headers.len() as u32;
        let key = message.key().map(|key| self.copy(key));
        let value = message.value().map(|value| self.copy(value));
        message.headers(|name, value| {
            let name = match std::str::from_utf8(name) {
                Ok(name) => self.copy(name.as_bytes()),
                Err(_) => self.copy(String::from_utf8_lossy(name).as_bytes()),
            };
            let value = self.copy(value.unwrap_or_default());
            self.headers.push(HeaderEntry { name, value });
        });
        let headers = (first_header, self.headers.len() as u32);
        self.records.push(RecordEntry { offset: message.offset(), time_ms, key, value, headers });
    }

    fn copy(&mut self, bytes: &[u8]) -> (u32, u32) {
        let start = self.bytes.len() as u32;
        self.bytes.extend_from_slice(bytes);
        (start, self.bytes.len() as u32)
    }

    /// The batch, under a permit that gives back what was not needed.
    pub(super) fn finish(
        self,
        partition: Partition,
        epoch: u64,
        ends: (i64, i64),
        mut permit: MemoryPermit,
    ) -> RecordBatch {
        permit.shrink_to((self.size() as u64).saturating_mul(COST_FACTOR));
        let Filled { bytes, records, headers, stamp } = self;
        let (next_offset, end_offset) = ends;
        RecordBatch {
            partition,
            epoch,
            bytes,
            records,
            headers,
            stamp,
            received_ms: 0,
            next_offset,
            end_offset,
            permit,
        }
    }
}

/// True for the error that stands for an offset the broker does not keep.
pub(super) fn is_out_of_range(code: i32) -> bool {
    code == RDKafkaRespErr::RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET as i32
        || code == RDKafkaRespErr::RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE as i32
}

/// True for records that came and cannot be read: a wrong checksum, a broken compression, an
/// unknown format. librdkafka may go on behind them, and what is not read again would be lost.
pub(super) fn is_unreadable(code: i32) -> bool {
    code == RDKafkaRespErr::RD_KAFKA_RESP_ERR__BAD_MSG as i32
        || code == RDKafkaRespErr::RD_KAFKA_RESP_ERR__BAD_COMPRESSION as i32
        || code == RDKafkaRespErr::RD_KAFKA_RESP_ERR__NOT_IMPLEMENTED as i32
}

/// True for errors that are no news: the end of a partition.
pub(super) fn is_end(code: i32) -> bool {
    code == RDKafkaRespErr::RD_KAFKA_RESP_ERR__PARTITION_EOF as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_asked_for_by_their_mean_size() {
        assert_eq!(messages_for(1 << 20, 0), FIRST_TAKE);
        assert_eq!(messages_for(1 << 20, 140), (1 << 20) / 204 + 1);
        assert_eq!(messages_for(0, 140), 1);
    }
}
