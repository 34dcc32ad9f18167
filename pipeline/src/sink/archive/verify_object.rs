//! Looks into one object: frames, documents, ids.
//!
//! Invariant: every document is parsed and its event id compared byte for byte with the one its
//! footer's lineage, topic and partition make. Next stop: `verify.rs` adds it up.

use std::borrow::Cow;
use std::collections::HashSet;
use std::hash::{BuildHasherDefault, Hasher};

use riverhog_parsers::level::Level;
use riverhog_rules::{Origin, parse_event_id, write_event_id};
use serde::Deserialize;
use twox_hash::XxHash3_64;

use super::footer::{Footer, LevelCounts, RecordKind};
use super::ids::{FrameIds, IdKey};
use super::reader::{ObjectReader, split_line};
use super::verify::ProblemKind;

/// Problems of one object told in full.
const PROBLEMS_MAX: usize = 20;

/// What was found in one object.
#[derive(Default)]
pub(super) struct Contents {
    pub(super) lines: u64,
    pub(super) raw_bytes: u64,
    pub(super) problems: Vec<(ProblemKind, String)>,
    pub(super) problems_left_out: u64,
    /// Events that stood in the chain before.
    pub(super) repeated: u64,
    /// The id of one of them.
    pub(super) repeated_example: Option<String>,
}

impl Contents {
    fn problem(&mut self, kind: ProblemKind, detail: String) {
        if self.problems.len() < PROBLEMS_MAX {
            self.problems.push((kind, detail));
        } else {
            self.problems_left_out += 1;
        }
    }
}

/// The part of a document that is checked.
#[derive(Deserialize)]
struct Document<'a> {
    #[serde(borrow)]
    event_id: Cow<'a, str>,
    #[serde(borrow, default)]
    level: Option<Cow<'a, str>>,
}

/// Hashes of ids are hashed well already.
#[derive(Default)]
struct AsItIs(u64);

impl Hasher for AsItIs {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = value;
    }
}

/// Checks the objects of one chain, one after the other.
#[derive(Default)]
pub(super) struct ObjectCheck {
    // Hashes in place of ids: among a hundred million events two differ in id and agree in hash
    // about once in four thousand chains.
    seen: HashSet<u64, BuildHasherDefault<AsItIs>>,
    scratch: Vec<u8>,
}

/// Sums over the documents of one object.
#[derive(Default)]
struct Sums {
    levels: LevelCounts,
    max_offset: Option<i64>,
    complete: bool,
}

impl ObjectCheck {
    /// Reads all of an object; blocks on nothing but takes a while.
    pub(super) fn object(mut self, reader: &ObjectReader) -> (ObjectCheck, Contents) {
        let mut contents = Contents::default();
        let footer = reader.footer();
        let mut sums = Sums { complete: true, ..Sums::default() };
        for (index, entry) in footer.frames.iter().enumerate() {
            let mut raw = match reader.frame(index) {
                Ok(raw) => raw,
                Err(error) => {
                    contents.problem(ProblemKind::Damaged, error.to_string());
                    sums.complete = false;
                    continue;
                }
            };
            contents.raw_bytes += raw.len() as u64;
            let mut lines = 0_u64;
            let mut ids = FrameIds::default();
            while let Some(line) = split_line(&mut raw) {
                lines += 1;
                if footer.records == RecordKind::Events {
                    let checked = self.document(footer, &line, &mut sums, &mut contents);
                    match checked {
                        Ok(key) => {
                            ids.push(key);
                        }
                        Err(reason) => {
                            let detail = format!("frame {index} line {lines}: {reason}");
                            contents.problem(ProblemKind::Document, detail);
                        }
                    }
                }
            }
            contents.lines += lines;
            if lines != u64::from(entry.lines) {
                let detail = format!("frame {index}: {lines} lines, said {}", entry.lines);
                contents.problem(ProblemKind::Count, detail);
            }
            if footer.records == RecordKind::Events && ids != entry.ids {
                let detail = format!(
                    "frame {index}: {} ids, said {}; or others, or other times",
                    ids.len(),
                    entry.ids.len()
                );
                contents.problem(ProblemKind::Ids, detail);
            }
        }
        check_sums(footer, &sums, &mut contents);
        (self, contents)
    }

    fn document(
        &mut self,
        footer: &Footer,
        line: &[u8],
        sums: &mut Sums,
        contents: &mut Contents,
    ) -> Result<IdKey, String> {
        let document: Document<'_> =
            serde_json::from_slice(line).map_err(|error| error.to_string())?;
        let id = &*document.event_id;
        let parts = parse_event_id(id).ok_or_else(|| format!("{id:?} is no event id"))?;
        let origin = Origin {
            lineage: &footer.lineage,
            topic: &footer.topic,
            partition: footer.partition,
            offset: parts.offset,
            time_ms: parts.time_ms,
            index: parts.index,
        };
        self.scratch.clear();
        write_event_id(&mut self.scratch, &origin, parts.joined);
        if self.scratch != id.as_bytes() {
            return Err(format!("{id:?} is not of this partition"));
        }
        let level = document
            .level
            .as_deref()
            .map(|level| Level::parse(level).ok_or_else(|| format!("{id}: {level:?} is no level")));
        sums.levels.add(level.transpose()?);
        sums.max_offset = sums.max_offset.max(Some(parts.offset));
        if !self.seen.insert(XxHash3_64::oneshot(id.as_bytes())) {
            contents.repeated += 1;
            contents.repeated_example.get_or_insert_with(|| id.to_owned());
        }
        Ok(IdKey {
            offset: parts.offset,
            index: parts.index,
            joined: parts.joined.map(|joined| (joined.lines, joined.hash)),
            time_ms: parts.time_ms,
        })
    }
}

fn check_sums(footer: &Footer, sums: &Sums, contents: &mut Contents) {
    if footer.records == RecordKind::Raw || !sums.complete {
        return;
    }
    if sums.levels != footer.levels {
        let detail = format!("levels {:?}, said {:?}", sums.levels, footer.levels);
        contents.problem(ProblemKind::Count, detail);
    }
    // The last line of a joined event stands in no id, so the footer may know a greater one.
    if sums.max_offset.is_some_and(|offset| offset > footer.max_offset) {
        let detail = format!("offset {:?} above {}", sums.max_offset, footer.max_offset);
        contents.problem(ProblemKind::Count, detail);
    }
}
