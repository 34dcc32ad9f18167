//! The event ids an object holds: one set per zstd frame, and many frames' sets merged for a chain.
//!
//! Invariant: a set never answers "known" for an id that was not pushed, except for an id of the
//! same offset and index whose record time lies within the frame's bounds; it never answers
//! "unknown" for one that was. Ids come in any order. Next stop: `footer.rs` writes the sets down,
//! `object.rs` asks them what a rival has already stored.

use serde::{Deserialize, Serialize};

/// What tells the event ids of one partition apart: origin without lineage, topic and partition.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct IdKey {
    /// Offset of the record that holds the event's first line.
    pub offset: i64,
    /// Index of the event's first line within its record.
    pub index: u32,
    /// Number of lines and hash over them, where several lines were joined.
    pub joined: Option<(u32, u32)>,
    /// That record's time in milliseconds since the epoch.
    pub time_ms: i64,
}

/// A place on a line of places that runs are made of.
trait Place: Copy + Ord {
    /// How many steps `self` lies after `start`; none when no run reaches from one to the other.
    fn steps_after(self, start: Self) -> Option<u32>;
}

impl Place for i64 {
    fn steps_after(self, start: i64) -> Option<u32> {
        u32::try_from(self.checked_sub(start)?).ok()
    }
}

impl Place for (i64, u32) {
    fn steps_after(self, start: (i64, u32)) -> Option<u32> {
        if self.0 == start.0 { self.1.checked_sub(start.1) } else { None }
    }
}

/// Places as sorted runs, in two columns so that a search touches the starts only.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Runs<P> {
    // Invariant: strictly ascending, and no run reaches into the next one.
    starts: Vec<P>,
    // Invariant: as long as `starts`, each at least 1.
    counts: Vec<u32>,
}

impl<P: Place> Runs<P> {
    const fn new() -> Runs<P> {
        Runs { starts: Vec::new(), counts: Vec::new() }
    }

    fn contains(&self, place: P) -> bool {
        let after = self.starts.partition_point(|start| *start <= place);
        after > 0 && self.run_holds(after - 1, place)
    }

    fn run_holds(&self, run: usize, place: P) -> bool {
        place.steps_after(self.starts[run]).is_some_and(|steps| steps < self.counts[run])
    }

    fn run_ends_before(&self, run: usize, place: P) -> bool {
        place.steps_after(self.starts[run]) == Some(self.counts[run])
    }

    /// Adds one place; false when it was there already.
    fn push(&mut self, place: P) -> bool {
        let after = match self.starts.last() {
            Some(last) if *last > place => self.starts.partition_point(|start| *start <= place),
            _ => self.starts.len(),
        };
        if after > 0 && self.run_holds(after - 1, place) {
            return false;
        }
        let joins_before = after > 0 && self.run_ends_before(after - 1, place);
        let joins_next =
            self.starts.get(after).is_some_and(|next| next.steps_after(place) == Some(1));
        if joins_before {
            let room = u32::MAX - self.counts[after - 1];
            if joins_next && room > self.counts[after] {
                self.counts[after - 1] += self.counts[after] + 1;
                self.starts.remove(after);
                self.counts.remove(after);
                return true;
            }
            if room > 0 {
                self.counts[after - 1] += 1;
                return true;
            }
        } else if joins_next && self.counts[after] < u32::MAX {
            self.starts[after] = place;
            self.counts[after] += 1;
            return true;
        }
        self.starts.insert(after, place);
        self.counts.insert(after, 1);
        true
    }

    fn len(&self) -> u64 {
        self.counts.iter().map(|count| u64::from(*count)).sum()
    }

    fn shrink(&mut self) {
        self.starts.shrink_to_fit();
        self.counts.shrink_to_fit();
    }

    fn memory_bytes(&self) -> usize {
        self.starts.capacity() * size_of::<P>() + self.counts.capacity() * size_of::<u32>()
    }
}

/// The id of an event made of several lines.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct JoinedId {
    offset: i64,
    index: u32,
    lines: u32,
    hash: u32,
}

/// The ids of one frame, with the bounds of their record times.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FrameIds {
    /// Offsets of events of one line that is the first of its record.
    records: Runs<i64>,
    /// (offset, index) of events of one line that is a later one of its record.
    lines: Runs<(i64, u32)>,
    // Invariant: strictly ascending.
    joined: Vec<JoinedId>,
    /// Least and greatest record time (ms); absent while the set is empty.
    times: Option<(i64, i64)>,
}

impl Default for FrameIds {
    fn default() -> FrameIds {
        FrameIds { records: Runs::new(), lines: Runs::new(), joined: Vec::new(), times: None }
    }
}

impl FrameIds {
    /// Adds one id, in any order; ascending order is the fast one. False when it was known already.
    pub fn push(&mut self, key: IdKey) -> bool {
        let (least, greatest) = self.times.unwrap_or((key.time_ms, key.time_ms));
        self.times = Some((least.min(key.time_ms), greatest.max(key.time_ms)));
        match (key.joined, key.index) {
            (None, 0) => self.records.push(key.offset),
            (None, index) => self.lines.push((key.offset, index)),
            (Some((lines, hash)), index) => {
                let id = JoinedId { offset: key.offset, index, lines, hash };
                match self.joined.binary_search(&id) {
                    Ok(_) => false,
                    Err(at) => {
                        self.joined.insert(at, id);
                        true
                    }
                }
            }
        }
    }

    /// Whether the id is in the set: offset, index and joined lines are, and its record time lies
    /// within the frame's bounds.
    pub fn contains(&self, key: &IdKey) -> bool {
        if self.times.is_none_or(|(least, greatest)| key.time_ms < least || key.time_ms > greatest)
        {
            return false;
        }
        match (key.joined, key.index) {
            (None, 0) => self.records.contains(key.offset),
            (None, index) => self.lines.contains((key.offset, index)),
            (Some((lines, hash)), index) => {
                let id = JoinedId { offset: key.offset, index, lines, hash };
                self.joined.binary_search(&id).is_ok()
            }
        }
    }

    /// Number of ids.
    pub fn len(&self) -> u64 {
        self.records.len() + self.lines.len() + self.joined.len() as u64
    }

    /// Whether there is no id at all.
    pub fn is_empty(&self) -> bool {
        self.times.is_none()
    }

    /// Least and greatest record time in milliseconds; none while empty.
    pub fn times_ms(&self) -> Option<(i64, i64)> {
        self.times
    }

    /// Least and greatest offset of an id; none while empty.
    pub fn offsets(&self) -> Option<(i64, i64)> {
        let records = self.records.starts.first().zip(self.records.starts.last()).map(|(a, b)| {
            let count = self.records.counts.last().copied().unwrap_or(1);
            (*a, b.saturating_add(i64::from(count - 1)))
        });
        let lines = self.lines.starts.first().zip(self.lines.starts.last());
        let joined = self.joined.first().zip(self.joined.last());
        [records, lines.map(|(a, b)| (a.0, b.0)), joined.map(|(a, b)| (a.offset, b.offset))]
            .into_iter()
            .flatten()
            .reduce(|one, other| (one.0.min(other.0), one.1.max(other.1)))
    }

    /// Heap and own size in bytes.
    pub fn memory_bytes(&self) -> usize {
        size_of::<FrameIds>()
            + self.records.memory_bytes()
            + self.lines.memory_bytes()
            + self.joined.capacity() * size_of::<JoinedId>()
    }

    fn shrink(&mut self) {
        self.records.shrink();
        self.lines.shrink();
        self.joined.shrink_to_fit();
    }
}

/// How a set is written in a footer: columns of differences, which JSON and zstd make small.
#[derive(Serialize, Deserialize)]
struct Written {
    /// Per run of offsets: distance of its start from the end of the run before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    skip: Vec<i64>,
    /// Per run of offsets: how many.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    take: Vec<u32>,
    /// Per run of lines: distance of its offset from the one before, first index, how many.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    lines: Vec<(i64, u32, u32)>,
    /// Per joined event: distance of its offset from the one before, index, lines, hash.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    joined: Vec<(i64, u32, u32, u32)>,
    /// Least and greatest record time (ms).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    time: Option<(i64, i64)>,
}

impl Serialize for FrameIds {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let runs = self.records.starts.iter().zip(&self.records.counts);
        let mut end = 0_i64;
        let skip = runs
            .map(|(start, count)| {
                let gap = gap_after(&mut end, *start);
                end = start.wrapping_add(i64::from(*count));
                gap
            })
            .collect();
        let (mut line_before, mut joined_before) = (0_i64, 0_i64);
        let lines = self.lines.starts.iter().zip(&self.lines.counts);
        Written {
            skip,
            take: self.records.counts.clone(),
            lines: lines
                .map(|(at, count)| (gap_after(&mut line_before, at.0), at.1, *count))
                .collect(),
            joined: (self.joined.iter())
                .map(|id| (gap_after(&mut joined_before, id.offset), id.index, id.lines, id.hash))
                .collect(),
            time: self.times,
        }
        .serialize(serializer)
    }
}

/// Distance from `before` to `offset`, which takes its place.
fn gap_after(before: &mut i64, offset: i64) -> i64 {
    let gap = offset.wrapping_sub(*before);
    *before = offset;
    gap
}

impl<'de> Deserialize<'de> for FrameIds {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<FrameIds, D::Error> {
        let written = Written::deserialize(deserializer)?;
        read_back(written).map_err(serde::de::Error::custom)
    }
}

/// Rebuilds a set from untrusted columns, checking every invariant of it.
fn read_back(written: Written) -> Result<FrameIds, &'static str> {
    if written.skip.len() != written.take.len() {
        return Err("id columns differ in length");
    }
    let mut ids = FrameIds { times: written.time, ..FrameIds::default() };
    let mut end = 0_i64;
    for (gap, count) in written.skip.iter().zip(&written.take) {
        let start = end.checked_add(*gap).ok_or("id offset overflows")?;
        if *count == 0 || (*gap < 0 && !ids.records.starts.is_empty()) {
            return Err("id runs are not ascending");
        }
        end = start.checked_add(i64::from(*count)).ok_or("id offset overflows")?;
        ids.records.starts.push(start);
    }
    ids.records.counts = written.take;
    let mut offset = 0_i64;
    for (gap, first, count) in written.lines {
        offset = offset.checked_add(gap).ok_or("id offset overflows")?;
        let start = (offset, first);
        let ascends =
            ids.lines.starts.last().zip(ids.lines.counts.last()).is_none_or(|(before, taken)| {
                *before < start && start.steps_after(*before).is_none_or(|steps| steps >= *taken)
            });
        if count == 0 || !ascends || first.checked_add(count - 1).is_none() {
            return Err("line runs are not ascending");
        }
        ids.lines.starts.push(start);
        ids.lines.counts.push(count);
    }
    let mut offset = 0_i64;
    for (gap, index, lines, hash) in written.joined {
        offset = offset.checked_add(gap).ok_or("id offset overflows")?;
        let id = JoinedId { offset, index, lines, hash };
        if ids.joined.last().is_some_and(|before| *before >= id) {
            return Err("joined ids are not ascending");
        }
        ids.joined.push(id);
    }
    let bounded = ids.times.is_some_and(|(least, greatest)| least <= greatest);
    let holds_any =
        !ids.records.starts.is_empty() || !ids.lines.starts.is_empty() || !ids.joined.is_empty();
    if bounded != holds_any {
        return Err("record times do not fit the ids");
    }
    Ok(ids)
}

/// How many frames share one entry of the skip list over last offsets.
const BLOCK_FRAMES: usize = 64;

/// The ids of many frames of one chain.
///
/// Frames nearly follow each other in offset, so a search looks into one or two of them; blocks
/// whose last offset lies below are skipped, which keeps it fast when a frame spans many others.
#[derive(Clone, Debug, Default)]
pub struct KnownIds {
    // Invariant: ascending by first offset; none is empty; none ends below `floor`.
    frames: Vec<KnownFrame>,
    // Invariant: greatest last offset of each block of `frames`.
    block_last: Vec<i64>,
    floor: Option<i64>,
    held_bytes: usize,
}

#[derive(Clone, Debug)]
struct KnownFrame {
    first: i64,
    last: i64,
    ids: Box<FrameIds>,
}

impl KnownIds {
    /// Takes one frame's ids in.
    pub fn add(&mut self, ids: FrameIds) {
        let Some(frame) = self.accept(ids) else {
            return;
        };
        let at = self.frames.partition_point(|known| known.first <= frame.first);
        self.frames.insert(at, frame);
        self.rebuild_blocks(at / BLOCK_FRAMES);
    }

    /// Takes many frames' ids in: one sort for all of them.
    pub fn extend(&mut self, frames: impl IntoIterator<Item = FrameIds>) {
        for ids in frames {
            if let Some(frame) = self.accept(ids) {
                self.frames.push(frame);
            }
        }
        self.frames.sort_by_key(|frame| frame.first);
        self.rebuild_blocks(0);
    }

    fn accept(&mut self, mut ids: FrameIds) -> Option<KnownFrame> {
        let (first, last) = ids.offsets()?;
        if self.floor.is_some_and(|floor| last < floor) {
            return None;
        }
        ids.shrink();
        self.held_bytes += ids.memory_bytes() + size_of::<KnownFrame>();
        Some(KnownFrame { first, last, ids: Box::new(ids) })
    }

    fn rebuild_blocks(&mut self, from: usize) {
        self.block_last.truncate(from);
        let rest = self.frames[from * BLOCK_FRAMES..].chunks(BLOCK_FRAMES);
        self.block_last.extend(
            rest.map(|block| block.iter().map(|frame| frame.last).max().unwrap_or(i64::MIN)),
        );
    }

    /// Whether any frame holds the id.
    pub fn contains(&self, key: &IdKey) -> bool {
        let end = self.frames.partition_point(|frame| frame.first <= key.offset);
        let blocks = self.frames[..end].chunks(BLOCK_FRAMES).zip(&self.block_last);
        blocks.rev().any(|(block, last)| {
            *last >= key.offset
                && block.iter().any(|frame| frame.last >= key.offset && frame.ids.contains(key))
        })
    }

    /// Lets frames go whose ids all lie below `offset`, now and for what is added later.
    pub fn forget_below(&mut self, offset: i64) {
        if self.floor.is_some_and(|floor| offset <= floor) {
            return;
        }
        self.floor = Some(offset);
        let held = &mut self.held_bytes;
        let before = self.frames.len();
        self.frames.retain(|frame| {
            let stays = frame.last >= offset;
            if !stays {
                *held -= frame.ids.memory_bytes() + size_of::<KnownFrame>();
            }
            stays
        });
        if self.frames.len() < before {
            self.frames.shrink_to(self.frames.len() * 2);
            self.rebuild_blocks(0);
        }
    }

    /// Number of frames held.
    pub fn frames(&self) -> usize {
        self.frames.len()
    }

    /// Bytes held, for the common memory account.
    pub fn memory_bytes(&self) -> usize {
        self.held_bytes + self.block_last.capacity() * size_of::<i64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn single(offset: i64, index: u32) -> IdKey {
        IdKey { offset, index, joined: None, time_ms: 1000 }
    }

    fn keys(offsets: std::ops::Range<i64>) -> impl Strategy<Value = Vec<IdKey>> {
        let joined = prop::option::weighted(0.2, (2..4_u32, 0..3_u32));
        let one = (offsets, 0..4_u32, joined, 1000..1004_i64)
            .prop_map(|(offset, index, joined, time_ms)| IdKey { offset, index, joined, time_ms });
        prop::collection::vec(one, 0..200)
    }

    fn set_of(keys: &[IdKey]) -> FrameIds {
        let mut ids = FrameIds::default();
        for key in keys {
            ids.push(*key);
        }
        ids
    }

    /// The id without its time, which sets hold by its bounds only.
    fn place(key: &IdKey) -> (i64, u32, Option<(u32, u32)>) {
        (key.offset, key.index, key.joined)
    }

    #[test]
    fn a_dense_run_is_one_range() {
        let mut ids = FrameIds::default();
        for offset in (0..1000).rev().chain(1001..2000).chain([1000]) {
            assert!(ids.push(single(offset, 0)));
            assert!(!ids.push(single(offset, 0)), "{offset} twice");
        }
        assert_eq!(ids.records.starts, [0]);
        assert_eq!(ids.len(), 2000);
        assert_eq!(
            serde_json::to_string(&ids).unwrap(),
            r#"{"skip":[0],"take":[2000],"time":[1000,1000]}"#
        );
    }

    #[test]
    fn a_record_whose_lines_went_to_two_prefixes_is_told_apart() {
        let ids = set_of(&[single(5, 0), single(5, 2), single(5, 3), single(5, 6), single(6, 0)]);
        let held: Vec<u32> = (0..8).filter(|index| ids.contains(&single(5, *index))).collect();
        assert_eq!(held, [0, 2, 3, 6]);
        assert!(!ids.contains(&single(6, 1)));
    }

    #[test]
    fn another_time_or_another_joining_is_another_id() {
        let ids = set_of(&[
            single(5, 0),
            IdKey { joined: Some((3, 77)), ..single(9, 1) },
            IdKey { time_ms: 1010, ..single(7, 0) },
        ]);
        assert!(ids.contains(&single(5, 0)));
        assert!(!ids.contains(&IdKey { time_ms: 999, ..single(5, 0) }));
        assert!(!ids.contains(&IdKey { time_ms: 1011, ..single(7, 0) }));
        assert!(ids.contains(&IdKey { joined: Some((3, 77)), ..single(9, 1) }));
        for joined in [None, Some((3, 78)), Some((4, 77))] {
            assert!(!ids.contains(&IdKey { joined, ..single(9, 1) }), "{joined:?}");
        }
    }

    #[test]
    fn malformed_columns_are_refused() {
        for json in [
            r#"{"skip":[0],"take":[],"time":[0,0]}"#,
            r#"{"skip":[0],"take":[0],"time":[0,0]}"#,
            r#"{"skip":[0,-1],"take":[5,5],"time":[0,0]}"#,
            r#"{"skip":[9223372036854775807],"take":[1],"time":[0,0]}"#,
            r#"{"skip":[0],"take":[1],"time":[1,0]}"#,
            r#"{"skip":[0],"take":[1]}"#,
            r#"{"time":[0,0]}"#,
            r#"{"lines":[[5,1,2],[0,2,1]],"time":[0,0]}"#,
            r#"{"lines":[[5,4294967295,2]],"time":[0,0]}"#,
            r#"{"lines":[[5,1,0]],"time":[0,0]}"#,
            r#"{"lines":[[5,1,1],[-1,1,1]],"time":[0,0]}"#,
            r#"{"joined":[[5,0,2,1],[0,0,2,1]],"time":[0,0]}"#,
            r#"{"joined":[[9223372036854775807,0,2,1],[1,0,2,1]],"time":[0,0]}"#,
        ] {
            assert!(serde_json::from_str::<FrameIds>(json).is_err(), "{json}");
        }
    }

    #[test]
    fn ten_thousand_frames_under_a_wide_one_answer_alike() {
        let mut known = KnownIds::default();
        known.add(set_of(&[single(0, 0), single(10_000_000, 0)]));
        known.extend(
            (0..10_000_i64)
                .map(|frame| set_of(&[single(frame * 1000, 0), single(frame * 1000 + 999, 0)])),
        );
        assert_eq!(known.frames(), 10_001);
        for frame in (0..10_000_i64).step_by(7) {
            assert!(known.contains(&single(frame * 1000 + 999, 0)));
            assert!(!known.contains(&single(frame * 1000 + 500, 0)));
        }
        assert!(known.contains(&single(10_000_000, 0)));
        let before = known.memory_bytes();
        known.forget_below(9_000_000);
        assert_eq!(known.frames(), 1001);
        assert!(known.memory_bytes() < before / 5);
        assert!(known.contains(&single(10_000_000, 0)) && !known.contains(&single(999, 0)));
        known.add(set_of(&[single(8_999_999, 0)]));
        assert_eq!(known.frames(), 1001, "what lies below is not taken in again");
    }

    proptest! {
        #[test]
        fn a_set_is_a_set(keys in keys(0..40), probes in keys(0..40)) {
            let ids = set_of(&keys);
            let model: BTreeSet<_> = keys.iter().map(place).collect();
            let least = keys.iter().map(|key| key.time_ms).min();
            let greatest = keys.iter().map(|key| key.time_ms).max();
            prop_assert_eq!(ids.len(), model.len() as u64);
            prop_assert_eq!(ids.times_ms(), least.zip(greatest));
            let first = model.first().map(|place| place.0);
            prop_assert_eq!(ids.offsets(), first.zip(model.last().map(|place| place.0)));
            for key in keys.iter().chain(&probes) {
                let in_time = least.zip(greatest)
                    .is_some_and(|(from, to)| (from..=to).contains(&key.time_ms));
                prop_assert_eq!(ids.contains(key), in_time && model.contains(&place(key)));
            }
            let sorted = { let mut all = keys.clone(); all.sort_unstable(); set_of(&all) };
            prop_assert_eq!(&sorted, &ids, "the order of pushing tells nothing");
            let json = serde_json::to_vec(&ids).unwrap();
            prop_assert_eq!(serde_json::from_slice::<FrameIds>(&json).unwrap(), ids);
        }

        #[test]
        fn many_frames_answer_as_one_by_one(
            frames in prop::collection::vec(keys(0..400), 0..150),
            probes in keys(0..400), floor in 0..400_i64, split in 0..150_usize,
        ) {
            let sets: Vec<FrameIds> = frames.iter().map(|keys| set_of(keys)).collect();
            let (one_by_one, at_once) = sets.split_at(split.min(sets.len()));
            let mut known = KnownIds::default();
            for ids in one_by_one {
                known.add(ids.clone());
            }
            known.extend(at_once.iter().cloned());
            for key in frames.iter().flatten().chain(&probes) {
                prop_assert_eq!(known.contains(key), sets.iter().any(|ids| ids.contains(key)));
            }
            known.forget_below(floor);
            for key in frames.iter().flatten().filter(|key| key.offset >= floor) {
                prop_assert!(known.contains(key));
            }
        }

        #[test]
        fn any_columns_are_read_or_refused(
            skip in prop::collection::vec(any::<i64>(), 0..4),
            take in prop::collection::vec(any::<u32>(), 0..4),
            lines in prop::collection::vec(any::<(i64, u32, u32)>(), 0..4),
            time in any::<Option<(i64, i64)>>(),
        ) {
            let written = Written { skip, take, lines, joined: vec![], time };
            if let Ok(ids) = read_back(written) {
                let json = serde_json::to_vec(&ids).unwrap();
                prop_assert_eq!(serde_json::from_slice::<FrameIds>(&json).ok(), Some(ids));
            }
        }
    }
}
