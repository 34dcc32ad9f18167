//! The one file that speaks to librdkafka's C interface: messages taken by the batch from a
//! partition's own queue, commits with a reply of their own, commit metadata as bytes, topic ids.
//! The `rdkafka` crate offers none of these (its reader of metadata panics on foreign bytes).
//!
//! Invariants the proofs rest on: every pointer is made here, is owned by one struct and never
//! leaves it; each struct holds the consumer by `Arc`, so that librdkafka's handle outlives its
//! queues and messages; error codes are read as integers, since a broker may send one that the
//! bindings' enum does not have. Next stop: `batch`, which copies the messages out.
#![allow(unsafe_code)]

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::marker::PhantomData;
use std::ptr::{self, NonNull};
use std::slice;
use std::sync::Arc;
use std::time::Duration;

use rdkafka::TopicPartitionList;
use rdkafka::consumer::Consumer as _;
use rdkafka_sys as sys;
use tokio::sync::Notify;

use super::context::Consumer;
use crate::source::StampKind;

unsafe extern "C" {
    /// As in the bindings, but for the result: a broker's code may be one the enum does not have.
    #[link_name = "rd_kafka_event_error"]
    fn event_error(event: *mut sys::rd_kafka_event_t) -> c_int;
    /// As above.
    #[link_name = "rd_kafka_error_code"]
    fn error_code(error: *const sys::rd_kafka_error_t) -> c_int;
}

/// Most messages taken by one call: 64 KiB of pointers.
const TAKE_MAX: usize = 8192;

/// The queue of one partition, and the messages taken from it that nobody has read yet.
#[derive(Debug)]
pub(super) struct PartitionQueue {
    // Invariant: owned, not null until dropped, and destroyed before `consumer` is let go.
    queue: NonNull<sys::rd_kafka_queue_t>,
    // Invariant: from `next` on, owned messages of `queue`, destroyed before `consumer` is let go;
    // those before `next` are gone.
    taken: Vec<*mut sys::rd_kafka_message_t>,
    next: usize,
    // Invariant: librdkafka's callback points to it until `drop` has unset the callback.
    wake: Arc<Notify>,
    consumer: ConsumerHandle,
}

/// Keeps librdkafka's handle alive.
#[derive(Clone)]
struct ConsumerHandle(Arc<Consumer>);

impl std::fmt::Debug for ConsumerHandle {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Consumer")
    }
}

impl PartitionQueue {
    /// Splits the partition's queue off the consumer's: from now on its messages come here only.
    /// Must be called before the partition is assigned; librdkafka remembers it over later
    /// assignments. `wake` is notified when an empty queue receives something. `None` when
    /// librdkafka knows no such partition.
    pub(super) fn open(
        consumer: &Arc<Consumer>,
        topic: &str,
        partition: i32,
        wake: &Arc<Notify>,
    ) -> Option<PartitionQueue> {
        let topic = CString::new(topic).ok()?;
        // SAFETY: the handle is alive (we hold the Arc), the name is a C string that lives over
        // the call. The result is null or a queue reference that we own.
        let queue = unsafe {
            let client = consumer.client().native_ptr();
            sys::rd_kafka_queue_get_partition(client, topic.as_ptr(), partition)
        };
        let queue = NonNull::new(queue)?;
        // SAFETY: the queue is ours; a null destination means "forward no more".
        unsafe { sys::rd_kafka_queue_forward(queue.as_ptr(), ptr::null_mut()) };
        let opened = PartitionQueue {
            queue,
            taken: Vec::new(),
            next: 0,
            wake: Arc::clone(wake),
            consumer: ConsumerHandle(Arc::clone(consumer)),
        };
        set_wake(opened.queue, &opened.wake);
        Some(opened)
    }

    /// Takes what is there, up to `count` messages, without waiting, once all that was taken
    /// before is gone. Answers how many there are.
    pub(super) fn refill(&mut self, count: usize) -> usize {
        if self.next < self.taken.len() {
            return self.taken.len() - self.next;
        }
        let count = count.clamp(1, TAKE_MAX);
        self.next = 0;
        self.taken.clear();
        self.taken.resize(count, ptr::null_mut());
        // SAFETY: the queue is alive; `taken` has room for `count` pointers, and librdkafka
        // writes at most that many.
        let taken = unsafe {
            let queue = self.queue.as_ptr();
            sys::rd_kafka_consume_batch_queue(queue, 0, self.taken.as_mut_ptr(), count)
        };
        // Negative on error, which leaves the array alone.
        self.taken.truncate(usize::try_from(taken).unwrap_or(0));
        self.taken.len()
    }

    /// The oldest message that was taken and not let go.
    pub(super) fn front(&self) -> Option<Message<'_>> {
        let message = NonNull::new(*self.taken.get(self.next)?)?;
        Some(Message { message, queue: PhantomData })
    }

    /// Bytes of keys and values of all that was taken and not let go.
    pub(super) fn bytes_ahead(&self) -> usize {
        let ahead = self.taken[self.next.min(self.taken.len())..].iter();
        let messages = ahead.filter_map(|message| NonNull::new(*message));
        messages.map(|message| Message { message, queue: PhantomData }.size()).sum()
    }

    /// Lets the oldest message go.
    pub(super) fn pop(&mut self) {
        if let Some(message) = self.taken.get(self.next).and_then(|taken| NonNull::new(*taken)) {
            // SAFETY: the message is ours, no `Message` borrows from `self` (it is borrowed
            // mutably), and `next` moves past it: it is destroyed once.
            unsafe { sys::rd_kafka_message_destroy(message.as_ptr()) };
        }
        self.next += 1;
    }

    /// Lets all messages go that were taken.
    pub(super) fn clear(&mut self) {
        while self.next < self.taken.len() {
            self.pop();
        }
    }

    /// The partition's end as the last fetch told it, without asking the broker.
    pub(super) fn cached_end(&self, topic: &str, partition: i32) -> Option<i64> {
        let topic = CString::new(topic).ok()?;
        let (mut low, mut high) = (-1, -1);
        // SAFETY: the handle is alive, the name is a C string, both results are ours.
        let code = unsafe {
            let client = self.consumer.0.client().native_ptr();
            let name = topic.as_ptr();
            sys::rd_kafka_get_watermark_offsets(
                client,
                name,
                partition,
                &raw mut low,
                &raw mut high,
            ) as i32
        };
        (code == 0 && high >= 0).then_some(high)
    }
}

impl Drop for PartitionQueue {
    fn drop(&mut self) {
        self.clear();
        // SAFETY: unsetting takes the queue's lock, under which callbacks run: none runs after,
        // so that `wake` may go. The queue is ours and not used again.
        unsafe {
            sys::rd_kafka_queue_cb_event_enable(self.queue.as_ptr(), None, ptr::null_mut());
            sys::rd_kafka_queue_destroy(self.queue.as_ptr());
        }
    }
}

fn set_wake(queue: NonNull<sys::rd_kafka_queue_t>, wake: &Arc<Notify>) {
    unsafe extern "C" fn notify(_: *mut sys::rd_kafka_t, wake: *mut c_void) {
        // SAFETY: the pointer is the `Notify` of a struct of this file, which holds it by Arc
        // until it has unset this callback. `notify_one` neither blocks nor panics.
        unsafe { (*wake.cast::<Notify>()).notify_one() };
    }
    let opaque = Arc::as_ptr(wake).cast_mut().cast::<c_void>();
    // SAFETY: the queue is alive; see `notify` for the pointer.
    unsafe { sys::rd_kafka_queue_cb_event_enable(queue.as_ptr(), Some(notify), opaque) };
}

/// A message as librdkafka holds it: a record, or an error in its place.
pub(super) struct Message<'a> {
    // Invariant: alive for 'a, which borrows the queue that owns it.
    message: NonNull<sys::rd_kafka_message_t>,
    queue: PhantomData<&'a PartitionQueue>,
}

impl<'a> Message<'a> {
    /// 0 for a record, else librdkafka's code.
    pub(super) fn error(&self) -> i32 {
        // SAFETY: the message is alive and initialised; read as the integer it is in C.
        unsafe { (&raw const (*self.message.as_ptr()).err).cast::<i32>().read() }
    }

    /// What librdkafka says of the error.
    pub(super) fn error_text(&self) -> String {
        // SAFETY: the message is alive; the text is null or a C string that lives as long.
        unsafe {
            let text = sys::rd_kafka_message_errstr(self.message.as_ptr());
            if text.is_null() {
                return String::new();
            }
            CStr::from_ptr(text).to_string_lossy().into_owned()
        }
    }

    pub(super) fn offset(&self) -> i64 {
        // SAFETY: the message is alive; librdkafka does not change what it has delivered.
        unsafe { (*self.message.as_ptr()).offset }
    }

    /// Bytes of key and value; headers are not counted.
    pub(super) fn size(&self) -> usize {
        let message = self.message.as_ptr();
        // SAFETY: as for the offset.
        unsafe { (*message).len.saturating_add((*message).key_len) }
    }

    pub(super) fn key(&self) -> Option<&'a [u8]> {
        // SAFETY: librdkafka gives null, or a block of `key_len` bytes that lives as long as the
        // message.
        unsafe { bytes((*self.message.as_ptr()).key, (*self.message.as_ptr()).key_len) }
    }

    /// `None` is a tombstone.
    pub(super) fn value(&self) -> Option<&'a [u8]> {
        // SAFETY: as for the key.
        unsafe { bytes((*self.message.as_ptr()).payload, (*self.message.as_ptr()).len) }
    }

    /// Milliseconds since the epoch, 0 where there is none, and whose clock it was.
    pub(super) fn time(&self) -> (i64, StampKind) {
        let mut kind = sys::rd_kafka_timestamp_type_t::RD_KAFKA_TIMESTAMP_NOT_AVAILABLE;
        // SAFETY: the message is alive; the kind is written by librdkafka itself, from its own
        // three constants.
        let time = unsafe { sys::rd_kafka_message_timestamp(self.message.as_ptr(), &raw mut kind) };
        match kind {
            sys::rd_kafka_timestamp_type_t::RD_KAFKA_TIMESTAMP_LOG_APPEND_TIME => {
                (time.max(0), StampKind::LogAppendTime)
            }
            sys::rd_kafka_timestamp_type_t::RD_KAFKA_TIMESTAMP_CREATE_TIME => {
                (time.max(0), StampKind::CreateTime)
            }
            sys::rd_kafka_timestamp_type_t::RD_KAFKA_TIMESTAMP_NOT_AVAILABLE => {
                (0, StampKind::None)
            }
        }
    }

    /// Calls `each` with every header: name, and value where there is one.
    pub(super) fn headers(&self, mut each: impl FnMut(&'a [u8], Option<&'a [u8]>)) {
        let mut headers = ptr::null_mut();
        // SAFETY: the message is alive; what is returned belongs to it.
        let code = unsafe {
            sys::rd_kafka_message_headers(self.message.as_ptr(), &raw mut headers) as i32
        };
        if code != 0 || headers.is_null() {
            return;
        }
        for index in 0.. {
            let (mut name, mut value, mut size) = (ptr::null(), ptr::null(), 0);
            // SAFETY: the headers live as long as the message; all three results are ours.
            let code = unsafe {
                let (name, value) = (&raw mut name, &raw mut value);
                sys::rd_kafka_header_get_all(headers, index, name, value, &raw mut size) as i32
            };
            if code != 0 || name.is_null() {
                return;
            }
            // SAFETY: the name is a C string; the value is null or `size` bytes; both live as
            // long as the message.
            let (name, value) = unsafe { (CStr::from_ptr(name), bytes(value, size)) };
            each(name.to_bytes(), value);
        }
    }
}

/// # Safety
/// `start` must be null or the start of `size` bytes that live for 'a and do not change.
unsafe fn bytes<'a>(start: *const c_void, size: usize) -> Option<&'a [u8]> {
    if start.is_null() {
        return None;
    }
    // SAFETY: asked of the caller.
    Some(unsafe { slice::from_raw_parts(start.cast::<u8>(), size) })
}

/// One element of a list of partitions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ListEntry {
    pub(super) topic: String,
    pub(super) partition: i32,
    /// An offset, or one of librdkafka's negative words.
    pub(super) offset: i64,
    /// Commit metadata, whatever bytes it holds.
    pub(super) metadata: Vec<u8>,
    /// 0, or librdkafka's code.
    pub(super) error: i32,
}

/// The elements of a list.
pub(super) fn read_list(list: &TopicPartitionList) -> Vec<ListEntry> {
    // SAFETY: the list is alive and not changed while it is borrowed.
    unsafe { read_raw_list(list.ptr()) }
}

/// # Safety
/// `list` must be null or a list that is alive and does not change during the call.
unsafe fn read_raw_list(list: *const sys::rd_kafka_topic_partition_list_t) -> Vec<ListEntry> {
    if list.is_null() {
        return Vec::new();
    }
    // SAFETY: alive, as asked of the caller; `elems` holds `cnt` initialised elements. Elements
    // are read field by field, the error as an integer.
    unsafe {
        let count = usize::try_from((*list).cnt).unwrap_or(0);
        let mut entries = Vec::with_capacity(count);
        for index in 0..count {
            let element = (*list).elems.add(index);
            let topic = CStr::from_ptr((*element).topic).to_string_lossy().into_owned();
            let metadata = bytes((*element).metadata, (*element).metadata_size);
            entries.push(ListEntry {
                topic,
                partition: (*element).partition,
                offset: (*element).offset,
                metadata: metadata.unwrap_or_default().to_vec(),
                error: (&raw const (*element).err).cast::<i32>().read(),
            });
        }
        entries
    }
}

/// A queue for the replies to commits.
#[derive(Debug)]
pub(super) struct CommitQueue {
    // Invariant: as in `PartitionQueue`.
    queue: NonNull<sys::rd_kafka_queue_t>,
    // Invariant: as in `PartitionQueue`; held for the callback alone.
    _wake: Arc<Notify>,
    consumer: ConsumerHandle,
}

/// The reply to a commit.
#[derive(Debug)]
pub(super) struct CommitReply {
    /// The number it was sent with.
    pub(super) number: usize,
    /// 0, or the code of the whole request.
    pub(super) error: i32,
    /// One an entry, in any order.
    pub(super) entries: Vec<ListEntry>,
}

impl CommitQueue {
    pub(super) fn new(consumer: &Arc<Consumer>, wake: &Arc<Notify>) -> CommitQueue {
        let queue = new_queue(consumer);
        set_wake(queue, wake);
        let consumer = ConsumerHandle(Arc::clone(consumer));
        CommitQueue { queue, _wake: Arc::clone(wake), consumer }
    }

    /// Sends a commit; the reply comes by [`CommitQueue::poll`] under `number`. An error is a code
    /// of librdkafka, and no reply comes.
    pub(super) fn send(&self, list: &TopicPartitionList, number: usize) -> Result<(), i32> {
        // SAFETY: handle, list and queue are alive; librdkafka copies the list. The opaque is a
        // number, never followed as a pointer.
        let code = unsafe {
            let client = self.consumer.0.client().native_ptr();
            let opaque = ptr::without_provenance_mut(number);
            sys::rd_kafka_commit_queue(client, list.ptr(), self.queue.as_ptr(), None, opaque) as i32
        };
        if code == 0 { Ok(()) } else { Err(code) }
    }

    /// A reply that has come, without waiting.
    pub(super) fn poll(&self) -> Option<CommitReply> {
        let event = Event::poll(self.queue, 0)?;
        // SAFETY: the event is alive until the end of this function, and with it its list.
        unsafe {
            if sys::rd_kafka_event_type(event.0.as_ptr()) != sys::RD_KAFKA_EVENT_OFFSET_COMMIT {
                return None;
            }
            let list = sys::rd_kafka_event_topic_partition_list(event.0.as_ptr());
            Some(CommitReply {
                number: sys::rd_kafka_event_opaque(event.0.as_ptr()).addr(),
                error: event_error(event.0.as_ptr()),
                entries: read_raw_list(list),
            })
        }
    }
}

impl Drop for CommitQueue {
    fn drop(&mut self) {
        // SAFETY: as in `PartitionQueue`.
        unsafe {
            sys::rd_kafka_queue_cb_event_enable(self.queue.as_ptr(), None, ptr::null_mut());
            sys::rd_kafka_queue_destroy(self.queue.as_ptr());
        }
    }
}

fn new_queue(consumer: &Arc<Consumer>) -> NonNull<sys::rd_kafka_queue_t> {
    // SAFETY: the handle is alive; the queue is ours.
    let queue = unsafe { sys::rd_kafka_queue_new(consumer.client().native_ptr()) };
    NonNull::new(queue).expect("librdkafka aborts rather than return no queue")
}

/// An event taken from a queue.
struct Event(NonNull<sys::rd_kafka_event_t>);

impl Event {
    fn poll(queue: NonNull<sys::rd_kafka_queue_t>, timeout_ms: c_int) -> Option<Event> {
        // SAFETY: the queue is alive; the event is null or ours.
        NonNull::new(unsafe { sys::rd_kafka_queue_poll(queue.as_ptr(), timeout_ms) }).map(Event)
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: ours, and destroyed once.
        unsafe { sys::rd_kafka_event_destroy(self.0.as_ptr()) };
    }
}

/// The ids of topics, 16 bytes each; topics the broker does not know, or gives no id for, are left
/// out. `None` when the broker does not answer in time. Asks the named broker, since a cluster may
/// be without a controller for a while, and waits up to `timeout`.
pub(super) fn topic_ids(
    consumer: &Arc<Consumer>,
    broker: i32,
    topics: &[&str],
    timeout: Duration,
) -> Option<Vec<(String, [u8; 16])>> {
    let names: Vec<CString> = topics.iter().filter_map(|name| CString::new(*name).ok()).collect();
    let mut pointers: Vec<*const c_char> = names.iter().map(|name| name.as_ptr()).collect();
    if pointers.is_empty() {
        return Some(Vec::new());
    }
    let timeout_ms = c_int::try_from(timeout.as_millis()).unwrap_or(c_int::MAX);
    let queue = new_queue(consumer);
    // SAFETY: handle and queue are alive; the names live over the call that copies them; what is
    // made is destroyed once, the queue after the event that came from it.
    unsafe {
        let client = consumer.client().native_ptr();
        let wanted =
            sys::rd_kafka_TopicCollection_of_topic_names(pointers.as_mut_ptr(), pointers.len());
        let kind = sys::rd_kafka_admin_op_t::RD_KAFKA_ADMIN_OP_DESCRIBETOPICS;
        let options = sys::rd_kafka_AdminOptions_new(client, kind);
        // What is refused leaves the default.
        let mut refused = [0; 128];
        let (text, size) = (refused.as_mut_ptr(), refused.len());
        sys::rd_kafka_AdminOptions_set_request_timeout(options, timeout_ms, text, size);
        sys::rd_kafka_AdminOptions_set_broker(options, broker, text, size);
        sys::rd_kafka_DescribeTopics(client, wanted, options, queue.as_ptr());
        sys::rd_kafka_AdminOptions_destroy(options);
        sys::rd_kafka_TopicCollection_destroy(wanted);
        let event = Event::poll(queue, timeout_ms.saturating_add(500));
        let ids = event.as_ref().and_then(read_topic_ids);
        drop(event);
        sys::rd_kafka_queue_destroy(queue.as_ptr());
        ids
    }
}

fn read_topic_ids(event: &Event) -> Option<Vec<(String, [u8; 16])>> {
    // SAFETY: the event is alive, and all that is read belongs to it.
    unsafe {
        let result = sys::rd_kafka_event_DescribeTopics_result(event.0.as_ptr());
        if result.is_null() || event_error(event.0.as_ptr()) != 0 {
            return None;
        }
        let mut count = 0;
        let topics = sys::rd_kafka_DescribeTopics_result_topics(result, &raw mut count);
        let mut ids = Vec::with_capacity(count);
        for index in 0..count {
            let topic = *topics.add(index);
            let error = sys::rd_kafka_TopicDescription_error(topic);
            let id = sys::rd_kafka_TopicDescription_topic_id(topic);
            let failed = !error.is_null() && error_code(error) != 0;
            if failed || id.is_null() {
                continue;
            }
            let high = sys::rd_kafka_Uuid_most_significant_bits(id);
            let low = sys::rd_kafka_Uuid_least_significant_bits(id);
            let id = (u128::from(high.cast_unsigned()) << 64) | u128::from(low.cast_unsigned());
            if id != 0 {
                let name = CStr::from_ptr(sys::rd_kafka_TopicDescription_name(topic));
                ids.push((name.to_string_lossy().into_owned(), id.to_be_bytes()));
            }
        }
        Some(ids)
    }
}
