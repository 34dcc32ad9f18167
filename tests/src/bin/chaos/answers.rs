//! What stores answer when they are short of something, or do not like a document.
//!
//! The invariant: the proxy saw the answer it was told to give, or the round is an error. Next
//! stop:
//! `restarts.rs`.

use anyhow::{Result, ensure};
use riverhog_tests::{Fault, Items, Pick, Proxy, eventually, pass};
use std::time::Duration;

use crate::count::{Count, Met};
use crate::place::{Archive, Place, Round, Setup};
use crate::processes::{answered, with};

const FEED_TIME: Duration = Duration::from_secs(6);
const DEADLINE: Duration = Duration::from_secs(40);
/// One line in so many is refused for ever.
const REFUSED_EVERY: u64 = 1_000;
/// Well below the body of 500 documents.
const BODY_MAX: usize = 64 << 10;

/// A fault of the search store that lasts for a time, or to the end.
struct Spell {
    fault: Fault,
    time: Option<Duration>,
    /// The status that shows it, and its name in the table.
    shows: (u16, &'static str),
}

async fn search_spell(place: &mut Place, spell: Spell) -> Result<Count> {
    let proxy = Proxy::start(&place.services.opensearch)?;
    let setup = Setup { search: proxy.url(), ..place.setup() };
    let riverhog = place.ready("riverhog", &setup).await?;
    if spell.time.is_none() {
        proxy.set_fault(spell.fault);
    }
    let feed = place.feed(FEED_TIME);
    if let Some(time) = spell.time {
        pass(place.millis(200, 1_500)).await;
        proxy.set_fault(spell.fault);
        pass(time).await;
        proxy.set_fault(Fault::None);
    }
    let count = place.finish(feed, vec![riverhog]).await?;
    let (status, name) = spell.shows;
    let items = proxy
        .exchanges()
        .iter()
        .flat_map(|exchange| exchange.items.clone())
        .filter(|item| *item == status)
        .count() as u64;
    let seen =
        if matches!(spell.fault, Fault::Items(_)) { items } else { answered(&proxy, status) };
    ensure!(seen > 0, "{name}: there were none");
    let mut met = Met::default();
    met.add(name, seen);
    Ok(with(count, met))
}

pub(crate) async fn search_503(round: Round) -> Result<Count> {
    let mut place = Place::new(&round).await?;
    let time = Some(Duration::from_secs(10));
    let shows = (503, "times 503");
    search_spell(&mut place, Spell { fault: Fault::Answer(503), time, shows }).await
}

pub(crate) async fn search_429(round: Round) -> Result<Count> {
    let mut place = Place::new(&round).await?;
    let time = Some(Duration::from_secs(5));
    let shows = (429, "times 429");
    search_spell(&mut place, Spell { fault: Fault::Answer(429), time, shows }).await
}

pub(crate) async fn items_429(round: Round) -> Result<Count> {
    let mut place = Place::new(&round).await?;
    let pick = Pick::Percent(20, round.seed);
    let fault = Fault::Items(Items { status: 429, pick });
    let time = Some(Duration::from_secs(4));
    search_spell(&mut place, Spell { fault, time, shows: (429, "documents put off") }).await
}

pub(crate) async fn search_413(round: Round) -> Result<Count> {
    let mut place = Place::new(&round).await?;
    let fault = Fault::BodyMax(BODY_MAX);
    search_spell(&mut place, Spell { fault, time: None, shows: (413, "times 413") }).await
}

pub(crate) async fn items_400(round: Round) -> Result<Count> {
    let mut place = Place::new(&round).await?;
    place.refused_every = Some(REFUSED_EVERY);
    let fault = Fault::Items(Items { status: 400, pick: Pick::Every(REFUSED_EVERY) });
    let spell = Spell { fault, time: None, shows: (400, "documents refused") };
    let mut count = search_spell(&mut place, spell).await?;
    count.met.add("dead letters", count.letters);
    Ok(count)
}

pub(crate) async fn archive_503(round: Round) -> Result<Count> {
    let mut place = Place::new(&round).await?;
    let proxy = Proxy::start(&place.services.s3)?;
    let setup = Setup { archive: Archive::S3(proxy.url()), ..place.setup() };
    let riverhog = place.ready("riverhog", &setup).await?;
    let feed = place.feed(FEED_TIME);
    pass(place.millis(200, 2_000)).await;
    proxy.set_fault(Fault::Answer(503));
    pass(Duration::from_secs(5)).await;
    proxy.set_fault(Fault::None);
    let count = place.finish(feed, vec![riverhog]).await?;
    let seen = answered(&proxy, 503);
    ensure!(seen > 0, "the outage was not met");
    let mut met = Met::default();
    met.add("times 503", seen);
    Ok(with(count, met))
}

pub(crate) async fn lost_answers(round: Round) -> Result<Count> {
    let mut place = Place::new(&round).await?;
    let search = Proxy::start(&place.services.opensearch)?;
    let archive = Proxy::start(&place.services.s3)?;
    let setup =
        Setup { search: search.url(), archive: Archive::S3(archive.url()), ..place.setup() };
    let riverhog = place.ready("riverhog", &setup).await?;
    let feed = place.feed(FEED_TIME * 3);
    for _ in 0..3 {
        pass(place.millis(300, 1_000)).await;
        let before = (lost(&search), lost(&archive));
        search.set_fault(Fault::LoseAnswer);
        archive.set_fault(Fault::LoseAnswer);
        eventually(DEADLINE, "an answer of each store is lost", || async {
            let now = (lost(&search), lost(&archive));
            ensure!(now.0 > before.0 && now.1 > before.1, "{now:?} after {before:?}");
            Ok(())
        })
        .await;
        pass(place.millis(0, 1_000)).await;
        search.set_fault(Fault::None);
        archive.set_fault(Fault::None);
    }
    let count = place.finish(feed, vec![riverhog]).await?;
    let (in_search, in_archive) = (lost(&search), lost(&archive));
    let mut met = Met::default();
    met.add("answers of the search store lost", in_search);
    met.add("of the object store", in_archive);
    Ok(with(count, met))
}

/// How many writes a store has taken and nobody has heard of.
fn lost(proxy: &Proxy) -> u64 {
    let exchanges = proxy.exchanges();
    let is_taken = |status: Option<u16>| status.is_some_and(|status| status < 300);
    let lost = exchanges.iter().filter(|it| is_taken(it.stored) && it.answered.is_none());
    lost.count() as u64
}
