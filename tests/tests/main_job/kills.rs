//! `kill -9` at ten random moments, restarted each time.
//!
//! The invariant: after each kill, with nobody left to write, every line below a committed offset
//! is in each of its stores; at the end each line is there once. Next stop: `compare.rs`.

use anyhow::{Context as _, Result, ensure};
use riverhog_tests::corpus::Corpus;
use riverhog_tests::{Feed, Pace, Riverhog, services};
use std::time::Duration;
use tokio::time::{Instant, MissedTickBehavior, interval, timeout_at};

use crate::bed::Bed;
use crate::compare::Store;
use crate::lines::Lines;
use crate::stores::Reader;

const CORPUS: Corpus = Corpus { seed: 9, lines: 60_000, partitions: 4 };
/// Another seed, other moments; `RIVERHOG_TEST_SEED` names one for a run by hand.
const SEED: u64 = 9;
const KILLS: usize = 10;
/// Before the first start; the rest comes while it runs, for longer than ten rounds should take.
const PACE: Pace = Pace::bursts(3_000, 120);
const SETTLE_DEADLINE: Duration = Duration::from_secs(40);
const STOP_DEADLINE: Duration = Duration::from_secs(30);

/// When an instance is killed.
#[derive(Clone, Copy, Debug)]
enum Moment {
    /// So long after its start: it may be joining the group, or not have come so far.
    AfterStart(Duration),
    /// So long after it got its partitions: it is at work.
    AfterReady(Duration),
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_kills_lose_nothing_and_repeat_nothing() -> Result<()> {
    let Some(services) = services() else {
        return Ok(());
    };
    let _alone = riverhog_tests::alone().await;
    let bed = Bed::new(&services, "kills", CORPUS).await?.with_small_objects()?;
    let mut lines = Lines::new(&bed.topic, CORPUS, Vec::new());
    let records = lines.take_records();
    let feed = Feed::start(&bed.broker, &bed.topic, records, PACE);
    let mut reader = Reader::new(&bed, &lines);
    let mut riverhog = bed.start("riverhog")?;
    let mut progress = Progress::default();
    for (number, moment) in moments(seed()?).into_iter().enumerate() {
        if number > 0 {
            riverhog.restart()?;
        }
        run_until(&mut riverhog, moment).await?;
        ensure!(!feed.is_done(), "kill {number}: nothing was left to be produced meanwhile");
        riverhog.kill()?;
        let seen = nothing_committed_is_missing(&bed, &lines, &mut reader).await;
        progress.add(seen.with_context(|| format!("kill {number}, {moment:?}, {progress:?}"))?);
    }
    progress.says_something()?;

    feed.finish().await?;
    riverhog.restart()?;
    let ends = lines.ends();
    bed.has_committed(ends, SETTLE_DEADLINE).await;
    riverhog.stop(STOP_DEADLINE).await?;
    ensure!(bed.committed()? == ends, "{:?} of {ends:?}", bed.committed()?);
    bed.has_no_dead_letter()?;
    Store::Search(&bed.stem).holds_each_once(&lines, &reader.search().await?)?;
    Store::Archive.holds_each_once(&lines, reader.archive().await?)?;
    bed.verify_archive(lines.all().len())
}

/// What was there after each kill.
#[derive(Debug, Default)]
struct Progress {
    /// The sum of the committed offsets.
    committed: Vec<i64>,
    /// Lines in OpenSearch that no commit covered: what a restart could repeat.
    ahead_in_search: Vec<usize>,
    /// The same in the archive.
    ahead_in_archive: Vec<usize>,
}

impl Progress {
    fn add(&mut self, (committed, in_search, in_archive): (i64, usize, usize)) {
        self.committed.push(committed);
        self.ahead_in_search.push(in_search);
        self.ahead_in_archive.push(in_archive);
    }

    /// Kills of a process that commits nothing, or has nothing in flight, would prove nothing.
    fn says_something(&self) -> Result<()> {
        let rises = self.committed.windows(2).filter(|pair| pair[0] < pair[1]).count();
        ensure!(self.committed.is_sorted(), "a commit went back: {self:?}");
        let often =
            |ahead: &[usize]| ahead.iter().filter(|lines| **lines > 10).count() >= KILLS / 3;
        let open = often(&self.ahead_in_search) && often(&self.ahead_in_archive);
        ensure!(rises >= KILLS / 3 && open, "too little happened: {self:?}");
        Ok(())
    }
}

async fn nothing_committed_is_missing(
    bed: &Bed,
    lines: &Lines,
    reader: &mut Reader<'_>,
) -> Result<(i64, usize, usize)> {
    let committed = bed.committed()?;
    let searched = reader.search().await?;
    let search = Store::Search(&bed.stem);
    let in_search = search.holds_what_is_committed(lines, &searched, &committed)?;
    let archived = reader.archive().await?;
    let in_archive = Store::Archive.holds_what_is_committed(lines, archived, &committed)?;
    Ok((committed.iter().sum(), in_search, in_archive))
}

/// Lets it run until the moment has come; it must not end by itself.
async fn run_until(riverhog: &mut Riverhog, moment: Moment) -> Result<()> {
    let after = match moment {
        Moment::AfterStart(after) => after,
        Moment::AfterReady(after) => {
            riverhog.wait_ready().await?;
            after
        }
    };
    let end = Instant::now() + after;
    let mut looks = interval(Duration::from_millis(50));
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    while timeout_at(end, looks.tick()).await.is_ok() {
        let status = riverhog.exit_status()?;
        ensure!(status.is_none(), "it ended by itself: {status:?}");
    }
    Ok(())
}

fn seed() -> Result<u64> {
    match std::env::var("RIVERHOG_TEST_SEED") {
        Ok(text) => text.parse().with_context(|| format!("RIVERHOG_TEST_SEED={text}")),
        Err(_) => Ok(SEED),
    }
}

fn moments(seed: u64) -> [Moment; KILLS] {
    let mut random = seed;
    let mut below = |count: u64| {
        // splitmix64.
        random = random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = random;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % count
    };
    std::array::from_fn(|_| {
        if below(10) < 2 {
            Moment::AfterStart(Duration::from_millis(below(3_000)))
        } else {
            // Two seconds are the age of objects: before, at and after the first are stored.
            Moment::AfterReady(Duration::from_millis(below(5_000)))
        }
    })
}

#[test]
fn the_moments_are_of_both_kinds() {
    let starting = |moment: &Moment| matches!(moment, Moment::AfterStart(_));
    let count = moments(SEED).iter().filter(|moment| starting(moment)).count();
    assert!((1..=4).contains(&count), "{:?}", moments(SEED));
}
