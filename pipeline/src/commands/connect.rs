//! Asks brokers and stores whether they will do what a configuration wants of them.
//!
//! Invariant: nothing is changed but `_riverhog/probe`, the object by which exclusive creation is
//! proven, and every question ends within its timeout. Next stop: `check.rs`, which tells.

mod broker;

use std::path::Path;

use bytes::Bytes;
use http::Method;
use riverhog_config::{
    Config, DeadLetter, ElasticsearchSink, KafkaSource, S3Sink, Secret, Sink, SinkKind, Topics,
};
use serde_json::Value;

use self::broker::broker;
use super::index_template;
use crate::assemble::sinks::{http_settings, s3_store, stores};
use crate::sink::archive::s3::CREDENTIALS_HELP;
use crate::sink::archive::store::{
    Depth, ListRequest, ObjectStore, PutOutcome, ReadOutcome, probe_exclusive,
};
use crate::sink::elasticsearch::body::Body;
use crate::sink::elasticsearch::encoding::Encoding;
use crate::sink::elasticsearch::http::{HttpClient, endpoint};

/// What was found out about one part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Finding {
    /// The part, by its name in the configuration.
    pub(super) part: String,
    /// What was asked, or the answer when it is as it should be.
    pub(super) words: String,
    /// What is wrong; `None` when nothing is.
    pub(super) problem: Option<String>,
    /// The cure.
    pub(super) help: Option<String>,
}

impl Finding {
    pub(super) fn good(part: &str, words: impl Into<String>) -> Finding {
        Finding { part: part.to_owned(), words: words.into(), problem: None, help: None }
    }

    pub(super) fn bad(
        part: &str,
        words: impl Into<String>,
        problem: impl Into<String>,
        help: &str,
    ) -> Finding {
        let help = (!help.is_empty()).then(|| help.to_owned());
        Finding { problem: Some(problem.into()), help, ..Finding::good(part, words) }
    }
}

/// Asks all of them, in the order of the configuration. `asking` is told the part that is asked
/// next.
pub(super) async fn connect(config: &Config, mut asking: impl FnMut(&str)) -> Vec<Finding> {
    let mut findings = Vec::new();
    for source in &config.sources {
        if let Some(kafka) = source.kafka() {
            asking(&source.name);
            findings.push(kafka_source(&source.name, kafka).await);
        }
    }
    for sink in &config.sinks {
        asking(&sink.name);
        match &sink.kind {
            SinkKind::Elasticsearch(it) => findings.extend(elasticsearch(&sink.name, it).await),
            SinkKind::S3(it) => {
                findings.extend(archive(sink, it.exclusive.is_proved()).await);
            }
            SinkKind::Local(_) => findings.extend(archive(sink, true).await),
        }
    }
    if config.dead_letter.is_some() {
        asking("dead_letter");
    }
    match &config.dead_letter {
        None => {}
        Some(DeadLetter::S3(s3)) => findings.push(dead_letter_bucket(s3).await),
        Some(DeadLetter::Local(local)) => findings.push(writable("dead_letter", &local.path)),
        Some(DeadLetter::Kafka(kafka)) => {
            let topics = vec![kafka.topic.clone()];
            let properties = revealed(&kafka.properties);
            findings.push(broker("dead_letter", &kafka.brokers, properties, Some(topics)).await);
        }
    }
    findings
}

/// Looks at the bucket; nothing is written, as a letter there would be taken for one.
async fn dead_letter_bucket(s3: &S3Sink) -> Finding {
    let what = format!("bucket {}", s3.bucket);
    let problem = match s3_store(s3).await {
        Ok(store) => match listable(&store).await {
            Ok(()) => return Finding::good("dead_letter", format!("{what}: there")),
            Err(problem) => problem,
        },
        Err(error) => error.to_string(),
    };
    let help = "make the bucket, or allow these credentials to list it";
    Finding::bad("dead_letter", what, problem, help)
}

fn revealed<'a>(
    properties: impl IntoIterator<Item = (&'a String, &'a Secret<String>)>,
) -> Vec<(String, String)> {
    let pair = |(name, value): (&String, &Secret<String>)| (name.clone(), value.reveal().clone());
    properties.into_iter().map(pair).collect()
}

async fn kafka_source(name: &str, kafka: &KafkaSource) -> Finding {
    let topics = match &kafka.topics {
        Topics::List(names) => Some(names.clone()),
        Topics::Pattern(_) => None,
    };
    broker(name, &kafka.brokers, revealed(&kafka.properties), topics).await
}

async fn elasticsearch(name: &str, sink: &ElasticsearchSink) -> Vec<Finding> {
    let client = match HttpClient::new(&http_settings(sink)) {
        Ok(client) => client,
        Err(error) => return vec![Finding::bad(name, "client", error.to_string(), "")],
    };
    let mut findings = Vec::new();
    for url in &sink.urls {
        let asked = format!("GET {url}");
        findings.push(match get(&client, url.reveal(), "").await {
            Ok((200..=299, body)) => Finding::good(name, format!("{url}: {}", product(&body))),
            Ok((status @ (401 | 403), _)) => {
                let help =
                    "check `user` and `password`, `api_key` or `bearer`, and what they allow";
                Finding::bad(name, asked, format!("status {status}"), help)
            }
            Ok((status, _)) => Finding::bad(name, asked, format!("status {status}"), ""),
            Err(problem) => Finding::bad(name, asked, problem, "does the store run there?"),
        });
    }
    if findings.iter().all(|finding| finding.problem.is_none()) {
        findings.extend(data_stream(&client, name, sink).await);
    }
    findings
}

/// Whether what the sink calls a data stream is one, or will be: a store makes a plain index of a
/// name that no template claims. A name that lines take part in cannot be asked for.
async fn data_stream(client: &HttpClient, name: &str, sink: &ElasticsearchSink) -> Option<Finding> {
    if !sink.data_stream || sink.index.contains('{') {
        return None;
    }
    let base = sink.urls.first()?.reveal();
    let words = format!("data stream {}", sink.index);
    if let Ok((200..=299, _)) = get(client, base, &format!("_data_stream/{}", sink.index)).await {
        return Some(Finding::good(name, format!("{words}: it is there")));
    }
    let template = index_template::name(name);
    let answer = get(client, base, &format!("_index_template/{template}")).await;
    let answer = answer.ok().and_then(|(_, body)| serde_json::from_slice::<Value>(&body).ok());
    let is_set_up =
        |answer: &Value| answer["index_templates"][0]["index_template"]["data_stream"].is_object();
    if answer.as_ref().is_some_and(is_set_up) {
        return Some(Finding::good(name, format!("{words}: its template is there")));
    }
    let help = "`riverhog setup --apply` makes its template; with one of your own, make the data \
                stream first";
    Some(Finding::bad(name, words, "neither it nor its template is there", help))
}

/// Status and body of a GET.
pub(super) async fn get(
    client: &HttpClient,
    base: &str,
    api: &str,
) -> Result<(u16, Bytes), String> {
    let uri = endpoint(base, api, "").map_err(|error| error.to_string())?;
    let answer =
        client.send(Method::GET, uri, "application/json", Encoding::None, Body::default()).await;
    answer.map(|answer| (answer.status, answer.body)).map_err(|error| error.to_string())
}

/// `opensearch 2.19.1`
fn product(body: &[u8]) -> String {
    let Ok(body) = serde_json::from_slice::<Value>(body) else { return "it answers".to_owned() };
    let version = &body["version"];
    match version["number"].as_str() {
        None => "it answers".to_owned(),
        Some(number) => {
            let product = version["distribution"].as_str().unwrap_or("elasticsearch");
            crate::telemetry::escape::escape_control(&format!("{product} {number}")).into_owned()
        }
    }
}

async fn archive(sink: &Sink, exclusive: bool) -> Vec<Finding> {
    let stores = match stores(sink).await {
        Ok(stores) => stores.unwrap_or_default(),
        Err(error) => return vec![Finding::bad(&sink.name, "client", error.to_string(), "")],
    };
    if let SinkKind::S3(s3) = &sink.kind
        && let Some(finding) = without_credentials(&sink.name, s3).await
    {
        return vec![finding];
    }
    let mut findings = Vec::new();
    for (bucket, store) in &stores {
        let what = match &sink.kind {
            SinkKind::Local(local) => format!("folder {}", local.path_shown),
            SinkKind::S3(_) | SinkKind::Elasticsearch(_) => format!("bucket {bucket}"),
        };
        findings.push(match ask_store(&**store, exclusive).await {
            Ok(words) => Finding::good(&sink.name, format!("{what}: {words}")),
            Err((problem, help)) => Finding::bad(&sink.name, what, problem, help),
        });
    }
    findings
}

/// Says so when no request could be signed; each would find that out by itself, and slowly.
pub(super) async fn without_credentials(name: &str, sink: &S3Sink) -> Option<Finding> {
    let store = s3_store(sink).await.ok()?;
    let problem = store.has_credentials().await.err()?;
    Some(Finding::bad(name, "credentials", problem, CREDENTIALS_HELP))
}

/// Whether a store can be listed.
pub(super) async fn listable(store: &dyn ObjectStore) -> Result<(), String> {
    let request = ListRequest {
        prefix: "_riverhog/".to_owned(),
        start_after: None,
        depth: Depth::Folder,
        next: None,
    };
    match store.list(&request).await {
        ReadOutcome::Done(_) => Ok(()),
        ReadOutcome::Unreadable(it) => Err(it.to_string()),
        ReadOutcome::Retry(it) => Err(it.to_string()),
        ReadOutcome::Halt(it) => Err(it.to_string()),
    }
}

async fn ask_store(
    store: &dyn ObjectStore,
    exclusive: bool,
) -> Result<&'static str, (String, &'static str)> {
    let help = "the sink must be allowed to list, read and create objects there";
    listable(store).await.map_err(|problem| (format!("cannot be listed: {problem}"), help))?;
    if !exclusive {
        return Ok("can be listed");
    }
    match probe_exclusive(store).await {
        PutOutcome::Done | PutOutcome::Exists => Ok("can be listed, creates exclusively"),
        PutOutcome::TooLarge => Err(("refuses an object of nine bytes".to_owned(), "")),
        PutOutcome::Retry(it) => Err((it.to_string(), help)),
        PutOutcome::Halt(it) => Err((it.to_string(), help)),
    }
}

/// Whether a folder can be written to: a file is made in it and removed.
fn writable(part: &str, folder: &Path) -> Finding {
    let words = format!("folder {}", folder.display());
    let made = std::fs::create_dir_all(folder).and_then(|()| tempfile::tempfile_in(folder));
    match made {
        Ok(_) => Finding::good(part, format!("{words}: can be written to")),
        Err(error) => {
            let help = "choose a folder that this user may write to";
            Finding::bad(part, words, error.to_string(), help)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_says_what_it_is() {
        let table = [
            (r#"{"version":{"number":"8.1.0"}}"#, "elasticsearch 8.1.0"),
            (r#"{"version":{"distribution":"opensearch","number":"2.19.1"}}"#, "opensearch 2.19.1"),
            (r#"{"version":{"number":"\u001b[2J"}}"#, "elasticsearch \\x1b[2J"),
            ("<html>", "it answers"),
        ];
        for (body, expect) in table {
            assert_eq!(product(body.as_bytes()), expect);
        }
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_told() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(writable("dead_letter", &folder.path().join("a/b")).problem, None);
        let file = folder.path().join("file");
        std::fs::write(&file, "").unwrap();
        assert!(writable("dead_letter", &file.join("c")).problem.is_some());
    }
}
