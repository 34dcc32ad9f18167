//! The harness against the real services: what it writes it reads back, also over a restart.
//!
//! The invariant: when one of these fails, the fault is the harness's or the machine's, not
//! riverhog's. Each test holds the services alone, since one of them stops two.

use anyhow::{Context as _, Result, ensure};
use riverhog_tests::corpus::Corpus;
use riverhog_tests::{NewRecord, Service, alone, services, unique};
use serde_json::json;

const CORPUS: Corpus = Corpus { seed: 3, lines: 2_000, partitions: 4 };

#[tokio::test]
async fn kafka_gives_back_the_corpus() -> Result<()> {
    let Some(services) = services() else {
        return Ok(());
    };
    let _alone = alone().await;
    let broker = services.broker();
    let topic = unique("corpus");
    broker.create_topic(&topic, CORPUS.partitions, &[]).await?;
    let wanted: Vec<NewRecord> = CORPUS.records().map(|record| record.record).collect();
    let produced = broker.produce(&topic, wanted.iter().cloned())?;
    ensure!(produced == wanted.len() as u64);

    let stored = broker.read_all(&topic)?;
    ensure!(stored.len() == wanted.len(), "{} of {}", stored.len(), wanted.len());
    for partition in 0..CORPUS.partitions {
        let of = |record: &&NewRecord| record.partition == Some(partition);
        let stored = stored.iter().filter(|record| record.partition == partition);
        for (stored, wanted) in stored.zip(wanted.iter().filter(of)) {
            ensure!(stored.value == wanted.value && stored.key == wanted.key, "{stored:?}");
            ensure!(stored.headers == wanted.headers, "{stored:?}");
        }
    }
    ensure!(broker.end_offsets(&topic)?.iter().sum::<i64>() == wanted.len() as i64);
    ensure!(broker.lag("nobody", &topic)? == wanted.len() as i64);
    ensure!(broker.members("nobody")? == 0);

    broker.delete_records(&topic, 0, 5).await?;
    ensure!(broker.read_all(&topic)?.len() == wanted.len() - 5);
    broker.delete_topic(&topic).await?;
    ensure!(broker.partitions(&topic)?.is_none());
    Ok(())
}

#[tokio::test]
async fn opensearch_keeps_documents_over_a_restart() -> Result<()> {
    let Some(services) = services() else {
        return Ok(());
    };
    let _alone = alone().await;
    let search = services.search();
    let index = unique("restart");
    ensure!(search.count(&index).await? == 0, "an index that is not there is empty");
    search.create_index(&index, json!({ "settings": { "number_of_replicas": 0 } })).await?;
    for number in 0..3 {
        let path = format!("/{index}/_create/{number}");
        search.expect("PUT", &path, Some(json!({ "number": number }))).await?;
    }
    ensure!(search.count(&index).await? == 3);
    let (status, _) =
        search.request("PUT", &format!("/{index}/_create/1"), Some(json!({}))).await?;
    ensure!(status == 409, "a second create: {status}");

    let before = services.process_id(Service::OpenSearch)?;
    services.stop(Service::OpenSearch)?;
    ensure!(search.request("GET", "/", None).await.is_err(), "it still answers");
    services.start(Service::OpenSearch)?;
    ensure!(services.process_id(Service::OpenSearch)? != before);

    let mut documents = search.documents(&index).await?;
    documents.sort_by(|a, b| a.id.cmp(&b.id));
    let numbers: Vec<_> = documents.iter().map(|found| found.source["number"].clone()).collect();
    ensure!(numbers == [0, 1, 2], "{documents:?}");
    search.put_settings(&index, json!({ "index.blocks.write": true })).await?;
    let (status, _) = search.request("PUT", &format!("/{index}/_doc/9"), Some(json!({}))).await?;
    ensure!(status == 403, "a write to a blocked index: {status}");
    ensure!(search.indices(&format!("{index}*")).await? == [index]);
    Ok(())
}

#[tokio::test]
async fn s3_keeps_objects_over_a_restart() -> Result<()> {
    let Some(services) = services() else {
        return Ok(());
    };
    let _alone = alone().await;
    let store = services.bucket(&unique("restart")).await?;
    let body = zstd::encode_all(&b"{\"rid\":1}\n{\"rid\":2}\n"[..], 1)?;
    store.write("task/day/a.jsonl.zst", body.clone()).await?;
    store.write("task/day/note.txt", b"no chain".to_vec()).await?;

    services.stop(Service::S3)?;
    ensure!(store.list("").await.is_err(), "it still answers");
    services.start(Service::S3)?;

    let objects = store.list("task/").await?;
    let first = objects.first().context("nothing is there")?;
    ensure!(objects.len() == 2 && first.bytes == body.len() as u64, "{objects:?}");
    let events = store.events("task/").await?;
    let events: Vec<_> = events.iter().map(|(_, event)| event["rid"].clone()).collect();
    ensure!(events == [1, 2], "{events:?}");
    store.delete("task/day/note.txt").await?;
    ensure!(store.list("task/").await?.len() == 1);
    Ok(())
}
