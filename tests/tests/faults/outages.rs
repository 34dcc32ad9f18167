//! A store that is gone for a while and comes back: nothing is lost or there twice, the other sink
//! flows, the group is left alone, and only what had no answer is sent again.
//!
//! The invariant: the stop is a real one, of the service itself, so these tests run alone. The
//! proxy in front only tells what was sent and answered, and loses the last answers. Next stop:
//! `compare.rs`.

use anyhow::{Context as _, Result, ensure};
use riverhog_tests::{Exchange, Fault, Proxy, Riverhog, Service, eventually};
use std::time::Duration;
use tokio::time::Instant;

use crate::compare::{
    archived, check_all, check_repeats, check_uploads, check_verify, daily_index, is_upload, lines,
    prefix, searched,
};
use crate::place::{DEADLINE, LOCAL_LETTERS, Place, ROUTES, expected, records};

const LINES: u64 = 20_000;
/// How long the store is gone at least; `RIVERHOG_TEST_OUTAGE_SECONDS` says otherwise.
const OUTAGE_SECONDS: u64 = 10;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn opensearch_is_gone_for_a_while() -> Result<()> {
    gone_for_a_while(Service::OpenSearch).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s3_is_gone_for_a_while() -> Result<()> {
    gone_for_a_while(Service::S3).await
}

async fn gone_for_a_while(service: Service) -> Result<()> {
    let Some(place) = Place::alone("outage").await? else { return Ok(()) };
    let mut search = Proxy::start(&place.services.opensearch)?;
    let mut archive = Proxy::start(&place.services.s3)?;
    let config = place.config(&[
        ROUTES,
        &place.search_sink(&search.url(), "{timestamp:%Y.%m.%d}"),
        &place.archive_sink(&archive.url()),
        LOCAL_LETTERS,
    ]);
    let all = records(41, LINES);
    let quarters: Vec<_> = all.chunks(all.len().div_ceil(4)).collect();
    let (proxy, gone, other) = match service {
        Service::S3 => (&mut archive, "archive", "search"),
        Service::OpenSearch | Service::Kafka => (&mut search, "search", "archive"),
    };

    place.produce(quarters[0])?;
    let riverhog = place.start(config).await?;
    flows(&riverhog, gone, 1).await;
    let rebalances = rebalances(&riverhog).await?;

    // The store takes the last requests and nobody hears of it: what has no answer is unsettled.
    proxy.set_fault(Fault::LoseAnswer);
    place.produce(quarters[1])?;
    eventually(DEADLINE, "an answer is lost", || async {
        ensure!(proxy.exchanges().iter().any(is_lost), "every answer came");
        Ok(())
    })
    .await;
    proxy.close().await;
    stop(&place, service).await?;
    let since = Instant::now();
    place.produce(quarters[2])?;
    let so_far = expected(&all[..quarters[..3].iter().map(|quarter| quarter.len()).sum()]);
    let routed = so_far.iter().filter(|expect| other == "archive" || expect.is_searched());
    flows(&riverhog, other, routed.count() as u64).await;
    lasts(&riverhog, since).await?;

    proxy.set_fault(Fault::None);
    proxy.open()?;
    start(&place, service).await?;
    place.produce(quarters[3])?;
    place.settled().await;
    ensure!(self::rebalances(&riverhog).await? == rebalances, "the group was rebalanced");
    ensure!(place.broker.members(&place.group)? == 1, "somebody has left or joined");

    check_sent_again(&riverhog, service, proxy).await?;
    let expected = expected(&all);
    let to_search = expected.iter().filter(|expect| expect.is_searched());
    check_all("search", &searched(&place).await?, 1, to_search, daily_index(&place))?;
    check_all("archive", &archived(&place.bucket).await?, 1, &expected, prefix)?;
    check_verify(&place)
}

/// What was sent again is what had no answer; none of it stands anywhere twice.
async fn check_sent_again(riverhog: &Riverhog, service: Service, proxy: &Proxy) -> Result<()> {
    let exchanges = proxy.exchanges();
    if let Service::S3 = service {
        let lost = check_uploads(&exchanges)?;
        ensure!(lost > 0, "no answer to an upload was lost: nothing was tested");
        return Ok(());
    }
    let repeats = check_repeats(&exchanges)?;
    let known = lines(riverhog, "search", "known").await?;
    ensure!(repeats.lost > 0, "no answer was lost: nothing was tested");
    ensure!(repeats.again <= repeats.unsettled, "{repeats:?}");
    ensure!(known == repeats.known, "known {known}, {repeats:?}");
    ensure!((repeats.lost..=repeats.unsettled).contains(&known), "known {known}, {repeats:?}");
    Ok(())
}

/// The store has it and the client never heard.
fn is_lost(exchange: &Exchange) -> bool {
    let is_write = is_upload(exchange) || !exchange.ids.is_empty();
    is_write && exchange.stored == Some(200) && exchange.answered.is_none()
}

/// Waits until a sink has so many lines.
async fn flows(riverhog: &Riverhog, sink: &str, wanted: u64) {
    eventually(DEADLINE, &format!("{sink} has {wanted} lines"), || async {
        let there = lines(riverhog, sink, "done").await? + lines(riverhog, sink, "known").await?;
        ensure!(there >= wanted, "{there} of {wanted}");
        Ok(())
    })
    .await;
}

/// Waits for the end of the outage; the instance stays ready.
async fn lasts(riverhog: &Riverhog, since: Instant) -> Result<()> {
    let seconds = std::env::var("RIVERHOG_TEST_OUTAGE_SECONDS").ok();
    let seconds = seconds.map_or(Ok(OUTAGE_SECONDS), |text| text.parse());
    let outage = Duration::from_secs(seconds.context("RIVERHOG_TEST_OUTAGE_SECONDS")?);
    let unready = eventually(outage + DEADLINE, "the outage is over", || async {
        let reply = riverhog.http().get("/health/ready").await?;
        ensure!(reply.status != 200 || since.elapsed() >= outage, "it lasts");
        anyhow::Ok((reply.status != 200).then(|| reply.text()))
    });
    let unready = unready.await;
    ensure!(unready.is_none(), "not ready while a store is gone: {unready:?}");
    Ok(())
}

async fn rebalances(riverhog: &Riverhog) -> Result<u64> {
    Ok(riverhog.metrics().await?.sum("riverhog_rebalances_total", &[]) as u64)
}

async fn stop(place: &Place, service: Service) -> Result<()> {
    let services = place.services.clone();
    tokio::task::spawn_blocking(move || services.stop(service)).await?
}

async fn start(place: &Place, service: Service) -> Result<()> {
    let services = place.services.clone();
    tokio::task::spawn_blocking(move || services.start(service)).await?
}
