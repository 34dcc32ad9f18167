//! The parts of a document that all lines of a record share, encoded once.
//!
//! Invariant: the bytes are those of the record given last. Next stop: `encode`, which copies them.
use super::record::same;
use super::{ReceivedSource, Record};
use crate::json::{write_int, write_string};
use crate::origin::{write_id_head, write_id_place};
use crate::stamp::Stamp;

/// The parts of a document that a record gives, ready to copy.
#[derive(Debug, Default)]
pub(super) struct EncodedRecord {
    lineage: String,
    topic: String,
    partition: i32,
    /// `,"origin":{"lineage":…,"topic":…,"partition":…,"offset":`
    pub(super) origin_head: Vec<u8>,
    /// `…,"time":…,"index":`
    pub(super) origin_tail: Vec<u8>,
    /// What the ids of this partition begin with: `<lineage>-<topic>-<partition>-`.
    pub(super) id_head: Vec<u8>,
    /// `<offset>-<time base36>-`
    pub(super) id_tail: Vec<u8>,
    stamp: Stamp,
    received_ns: i64,
    received_source: Option<ReceivedSource>,
    /// The record time as RFC 3339, without quotes.
    pub(super) received_text: Vec<u8>,
    /// `,"received":"…","received_source":"…"`
    pub(super) received: Vec<u8>,
}

impl EncodedRecord {
    pub(super) fn update(&mut self, record: &Record<'_>) {
        let same_partition = self.partition == record.partition
            && same(self.topic.as_bytes(), record.topic.as_bytes())
            && same(self.lineage.as_bytes(), record.lineage.as_bytes());
        if !same_partition || self.origin_head.is_empty() {
            self.update_partition(record);
        }
        let EncodedRecord { origin_tail, id_tail, .. } = self;
        origin_tail.clear();
        write_int(origin_tail, record.offset);
        origin_tail.extend_from_slice(br#","time":"#);
        write_int(origin_tail, record.time_ms);
        origin_tail.extend_from_slice(br#","index":"#);
        id_tail.clear();
        write_id_place(id_tail, record.offset, record.time_ms);
        let received = (self.received_ns, self.received_source);
        if received != (record.received_ns, Some(record.received_source)) {
            self.update_received(record);
        }
    }

    fn update_partition(&mut self, record: &Record<'_>) {
        self.lineage.clear();
        self.lineage.push_str(record.lineage);
        self.topic.clear();
        self.topic.push_str(record.topic);
        self.partition = record.partition;
        self.id_head.clear();
        write_id_head(&mut self.id_head, record.lineage, record.topic, record.partition);
        let head = &mut self.origin_head;
        head.clear();
        head.extend_from_slice(br#","origin":{"lineage":"#);
        write_string(head, record.lineage);
        head.extend_from_slice(br#","topic":"#);
        write_string(head, record.topic);
        head.extend_from_slice(br#","partition":"#);
        write_int(head, i64::from(record.partition));
        head.extend_from_slice(br#","offset":"#);
    }

    fn update_received(&mut self, record: &Record<'_>) {
        self.received_ns = record.received_ns;
        self.received_source = Some(record.received_source);
        self.received_text.clear();
        self.stamp.write(&mut self.received_text, record.received_ns);
        self.received.clear();
        self.received.extend_from_slice(br#","received":""#);
        self.received.extend_from_slice(&self.received_text);
        self.received.extend_from_slice(br#"","received_source":""#);
        self.received.extend_from_slice(record.received_source.as_str().as_bytes());
        self.received.push(b'"');
    }
}
