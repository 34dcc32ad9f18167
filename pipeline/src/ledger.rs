//! Which lines of one partition are settled in which sink. Pure bookkeeping of one assignment
//! generation: no clock, no I/O. The watermark it answers is what [`crate::commit`] commits.
//!
//! Invariants: a line counts as unsettled in every sink until it was routed, and from then on in
//! the sinks it was routed to; the watermark is contiguous; it never cuts a joined record, nor a
//! Kafka record of several lines.

use std::collections::{BTreeMap, VecDeque};

use crate::delivery_rules::DeliveryRules;

/// Most sinks one pipeline can have: routes are 64-bit sets.
pub const SINKS_MAX: usize = 64;

/// What the ledger must know of one event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LedgerEvent {
    /// Offset of its first line's record.
    pub first_offset: i64,
    /// Offset of its last line's record; equal to the first but for joined records.
    pub last_offset: i64,
    /// Sinks that owe it, one bit each; zero when it was dropped.
    pub sinks: u64,
}

/// One part of a batch's events; most batches have one.
#[derive(Debug, Clone, Copy)]
pub struct RoutedPart<'a> {
    /// The events, numbered on from the part before.
    pub events: &'a [LedgerEvent],
    /// The oldest line that the joining stage holds.
    pub open_from: Option<i64>,
    /// The oldest piece that is held of a line.
    pub pieces_from: Option<i64>,
    /// No more parts follow.
    pub is_last: bool,
}

/// What the watermark waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holder {
    /// Nothing: everything that was read is settled.
    Nothing,
    /// A batch that is not routed yet.
    Unrouted,
    /// Lines that are held for others of their record, or pieces of a line.
    Open,
    /// A line owed to this sink; the dead-letter writer's number comes after the last.
    Sink(usize),
}

/// The ledger of one partition in one generation.
#[derive(Debug)]
pub struct Ledger {
    sink_count: usize,
    rules: DeliveryRules,
    /// First offset that has not been read.
    next_offset: i64,
    /// Invariant: the sequence number of `batches[i]` is `first_sequence + i`.
    batches: VecDeque<BatchEntry>,
    first_sequence: u64,
    /// Events with lines on more than one offset, and events that came late (a record the joining
    /// stage closed after a later line had passed), by first offset, batch and place in it. Kept
    /// until the common watermark has passed them.
    apart: BTreeMap<(i64, u64, u32), ApartEntry>,
    /// The oldest line held open by the joining stage.
    open_from: Option<i64>,
    /// How often something settled.
    settles: u64,
}

#[derive(Debug)]
struct BatchEntry {
    first_offset: i64,
    /// `None` until the batch was routed.
    routed: Option<RoutedBatch>,
}

#[derive(Debug)]
struct RoutedBatch {
    /// False while more parts of the batch are to come.
    is_whole: bool,
    offsets: Offsets,
    /// Per sink: what is still owed; `None` when nothing is.
    owed: Vec<Option<Owed>>,
}

#[derive(Debug)]
struct ApartEntry {
    last_offset: i64,
    owed: u64,
}

/// First offsets of a batch's events, in order.
#[derive(Debug)]
enum Offsets {
    /// Event `i` of so many has offset `base + i`: the usual case of one line a record.
    Dense(i64, usize),
    /// Offsets relative to the base.
    Sparse(i64, Vec<u32>),
    /// Offsets that do not fit 32 bits from the base, or fall below it.
    Wide(Vec<i64>),
}

/// Events owed to one sink: a bit each.
#[derive(Debug, Default)]
struct Owed {
    bits: Vec<u64>,
    count: u32,
    /// Words below hold no bit.
    low_word: usize,
}

impl Ledger {
    /// A ledger that begins at `start`, the watermark its generation begins with.
    pub fn new(sink_count: usize, start: i64, rules: DeliveryRules) -> Ledger {
        assert!(sink_count <= SINKS_MAX, "more sinks than a route set holds");
        Ledger {
            sink_count,
            rules,
            next_offset: start,
            batches: VecDeque::new(),
            first_sequence: 0,
            apart: BTreeMap::new(),
            open_from: None,
            settles: 0,
        }
    }

    /// A batch was read: offsets from `first_offset` up to but not including `next_offset`. All its
    /// lines are unsettled in all sinks. Returns the batch's sequence number.
    pub fn read(&mut self, first_offset: i64, next_offset: i64) -> u64 {
        debug_assert!(first_offset >= self.next_offset, "offsets of a partition ascend");
        self.batches.push_back(BatchEntry { first_offset, routed: None });
        self.next_offset = next_offset;
        self.first_sequence + self.batches.len() as u64 - 1
    }

    /// The next events of a batch are known, with the sinks each was routed to; a batch that makes
    /// very many events comes in parts, and counts as unrouted until its last one. `open_from` is
    /// the oldest line that the joining stage still holds after this part.
    pub fn routed(&mut self, sequence: u64, part: RoutedPart<'_>) {
        let pieces_from = part.pieces_from.filter(|_| self.rules.pieces_are_unsettled);
        self.open_from = part.open_from.into_iter().chain(pieces_from).min();
        let Some(position) = self.position(sequence) else { return };
        let batch = &mut self.batches[position];
        let base = batch.first_offset;
        let routed = batch.routed.get_or_insert_with(|| RoutedBatch {
            is_whole: false,
            offsets: Offsets::Dense(base, 0),
            owed: (0..self.sink_count).map(|_| None).collect(),
        });
        let first_event = routed.offsets.len();
        let mut highest = first_event.checked_sub(1).map_or(base, |last| routed.offsets.get(last));
        for (index, event) in part.events.iter().enumerate() {
            let index = first_event + index;
            // The bits below answer "the lowest owed offset" by the lowest bit, so they hold only
            // events in ascending order of one offset each.
            if event.last_offset > event.first_offset || event.first_offset < highest {
                let entry = ApartEntry { last_offset: event.last_offset, owed: event.sinks };
                self.apart.insert((event.first_offset, sequence, index as u32), entry);
                continue;
            }
            highest = event.first_offset;
            let mut sinks = event.sinks;
            while sinks != 0 {
                let sink = sinks.trailing_zeros() as usize;
                sinks &= sinks - 1;
                let events = first_event + part.events.len();
                routed.owed[sink].get_or_insert_with(Owed::default).set(index, events);
            }
        }
        routed.offsets.extend(base, part.events);
        routed.is_whole = part.is_last;
    }

    /// Events of a batch are settled in a sink. Settling twice is harmless.
    pub fn settle(&mut self, sequence: u64, sink: usize, events: impl IntoIterator<Item = u32>) {
        let Some(position) = self.position(sequence) else { return };
        let Some(routed) = &mut self.batches[position].routed else { return };
        self.settles += 1;
        for event in events {
            if !self.apart.is_empty() {
                let first_offset = routed.offsets.get(event as usize);
                if let Some(entry) = self.apart.get_mut(&(first_offset, sequence, event)) {
                    entry.owed &= !(1 << sink);
                    continue;
                }
            }
            if let Some(owed) = &mut routed.owed[sink] {
                owed.clear(event as usize);
            }
        }
        if routed.owed[sink].as_ref().is_some_and(|owed| owed.count == 0) {
            routed.owed[sink] = None;
        }
    }

    /// First line not settled in `sink`, falling back to the first line of a record it would cut.
    pub fn sink_watermark(&self, sink: usize) -> i64 {
        self.watermark_of(1 << sink)
    }

    /// First line not settled in some sink it was routed to: what may be committed.
    pub fn watermark(&self) -> i64 {
        self.watermark_of(u64::MAX)
    }

    /// The rules that hold.
    pub fn rules(&self) -> DeliveryRules {
        self.rules
    }

    /// First offset that has not been read.
    pub fn next_offset(&self) -> i64 {
        self.next_offset
    }

    /// What the watermark waits for.
    pub fn holder(&self) -> Holder {
        let watermark = self.watermark();
        if watermark == self.next_offset {
            return Holder::Nothing;
        }
        let first = self.batches.iter().find(|batch| batch.lowest_owed(u64::MAX).is_some());
        if first.is_some_and(|batch| batch.routed.as_ref().is_none_or(|it| !it.is_whole)) {
            return Holder::Unrouted;
        }
        let lowest = |sink: &usize| self.watermark_without_open(1 << sink);
        let sink = (0..self.sink_count).min_by_key(lowest);
        match sink.filter(|sink| lowest(sink) < self.open_from.unwrap_or(i64::MAX)) {
            Some(sink) if lowest(&sink) < self.next_offset => Holder::Sink(sink),
            _ => Holder::Open,
        }
    }

    /// How often something settled.
    pub fn settles(&self) -> u64 {
        self.settles
    }

    /// True when everything read is settled everywhere.
    pub fn is_settled(&self) -> bool {
        self.watermark() == self.next_offset
    }

    /// True when everything read is settled but for lines that the joining stage holds: they would
    /// wait for lines that nobody reads any more.
    pub fn owes_nothing(&self) -> bool {
        self.watermark_without_open(u64::MAX) == self.next_offset
    }

    /// Lines owed to a sink, by event.
    pub fn owed(&self, sink: usize) -> u64 {
        let routed = self.batches.iter().filter_map(|batch| batch.routed.as_ref());
        let in_batches = routed.filter_map(|batch| batch.owed[sink].as_ref());
        let apart = self.apart.values().filter(|entry| entry.owed & (1 << sink) != 0).count();
        in_batches.map(|owed| u64::from(owed.count)).sum::<u64>() + apart as u64
    }

    /// Batches the ledger still holds.
    pub fn batch_count(&self) -> usize {
        self.batches.len()
    }

    /// Bytes of bookkeeping, roughly.
    pub fn memory_bytes(&self) -> u64 {
        let batches: usize = self.batches.iter().map(BatchEntry::memory_bytes).sum();
        (batches + self.apart.len() * 64) as u64
    }

    /// Lets go of batches that are settled everywhere and below the watermark.
    pub fn compact(&mut self) {
        let watermark = self.watermark();
        while let Some(batch) = self.batches.front() {
            let end = self.batches.get(1).map_or(self.next_offset, |next| next.first_offset);
            let settled = batch.routed.as_ref().is_some_and(RoutedBatch::is_settled);
            if !settled || end > watermark {
                break;
            }
            self.batches.pop_front();
            self.first_sequence += 1;
        }
        while let Some(entry) = self.apart.first_entry() {
            if entry.get().owed != 0 || entry.get().last_offset >= watermark {
                break;
            }
            entry.remove();
        }
    }

    fn position(&self, sequence: u64) -> Option<usize> {
        let position = usize::try_from(sequence.checked_sub(self.first_sequence)?).ok()?;
        (position < self.batches.len()).then_some(position)
    }

    fn watermark_of(&self, sinks: u64) -> i64 {
        let watermark = self.watermark_without_open(sinks);
        if !self.rules.open_lines_are_unsettled {
            return watermark;
        }
        self.uncut(watermark.min(self.open_from.unwrap_or(i64::MAX)))
    }

    fn watermark_without_open(&self, sinks: u64) -> i64 {
        let mut watermark = self.next_offset;
        for batch in &self.batches {
            let is_whole = batch.routed.as_ref().is_some_and(|routed| routed.is_whole);
            let passes = is_whole && !self.rules.watermark_is_contiguous;
            if let Some(lowest) = batch.lowest_owed(sinks).filter(|_| !passes) {
                watermark = lowest;
                break;
            }
        }
        let mut owed_apart = self.apart.iter().filter(|entry| entry.1.owed & sinks != 0);
        watermark = watermark.min(owed_apart.next().map_or(i64::MAX, |entry| entry.0.0));
        self.uncut(watermark)
    }

    /// Falls back to the first line of every joined record the watermark would cut, until it cuts
    /// none.
    fn uncut(&self, mut watermark: i64) -> i64 {
        if !self.rules.watermark_never_cuts_a_record {
            return watermark;
        }
        loop {
            let mut below = self.apart.range(..(watermark, 0, 0));
            match below.find(|entry| entry.1.last_offset >= watermark) {
                Some(cut) => watermark = cut.0.0,
                None => return watermark,
            }
        }
    }
}

impl BatchEntry {
    /// Lowest first offset owed to one of `sinks`; an unrouted batch owes everything.
    fn lowest_owed(&self, sinks: u64) -> Option<i64> {
        let whole = self.routed.as_ref().filter(|routed| routed.is_whole);
        let Some(routed) = whole else { return Some(self.first_offset) };
        let owed = routed.owed.iter().enumerate();
        let wanted = owed.filter(|(sink, _)| sinks & (1 << sink) != 0);
        let lowest = wanted.filter_map(|(_, owed)| owed.as_ref()?.lowest());
        lowest.map(|event| routed.offsets.get(event)).min()
    }

    fn memory_bytes(&self) -> usize {
        let Some(routed) = &self.routed else { return 48 };
        let bits: usize = routed.owed.iter().flatten().map(|owed| owed.bits.len() * 8).sum();
        let offsets = match &routed.offsets {
            Offsets::Dense(..) => 0,
            Offsets::Sparse(_, deltas) => deltas.len() * 4,
            Offsets::Wide(offsets) => offsets.len() * 8,
        };
        48 + bits + offsets + routed.owed.len() * 40
    }
}

impl RoutedBatch {
    fn is_settled(&self) -> bool {
        self.is_whole && self.owed.iter().all(Option::is_none)
    }
}

impl Offsets {
    fn len(&self) -> usize {
        match self {
            Offsets::Dense(_, count) => *count,
            Offsets::Sparse(_, deltas) => deltas.len(),
            Offsets::Wide(offsets) => offsets.len(),
        }
    }

    /// Appends the offsets of more events, in the smallest form that holds all of them.
    fn extend(&mut self, base: i64, events: &[LedgerEvent]) {
        let mut more = events.iter().map(|event| event.first_offset);
        if let Offsets::Dense(first, count) = self {
            let next = *first + *count as i64;
            if events.iter().enumerate().all(|(i, event)| event.first_offset == next + i as i64) {
                *count += events.len();
                return;
            }
            let sparse: Option<Vec<u32>> =
                (0..*count).map(|index| u32::try_from(*first - base + index as i64).ok()).collect();
            *self = match sparse {
                Some(deltas) => Offsets::Sparse(base, deltas),
                None => Offsets::Wide((0..*count).map(|index| *first + index as i64).collect()),
            };
        }
        if let Offsets::Sparse(base, deltas) = self {
            let first_wide = more.clone().position(|offset| u32::try_from(offset - *base).is_err());
            if first_wide.is_none() {
                deltas.extend(more.map(|offset| (offset - *base) as u32));
                return;
            }
            *self = Offsets::Wide(deltas.iter().map(|delta| *base + i64::from(*delta)).collect());
        }
        if let Offsets::Wide(offsets) = self {
            offsets.extend(more.by_ref());
        }
    }

    fn get(&self, event: usize) -> i64 {
        match self {
            Offsets::Dense(base, _) => base + event as i64,
            Offsets::Sparse(base, deltas) => base + i64::from(deltas[event]),
            Offsets::Wide(offsets) => offsets[event],
        }
    }
}

impl Owed {
    fn set(&mut self, event: usize, events: usize) {
        if self.bits.len() < events.div_ceil(64) {
            self.bits.resize(events.div_ceil(64), 0);
        }
        let mask = 1 << (event % 64);
        let word = &mut self.bits[event / 64];
        self.count += u32::from(*word & mask == 0);
        *word |= mask;
        self.low_word = self.low_word.min(event / 64);
    }

    fn clear(&mut self, event: usize) {
        let Some(word) = self.bits.get_mut(event / 64) else { return };
        let mask = 1 << (event % 64);
        self.count -= u32::from(*word & mask != 0);
        *word &= !mask;
        while self.bits.get(self.low_word) == Some(&0) {
            self.low_word += 1;
        }
    }

    fn lowest(&self) -> Option<usize> {
        let words = self.bits[self.low_word.min(self.bits.len())..].iter().enumerate();
        let mut found = words.filter(|(_, word)| **word != 0);
        let (word, bits) = found.next()?;
        Some((self.low_word + word) * 64 + bits.trailing_zeros() as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn event(first: i64, last: i64, sinks: u64) -> LedgerEvent {
        LedgerEvent { first_offset: first, last_offset: last, sinks }
    }

    fn whole(events: &[LedgerEvent], open_from: Option<i64>) -> RoutedPart<'_> {
        RoutedPart { events, open_from, pieces_from: None, is_last: true }
    }

    fn ledger(sinks: usize, start: i64) -> Ledger {
        Ledger::new(sinks, start, DeliveryRules::all())
    }

    #[test]
    fn what_the_watermark_waits_for_is_known() {
        let mut ledger = ledger(2, 100);
        assert_eq!(ledger.holder(), Holder::Nothing);
        let sequence = ledger.read(100, 103);
        assert_eq!(ledger.holder(), Holder::Unrouted);
        let events = [event(100, 100, 0b01), event(101, 101, 0b10)];
        ledger.routed(sequence, whole(&events, Some(102)));
        assert_eq!(ledger.holder(), Holder::Sink(0));
        ledger.settle(sequence, 0, [0]);
        assert_eq!(ledger.holder(), Holder::Sink(1));
        ledger.settle(sequence, 1, [1]);
        assert_eq!((ledger.holder(), ledger.settles()), (Holder::Open, 2));
        let next = ledger.read(103, 104);
        ledger.routed(next, whole(&[event(102, 103, 0b01)], None));
        assert_eq!(ledger.holder(), Holder::Sink(0));
        ledger.settle(next, 0, [0]);
        assert_eq!(ledger.holder(), Holder::Nothing);
    }

    #[test]
    fn nothing_passes_an_unrouted_batch() {
        let mut ledger = ledger(2, 10);
        let first = ledger.read(10, 12);
        let second = ledger.read(12, 13);
        ledger.routed(second, whole(&[event(12, 12, 0)], None));
        assert_eq!((ledger.watermark(), ledger.sink_watermark(1)), (10, 10));
        ledger.routed(first, whole(&[event(10, 10, 1), event(11, 11, 2)], None));
        assert_eq!((ledger.sink_watermark(0), ledger.sink_watermark(1)), (10, 11));
        ledger.settle(first, 0, [0]);
        assert_eq!((ledger.watermark(), ledger.sink_watermark(0)), (11, 13));
        ledger.settle(first, 1, [1]);
        assert_eq!(ledger.watermark(), 13);
        ledger.compact();
        assert_eq!(ledger.batch_count(), 0);
    }

    #[test]
    fn a_record_of_several_lines_is_not_cut() {
        let mut ledger = ledger(1, 0);
        let batch = ledger.read(0, 2);
        let lines = [event(0, 0, 1), event(0, 0, 1), event(1, 1, 1)];
        ledger.routed(batch, whole(&lines, None));
        ledger.settle(batch, 0, [0, 2]);
        assert_eq!(ledger.watermark(), 0);
        ledger.settle(batch, 0, [1]);
        assert_eq!(ledger.watermark(), 2);
    }

    #[test]
    fn a_joined_record_pulls_the_watermark_back() {
        let mut ledger = ledger(2, 0);
        let first = ledger.read(0, 4);
        ledger.routed(first, whole(&[event(1, 1, 1), event(3, 3, 1)], Some(0)));
        ledger.settle(first, 0, [0, 1]);
        assert_eq!(ledger.watermark(), 0, "line 0 is held open");
        let second = ledger.read(4, 6);
        ledger.routed(second, whole(&[event(0, 4, 1), event(5, 5, 3)], None));
        assert_eq!(ledger.watermark(), 0);
        ledger.settle(second, 0, [0]);
        assert_eq!(ledger.watermark(), 5);
        ledger.settle(second, 1, [1]);
        assert_eq!(ledger.watermark(), 5, "sink 0 still owes line 5");
        ledger.settle(second, 0, [1]);
        assert_eq!(ledger.watermark(), 6);
    }

    #[test]
    fn a_batch_in_parts_holds_the_watermark_until_its_last() {
        let mut ledger = ledger(1, 0);
        let batch = ledger.read(0, 2);
        let first = [event(0, 0, 1), event(0, 0, 0)];
        ledger.routed(batch, RoutedPart { is_last: false, ..whole(&first, None) });
        ledger.settle(batch, 0, [0]);
        assert_eq!(ledger.watermark(), 0, "more of record 0 may come");
        ledger.routed(batch, whole(&[event(0, 0, 1), event(1, 1, 1)], None));
        assert_eq!(ledger.watermark(), 0);
        ledger.settle(batch, 0, [2]);
        assert_eq!(ledger.watermark(), 1);
        ledger.settle(batch, 0, [3]);
        assert_eq!(ledger.watermark(), 2);
    }

    /// The same rules, written as slowly and plainly as possible.
    fn model_watermark(events: &[(LedgerEvent, u64)], next: i64) -> i64 {
        let mut watermark = next;
        for (event, owed) in events {
            if *owed != 0 {
                watermark = watermark.min(event.first_offset);
            }
        }
        while let Some((event, _)) =
            events.iter().find(|(e, _)| e.first_offset < watermark && e.last_offset >= watermark)
        {
            watermark = event.first_offset;
        }
        watermark
    }

    proptest! {
        #[test]
        fn agrees_with_the_model(
            shape in prop::collection::vec((0i64..3, 0i64..5, 0u64..8), 1..60),
            order in prop::collection::vec((0usize..60, 0usize..3), 0..200),
            parts in 1usize..4,
        ) {
            let mut ledger = ledger(3, 0);
            let mut events = Vec::new();
            let mut offset = 0;
            for (gap, reach, sinks) in shape {
                let first = offset + gap;
                // A joined record reaches over later batches of the model's single lines.
                events.push((event(first, first + reach, sinks), sinks));
                offset = first + 1;
            }
            let next = offset + 5;
            let lines: Vec<LedgerEvent> = events.iter().map(|e| e.0).collect();
            let batch = ledger.read(0, next);
            let size = lines.len().div_ceil(parts);
            let last = lines.len().div_ceil(size) - 1;
            for (number, events) in lines.chunks(size).enumerate() {
                let is_last = number == last;
                ledger.routed(batch, RoutedPart { is_last, ..whole(events, None) });
            }
            prop_assert_eq!(ledger.watermark(), model_watermark(&events, next));
            for (which, sink) in order {
                let Some(entry) = events.get_mut(which) else { continue };
                entry.1 &= !(1 << sink);
                ledger.settle(batch, sink, [which as u32]);
                prop_assert_eq!(ledger.watermark(), model_watermark(&events, next));
            }
            for sink in 0..3 {
                let of_sink: Vec<(LedgerEvent, u64)> =
                    events.iter().map(|(e, owed)| (*e, owed & (1 << sink))).collect();
                prop_assert_eq!(ledger.sink_watermark(sink), model_watermark(&of_sink, next));
            }
        }
    }
}
