//! An S3 store against small servers of its own: what is sent, and what odd answers come to.
//! Invariant: no answer is read as more than it says. Next stop: `s3_outcome.rs`.

use super::*;
use crate::sink::archive::store::probe_exclusive;
use crate::sink::test_server::{Authority, Seen, Server};
use std::collections::BTreeSet;
use std::sync::Mutex;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

const MISSING: &str = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n";

/// A server that answers each GET with `get` and closes on each PUT before it reads the body.
async fn server(get: &'static str) -> S3Store {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(answer(stream, get));
        }
    });
    let settings = S3Settings {
        endpoint: Some(format!("http://{address}")),
        endpoint_shown: Some("http://${HOST}".to_owned()),
        region: "us-east-1".to_owned(),
        path_style: true,
        credentials: Some(("key".to_owned(), "the-secret".to_owned())),
        tls: TlsFiles::default(),
        stored: StoredAs::default(),
        connect_timeout: Duration::from_secs(10),
        timeout: Duration::from_secs(10),
    };
    assert!(!format!("{settings:?}").contains("the-secret"));
    let store = S3Store::new(&settings, "logs").await.unwrap();
    assert!(!format!("{store:?}").contains("the-secret"));
    store
}

async fn answer(mut stream: TcpStream, get: &str) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let Ok(byte) = stream.read_u8().await else { return };
        head.push(byte);
    }
    let text = String::from_utf8_lossy(&head).to_lowercase();
    if text.starts_with("put") {
        // Checked here so that a request without it fails the test.
        let refusal = "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n";
        if !text.contains("if-none-match: *") || text.contains("chunked") {
            stream.write_all(refusal.as_bytes()).await.unwrap();
        }
    } else {
        stream.write_all(get.as_bytes()).await.unwrap();
    }
}

fn body() -> Bytes {
    Bytes::from(vec![7; 8 * 1024 * 1024])
}

#[tokio::test]
async fn a_refusal_lost_in_a_reset_is_found_out() {
    let taken = "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 8-8/9\r\n\
                 Content-Length: 1\r\n\r\nx";
    let archived = "HTTP/1.1 403 Forbidden\r\nContent-Length: 46\r\n\r\n\
                    <Error><Code>InvalidObjectState</Code></Error>";
    for get in [taken, archived] {
        let store = server(get).await;
        assert_eq!(store.put_new("a/b", body()).await, PutOutcome::Exists, "{get}");
    }
    let probed = server(taken).await.put_new(PROBE_KEY, body()).await;
    assert!(matches!(probed, PutOutcome::Retry(_)), "a taken key proves nothing");
    for get in [MISSING, "HTTP/1.1 500 Oh\r\nContent-Length: 0\r\n\r\n", ""] {
        let outcome = server(get).await.put_new("a/b", body()).await;
        let PutOutcome::Retry(retry) = outcome else { panic!("{get}: {outcome:?}") };
        assert_eq!(retry.reason, RetryReason::Connection, "{get}");
        assert!(retry.detail.starts_with("http://${HOST}: "), "{retry}");
    }
}

#[tokio::test]
async fn answers_that_are_not_what_was_asked_for_are_no_objects() {
    let check = async |get: &'static str, expect: &str| {
        let word = match server(get).await.get_suffix("a/b", 4).await {
            ReadOutcome::Done(suffix) => {
                format!("{} of {}", suffix.bytes.len(), suffix.object_bytes)
            }
            ReadOutcome::Unreadable(unreadable) => unreadable.reason.as_str().to_owned(),
            ReadOutcome::Retry(retry) => retry.reason.as_str().to_owned(),
            ReadOutcome::Halt(halt) => halt.reason.as_str().to_owned(),
        };
        assert_eq!(word, expect, "{get}");
    };
    let range = "HTTP/1.1 206 P\r\nContent-Range: bytes 5-8/9\r\nContent-Length: 4\r\n\r\nabcd";
    check(range, "4 of 9").await;
    check("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", "3 of 3").await;
    check("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabcdefghi", "unsupported").await;
    check(
        "HTTP/1.1 206 P\r\nContent-Range: bytes 0-2/*\r\nContent-Length: 3\r\n\r\nabc",
        "unsupported",
    )
    .await;
    check("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nab", "connection").await;
    check("HTTP/1.1 200 OK\r\n\r\nabcdefghi", "unreadable_answer").await;
    check(MISSING, "missing").await;
}

/// A server that keeps keys and refuses to overwrite one where it is asked to by `header`, with
/// this answer; it knows no other header.
async fn keeper(header: &'static str, refusal: (u16, &'static str)) -> Server {
    let keys: Mutex<BTreeSet<String>> = Mutex::default();
    let answer = move |seen: &Seen| {
        let mut words = seen.head.split(' ');
        let (method, key) = (words.next()?, words.next()?.split('?').next()?.to_owned());
        let mut keys = keys.lock().unwrap();
        Some(match method {
            "put" if seen.header(header).is_some() && keys.contains(&key) => {
                (refusal.0, format!("<Error><Code>{}</Code></Error>", refusal.1))
            }
            "put" => {
                keys.insert(key);
                (200, String::new())
            }
            _ if keys.contains(&key) => (206, "x".to_owned()),
            _ => (404, "<Error><Code>NoSuchKey</Code></Error>".to_owned()),
        })
    };
    Server::start(answer, None).await
}

async fn store_of(server: &Server, scheme: &str, tls: TlsFiles, stored: StoredAs) -> S3Store {
    let settings = S3Settings {
        endpoint: Some(format!("{scheme}://{}", server.address)),
        endpoint_shown: None,
        region: "us-east-1".to_owned(),
        path_style: true,
        credentials: Some(("key".to_owned(), "secret".to_owned())),
        tls,
        stored,
        connect_timeout: Duration::from_secs(10),
        timeout: Duration::from_secs(10),
    };
    S3Store::new(&settings, "logs").await.unwrap()
}

fn small() -> Bytes {
    Bytes::from_static(b"seven")
}

#[tokio::test]
async fn each_header_that_forbids_overwriting_is_sent_signed_and_proved() {
    let own = ExclusiveBy::Header;
    for (by, header, value, refusal) in [
        (ExclusiveBy::IfNoneMatch, "if-none-match", "*", (412, "PreconditionFailed")),
        (own(OSS_FORBID_OVERWRITE), "x-oss-forbid-overwrite", "true", (409, "FileAlreadyExists")),
        (own(COS_FORBID_OVERWRITE), "x-cos-forbid-overwrite", "true", (409, "FileAlreadyExists")),
        // A code that nobody has told us of.
        (own(COS_FORBID_OVERWRITE), "x-cos-forbid-overwrite", "true", (409, "SomeConflict")),
    ] {
        let server = keeper(header, refusal).await;
        let stored = StoredAs { exclusive_by: by, ..StoredAs::default() };
        let store = store_of(&server, "http", TlsFiles::default(), stored).await;
        assert_eq!(probe_exclusive(&store).await, PutOutcome::Done, "{refusal:?}");
        assert_eq!(store.put_new("a", small()).await, PutOutcome::Done);
        assert_eq!(store.put_new("a", small()).await, PutOutcome::Exists, "{refusal:?}");
        assert_eq!(store.put_any("a", small()).await, PutOutcome::Done);
        let puts = server.seen().into_iter().filter(|seen| seen.head.starts_with("put"));
        let mut puts: Vec<Seen> = puts.collect();
        let overwriting = puts.pop().unwrap();
        assert_eq!((overwriting.header(header), puts.len()), (None, 4));
        for put in &puts {
            assert_eq!(put.header(header), Some(value), "{}", put.head);
            let signed = put.header("authorization").unwrap_or_default().to_owned();
            let signed = signed.split("signedheaders=").nth(1).unwrap_or_default();
            let mut names = signed.split(',').next().unwrap_or_default().split(';');
            assert!(names.any(|name| name == header), "{header} is not signed: {signed}");
            for other in ["if-none-match", OSS_FORBID_OVERWRITE, COS_FORBID_OVERWRITE] {
                assert!(other == header || put.header(other).is_none(), "{}", put.head);
            }
        }
    }
}

#[tokio::test]
async fn a_store_that_ignores_the_header_fails_the_probe() {
    let server = keeper("some-other-header", (409, "FileAlreadyExists")).await;
    let by = ExclusiveBy::Header(OSS_FORBID_OVERWRITE);
    let stored = StoredAs { exclusive_by: by, ..StoredAs::default() };
    let store = store_of(&server, "http", TlsFiles::default(), stored).await;
    let outcome = probe_exclusive(&store).await;
    let PutOutcome::Halt(halt) = outcome else { panic!("{outcome:?}") };
    assert_eq!(halt.reason, HaltReason::Unsupported);
    assert!(halt.detail.contains("versions"), "{halt}");
}

#[tokio::test]
async fn a_conflict_over_a_free_key_is_tried_again() {
    let answer = |seen: &Seen| {
        let is_put = seen.head.starts_with("put");
        let (status, code) = if is_put { (409, "OperationAborted") } else { (404, "NoSuchKey") };
        Some((status, format!("<Error><Code>{code}</Code></Error>")))
    };
    let server = Server::start(answer, None).await;
    for by in [ExclusiveBy::IfNoneMatch, ExclusiveBy::Header(COS_FORBID_OVERWRITE)] {
        let stored = StoredAs { exclusive_by: by, ..StoredAs::default() };
        let store = store_of(&server, "http", TlsFiles::default(), stored).await;
        let outcome = store.put_new("a", small()).await;
        let PutOutcome::Retry(retry) = outcome else { panic!("{outcome:?}") };
        assert_eq!(retry.reason, RetryReason::Conflict);
    }
}

#[tokio::test]
async fn objects_are_stored_as_it_is_said() {
    let server = keeper("if-none-match", (412, "PreconditionFailed")).await;
    let headers = [
        ("x-amz-server-side-encryption", "aws:kms"),
        ("x-amz-server-side-encryption-aws-kms-key-id", "alias/logs"),
        ("x-amz-storage-class", "glacier_ir"),
    ];
    let stored = StoredAs {
        encryption: Some("aws:kms".to_owned()),
        kms_key: Some("alias/logs".to_owned()),
        storage_class: Some("GLACIER_IR".to_owned()),
        ..StoredAs::default()
    };
    for (stored, is_said) in [(stored, true), (StoredAs::default(), false)] {
        let store = store_of(&server, "http", TlsFiles::default(), stored).await;
        assert_eq!(store.put_any("a", small()).await, PutOutcome::Done);
        let put = server.seen().pop().unwrap();
        for (name, value) in headers {
            assert_eq!(put.header(name), is_said.then_some(value), "{}", put.head);
        }
    }
}

#[tokio::test]
async fn a_client_certificate_is_shown() {
    let authority = Authority::new();
    let answer = |seen: &Seen| {
        let body = if seen.head.starts_with("put") { "" } else { "seven" };
        Some((200, body.to_owned()))
    };
    let server = Server::start(answer, Some(authority.server())).await;
    let tls = |ca: bool, client: Option<&str>| TlsFiles {
        ca: ca.then(|| authority.path("ca.pem")),
        client: client.map(|key| (authority.path("client.pem"), authority.path(key))),
    };
    let shown = tls(true, Some("client.key"));
    let store = store_of(&server, "https", shown, StoredAs::default()).await;
    assert_eq!(store.put_new("a", body()).await, PutOutcome::Done);
    assert_eq!(store.get("a", 100).await, ReadOutcome::Done(small()));
    let seen = server.seen();
    assert_eq!((seen.len(), seen[0].body.len()), (2, body().len()));
    for tls in [tls(true, None), tls(false, None), tls(false, Some("client.key"))] {
        let store = store_of(&server, "https", tls, StoredAs::default()).await;
        let outcome = store.put_new("a", small()).await;
        let PutOutcome::Halt(halt) = outcome else { panic!("{outcome:?}") };
        assert_eq!(halt.reason, HaltReason::Tls, "{halt}");
    }
    assert_eq!(server.seen().len(), 2);
}
