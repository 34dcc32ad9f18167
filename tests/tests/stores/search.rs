//! OpenSearch: what becomes of documents, and of the same ones again.
//! The invariant: as in `main.rs`. Next stop: `archive.rs`.

use anyhow::{Error, Result, ensure};
use riverhog_tests::{Fault, Proxy, eventually};
use serde_json::json;
use std::time::Duration;

use crate::bed::{Bed, LINES, TASKS};

/// What is waited for takes seconds; a loaded machine may need much longer.
const DEADLINE: Duration = Duration::from_mins(2);

impl Bed {
    /// An ingest pipeline that does nothing.
    async fn put_pipeline(&self, name: &str) -> Result<()> {
        let path = format!("/_ingest/pipeline/{}-{name}", self.name);
        let body = json!({ "processors": [] });
        self.search.expect("PUT", &path, Some(body)).await.map(drop)
    }
}

#[tokio::test]
async fn a_data_stream_knows_an_id_until_it_rolls_over() -> Result<()> {
    let Some(bed) = Bed::new("stream")? else { return Ok(()) };
    bed.search_sink("data_stream = true")?;
    let checked = bed.command(&["check", "riverhog.toml"])?;
    ensure!(checked.stdout.contains("at least once: a data stream"), "{checked:?}");
    let asked = bed.command(&["check", "riverhog.toml", "--connect"])?;
    ensure!(asked.code == Some(3) && asked.stdout.contains("nor its template"), "{asked:?}");
    for words in ["created", "nothing to do"] {
        let done = bed.command(&["setup", "riverhog.toml", "--apply"])?;
        ensure!(done.code == Some(0) && done.stdout.contains(words), "{done:?}");
    }
    let asked = bed.command(&["check", "riverhog.toml", "--connect"])?;
    ensure!(asked.code == Some(0) && asked.stdout.contains("its template is there"), "{asked:?}");
    bed.run()?;
    let asked = bed.command(&["check", "riverhog.toml", "--connect"])?;
    ensure!(asked.code == Some(0) && asked.stdout.contains(": it is there"), "{asked:?}");
    let streams = bed.search.expect("GET", &format!("/_data_stream/{}", bed.name), None).await?;
    ensure!(streams["data_streams"][0]["name"] == bed.name.as_str(), "{streams}");
    ensure!(bed.search.count(&bed.name).await? == LINES);
    bed.run()?;
    ensure!(bed.search.count(&bed.name).await? == LINES, "known by their ids");
    bed.search.expect("POST", &format!("/{}/_rollover", bed.name), None).await?;
    bed.run()?;
    ensure!(bed.search.count(&bed.name).await? == 2 * LINES, "a new backing index knows none");
    ensure!(bed.dead_letters()? == 0);
    bed.search.expect("DELETE", &format!("/_data_stream/{}", bed.name), None).await?;
    let template = format!("/_index_template/riverhog-{}", bed.name);
    bed.search.expect("DELETE", &template, None).await.map(drop)
}

#[tokio::test]
async fn an_event_overwrites_itself_where_that_is_asked_for() -> Result<()> {
    let Some(bed) = Bed::new("op")? else { return Ok(()) };
    for (op, versions) in [("create", 1), ("index", 2)] {
        let index = format!("{}-{op}", bed.name);
        let url = format!("\"{}\"", bed.services.opensearch);
        bed.search_sink_at(&url, &index, &format!("op = \"{op}\""))?;
        bed.run()?;
        bed.run()?;
        ensure!(bed.search.count(&index).await? == LINES, "one document for each event");
        let body = json!({ "version": true, "size": 3 });
        let found = bed.search.expect("POST", &format!("/{index}/_search"), Some(body)).await?;
        for hit in found["hits"]["hits"].as_array().into_iter().flatten() {
            ensure!(hit["_version"] == versions, "{op}: {hit}");
        }
    }
    ensure!(bed.dead_letters()? == 0);
    Ok(())
}

#[tokio::test]
async fn routing_and_pipeline_go_with_each_document() -> Result<()> {
    let Some(bed) = Bed::new("routed")? else { return Ok(()) };
    for task in TASKS {
        bed.put_pipeline(task).await?;
    }
    let settings = format!("routing = \"{{task}}\"\npipeline = \"{}-{{task}}\"", bed.name);
    bed.search_sink(&settings)?;
    bed.run()?;
    bed.run()?;
    ensure!(bed.search.count(&bed.name).await? == LINES, "known by id and routing");
    let body = json!({ "size": LINES });
    let found = bed.search.expect("POST", &format!("/{}/_search", bed.name), Some(body)).await?;
    let hits = found["hits"]["hits"].as_array().cloned().unwrap_or_default();
    ensure!(hits.len() as u64 == LINES, "{} hits", hits.len());
    for hit in &hits {
        ensure!(hit["_routing"] == hit["_source"]["labels"]["task"], "{hit}");
    }
    ensure!(bed.dead_letters()? == 0);
    Ok(())
}

#[tokio::test]
async fn a_pipeline_that_is_missing_halts_and_makes_no_dead_letters() -> Result<()> {
    let Some(bed) = Bed::new("missing")? else { return Ok(()) };
    bed.search_sink(&format!("pipeline = \"{}-all\"", bed.name))?;
    let halted = bed.command(&["run", "riverhog.toml"])?;
    ensure!(halted.code != Some(0) && halted.stderr.contains("no_pipeline"), "{halted:?}");
    ensure!(bed.dead_letters()? == 0, "every line waits for the cure");
    ensure!(bed.search.count(&bed.name).await? == 0);
    bed.put_pipeline("all").await?;
    bed.run()?;
    ensure!(bed.search.count(&bed.name).await? == LINES && bed.dead_letters()? == 0);
    Ok(())
}

#[tokio::test]
async fn a_pipeline_named_by_a_line_is_that_lines_fault() -> Result<()> {
    let Some(bed) = Bed::new("named")? else { return Ok(()) };
    bed.put_pipeline(TASKS[0]).await?;
    bed.search_sink(&format!("pipeline = \"{}-{{task}}\"", bed.name))?;
    bed.run()?;
    ensure!(bed.search.count(&bed.name).await? == LINES / 2);
    ensure!(bed.dead_letters()? == LINES / 2, "no label can halt the index of others");
    Ok(())
}

#[tokio::test]
async fn zstd_gives_way_to_gzip_for_opensearch() -> Result<()> {
    let Some(bed) = Bed::new("zstd")? else { return Ok(()) };
    bed.search_sink("compression = \"zstd\"")?;
    let finished = bed.run()?;
    ensure!(bed.search.count(&bed.name).await? == LINES);
    ensure!(bed.dead_letters()? == 0);
    let warnings = finished.stderr.matches("does not take this compression").count();
    ensure!(warnings == 1 && finished.stderr.contains("OpenSearch must"), "{}", finished.stderr);
    Ok(())
}

#[tokio::test]
async fn a_lost_answer_is_found_again_at_another_address() -> Result<()> {
    let Some(bed) = Bed::new("switch")? else { return Ok(()) };
    let (losing, sound) =
        (Proxy::start(&bed.services.opensearch)?, Proxy::start(&bed.services.opensearch)?);
    losing.set_fault(Fault::LoseAnswer);
    let urls = format!("\"{}\", \"{}\"", losing.url(), sound.url());
    bed.search_sink_at(&urls, &bed.name, "")?;
    bed.run()?;
    ensure!(bed.search.count(&bed.name).await? == LINES, "none lost, none twice");
    ensure!(bed.dead_letters()? == 0);
    let lost = losing.exchanges();
    ensure!(lost.iter().any(|it| it.stored == Some(200) && it.answered.is_none()), "{lost:?}");
    let items: Vec<u16> = sound.exchanges().iter().flat_map(|it| it.items.clone()).collect();
    ensure!(items.contains(&409) && items.contains(&201), "known at the other address: {items:?}");
    Ok(())
}

#[tokio::test]
async fn one_address_that_refuses_us_stops_nothing() -> Result<()> {
    let Some(bed) = Bed::new("refused")? else { return Ok(()) };
    let (refusing, sound) =
        (Proxy::start(&bed.services.opensearch)?, Proxy::start(&bed.services.opensearch)?);
    refusing.set_fault(Fault::Answer(401));
    let urls = format!("\"{}\", \"{}\"", refusing.url(), sound.url());
    bed.search_sink_at(&urls, &bed.name, "")?;
    let finished = bed.run()?;
    ensure!(bed.search.count(&bed.name).await? == LINES);
    ensure!(finished.stderr.contains("address refuses us"), "{}", finished.stderr);
    ensure!(!finished.stderr.contains("destination halted"), "{}", finished.stderr);
    Ok(())
}

#[tokio::test]
async fn an_overloaded_store_is_sent_less_and_gets_everything() -> Result<()> {
    let Some(bed) = Bed::new("load")? else { return Ok(()) };
    let proxy = Proxy::start(&bed.services.opensearch)?;
    proxy.set_fault(Fault::Answer(429));
    bed.search_sink_at(&format!("\"{}\"", proxy.url()), &bed.name, "in_flight = 4")?;
    let mut riverhog = bed.start()?;
    let limit = || async {
        let seen = riverhog.metrics().await?;
        Ok::<f64, Error>(seen.sum("riverhog_sink_in_flight_limit", &[("sink", &bed.name)]))
    };
    eventually(DEADLINE, "the limit falls to one", || async {
        let now = limit().await?;
        ensure!((0.5..1.5).contains(&now), "{now}");
        Ok(())
    })
    .await;
    proxy.set_fault(Fault::None);
    ensure!(riverhog.wait_exit(DEADLINE).await? == Some(0));
    ensure!(bed.search.count(&bed.name).await? == LINES && bed.dead_letters()? == 0);
    Ok(())
}
