//! The endpoint against small servers of its own: which address and encoding requests get.
//! Invariant: every test tells what was sent from what the servers saw. Next stop: none.

use std::io::Read as _;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

use tokio::net::TcpListener;

use super::*;
use crate::sink::elasticsearch::http::Credentials;
use crate::sink::test_server::{Answer, Authority, Seen, Server};
use crate::sink::tls::{TlsFiles, TlsSetupError};
use bytes::Bytes;

const DONE: &str = r#"{"errors":false,"items":[{"create":{"status":201}}]}"#;
const DOCUMENT: &[u8] = b"{\"create\":{\"_index\":\"logs\",\"_id\":\"1\"}}\n{\"a\":1}\n";

/// The answer to a document that was stored.
#[expect(clippy::unnecessary_wraps, reason = "what servers answer with")]
fn done() -> Answer {
    Some((200, DONE.to_owned()))
}

fn settings(urls: &[String]) -> HttpSettings {
    HttpSettings {
        urls: urls.to_vec(),
        urls_shown: urls.to_vec(),
        credentials: Credentials::None,
        tls: TlsFiles::default(),
        encoding: Encoding::None,
        timeout: Duration::from_secs(10),
    }
}

fn bulk(settings: &HttpSettings) -> (HttpBulk, Metrics) {
    let (metrics, jitter) = (Metrics::new(), Arc::new(Jitter::new(1)));
    (HttpBulk::new(settings, &Arc::from("search"), &metrics, jitter).unwrap(), metrics)
}

async fn send(bulk: &HttpBulk) -> Result<u16, TransportError> {
    bulk.send(Body::from(Bytes::from_static(DOCUMENT))).await.map(|answer| answer.status)
}

fn url(server: &Server) -> String {
    format!("http://{}", server.address)
}

#[tokio::test]
async fn a_refused_connection_names_the_address_and_no_secret() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/?token=hunter2", listener.local_addr().unwrap());
    drop(listener);
    let mut settings = settings(&[url]);
    settings.urls_shown = vec!["http://${HOST}/?token=hunter2".to_owned()];
    let (bulk, metrics) = bulk(&settings);
    let answer = send(&bulk).await;
    let Err(TransportError::Retry(why)) = answer else { panic!("{answer:?}") };
    assert!(why.starts_with("http://${HOST}/: ") && !why.contains("hunter2"), "{why}");
    let page = metrics.render();
    let series = "riverhog_sink_address_up{address=\"http://${HOST}/\",sink=\"search\"} 0";
    assert!(page.contains(series) && !page.contains("hunter2"), "{page}");
}

#[tokio::test]
async fn an_address_that_is_gone_is_set_aside_and_comes_back() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let gone = listener.local_addr().unwrap();
    drop(listener);
    let servers = [Server::start(|_| done(), None).await, Server::start(|_| done(), None).await];
    let urls = [format!("http://{gone}"), url(&servers[0]), url(&servers[1])];
    let (bulk, metrics) = bulk(&settings(&urls));
    let mut failed = 0;
    for _ in 0..20 {
        failed += usize::from(send(&bulk).await.is_err());
    }
    assert_eq!(failed, 1, "only the first request met it");
    let seen = servers.each_ref().map(|server| server.seen().len());
    assert_eq!((seen[0] + seen[1], seen[0].abs_diff(seen[1]) <= 1), (19, true), "{seen:?}");
    let series = |up: u8| format!("address=\"http://{gone}\",sink=\"search\"}} {up}\n");
    assert!(metrics.render().contains(&series(0)), "{}", metrics.render());
    let back = Server::on(TcpListener::bind(gone).await.unwrap(), |_| done(), None);
    let deadline = clock::instant() + Duration::from_secs(20);
    while back.seen().is_empty() && clock::instant() < deadline {
        assert!(send(&bulk).await.is_ok());
    }
    assert!(metrics.render().contains(&series(1)), "{}", metrics.render());
    let before = back.seen().len();
    for _ in 0..9 {
        assert!(send(&bulk).await.is_ok());
    }
    assert_eq!(back.seen().len(), before + 3, "it takes its turns again");
}

#[tokio::test]
async fn an_address_that_refuses_us_is_not_healthy_and_halts_nothing_while_another_works() {
    let status = Arc::new(AtomicU16::new(200));
    let other = Arc::clone(&status);
    let refusing = Server::start(|_| Some((401, "{}".to_owned())), None).await;
    let answer = move |_: &Seen| Some((other.load(Ordering::Relaxed), DONE.to_owned()));
    let working = Server::start(answer, None).await;
    let (bulk, metrics) = bulk(&settings(&[url(&refusing), url(&working)]));
    let first = send(&bulk).await;
    assert!(matches!(&first, Err(TransportError::Retry(why)) if why.contains("401")), "{first:?}");
    for _ in 0..10 {
        assert_eq!(send(&bulk).await, Ok(200));
    }
    assert_eq!((refusing.seen().len(), working.seen().len()), (1, 10));
    let page = metrics.render();
    assert!(
        page.contains(&format!("address=\"{}\",sink=\"search\"}} 0", url(&refusing))),
        "{page}"
    );
    status.store(403, Ordering::Relaxed);
    assert_eq!(send(&bulk).await, Ok(403), "now all refuse us, and the sink may halt");
    status.store(200, Ordering::Relaxed);
    let deadline = clock::instant() + Duration::from_secs(20);
    while send(&bulk).await != Ok(200) && clock::instant() < deadline {}
    assert_eq!(send(&bulk).await.unwrap_or(0), 200, "what works again is found");
}

fn unpacked(seen: &Seen) -> Vec<u8> {
    let mut raw = Vec::new();
    match seen.header("content-encoding") {
        None => raw.clone_from(&seen.body),
        Some("gzip") => {
            flate2::read::GzDecoder::new(&seen.body[..]).read_to_end(&mut raw).unwrap();
        }
        Some(_) => {
            let decoder = zstd::Decoder::new(&seen.body[..]).unwrap();
            decoder.take(1 << 20).read_to_end(&mut raw).unwrap();
        }
    }
    raw
}

/// What an address says of itself.
fn says(seen: &Seen, distribution: &str) -> Option<Answer> {
    let text = format!(r#"{{"version":{{"distribution":"{distribution}","number":"1"}}}}"#);
    let is_root = seen.head.starts_with("get / ") || seen.head.starts_with("get /?a=b ");
    is_root.then_some(Some((200, text)))
}

/// Sends so many times to a server that answers by encoding; the encodings that it saw.
async fn encodings(
    answer: impl Fn(Option<&str>) -> Answer + Send + Sync + 'static,
    expect: &[Result<u16, ()>],
) -> Vec<String> {
    let answer = move |seen: &Seen| {
        says(seen, "none").unwrap_or_else(|| answer(seen.header("content-encoding")))
    };
    let server = Server::start(answer, None).await;
    let settings = HttpSettings { encoding: Encoding::Zstd, ..settings(&[url(&server)]) };
    let (bulk, _) = bulk(&settings);
    for (turn, expect) in expect.iter().enumerate() {
        assert_eq!(send(&bulk).await.map_err(drop), *expect, "request {turn}");
    }
    let mut seen = server.seen();
    assert!(seen.remove(0).head.starts_with("get / "), "it is asked what it is, once");
    assert!(seen.iter().all(|seen| unpacked(seen) == DOCUMENT));
    let word = |seen: &Seen| seen.header("content-encoding").unwrap_or("none").to_owned();
    seen.iter().map(word).collect()
}

#[tokio::test]
async fn zstd_is_used_where_it_is_taken() {
    assert_eq!(encodings(|_| done(), &[Ok(200), Ok(200)]).await, ["zstd", "zstd"]);
}

#[tokio::test]
async fn a_refused_encoding_gives_way_to_a_simpler_one_for_good() {
    for status in [400, 406, 415] {
        let answer = move |encoding: Option<&str>| match encoding {
            Some("zstd") => Some((status, "{}".to_owned())),
            _ => done(),
        };
        let seen = encodings(answer, &[Ok(200), Ok(200)]).await;
        assert_eq!(seen, ["zstd", "gzip", "gzip"], "{status}");
    }
    let answer = |encoding: Option<&str>| match encoding {
        Some(_) => Some((415, "{}".to_owned())),
        None => done(),
    };
    let seen = encodings(answer, &[Ok(200), Ok(200)]).await;
    assert_eq!(seen, ["zstd", "gzip", "none", "none"]);
}

#[tokio::test]
async fn a_store_that_hangs_up_on_an_encoding_is_found_out() {
    let answer = |encoding: Option<&str>| match encoding {
        Some("zstd") => None,
        _ => done(),
    };
    let seen = encodings(answer, &[Ok(200), Ok(200), Ok(200)]).await;
    assert_eq!(seen, ["zstd", "gzip", "zstd", "gzip", "gzip"], "once may be chance");
}

#[tokio::test]
async fn zstd_is_not_even_tried_where_it_may_do_harm() {
    for status in [200, 401, 404] {
        let answer = move |seen: &Seen| match says(seen, "opensearch") {
            Some(said) => said.map(|(_, text)| (status, text)),
            None => done(),
        };
        let server = Server::start(answer, None).await;
        // The address may be given with the name of the API.
        let urls = [format!("{}/_bulk?a=b", url(&server))];
        let (bulk, _) = bulk(&HttpSettings { encoding: Encoding::Zstd, ..settings(&urls) });
        assert_eq!((send(&bulk).await, send(&bulk).await), (Ok(200), Ok(200)));
        let seen = server.seen();
        let encodings = seen.iter().map(|seen| seen.header("content-encoding"));
        assert_eq!(encodings.collect::<Vec<_>>(), [None, Some("gzip"), Some("gzip")]);
        assert_eq!(unpacked(&seen[1]), DOCUMENT);
    }
}

#[tokio::test]
async fn a_bad_document_is_bad_in_every_encoding_and_changes_none() {
    let answers = Arc::new(AtomicU16::new(400));
    let now = Arc::clone(&answers);
    let answer = move |seen: &Seen| {
        says(seen, "none").unwrap_or_else(|| Some((now.load(Ordering::Relaxed), DONE.to_owned())))
    };
    let server = Server::start(answer, None).await;
    let settings = HttpSettings { encoding: Encoding::Zstd, ..settings(&[url(&server)]) };
    let (bulk, _) = bulk(&settings);
    assert_eq!(send(&bulk).await, Ok(400));
    answers.store(200, Ordering::Relaxed);
    assert_eq!(send(&bulk).await, Ok(200));
    let last = server.seen().pop().unwrap();
    assert_eq!(last.header("content-encoding"), Some("zstd"));
}

#[tokio::test]
async fn a_client_certificate_is_shown() {
    let authority = Authority::new();
    let server = Server::start(|_| done(), Some(authority.server())).await;
    let address = format!("https://{}", server.address);
    let tls = |ca: bool, client: Option<&str>| TlsFiles {
        ca: ca.then(|| authority.path("ca.pem")),
        client: client.map(|key| (authority.path("client.pem"), authority.path(key))),
    };
    let with = |tls| HttpSettings { tls, ..settings(std::slice::from_ref(&address)) };
    assert_eq!(send(&bulk(&with(tls(true, Some("client.key")))).0).await, Ok(200));
    // Nothing shown, and nobody trusted: both wait for somebody to act.
    for tls in [tls(true, None), tls(false, Some("client.key"))] {
        let answer = send(&bulk(&with(tls)).0).await;
        assert!(matches!(answer, Err(TransportError::Tls(_))), "{answer:?}");
    }
    assert_eq!(server.seen().len(), 1);
    let jitter = Arc::new(Jitter::new(1));
    let sink = Arc::from("search");
    let pair = HttpBulk::new(&with(tls(true, Some("other.key"))), &sink, &Metrics::new(), jitter);
    let Err(HttpSetupError::Tls(error)) = pair else { panic!("a key of another certificate") };
    assert!(matches!(error, TlsSetupError::Pair { .. }), "{error}");
    assert!(error.to_string().contains("other.key"), "{error}");
}

/// As a cluster that renews its certificates: the client is made once.
#[tokio::test]
async fn certificates_that_change_count_from_the_next_connection_on() {
    let (before, after) = (Authority::new(), Authority::new());
    let old = Server::start(|_| done(), Some(before.server())).await;
    let new = Server::start(|_| done(), Some(after.server())).await;
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let install = |authority: &Authority| {
        for name in ["ca.pem", "client.pem", "client.key"] {
            std::fs::copy(authority.path(name), path(name)).unwrap();
        }
    };
    install(&before);
    let tls = TlsFiles {
        ca: Some(path("ca.pem")),
        client: Some((path("client.pem"), path("client.key"))),
    };
    let to = |server: &Server| {
        let urls = [format!("https://{}", server.address)];
        bulk(&HttpSettings { tls: tls.clone(), ..settings(&urls) }).0
    };
    let (to_old, to_new) = (to(&old), to(&new));
    assert_eq!(send(&to_old).await, Ok(200));
    assert!(matches!(send(&to_new).await, Err(TransportError::Tls(_))));
    // Half of it is written: all stays as it was.
    std::fs::write(path("ca.pem"), "-----BEGIN CERTIFICATE-----").unwrap();
    std::fs::copy(after.path("client.key"), path("client.key")).unwrap();
    assert_eq!(send(&to_old).await, Ok(200));
    install(&after);
    assert_eq!(send(&to_new).await, Ok(200));
    assert!(matches!(send(&to_old).await, Err(TransportError::Tls(_))));
    assert_eq!((old.seen().len(), new.seen().len()), (2, 1));
}
