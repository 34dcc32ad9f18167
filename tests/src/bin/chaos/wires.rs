//! Bytes on the way: dropped, delayed, cut off in the middle, held back, changed.
//!
//! The invariant: each round meets every harm, in an order by chance, and only what a receiver can
//! check is changed: a byte of a document that a plain connection changes is a document.

use anyhow::{Context as _, Result, ensure};
use riverhog_tests::{Corrupt, Harm, Riverhog, Services, Wire, eventually, pass};
use std::time::Duration;

use crate::count::{Count, Met};
use crate::place::{Archive, Place, Round, Setup};
use crate::processes::with;

/// Longer than all harms last together: a harm that is to be met needs bytes.
const FEED_TIME: Duration = Duration::from_mins(1);
/// Each burst is a batch of its own.
const BACKLOG_TIME: Duration = Duration::from_secs(4);
/// So many batches are damaged before they come whole.
const DAMAGED: u64 = 5;
/// In this time a harm is met.
const MEET_DEADLINE: Duration = Duration::from_secs(30);
/// A connection is cut within so many bytes.
const CUT_BYTES_MAX: u64 = 40_000;

pub(crate) async fn kafka(round: Round) -> Result<Count> {
    let Some((behind, between)) = round.services.kafka_between else {
        return Ok(Count::skipped("the broker has no listener behind a proxy"));
    };
    let mut place = Place::new(&round).await?;
    let wire = Wire::start_on(between, behind, round.seed)?;
    let setup = Setup { kafka: format!("127.0.0.1:{between}"), ..place.setup() };
    one_wire(&round, &mut place, &setup, &wire, &[Corrupt::Batches]).await
}

/// Everything is there before the start, so that answers hold many batches: what stands behind a
/// damaged one must wait for it.
pub(crate) async fn backlog(round: Round) -> Result<Count> {
    let Some((behind, between)) = round.services.kafka_between else {
        return Ok(Count::skipped("the broker has no listener behind a proxy"));
    };
    let mut place = Place::new(&round).await?;
    let wire = Wire::start_on(between, behind, round.seed)?;
    let setup = Setup { kafka: format!("127.0.0.1:{between}"), ..place.setup() };
    let feed = place.feed(BACKLOG_TIME);
    eventually(MEET_DEADLINE, "everything is produced", || async {
        ensure!(feed.is_done(), "it is not");
        Ok(())
    })
    .await;
    wire.set_harm(Harm::Corrupt(Corrupt::Batches));
    let riverhog = place.ready("riverhog", &setup).await?;
    eventually(MEET_DEADLINE, "batches are damaged", || async {
        let damaged = wire.harmed();
        ensure!(damaged >= DAMAGED, "{damaged}");
        Ok(())
    })
    .await;
    wire.set_harm(Harm::None);
    let count = place.finish(feed, vec![riverhog]).await?;
    let mut met = Met::default();
    met.add("changed", wire.harmed());
    Ok(with(count, met))
}

pub(crate) async fn search(round: Round) -> Result<Count> {
    let mut place = Place::new(&round).await?;
    let wire = Wire::start(port_of(&round.services.opensearch)?, round.seed)?;
    let setup = Setup { search: url_of(&wire), ..place.setup() };
    one_wire(&round, &mut place, &setup, &wire, &[Corrupt::Heads]).await
}

pub(crate) async fn archive(round: Round) -> Result<Count> {
    let mut place = Place::new(&round).await?;
    let wire = Wire::start(port_of(&round.services.s3)?, round.seed)?;
    let setup = Setup { archive: Archive::S3(url_of(&wire)), ..place.setup() };
    one_wire(&round, &mut place, &setup, &wire, &[Corrupt::Heads, Corrupt::Bodies]).await
}

async fn one_wire(
    round: &Round,
    place: &mut Place,
    setup: &Setup,
    wire: &Wire,
    corrupts: &[Corrupt],
) -> Result<Count> {
    let riverhog = place.ready("riverhog", setup).await?;
    let feed = place.feed(FEED_TIME);
    let mut met = Met::default();
    let divisor = if round.short { 4 } else { 1 };
    for harm in harms(place, corrupts) {
        let (pause, time) = (place.millis(200, 700), place.millis(500, 1_500));
        pass(pause / divisor).await;
        let before = wire.harmed();
        wire.set_harm(harm);
        eventually(MEET_DEADLINE, &format!("{harm:?} is met"), || async {
            ensure!(wire.harmed() > before, "it is not");
            Ok(())
        })
        .await;
        pass(time / divisor).await;
        wire.set_harm(Harm::None);
        met.add(name_of(harm), wire.harmed() - before);
    }
    ensure!(!feed.is_done(), "nothing was left to be produced");
    let count = place.finish(feed, vec![riverhog]).await?;
    Ok(with(count, met))
}

pub(crate) async fn all_and_kill(round: Round) -> Result<Count> {
    let Some((behind, between)) = round.services.kafka_between else {
        return Ok(Count::skipped("the broker has no listener behind a proxy"));
    };
    let mut place = Place::new(&round).await?;
    let Services { opensearch, s3, .. } = &round.services;
    let wires = [
        (Wire::start_on(between, behind, round.seed)?, Corrupt::Batches),
        (Wire::start(port_of(opensearch)?, round.seed)?, Corrupt::Heads),
        (Wire::start(port_of(s3)?, round.seed)?, Corrupt::Bodies),
    ];
    let setup = Setup {
        kafka: format!("127.0.0.1:{between}"),
        search: url_of(&wires[1].0),
        archive: Archive::S3(url_of(&wires[2].0)),
    };
    let mut riverhog: Riverhog = place.ready("riverhog", &setup).await?;
    let feed = place.feed(FEED_TIME);
    let mut met = Met::default();
    for _ in 0..2 {
        for (wire, corrupt) in &wires {
            let all = harms(&mut place, &[*corrupt]);
            wire.set_harm(place.dice.pick(&all));
        }
        pass(place.millis(300, 2_000)).await;
        ensure!(!feed.is_done(), "nothing was left to be produced");
        riverhog.kill()?;
        riverhog.restart()?;
        met.add("kills", 1);
        pass(place.millis(300, 2_000)).await;
        for (wire, _) in &wires {
            wire.set_harm(Harm::None);
        }
        pass(place.millis(200, 1_000)).await;
    }
    let count = place.finish(feed, vec![riverhog]).await?;
    met.add("harms", wires.iter().map(|(wire, _)| wire.harmed()).sum());
    Ok(with(count, met))
}

/// Each harm once, in an order by chance.
fn harms(place: &mut Place, corrupts: &[Corrupt]) -> Vec<Harm> {
    let delay = place.millis(20, 200);
    let mut harms = vec![Harm::Refuse, Harm::Delay(delay), Harm::Cut(CUT_BYTES_MAX), Harm::Stall];
    harms.extend(corrupts.iter().map(|corrupt| Harm::Corrupt(*corrupt)));
    for at in (1..harms.len()).rev() {
        let other = place.dice.below(at as u64 + 1) as usize;
        harms.swap(at, other);
    }
    harms
}

fn name_of(harm: Harm) -> &'static str {
    match harm {
        Harm::None => "none",
        Harm::Refuse => "dropped",
        Harm::Delay(_) => "delayed",
        Harm::Cut(_) => "cut",
        Harm::Stall => "stalled",
        Harm::Corrupt(_) => "changed",
    }
}

fn port_of(url: &str) -> Result<u16> {
    let (_, port) = url.rsplit_once(':').context("no port")?;
    port.parse().with_context(|| format!("the port of {url}"))
}

fn url_of(wire: &Wire) -> String {
    format!("http://127.0.0.1:{}", wire.port())
}
