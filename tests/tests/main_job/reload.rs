//! Another configuration while lines flow: one that is right, one that is wrong, one while a store
//! is gone.
//!
//! The invariant: each line is in each of its stores once, the group is never left, and a
//! configuration that cannot be used changes nothing. Next stop: `compare.rs`.

use anyhow::{Result, ensure};
use riverhog_tests::corpus::Corpus;
use riverhog_tests::{Feed, Pace, Proxy, Riverhog, eventually, services};
use std::time::Duration;

use crate::bed::Bed;
use crate::compare::Store;
use crate::lines::Lines;
use crate::stores::Reader;

const CORPUS: Corpus = Corpus { seed: 47, lines: 20_000, partitions: 3 };
const DEADLINE: Duration = Duration::from_mins(1);
const PACE: Pace = Pace::bursts(3_000, 100);

/// A parser that takes no line of the corpus: the fingerprint is another, no document is.
const ANOTHER: &str = "[[parse]]\nname = \"another\"\ngrok = 'no line of the corpus is this'\n";
const WRONG: &str = "[[parse]]\nname = \"another\"\ngrok = '%{NO_SUCH_NAME:x}'\n";

async fn metric(instance: &Riverhog, name: &str, labels: &[(&str, &str)]) -> Result<f64> {
    Ok(instance.metrics().await?.sum(name, labels))
}

/// Asks for a reload and waits until this configuration runs.
async fn reloads(instance: &mut Riverhog, config: &str, generation: f64) -> Result<()> {
    instance.set_config(config)?;
    instance.signal("HUP")?;
    eventually(DEADLINE, "the next configuration runs", || async {
        let now = metric(instance, "riverhog_config_generation", &[]).await?;
        ensure!((now - generation).abs() < 0.5, "it is number {now}");
        Ok(())
    })
    .await;
    reads_on(instance).await
}

async fn reads_on(instance: &Riverhog) -> Result<()> {
    let lines = || metric(instance, "riverhog_source_lines_total", &[]);
    let before = lines().await?;
    eventually(DEADLINE, "it reads on", || async {
        let now = lines().await?;
        ensure!(now > before, "{now} lines");
        Ok(())
    })
    .await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reloads_lose_nothing_repeat_nothing_and_stay_in_the_group() -> Result<()> {
    let Some(services) = services() else {
        return Ok(());
    };
    let _alone = riverhog_tests::alone().await;
    let mut search = Proxy::start(&services.opensearch)?;
    let bed = Bed::new(&services, "reload", CORPUS).await?.with_small_objects()?;
    let bed = bed.with(&services.opensearch, &search.url())?;
    let mut lines = Lines::new(&bed.topic, CORPUS, Vec::new());
    let records = lines.take_records();
    let feed = Feed::start(&bed.broker, &bed.topic, records, PACE);
    let mut instance = bed.start("riverhog")?;
    instance.wait_ready().await?;
    reads_on(&instance).await?;

    let short = format!("stop_deadline = \"2s\"\n{}", bed.config());
    reloads(&mut instance, &format!("{short}\n{ANOTHER}"), 2.0).await?;

    instance.set_config(&format!("{short}\n{WRONG}"))?;
    instance.signal("HUP")?;
    eventually(DEADLINE, "the wrong one is refused", || async {
        let failed = [("outcome", "failed")];
        let failed = metric(&instance, "riverhog_config_reloads_total", &failed).await?;
        ensure!(failed > 0.5, "nothing was refused");
        Ok(())
    })
    .await;
    ensure!((metric(&instance, "riverhog_config_generation", &[]).await? - 2.0).abs() < 0.5);
    reads_on(&instance).await?;

    // What a store that is gone does not take is forgotten within the deadline, and read again.
    search.close().await;
    reads_on(&instance).await?;
    reloads(&mut instance, &short, 3.0).await?;
    search.open()?;

    ensure!(!feed.is_done(), "nothing was left to be produced while the configuration changed");
    feed.finish().await?;
    let ends = lines.ends();
    bed.has_committed(ends, DEADLINE).await;
    let left = metric(&instance, "riverhog_rebalances_total", &[("kind", "revoked")]).await?;
    ensure!(left < 0.5, "it has left the group, or partitions went");
    instance.stop(DEADLINE).await?;
    bed.has_no_dead_letter()?;
    let mut reader = Reader::new(&bed, &lines);
    Store::Search(&bed.stem).holds_each_once(&lines, &reader.search().await?)?;
    Store::Archive.holds_each_once(&lines, reader.archive().await?)?;
    bed.verify_archive(lines.all().len())
}
