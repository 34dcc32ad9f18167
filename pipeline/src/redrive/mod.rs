//! Dead letters as a source of their own: read from where they lie, made events again, delivered to
//! the sinks that owe them, and marked.
//!
//! Invariant: a letter is marked only after it is settled, and is never deleted; letters between
//! two marks are delivered again, which the stores recognise by their ids. Next stop: `place.rs`.

mod chunk;
mod letter;
mod place;
mod remake;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use riverhog_config::{Config, DeadLetter};
use tokio::sync::mpsc;

use self::chunk::{Delivering, Fate, Refusals};
use self::letter::{Entry, Letter, LetterName};
pub use self::place::PlaceError;
use self::place::{Pass, Place};
use self::remake::Remaker;
use crate::assemble::{self, AssembleError};
use crate::backoff::{Backoff, Jitter};
use crate::clock;
use crate::sink::dead_letter::letter::Letter as Written;
use crate::sink::dead_letter::{DeadLetterTarget, LetterOutcome};
use crate::telemetry::health::Health;

/// Letters delivered at once, and their bytes: documents take several times as much.
const CHUNK_LETTERS: usize = 4_096;
const CHUNK_BYTES: usize = 4 << 20;
/// Entries read ahead.
const AHEAD: usize = 64;
/// Marks written at once.
const MARKS_WRITTEN: usize = 256;
/// Names of letters that are known at once: 16 bytes and some more each.
const NAMES_MAX: usize = 20_000_000;
/// Kinds of letters that a report tells apart; what is beyond stands under one name.
const KINDS_MAX: usize = 10_000;

/// Which letters are meant; an empty list means all.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Their reasons.
    pub reasons: Vec<String>,
    /// The sinks that owe them; `-` for letters of no sink.
    pub sinks: Vec<String>,
    /// Record time, milliseconds since the epoch: at or after, and before.
    pub from_ms: Option<i64>,
    /// See `from_ms`.
    pub to_ms: Option<i64>,
}

/// What is to be done.
#[derive(Debug, Clone)]
pub struct Order {
    /// Which letters.
    pub filter: Filter,
    /// Only count.
    pub dry_run: bool,
    /// The branch of archive chains: [`crate::sink::archive::key::is_branch`].
    pub name: String,
    /// How long some thousand letters may take.
    pub deadline: Duration,
}

/// Reason, sink, destination.
pub type Kind = (String, String, String);

/// What was found and what became of it.
#[derive(Debug, Clone, Default)]
pub struct Summary {
    /// Letters that are meant and not marked, by kind.
    pub found: BTreeMap<Kind, u64>,
    /// Marked by a run before.
    pub settled_before: u64,
    /// Passed over by the filter.
    pub passed_over: u64,
    /// The same letter once more.
    pub repeated: u64,
    /// Entries that are no letters.
    pub unreadable: u64,
    /// Settled now.
    pub settled: u64,
    /// Dropped by a rule of today, and settled.
    pub dropped: u64,
    /// Those that stay, by reason.
    pub stay: BTreeMap<String, u64>,
}

/// Why a run ended early.
#[derive(Debug, thiserror::Error)]
pub enum RedriveError {
    /// There is no `[dead_letter]`.
    #[error("the configuration has no [dead_letter]")]
    NoPlace,
    /// A sink's settings are of no use.
    #[error(transparent)]
    Assemble(#[from] AssembleError),
    /// The place cannot be read, or takes no marks.
    #[error("[dead_letter]: {0}")]
    Place(#[from] PlaceError),
    /// A sink did not settle its letters.
    #[error("letters are left unsettled: {0}")]
    Unsettled(String),
}

impl Summary {
    /// All letters found.
    pub fn total(&self) -> u64 {
        self.found.values().sum()
    }

    /// Those that stay.
    pub fn stayed(&self) -> u64 {
        self.stay.values().sum()
    }
}

impl Filter {
    fn takes(&self, letter: &Letter) -> bool {
        let sink = letter.sink.as_deref().unwrap_or(NO_SINK);
        let time = letter.origin.time;
        (self.reasons.is_empty() || self.reasons.contains(&letter.reason))
            && (self.sinks.is_empty() || self.sinks.iter().any(|it| it == sink))
            && self.from_ms.is_none_or(|from| time >= from)
            && self.to_ms.is_none_or(|to| time < to)
    }
}

/// How a filter and a report write "no sink".
pub const NO_SINK: &str = "-";

/// Does what is ordered; `summary` is right whenever it ends, and told to `progress` now and then.
///
/// # Errors
/// What was not settled until then is left, and the same order goes on with it.
pub async fn redrive(
    config: &Config,
    order: &Order,
    summary: &mut Summary,
    progress: impl FnMut(&Summary),
) -> Result<(), RedriveError> {
    let dead_letter = config.dead_letter.as_ref().ok_or(RedriveError::NoPlace)?;
    let mut run = Run::open(dead_letter, order, summary, progress).await?;
    run.read_marks().await?;
    let refusals = Arc::new(Refusals::default());
    let refused: Arc<dyn DeadLetterTarget> = Arc::clone(&refusals) as _;
    let dispatch = if order.dry_run {
        None
    } else {
        Some(assemble::sinks_alone(config, refused, &Health::new()).await?)
    };
    let mut remaker = Remaker::new(config);
    let (entries, mut letters) = mpsc::channel(AHEAD);
    tokio::spawn(run.place.clone().read(Pass::Letters, entries));
    let mut chunk = Vec::new();
    let mut bytes = 0;
    loop {
        let entry = letters.recv().await.transpose()?;
        let is_end = entry.is_none();
        if let Some(letter) = entry.and_then(|entry| run.take(&entry)) {
            bytes += letter.bytes;
            if dispatch.is_some() {
                chunk.push(letter);
            }
        }
        if chunk.len() >= CHUNK_LETTERS || bytes >= CHUNK_BYTES || is_end {
            bytes = 0;
            if let Some(dispatch) = dispatch.as_ref().filter(|_| !chunk.is_empty()) {
                let branch = order.name.as_str().into();
                let deadline = order.deadline;
                let sinks = Delivering { dispatch, refusals: &refusals, branch, deadline };
                run.deliver(&sinks, &std::mem::take(&mut chunk), &mut remaker).await?;
            }
            (run.progress)(run.summary);
        }
        if is_end {
            return Ok(());
        }
        run.bound()?;
    }
}

struct Run<'r, P> {
    order: &'r Order,
    summary: &'r mut Summary,
    progress: P,
    place: Place,
    marks: Arc<dyn DeadLetterTarget>,
    marked: HashSet<LetterName>,
    seen: HashSet<LetterName>,
}

impl<'r, P: FnMut(&Summary)> Run<'r, P> {
    async fn open(
        dead_letter: &DeadLetter,
        order: &'r Order,
        summary: &'r mut Summary,
        progress: P,
    ) -> Result<Run<'r, P>, RedriveError> {
        let (place, marks) = place::open(dead_letter).await?;
        let (marked, seen) = (HashSet::new(), HashSet::new());
        Ok(Run { order, summary, progress, place, marks, marked, seen })
    }

    async fn read_marks(&mut self) -> Result<(), RedriveError> {
        let (entries, mut marks) = mpsc::channel(AHEAD);
        tokio::spawn(self.place.clone().read(Pass::Marks, entries));
        while let Some(entry) = marks.recv().await.transpose()? {
            if let Entry::Mark(name) = letter::read(&entry) {
                self.marked.insert(name);
            }
            self.bound()?;
        }
        Ok(())
    }

    fn bound(&self) -> Result<(), RedriveError> {
        if self.marked.len() + self.seen.len() < NAMES_MAX {
            return Ok(());
        }
        let words = format!("more than {NAMES_MAX} letters and marks at once; filter by time");
        Err(RedriveError::Place(PlaceError(words)))
    }

    /// A letter that is meant, for the first time.
    fn take(&mut self, entry: &[u8]) -> Option<Letter> {
        let letter = match letter::read(entry) {
            Entry::Letter(letter) => *letter,
            Entry::Mark(_) => return None,
            Entry::Unreadable => {
                self.summary.unreadable += 1;
                return None;
            }
        };
        if !self.order.filter.takes(&letter) {
            self.summary.passed_over += 1;
            return None;
        }
        if !self.seen.insert(letter.name()) {
            self.summary.repeated += 1;
            return None;
        }
        if self.marked.contains(&letter.name()) {
            self.summary.settled_before += 1;
            return None;
        }
        let sink = letter.sink.clone().unwrap_or_else(|| NO_SINK.to_owned());
        let mut kind = (letter.reason.clone(), sink, letter.destination.clone());
        if self.summary.found.len() >= KINDS_MAX && !self.summary.found.contains_key(&kind) {
            kind = ("other".to_owned(), "other".to_owned(), "other".to_owned());
        }
        *self.summary.found.entry(kind).or_default() += 1;
        Some(letter)
    }

    async fn deliver(
        &mut self,
        sinks: &Delivering<'_>,
        letters: &[Letter],
        remaker: &mut Remaker<'_>,
    ) -> Result<(), RedriveError> {
        // Queues that are full of what cannot be sent must not hold it up for ever.
        let longest = sinks.deadline.saturating_mul(2);
        let fates = tokio::time::timeout(longest, sinks.deliver(letters, remaker)).await;
        let fates =
            fates.map_err(|_| RedriveError::Unsettled("the sinks take no more".to_owned()))?;
        let fates = fates.map_err(|error| RedriveError::Unsettled(error.to_string()))?;
        let (now, mut marks) = (clock::now_ms(), Vec::new());
        for (letter, fate) in letters.iter().zip(&fates) {
            if let Fate::Settled | Fate::Dropped = fate {
                let key = match &letter.sink {
                    Some(sink) if !self.place.is_topic() => format!("{}.{sink}", letter.id),
                    _ => letter.id.clone(),
                };
                marks.push(Written { key: key.into_bytes(), value: letter.mark(now) });
            }
        }
        self.mark(marks, sinks.deadline).await?;
        for fate in fates {
            match fate {
                Fate::Settled => self.summary.settled += 1,
                Fate::Dropped => self.summary.dropped += 1,
                Fate::Stays(why) => *self.summary.stay.entry(why).or_default() += 1,
            }
        }
        Ok(())
    }

    /// Writes marks until the place has them.
    async fn mark(&self, marks: Vec<Written>, deadline: Duration) -> Result<(), RedriveError> {
        let until = clock::instant() + deadline;
        let jitter = Jitter::new(assemble::random());
        for some in marks.chunks(MARKS_WRITTEN) {
            let mut backoff = Backoff::new(Duration::from_millis(200), Duration::from_secs(10));
            let mut left = some.to_vec();
            loop {
                let outcomes = self.marks.write(&left).await;
                let is_left = |outcome: &LetterOutcome| *outcome != LetterOutcome::Done;
                let why = outcomes.iter().find(|outcome| is_left(outcome)).cloned();
                let (mut outcomes, before) = (outcomes.into_iter(), left);
                left = before
                    .into_iter()
                    .filter(|_| outcomes.next().is_none_or(|outcome| is_left(&outcome)))
                    .collect();
                let Some(why) = why.filter(|_| !left.is_empty()) else { break };
                let is_over = !matches!(why, LetterOutcome::Retry(_));
                if is_over || clock::instant() >= until {
                    let words = format!("marks of settled letters cannot be written: {why:?}");
                    return Err(RedriveError::Place(PlaceError(words)));
                }
                tokio::time::sleep(backoff.next(&jitter, None)).await;
            }
        }
        Ok(())
    }
}
