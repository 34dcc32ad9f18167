//! Walks the chains under a prefix and says what is wrong with them.
//!
//! Invariant: it only reads, one object at a time; what it cannot read is a problem, never passed
//! over. Memory grows by about nine bytes for each event of one chain, since ids must be unique
//! over the whole of it. Next stop: `verify_object.rs` looks into each object.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use bytes::Bytes;

use super::footer::{Footer, RecordKind};
use super::key::ObjectName;
use super::reader::ObjectReader;
use super::store::{
    Depth, Halt, HaltReason, ObjectStore, PROBE_KEY, ReadOutcome, Unreadable, list_all,
    unreadable_footer,
};
use super::verify_object::{Contents, ObjectCheck};

/// Largest object read: what one PUT may carry.
const OBJECT_BYTES_MAX: u64 = 5 * 1024 * 1024 * 1024;
/// Problems kept in full; the rest are only counted.
const PROBLEMS_MAX: usize = 1000;
/// Waits between attempts to read, in seconds.
const RETRY_SECONDS: [u64; 3] = [1, 3, 10];

/// What is wrong.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ProblemKind {
    /// Numbers of the chain are missing.
    Gap,
    /// The object or its footer cannot be read.
    Unreadable,
    /// The footer belongs to another chain, sink or kind of records than its name or neighbours.
    Foreign,
    /// A frame is not as it was written.
    Damaged,
    /// Counts, levels or greatest offset differ from the documents.
    Count,
    /// The running maximum of offsets is wrong or falls.
    ChainMax,
    /// A document is no event of this partition.
    Document,
    /// The footer's ids are not those of the documents.
    Ids,
    /// An event stands in the chain twice.
    Repeated,
}

impl ProblemKind {
    /// A word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            ProblemKind::Gap => "gap",
            ProblemKind::Unreadable => "unreadable",
            ProblemKind::Foreign => "foreign",
            ProblemKind::Damaged => "damaged",
            ProblemKind::Count => "count",
            ProblemKind::ChainMax => "chain_max",
            ProblemKind::Document => "document",
            ProblemKind::Ids => "ids",
            ProblemKind::Repeated => "repeated",
        }
    }
}

/// One thing that is wrong.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Problem {
    /// Key of the object.
    pub key: String,
    /// What kind of thing.
    pub kind: ProblemKind,
    /// In words.
    pub detail: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}: {}", self.key, self.kind.as_str(), self.detail)
    }
}

/// What a walk found.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Report {
    /// Chains walked.
    pub chains: u64,
    /// Objects read.
    pub objects: u64,
    /// Lines in them.
    pub lines: u64,
    /// Size of the lines, in bytes.
    pub raw_bytes: u64,
    /// Size of the objects, in bytes.
    pub stored_bytes: u64,
    /// Events stored again by writers without exclusive creation, which promise no more.
    pub repeated_lines: u64,
    /// Chains whose first objects are not there, as after clearing away.
    pub shortened_chains: u64,
    /// Keys under the prefix that are no objects of a chain.
    pub other_keys: u64,
    /// The first thousand problems.
    pub problems: Vec<Problem>,
    /// Number of all problems.
    pub problems_total: u64,
}

impl Report {
    /// Whether nothing is wrong.
    pub fn is_clean(&self) -> bool {
        self.problems_total == 0
    }

    fn problem(&mut self, key: &str, kind: ProblemKind, detail: impl Into<String>) {
        self.problems_total += 1;
        if self.problems.len() < PROBLEMS_MAX {
            self.problems.push(Problem { key: key.to_owned(), kind, detail: detail.into() });
        }
    }
}

/// Walks all chains whose keys begin with `prefix`.
///
/// `Retry` and `Halt` when the store itself stops answering; problems of objects are in the report.
pub async fn verify_chains(store: &dyn ObjectStore, prefix: &str) -> ReadOutcome<Report> {
    let mut report = Report::default();
    // By chain, folder included; keys of one chain need not be neighbours.
    let mut chains: BTreeMap<String, Vec<(u64, Option<u32>)>> = BTreeMap::new();
    let listed = list_all(store, prefix, None, Depth::Tree, |listed| {
        let (folder, name) = split_key(&listed.key);
        match ObjectName::parse(name) {
            Some(object) => chains
                .entry(format!("{folder}{}", object.chain))
                .or_default()
                .push((object.number, object.nonce)),
            None if listed.key == PROBE_KEY => {}
            None => report.other_keys += 1,
        }
    });
    match listed.await {
        ReadOutcome::Done(()) => {}
        other => return other.and_then(|()| ReadOutcome::Done(report)),
    }
    for (stem, mut numbers) in chains {
        numbers.sort_unstable();
        report.chains += 1;
        let mut walk = Walk { store, stem: &stem, state: ChainState::default(), report };
        for (number, nonce) in numbers {
            match walk.object(number, nonce).await {
                ReadOutcome::Done(()) => {}
                other => return other.and_then(|()| ReadOutcome::Done(walk.report)),
            }
        }
        report = walk.report;
    }
    ReadOutcome::Done(report)
}

/// What one object must fit to.
#[derive(Default)]
struct ChainState {
    /// Number and running maximum of the footer before; none after one that cannot be read.
    before: Option<(u64, i64)>,
    last_number: u64,
    owner: Option<Owner>,
    check: ObjectCheck,
}

/// What all footers of a chain agree on.
#[derive(PartialEq, Eq)]
struct Owner {
    sink: String,
    records: RecordKind,
    lineage: String,
    topic: String,
}

struct Walk<'a> {
    store: &'a dyn ObjectStore,
    stem: &'a str,
    state: ChainState,
    report: Report,
}

impl Walk<'_> {
    async fn object(&mut self, number: u64, nonce: Option<u32>) -> ReadOutcome<()> {
        let key = match nonce {
            None => format!("{}-{number:010}.jsonl.zst", self.stem),
            Some(nonce) => format!("{}-{number:010}.{nonce:08x}.jsonl.zst", self.stem),
        };
        let expected = self.state.last_number + 1;
        let is_first = self.state.last_number == 0;
        // Whoever clears away deletes the oldest objects: a chain may begin later.
        self.report.shortened_chains += u64::from(is_first && number > expected);
        if number > expected && !is_first {
            let last = number - 1;
            let detail = if last == expected {
                format!("number {expected} is missing before it")
            } else {
                format!("numbers {expected} to {last} are missing before it")
            };
            self.report.problem(&key, ProblemKind::Gap, detail);
        }
        self.state.last_number = number;
        let bytes = match self.read(&key).await {
            ReadOutcome::Done(bytes) => bytes,
            ReadOutcome::Unreadable(unreadable) => {
                self.unreadable(&key, &unreadable);
                return ReadOutcome::Done(());
            }
            other => return other.and_then(|_| ReadOutcome::Done(())),
        };
        self.report.objects += 1;
        self.report.stored_bytes += bytes.len() as u64;
        let reader = match ObjectReader::open(bytes) {
            Ok(reader) => reader,
            Err(error) => {
                self.unreadable(&key, &unreadable_footer(&error));
                return ReadOutcome::Done(());
            }
        };
        self.footer(&key, nonce, reader.footer());
        let check = std::mem::take(&mut self.state.check);
        let checking = tokio::task::spawn_blocking(move || check.object(&reader));
        match checking.await {
            Ok((check, contents)) => {
                self.state.check = check;
                self.contents(&key, nonce, contents);
                ReadOutcome::Done(())
            }
            Err(error) => ReadOutcome::Halt(Halt {
                reason: HaltReason::Refused,
                detail: format!("the check of {key} broke off: {error}"),
            }),
        }
    }

    async fn read(&self, key: &str) -> ReadOutcome<Bytes> {
        for seconds in RETRY_SECONDS {
            match self.store.get(key, OBJECT_BYTES_MAX).await {
                ReadOutcome::Retry(_) => tokio::time::sleep(Duration::from_secs(seconds)).await,
                other => return other,
            }
        }
        self.store.get(key, OBJECT_BYTES_MAX).await
    }

    fn unreadable(&mut self, key: &str, unreadable: &Unreadable) {
        self.state.before = None;
        self.report.problem(key, ProblemKind::Unreadable, unreadable.to_string());
    }

    /// What the footer says, beside its name and its neighbours.
    fn footer(&mut self, key: &str, nonce: Option<u32>, footer: &Footer) {
        let (_, name) = split_key(key);
        let own_name = footer.name(nonce).branched_as(name).to_string();
        // A prefix may end in any character, so the name may begin before the footer's does.
        if !name.ends_with(&own_name) {
            let detail = format!("its footer is that of {own_name}");
            self.report.problem(key, ProblemKind::Foreign, detail);
        }
        let owner = Owner {
            sink: footer.sink.clone(),
            records: footer.records,
            lineage: footer.lineage.clone(),
            topic: footer.topic.clone(),
        };
        let first = self.state.owner.get_or_insert(owner);
        if first.sink != footer.sink || first.records != footer.records {
            let detail = format!(
                "written by sink {:?} ({:?}), the chain by {:?} ({:?})",
                footer.sink, footer.records, first.sink, first.records
            );
            self.report.problem(key, ProblemKind::Foreign, detail);
        } else if first.lineage != footer.lineage || first.topic != footer.topic {
            let detail = format!("of {:?}, the chain of {:?}", footer.topic, first.topic);
            self.report.problem(key, ProblemKind::Foreign, detail);
        }
        let before = match self.state.before {
            // Nothing stands before the first; several writers' chains run side by side.
            _ if footer.number == 1 || nonce.is_some() => Some(i64::MIN),
            Some((number, max)) if number + 1 == footer.number => Some(max),
            // What the writer took for the maximum cannot be told.
            _ => None,
        };
        let expected = before.map(|before| before.max(footer.max_offset));
        let found = footer.chain_max_offset;
        let wrong = expected.is_some_and(|expected| match nonce {
            None => found != expected,
            Some(_) => found < expected,
        });
        if wrong {
            let detail = format!(
                "running maximum {found}, with the object before it must be {}",
                expected.unwrap_or(found)
            );
            self.report.problem(key, ProblemKind::ChainMax, detail);
        }
        self.state.before = Some((footer.number, found));
    }

    fn contents(&mut self, key: &str, nonce: Option<u32>, contents: Contents) {
        self.report.lines += contents.lines;
        self.report.raw_bytes += contents.raw_bytes;
        for (kind, detail) in contents.problems {
            self.report.problem(key, kind, detail);
        }
        self.report.problems_total += contents.problems_left_out;
        if nonce.is_some() {
            self.report.repeated_lines += contents.repeated;
        } else if let Some(example) = contents.repeated_example {
            let detail =
                format!("{} events stand in the chain twice, {example}", contents.repeated);
            self.report.problem(key, ProblemKind::Repeated, detail);
        }
    }
}

/// Folder (with its `/`) and name.
fn split_key(key: &str) -> (&str, &str) {
    key.split_at(key.rfind('/').map_or(0, |slash| slash + 1))
}

#[cfg(test)]
mod tests {
    use super::super::footer::SUFFIX_BYTES;
    use super::super::frames::FrameCompressor;
    use super::super::ids::IdKey;
    use super::super::local::LocalStore;
    use super::super::object::tests::meta;
    use super::super::object::{Item, ObjectBuilder, ObjectMeta};
    use super::super::store::read_footer;
    use super::*;
    use riverhog_parsers::level::Level;
    use riverhog_rules::{Joined, Origin, write_event_id};
    use std::fs;
    use std::path::PathBuf;

    /// An archive folder to spoil.
    struct Archive {
        folder: tempfile::TempDir,
        store: LocalStore,
    }

    impl Archive {
        fn new() -> Archive {
            let folder = tempfile::tempdir().unwrap();
            let store = LocalStore::new(folder.path());
            Archive { folder, store }
        }

        fn path(&self, prefix: &str, number: u64) -> PathBuf {
            self.folder.path().join(key(prefix, number))
        }

        fn write(&self, prefix: &str, meta: &ObjectMeta<'_>, offsets: std::ops::Range<i64>) {
            let path = self.path(prefix, meta.number);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, object(meta, offsets)).unwrap();
        }

        /// Three objects of a chain.
        fn chain(&self, prefix: &str) {
            for number in 1..=3_u64 {
                let start = (number as i64 - 1) * 100;
                let before = (number > 1).then_some(start);
                self.write(prefix, &numbered(number, before), start..start + 100);
            }
        }

        fn verify(&self, prefix: &str) -> Report {
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            match runtime.block_on(verify_chains(&self.store, prefix)) {
                ReadOutcome::Done(report) => report,
                other => panic!("{other:?}"),
            }
        }
    }

    fn key(prefix: &str, number: u64) -> String {
        format!("{prefix}1a2b3c4d-train-logs-00003-{number:010}.jsonl.zst")
    }

    fn numbered(number: u64, chain_max_before: Option<i64>) -> ObjectMeta<'static> {
        ObjectMeta { chain_max_before, ..meta(number) }
    }

    /// Events at the offsets; every tenth is joined with the line after it.
    fn object(meta: &ObjectMeta<'_>, offsets: std::ops::Range<i64>) -> Bytes {
        let mut compressor = FrameCompressor::new(1).unwrap();
        let mut builder = ObjectBuilder::default();
        for offset in offsets {
            let joined = (offset % 10 == 9)
                .then_some(Joined { lines: 2, hash: (offset as u32).wrapping_mul(0x9e37_79b9) });
            let origin = Origin {
                lineage: meta.lineage,
                topic: meta.topic,
                partition: meta.partition,
                offset,
                time_ms: 1_773_282_225_000 + offset,
                index: (offset % 3) as u32,
            };
            let mut id = Vec::new();
            write_event_id(&mut id, &origin, joined);
            let level = Level::ALL.get(offset as usize % 7).copied();
            let named =
                level.map_or(String::new(), |level| format!("\"level\":\"{}\",", level.as_str()));
            let text = format!(
                "{{{named}\"content\":\"\\u00e9\",\"event_id\":\"{}\",\"v\":1}}",
                String::from_utf8(id).unwrap()
            );
            let item = Item {
                key: IdKey {
                    offset,
                    index: origin.index,
                    joined: joined.map(|joined| (joined.lines, joined.hash)),
                    time_ms: origin.time_ms,
                },
                last_offset: offset + i64::from(joined.is_some()),
                level,
                time_ns: origin.time_ms * 1_000_000,
                document: [text.as_bytes(), b""],
                token: 0,
            };
            builder.append(&item, &mut compressor).unwrap();
        }
        builder.finish(meta, &mut compressor).unwrap().bytes
    }

    fn kinds(report: &Report) -> Vec<(ProblemKind, &str)> {
        report.problems.iter().map(|one| (one.kind, one.key.rsplit('/').next().unwrap())).collect()
    }

    fn check(spoil: impl FnOnce(&Archive), expect: &[(ProblemKind, u64)]) {
        let archive = Archive::new();
        archive.chain("nlp/2026-03-12/");
        archive.chain("vision/");
        spoil(&archive);
        let report = archive.verify("nlp/");
        let keys: Vec<_> = expect.iter().map(|(kind, number)| (*kind, key("", *number))).collect();
        let expect: Vec<_> = keys.iter().map(|(kind, key)| (*kind, key.as_str())).collect();
        assert_eq!(kinds(&report), expect, "{:#?}", report.problems);
        assert_eq!(report.is_clean(), expect.is_empty());
        assert_eq!(report.problems_total, expect.len() as u64);
    }

    const NLP: &str = "nlp/2026-03-12/";

    #[test]
    fn a_whole_chain_is_clean() {
        let archive = Archive::new();
        archive.chain(NLP);
        archive.chain("vision/half-a-name-");
        fs::write(archive.folder.path().join("nlp/notes.txt"), "other people's").unwrap();
        let report = archive.verify("");
        assert!(report.is_clean(), "{:#?}", report.problems);
        assert_eq!((report.chains, report.objects, report.lines), (2, 6, 600));
        assert_eq!(report.other_keys, 1);
        assert!(report.raw_bytes > report.stored_bytes);
        assert_eq!(archive.verify("audio/"), Report::default());
    }

    #[test]
    fn missing_numbers_are_told() {
        check(|_| {}, &[]);
        check(|archive| fs::remove_file(archive.path(NLP, 2)).unwrap(), &[(ProblemKind::Gap, 3)]);
        check(|archive| fs::remove_file(archive.path(NLP, 1)).unwrap(), &[]);
        let archive = Archive::new();
        archive.chain(NLP);
        assert_eq!(archive.verify("").shortened_chains, 0);
        fs::remove_file(archive.path(NLP, 1)).unwrap();
        assert_eq!(archive.verify("").shortened_chains, 1);
    }

    #[test]
    fn damage_is_told() {
        let spoil = |at: fn(usize) -> usize| {
            move |archive: &Archive| {
                let path = archive.path(NLP, 2);
                let mut bytes = fs::read(&path).unwrap();
                let at = at(bytes.len());
                bytes[at] ^= 0x10;
                fs::write(path, bytes).unwrap();
            }
        };
        check(spoil(|_| 100), &[(ProblemKind::Damaged, 2)]);
        check(spoil(|length| length - 60), &[(ProblemKind::Unreadable, 2)]);
        check(
            |archive| fs::write(archive.path(NLP, 2), "").unwrap(),
            &[(ProblemKind::Unreadable, 2)],
        );
    }

    #[test]
    fn an_event_stored_twice_is_told() {
        check(
            |archive| archive.write(NLP, &numbered(3, Some(200)), 190..300),
            &[(ProblemKind::Repeated, 3)],
        );
    }

    #[test]
    fn a_running_maximum_that_is_wrong_is_told() {
        check(
            |archive| archive.write(NLP, &numbered(3, None), 50..100),
            &[(ProblemKind::ChainMax, 3), (ProblemKind::Repeated, 3)],
        );
        check(
            |archive| archive.write(NLP, &numbered(3, Some(5000)), 200..300),
            &[(ProblemKind::ChainMax, 3)],
        );
    }

    #[test]
    fn a_strange_object_is_told() {
        let other_sink = ObjectMeta { sink: "cold", ..numbered(3, Some(200)) };
        check(|archive| archive.write(NLP, &other_sink, 200..300), &[(ProblemKind::Foreign, 3)]);
        check(
            |archive| {
                fs::copy(archive.path("vision/", 2), archive.path(NLP, 3)).unwrap();
            },
            &[(ProblemKind::Foreign, 3), (ProblemKind::Repeated, 3)],
        );
    }

    #[test]
    fn a_document_of_another_partition_is_told() {
        let archive = Archive::new();
        archive.chain(NLP);
        // The documents say partition 3, footer and name say 4.
        let strange = ObjectMeta { partition: 4, ..meta(1) };
        let mut compressor = FrameCompressor::new(1).unwrap();
        let mut builder = ObjectBuilder::default();
        for (offset, id) in [(0, "1a2b3c4d-train-logs-3-0-mmmm-0"), (1, "no id"), (2, "")] {
            let text = format!("{{\"event_id\":\"{id}\"}}");
            let item = Item {
                key: IdKey { offset, index: 0, joined: None, time_ms: 0 },
                last_offset: offset,
                level: None,
                time_ns: 0,
                document: [text.as_bytes(), b""],
                token: 0,
            };
            builder.append(&item, &mut compressor).unwrap();
        }
        let bytes = builder.finish(&strange, &mut compressor).unwrap().bytes;
        let name = "nlp/1a2b3c4d-train-logs-00004-0000000001.jsonl.zst";
        fs::write(archive.folder.path().join(name), bytes).unwrap();
        let report = archive.verify("");
        let found: Vec<ProblemKind> = report.problems.iter().map(|one| one.kind).collect();
        let document = ProblemKind::Document;
        assert_eq!(
            found,
            [document, document, document, ProblemKind::Ids, ProblemKind::Count],
            "{:#?}",
            report.problems
        );
    }

    #[test]
    fn writers_without_exclusive_creation_may_repeat() {
        let archive = Archive::new();
        for nonce in ["0000aaaa", "0000bbbb"] {
            let name = format!("nlp/1a2b3c4d-train-logs-00003-0000000001.{nonce}.jsonl.zst");
            let path = archive.folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, object(&meta(1), 0..100)).unwrap();
        }
        let report = archive.verify("");
        assert!(report.is_clean(), "{:#?}", report.problems);
        assert_eq!((report.lines, report.repeated_lines), (200, 100));
    }

    #[test]
    fn a_footer_is_read_in_one_or_two_requests() {
        let archive = Archive::new();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        for (number, events) in [(1, 10), (2, 200_000)] {
            archive.write(NLP, &numbered(number, None), 0..events);
            let path = archive.path(NLP, number);
            let footer = runtime.block_on(read_footer(&archive.store, &key(NLP, number)));
            let ReadOutcome::Done(footer) = footer else { panic!("{footer:?}") };
            assert_eq!((footer.number, footer.lines), (number, events as u64));
            let size = fs::metadata(path).unwrap().len();
            let end = size - footer.compressed_bytes;
            assert_eq!(end > SUFFIX_BYTES, number == 2, "{end} bytes of footer");
        }
        let gone = runtime.block_on(read_footer(&archive.store, &key(NLP, 9)));
        assert!(matches!(gone, ReadOutcome::Unreadable(_)), "{gone:?}");
    }
}
