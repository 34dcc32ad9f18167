//! The world outside the members: the broker with its logs, its group and its commits, what the
//! stores hold, and which faults are about. One lock; members reach it from their own runtimes.
//!
//! Invariant: every accepted commit is checked the moment it is accepted: each line it newly covers
//! must be settled in every sink the committing member's configuration routes it to.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use bytes::Bytes;
use riverhog::sink::archive::ids::IdKey;
use riverhog::sink::archive::reader::ObjectReader;

use crate::lines::{Log, SimRecord, Written, rids_of};
use crate::random::Random;
use crate::variants::{ARCHIVE, SEARCH, SINKS, VAULT, variants};

pub(crate) const PARTITIONS: usize = 2;
pub(crate) const BUCKETS: [&str; SINKS] = ["", "archive", "vault"];

/// What the broker tells a member next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Told {
    Assign(usize),
    Revoke(usize),
    Lost(usize),
    /// Its topic was made anew; it stays with its owner.
    Recreated(usize),
}

/// The search store.
#[derive(Debug, Default)]
pub(crate) struct Search {
    pub(crate) documents: BTreeMap<(String, String), String>,
    pub(crate) unauthorised: bool,
    pub(crate) down: bool,
    /// Indices whose name contains this are write-blocked.
    pub(crate) blocked: Option<String>,
}

/// One partition's place in the group.
#[derive(Debug, Default)]
pub(crate) struct Seat {
    /// Who may commit.
    pub(crate) owner: Option<usize>,
    /// Waiting for the old owner's last commits before somebody else is assigned.
    pub(crate) leaving: Option<usize>,
    /// Counts assignments: a commit of an earlier one is fenced.
    pub(crate) generation: u64,
    pub(crate) commit: Option<(i64, String)>,
    /// Lines below were checked.
    pub(crate) checked: i64,
}

#[derive(Debug)]
pub(crate) struct World {
    pub(crate) random: Random,
    pub(crate) logs: Vec<Log>,
    pub(crate) lines: Vec<Written>,
    pub(crate) seats: Vec<Seat>,
    pub(crate) inboxes: Vec<VecDeque<Told>>,
    /// By member: its configurations, each with the first line that was written after it came.
    pub(crate) variants_of: Vec<Vec<(u64, usize)>>,
    pub(crate) search: Search,
    pub(crate) objects: BTreeMap<(String, String), Bytes>,
    /// Stores create exclusively; else they overwrite.
    pub(crate) exclusive: bool,
    pub(crate) unreadable: BTreeSet<(String, String)>,
    pub(crate) forbidden: BTreeSet<&'static str>,
    pub(crate) stubborn_key: Option<String>,
    pub(crate) dead: Vec<String>,
    pub(crate) letters_down: bool,
    /// Percent of requests with a fault.
    pub(crate) fault_percent: u64,
    /// The broker has topic ids.
    pub(crate) tells_incarnation: bool,
    /// Metadata longer than this is refused.
    pub(crate) metadata_max: usize,
    /// Store calls until the member in this place dies.
    pub(crate) death: Option<(usize, u32)>,
    pub(crate) dead_member: Option<usize>,
    pub(crate) violations: Vec<String>,
    pub(crate) now_ms: i64,
    /// What was parsed of objects already, by key.
    archived: BTreeMap<(String, String), Vec<Vec<u64>>>,
}

impl World {
    pub(crate) fn new(seed: u64) -> World {
        let mut random = Random::new(seed);
        let fault_percent = random.pick(&[0, 5, 15, 35]);
        let tells_incarnation = random.chance(50);
        let metadata_max = if random.chance(15) { 30 } else { 4096 };
        World {
            random,
            logs: vec![Log::default(); PARTITIONS],
            lines: Vec::new(),
            seats: (0..PARTITIONS).map(|_| Seat::default()).collect(),
            inboxes: Vec::new(),
            variants_of: Vec::new(),
            search: Search::default(),
            objects: BTreeMap::new(),
            exclusive: true,
            unreadable: BTreeSet::new(),
            forbidden: BTreeSet::new(),
            stubborn_key: None,
            dead: Vec::new(),
            letters_down: false,
            fault_percent,
            tells_incarnation,
            metadata_max,
            death: None,
            dead_member: None,
            violations: Vec::new(),
            now_ms: 0,
            archived: BTreeMap::new(),
        }
    }

    pub(crate) fn faulty(&mut self) -> bool {
        let percent = self.fault_percent;
        self.random.chance(percent)
    }

    pub(crate) fn latency_us(&mut self) -> u64 {
        if self.random.chance(10) {
            self.random.between(20_000, 200_000)
        } else {
            self.random.between(500, 8_000)
        }
    }

    /// Whether this call is where the member dies.
    pub(crate) fn dies_here(&mut self, member: usize) -> bool {
        match &mut self.death {
            Some((who, calls)) if *who == member => {
                *calls = calls.saturating_sub(1);
                if *calls == 0 {
                    self.dead_member = Some(member);
                }
            }
            _ => {}
        }
        self.dead_member == Some(member)
    }

    /// A member commits; true when the broker takes it.
    pub(crate) fn commit(
        &mut self,
        member: usize,
        (partition, generation): (usize, u64),
        offset: i64,
        text: &str,
    ) -> bool {
        let seat = &self.seats[partition];
        let is_his = seat.owner == Some(member) || seat.leaving == Some(member);
        let may = is_his && seat.generation == generation;
        if !may {
            return false;
        }
        let before = seat.commit.as_ref().map_or(0, |commit| commit.0);
        let end = self.logs[partition].next_offset;
        if offset > end {
            let violation = format!("partition {partition}: {offset} committed, the end is {end}");
            self.violations.push(violation);
        }
        let from = before.min(self.seats[partition].checked.max(before));
        self.check_commit(member, partition, from, offset);
        let seat = &mut self.seats[partition];
        seat.commit = Some((offset, text.to_owned()));
        seat.checked = offset;
        true
    }

    fn check_commit(&mut self, member: usize, partition: usize, from: i64, to: i64) {
        let log = &self.logs[partition];
        let newly: Vec<u64> = log
            .records
            .iter()
            .filter(|record| record.offset >= from && record.offset < to)
            .flat_map(SimRecord::rids)
            .collect();
        if newly.is_empty() {
            return;
        }
        let held = self.held();
        for rid in newly {
            for missing in self.missing(member, rid, &held) {
                let what = format!(
                    "partition {partition}: commit {to} by member {member} (variants {:?}) passes \
                     line {rid} at {}, which is not in {missing}",
                    self.variants_of[member], self.lines[rid as usize].offset
                );
                self.violations.push(what);
            }
        }
    }

    /// The sinks that a line is routed to by whichever tables the member may have routed it: those
    /// it had when the line was written, or later ones.
    fn wanted(&self, member: usize, rid: u64) -> [bool; SINKS] {
        let had = &self.variants_of[member];
        let first = had.partition_point(|(from, _)| *from <= rid).saturating_sub(1);
        let task = self.lines[rid as usize].task;
        let mut wanted = [true; SINKS];
        for (_, variant) in &had[first..] {
            let sinks = variants()[*variant].sinks_of(task);
            wanted = std::array::from_fn(|sink| wanted[sink] && sinks[sink]);
        }
        wanted
    }

    /// The stores that should hold a line and do not.
    fn missing(&self, member: usize, rid: u64, held: &Held) -> Vec<&'static str> {
        let line = &self.lines[rid as usize];
        if line.excused {
            return Vec::new();
        }
        let wanted = self.wanted(member, rid);
        let mut missing = Vec::new();
        if wanted[SEARCH] {
            let there = if line.poison { &held.dead } else { &held.sinks[SEARCH] };
            if !there.contains_key(&rid) {
                missing.push(if line.poison { "the dead letters" } else { "search" });
            }
        }
        for (sink, name) in [(ARCHIVE, "archive"), (VAULT, "vault")] {
            if wanted[sink] && !held.sinks[sink].contains_key(&rid) {
                missing.push(name);
            }
        }
        missing
    }

    /// How often each line is in each store.
    pub(crate) fn held(&mut self) -> Held {
        let mut held = Held::default();
        for document in self.search.documents.values() {
            for rid in rids_of(document) {
                *held.sinks[SEARCH].entry(rid).or_default() += 1;
            }
        }
        for letter in &self.dead {
            for rid in rids_of(letter) {
                *held.dead.entry(rid).or_default() += 1;
            }
        }
        for (slot, bytes) in &self.objects {
            let Some(sink) = BUCKETS.iter().position(|bucket| *bucket == slot.0) else { continue };
            if slot.1.starts_with("_riverhog/") {
                continue;
            }
            let known = self.archived.get(slot);
            let documents = match known {
                Some(documents) => documents.clone(),
                None => documents_of(bytes, &mut self.violations, &slot.1),
            };
            for rid in documents.iter().flatten() {
                *held.sinks[sink].entry(*rid).or_default() += 1;
            }
            self.archived.insert(slot.clone(), documents);
        }
        held
    }

    /// A store takes an object in.
    pub(crate) fn store(&mut self, slot: (String, String), bytes: Bytes) {
        self.archived.remove(&slot);
        self.objects.insert(slot, bytes);
    }

    /// Lines in objects whose footers cannot be read may come twice.
    pub(crate) fn lines_in_unreadable(&self) -> BTreeSet<u64> {
        let unreadable = self.unreadable.iter().filter_map(|slot| self.archived.get(slot));
        unreadable.flatten().flatten().copied().collect()
    }
}

/// How often each line is where.
#[derive(Debug, Default)]
pub(crate) struct Held {
    pub(crate) sinks: [BTreeMap<u64, u32>; SINKS],
    pub(crate) dead: BTreeMap<u64, u32>,
}

/// The lines of each document of an object; a broken object is a violation.
fn documents_of(bytes: &Bytes, violations: &mut Vec<String>, key: &str) -> Vec<Vec<u64>> {
    let reader = match ObjectReader::open(bytes.clone()) {
        Ok(reader) => reader,
        Err(error) => {
            violations.push(format!("{key}: {error}"));
            return Vec::new();
        }
    };
    let mut documents = Vec::new();
    for line in reader.lines() {
        match line {
            Ok(line) => documents.push(rids_of(&String::from_utf8_lossy(&line))),
            Err(error) => violations.push(format!("{key}: {error}")),
        }
    }
    let footer = reader.footer();
    if footer.lines != documents.len() as u64 {
        violations.push(format!("{key}: {} lines in the footer", footer.lines));
    }
    // What a chain needs of a footer: an id that it never held must not look held.
    let never = IdKey { offset: i64::MAX - 1, time_ms: 0, index: 0, joined: None };
    if footer.frames.iter().any(|frame| frame.ids.contains(&never)) {
        violations.push(format!("{key}: the footer holds an id nobody wrote"));
    }
    documents
}
