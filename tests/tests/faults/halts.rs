//! A whole destination refuses: 401, a wrong secret, no bucket, a write block. It halts and says
//! so, the others flow, nothing is dropped and no commit passes what is owed; after the cure it
//! goes on by itself.
//!
//! The invariant: one scenario for all; a test says only how its destination is spoiled and cured,
//! and which lines are owed to it. Next stop: `compare.rs`.

use anyhow::{Context as _, Result, ensure};
use riverhog_tests::corpus::{CorpusRecord, Expect};
use riverhog_tests::{Fault, ObjectStore, Proxy, Riverhog, eventually};
use serde_json::{Value, json};

use crate::compare::{
    Found, archived, check_all, check_verify, daily_index, lines, prefix, searched,
};
use crate::place::{DEADLINE, LOCAL_LETTERS, Place, ROUTE_ALL, ROUTES, expected, records};

const LINES: u64 = 4_000;

/// A destination that halts.
struct Halt {
    sink: &'static str,
    destination: String,
    reason: &'static str,
}

impl Halt {
    /// Waits until metrics, readiness and log say so; the process stays ready.
    async fn told(&self, riverhog: &Riverhog) -> Result<()> {
        let Self { sink, destination, reason } = self;
        eventually(DEADLINE, &format!("{sink}/{destination} halts: {reason}"), || async {
            let listed = self.listed(riverhog).await?;
            let shown = self.shown(riverhog).await?;
            ensure!(listed && shown, "body: {listed}, metric: {shown}");
            Ok(())
        })
        .await;
        let names = |line: &str| {
            let line: Value = serde_json::from_str(line).unwrap_or_default();
            let is = |key: &str, text: &str| line[key] == text;
            is("sink", sink) && is("destination", destination) && is("reason", reason)
        };
        ensure!(riverhog.log().lines().any(names), "the log does not name the halt");
        Ok(())
    }

    /// Is it in the body of `/health/ready`, with what the store said?
    async fn listed(&self, riverhog: &Riverhog) -> Result<bool> {
        let reply = riverhog.http().get("/health/ready").await?;
        ensure!(reply.status == 200, "a halted destination makes nobody unready: {}", reply.text());
        let body = reply.json()?;
        let halted = body["halted"].as_array().context("no list of what is halted")?;
        ensure!(body["halted_count"] == halted.len(), "{body}");
        Ok(halted.iter().any(|halted| {
            let is = |key: &str, text: &str| halted[key] == text;
            let has_detail = halted["detail"].as_str().is_some_and(|detail| !detail.is_empty());
            is("sink", self.sink)
                && is("destination", &self.destination)
                && is("reason", self.reason)
                && has_detail
        }))
    }

    async fn shown(&self, riverhog: &Riverhog) -> Result<bool> {
        let labels = [
            ("sink", self.sink),
            ("destination", self.destination.as_str()),
            ("reason", self.reason),
        ];
        let metrics = riverhog.metrics().await?;
        // Nothing else is halted.
        let all = metrics.sum("riverhog_sink_halted", &[]);
        ensure!(all <= 1.0, "{all} destinations are halted");
        Ok(metrics.sum("riverhog_sink_halted", &labels) > 0.0)
    }

    /// While it is halted all others have everything, it has nothing of what is owed to it, and no
    /// commit passes that.
    async fn holds(
        &self,
        place: &Place,
        riverhog: &Riverhog,
        produced: &[CorpusRecord],
        is_owed: impl Fn(&Expect) -> bool,
    ) -> Result<()> {
        ensure!(
            self.listed(riverhog).await? && self.shown(riverhog).await?,
            "it is halted no more"
        );
        place.watermark_stays(produced, is_owed).await?;
        ensure!(lines(riverhog, self.sink, "given_up").await? > 0, "nothing was given up");
        no_letters(place, riverhog).await
    }

    /// After the cure nothing is halted and everything is settled.
    async fn cured(&self, place: &Place, riverhog: &Riverhog) -> Result<()> {
        place.settled().await;
        ensure!(!self.listed(riverhog).await?, "it is still listed as halted");
        ensure!(!self.shown(riverhog).await?, "it still counts as halted");
        no_letters(place, riverhog).await
    }
}

/// Nothing becomes a dead letter because of a destination.
async fn no_letters(place: &Place, riverhog: &Riverhog) -> Result<()> {
    ensure!(!place.folder.path().join("dead").exists(), "there are dead letters");
    for sink in ["search", "archive"] {
        ensure!(lines(riverhog, sink, "refused").await? == 0, "{sink} counts refused lines");
    }
    Ok(())
}

async fn wait_for(what: &str, wanted: usize, found: impl AsyncFn() -> Result<Vec<Found>>) {
    eventually(DEADLINE, &format!("{what} has {wanted} lines"), || async {
        let there = found().await?.len();
        ensure!(there >= wanted, "{there}");
        Ok(())
    })
    .await;
}

fn count(expected: &[Expect], is: impl Fn(&Expect) -> bool) -> usize {
    expected.iter().filter(|expect| is(expect)).count()
}

#[tokio::test]
async fn search_answers_401_for_a_while() -> Result<()> {
    let Some(place) = Place::shared("unauthorised").await? else { return Ok(()) };
    let proxy = Proxy::start(&place.services.opensearch)?;
    let config = place.config(&[
        ROUTES,
        &place.search_sink(&proxy.url(), "{timestamp:%Y.%m.%d}"),
        &place.archive_sink(&place.services.s3),
        LOCAL_LETTERS,
    ]);
    let records = records(61, LINES);
    let expected = expected(&records);
    let (first, rest) = records.split_at(records.len() / 3);
    let (second, third) = rest.split_at(rest.len() / 2);
    let halt = Halt { sink: "search", destination: "*".to_owned(), reason: "unauthorised" };

    // It works, it does not, it works again.
    place.produce(first)?;
    let riverhog = place.start(config).await?;
    place.settled().await;
    proxy.set_fault(Fault::Answer(401));
    place.produce(second)?;
    halt.told(&riverhog).await?;
    let produced = &records[..first.len() + second.len()];
    wait_for("archive", self::expected(produced).len(), || archived(&place.bucket)).await;
    let is_new = |expect: &Expect| expect.rid >= second[0].lines[0].rid;
    halt.holds(&place, &riverhog, produced, |expect| expect.is_searched() && is_new(expect))
        .await?;
    proxy.set_fault(Fault::None);
    place.produce(third)?;
    halt.cured(&place, &riverhog).await?;

    let to_search = expected.iter().filter(|expect| expect.is_searched());
    check_all("search", &searched(&place).await?, 1, to_search, daily_index(&place))?;
    check_all("archive", &archived(&place.bucket).await?, 1, &expected, prefix)?;
    check_verify(&place)
}

#[tokio::test]
async fn s3_answers_403_for_a_while() -> Result<()> {
    let Some(place) = Place::shared("secret").await? else { return Ok(()) };
    let proxy = Proxy::start(&place.services.s3)?;
    let config = place.config(&[
        ROUTE_ALL,
        &place.search_sink(&place.services.opensearch, "{timestamp:%Y.%m.%d}"),
        &place.archive_sink(&proxy.url()),
        LOCAL_LETTERS,
    ]);
    let records = records(62, LINES);
    let expected = expected(&records);
    let (first, second) = records.split_at(records.len() / 2);
    let destination = place.bucket.bucket().to_owned();
    let halt = Halt { sink: "archive", destination, reason: "forbidden" };

    place.produce(first)?;
    let riverhog = place.start(config).await?;
    place.settled().await;
    proxy.set_fault(Fault::SpoilSignature);
    place.produce(second)?;
    halt.told(&riverhog).await?;
    wait_for("search", expected.len(), || searched(&place)).await;
    let is_owed = |expect: &Expect| expect.rid >= second[0].lines[0].rid;
    halt.holds(&place, &riverhog, &records, is_owed).await?;
    let there = archived(&place.bucket).await?;
    check_all("archive", &there, 1, &self::expected(first), prefix)?;
    proxy.set_fault(Fault::None);
    halt.cured(&place, &riverhog).await?;

    check_all("search", &searched(&place).await?, 1, &expected, daily_index(&place))?;
    check_all("archive", &archived(&place.bucket).await?, 1, &expected, prefix)?;
    check_verify(&place)
}

#[tokio::test]
async fn one_bucket_of_several_is_missing() -> Result<()> {
    let Some(place) = Place::shared("missing").await? else { return Ok(()) };
    // The place's own bucket is not used: each project has one.
    let name = |project: &str| format!("{}-{project}", place.stem);
    let nlp = place.services.bucket(&name("nlp")).await?;
    let shared = place.services.bucket(&name("shared")).await?;
    let riverhog_tests::Services { s3, s3_key, s3_secret, .. } = &place.services;
    let vision = ObjectStore::new(s3, s3_key, s3_secret, &name("vision"));
    let buckets = json!([name("nlp"), name("shared"), name("vision")]);
    let buckets = format!("bucket = \"{}\"\nbuckets = {buckets}", name("{project}"));
    let config = place.config(&[
        ROUTE_ALL,
        &place.search_sink(&place.services.opensearch, "{timestamp:%Y.%m.%d}"),
        &place.archive_sink_of(s3, &buckets),
        LOCAL_LETTERS,
    ]);
    let records = records(63, LINES);
    let expected = expected(&records);
    let is = |project: &'static str| move |expect: &Expect| expect.project == project;
    let halt = Halt { sink: "archive", destination: name("vision"), reason: "no_such_bucket" };

    place.produce(&records)?;
    let riverhog = place.start(config).await?;
    halt.told(&riverhog).await?;
    wait_for("search", expected.len(), || searched(&place)).await;
    wait_for("nlp", count(&expected, is("nlp")), || archived(&nlp)).await;
    wait_for("shared", count(&expected, is("shared")), || archived(&shared)).await;
    halt.holds(&place, &riverhog, &records, is("vision")).await?;
    vision.create_bucket().await?;
    halt.cured(&place, &riverhog).await?;

    check_all("search", &searched(&place).await?, 1, &expected, daily_index(&place))?;
    for (project, bucket) in [("nlp", &nlp), ("shared", &shared), ("vision", &vision)] {
        let wanted = expected.iter().filter(|expect| expect.project == project);
        check_all(project, &archived(bucket).await?, 1, wanted, prefix)?;
    }
    check_verify(&place)
}

#[tokio::test]
async fn the_index_of_one_project_is_blocked() -> Result<()> {
    let Some(place) = Place::shared("blocked").await? else { return Ok(()) };
    let index = |project: &str| format!("{}-{project}", place.stem);
    let block = |blocked: bool| json!({ "index.blocks.write": blocked });
    place.search.create_index(&index("vision"), json!({ "settings": block(true) })).await?;
    let config = place.config(&[
        ROUTE_ALL,
        &place.search_sink(&place.services.opensearch, "{project}"),
        &place.archive_sink(&place.services.s3),
        LOCAL_LETTERS,
    ]);
    let records = records(64, LINES);
    let expected = expected(&records);
    let is_owed = |expect: &Expect| expect.project == "vision";
    let halt = Halt { sink: "search", destination: index("vision"), reason: "blocked" };

    place.produce(&records)?;
    let riverhog = place.start(config).await?;
    halt.told(&riverhog).await?;
    wait_for("archive", expected.len(), || archived(&place.bucket)).await;
    let others = count(&expected, |expect| !is_owed(expect));
    wait_for("search", others, || searched(&place)).await;
    halt.holds(&place, &riverhog, &records, is_owed).await?;
    let others = expected.iter().filter(|expect| !is_owed(expect));
    let index_of = |expect: &Expect| index(expect.project);
    check_all("search", &searched(&place).await?, 1, others, index_of)?;
    place.search.put_settings(&index("vision"), block(false)).await?;
    halt.cured(&place, &riverhog).await?;

    check_all("search", &searched(&place).await?, 1, &expected, index_of)?;
    check_all("archive", &archived(&place.bucket).await?, 1, &expected, prefix)?;
    check_verify(&place)
}
