//! The port as a client sees it.

use riverhog_rules::transform::UnparsedLine;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use tokio_rustls::TlsConnector;

use super::*;
use crate::sink::test_server::Authority;
use crate::sink::tls::{TlsFiles, client_config};
use crate::source::Partition;

const ANY_PORT: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 0);

async fn start(limits: Limits) -> (Server, Metrics, Health) {
    let (metrics, health) = (Metrics::new(), Health::new());
    let answers = Answers { metrics: metrics.clone(), health: health.clone(), reload: None };
    let server = Server::start_with(ANY_PORT, answers, Doors::default(), limits);
    (server.await.unwrap(), metrics, health)
}

/// Sends `head` and reads to the end of the connection: head and body of the answer.
async fn send(address: SocketAddr, head: &str) -> (String, String) {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    (head.to_ascii_lowercase(), body.to_owned())
}

async fn check(server: &Server, method: &str, path: &str, status: u16) -> (String, String) {
    let request =
        format!("{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
    let (head, body) = send(server.address(), &request).await;
    assert!(head.starts_with(&format!("http/1.1 {status} ")), "{method} {path}: {head}");
    (head, body)
}

#[tokio::test]
async fn metrics_are_served() {
    let (server, metrics, _) = start(LIMITS).await;
    metrics.source_lines("logs", 42);
    let (head, body) = check(&server, "GET", "/metrics", 200).await;
    assert!(head.contains("content-type: text/plain; version=0.0.4; charset=utf-8"), "{head}");
    assert!(body.contains("\nriverhog_source_lines_total{topic=\"logs\"} 42\n"), "{body}");
    let (with_query, _) = check(&server, "GET", "/metrics?name=up", 200).await;
    assert!(with_query.contains("text/plain"), "{with_query}");
    let (head, nothing) = check(&server, "HEAD", "/metrics", 200).await;
    assert!(head.contains(&format!("content-length: {}", body.len())), "{head}");
    assert_eq!(nothing, "");
    server.stop().await;
}

#[tokio::test]
async fn health_is_served() {
    let (server, _, health) = start(LIMITS).await;
    let (head, body) = check(&server, "GET", "/health/ready", 503).await;
    assert!(head.contains("content-type: application/json"), "{head}");
    assert_eq!(serde_json::from_str::<Value>(&body).unwrap()["reason"], "no_broker");
    check(&server, "GET", "/health/live", 200).await;
    health.set_connected(true);
    health.set_assigned(true);
    health.set_halted("search", "logs-nlp", "forbidden", "403", true);
    let (_, body) = check(&server, "GET", "/health/ready", 200).await;
    let body: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(body["halted"][0]["destination"], "logs-nlp");
    health.set_stopping();
    check(&server, "GET", "/health/ready", 503).await;
    check(&server, "GET", "/health/live", 200).await;
}

#[tokio::test]
async fn unparsed_lines_are_served_to_this_machine() {
    let (server, metrics, health) = start(LIMITS).await;
    let (_, body) = check(&server, "GET", UNPARSED, 200).await;
    assert_eq!(body, "{\"lines\":[]}\n");
    let partition = Partition { topic: Arc::from("train"), number: 3 };
    let text = "no \"parser\" for \u{1b}this".to_owned();
    let project = Some("nlp".to_owned());
    let line = UnparsedLine { offset: 42, index: 1, text: text.clone(), cut: false, project };
    metrics.unparsed_lines().add(&partition, vec![line]);
    let (head, body) = check(&server, "GET", UNPARSED, 200).await;
    assert!(head.contains("content-type: application/json"), "{head}");
    let body: Value = serde_json::from_str(&body).unwrap();
    let expect = json!({
        "topic": "train", "partition": 3, "offset": 42, "index": 1, "line": text, "cut": false,
    });
    assert_eq!(body, json!({ "lines": [expect] }));
    check(&server, "POST", UNPARSED, 405).await;
    let request = Request::builder().uri(UNPARSED).body(()).unwrap();
    let answers = Answers { metrics, health, reload: None };
    let answer = answers.answer(&request, &Doors::default(), false).await;
    assert_eq!(answer.status(), StatusCode::FORBIDDEN);
    server.stop().await;
}

#[tokio::test]
async fn other_requests_are_refused() {
    let (server, ..) = start(LIMITS).await;
    let (_, body) = check(&server, "GET", "/nothing/here", 404).await;
    assert_eq!(serde_json::from_str::<Value>(&body).unwrap()["error"], "not_found");
    let (head, body) = check(&server, "POST", "/metrics", 405).await;
    assert!(head.contains("allow: get, head"), "{head}");
    let body: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(body["error"], "method_not_allowed");
    // A body is announced and never read: the answer comes without it.
    let announced = "PUT /metrics HTTP/1.1\r\nhost: test\r\ncontent-length: 9999999\r\n\r\n";
    let (head, _) = send(server.address(), announced).await;
    assert!(head.starts_with("http/1.1 405 "), "{head}");
    let long = format!("GET /{} HTTP/1.1\r\n\r\n", "x".repeat(LIMITS.head_bytes));
    let (head, _) = send(server.address(), &long).await;
    assert!(head.starts_with("http/1.1 4"), "{head}");
}

#[tokio::test]
async fn a_silent_client_gives_its_place_back() {
    let limits = Limits { connections: 1, head: Duration::from_millis(50), ..LIMITS };
    let (server, ..) = start(limits).await;
    let mut silent = TcpStream::connect(server.address()).await.unwrap();
    silent.write_all(b"GET /metr").await.unwrap();
    // There is one place: this is answered only once the silent client was sent away.
    check(&server, "GET", "/health/live", 200).await;
    let mut rest = Vec::new();
    silent.read_to_end(&mut rest).await.unwrap();
}

#[tokio::test]
async fn an_old_connection_is_closed() {
    let limits = Limits { connection: Duration::from_millis(50), ..LIMITS };
    let (server, ..) = start(limits).await;
    // It is kept alive, and ends because of its age.
    let request = "GET /health/live HTTP/1.1\r\nhost: test\r\n\r\n";
    let (head, _) = send(server.address(), request).await;
    assert!(head.starts_with("http/1.1 200 "), "{head}");
}

#[tokio::test]
async fn stop_closes_idle_connections_and_the_port() {
    let (server, ..) = start(LIMITS).await;
    let address = server.address();
    let mut idle = TcpStream::connect(address).await.unwrap();
    idle.write_all(b"GET /health/live HTTP/1.1\r\nhost: test\r\n\r\n").await.unwrap();
    let mut first = [0; 12];
    idle.read_exact(&mut first).await.unwrap();
    assert_eq!(&first, b"HTTP/1.1 200");
    timeout(Duration::from_secs(3), server.stop()).await.unwrap();
    idle.read_to_end(&mut Vec::new()).await.unwrap();
    assert!(TcpStream::connect(address).await.is_err());
}

#[tokio::test]
async fn a_port_in_use_names_the_setting() {
    let (server, metrics, health) = start(LIMITS).await;
    let answers = Answers { metrics, health, reload: None };
    let error = Server::start(server.address(), answers, Doors::default()).await.unwrap_err();
    let text = error.to_string();
    let expect = format!("[http] listen: cannot listen on {}: ", server.address());
    assert!(text.starts_with(&expect), "{text}");
    assert!(error.hint().unwrap().contains("another process"), "{error:?}");
}

/// Two teams and an administrator.
fn doors() -> Doors {
    let entry = |token: &str, project: Option<&str>| Access {
        token: token.to_owned(),
        projects: project.map(|it| vec![it.to_owned()]),
        reload: project.is_none(),
    };
    let access = vec![
        entry("token-of-team-nlp", Some("nlp")),
        entry("token-of-team-cv", Some("cv")),
        entry("token-of-the-admin", None),
    ];
    Doors { access, tls: None }
}

/// Status and body of a request with a token.
async fn ask(server: &Server, (method, path): (&str, &str), token: &str) -> (u16, Value) {
    let request = format!(
        "{method} {path} HTTP/1.1\r\nhost: any.name\r\nauthorization: Bearer {token}\r\n\
         connection: close\r\n\r\n"
    );
    let (head, body) = send(server.address(), &request).await;
    let status = head.split(' ').nth(1).and_then(|it| it.parse().ok()).expect("a status");
    (status, serde_json::from_str(&body).unwrap_or_default())
}

#[tokio::test]
async fn a_token_sees_the_lines_of_its_projects() {
    let (metrics, health) = (Metrics::new(), Health::new());
    let answers = Answers { metrics: metrics.clone(), health, reload: None };
    let server = Server::start(ANY_PORT, answers, doors()).await.unwrap();
    let partition = Partition { topic: Arc::from("train"), number: 3 };
    let line = |project: Option<&str>| UnparsedLine {
        offset: 1,
        index: 0,
        text: format!("of {project:?}"),
        cut: false,
        project: project.map(str::to_owned),
    };
    let lines = vec![line(Some("nlp")), line(Some("cv")), line(None)];
    metrics.unparsed_lines().add(&partition, lines);
    let seen = async |token: &str| {
        let (status, body) = ask(&server, ("GET", UNPARSED), token).await;
        (status, body["lines"].as_array().map_or(0, Vec::len))
    };
    assert_eq!(seen("token-of-team-nlp").await, (200, 1));
    assert_eq!(seen("token-of-the-admin").await, (200, 3));
    assert_eq!(seen("token-of-nobody-here").await, (401, 0));
    let (head, _) = check(&server, "GET", UNPARSED, 401).await;
    assert!(head.contains("www-authenticate: bearer"), "{head}");
    assert!(head.contains("content-security-policy: default-src 'none'"), "{head}");
    // A probe and a scrape have no token.
    check(&server, "GET", "/metrics", 200).await;
    check(&server, "GET", "/health/live", 200).await;
}

#[tokio::test]
async fn a_reload_is_asked_for_by_a_token_that_may_and_answered() {
    let (asking, mut asked) = mpsc::channel(1);
    let answers = Answers { metrics: Metrics::new(), health: Health::new(), reload: Some(asking) };
    let server = Server::start(ANY_PORT, answers, doors()).await.unwrap();
    let (status, body) = ask(&server, ("POST", RELOAD), "token-of-team-nlp").await;
    assert_eq!((status, &body["error"]), (403, &json!("no_reload")));
    assert_eq!(ask(&server, ("GET", RELOAD), "token-of-the-admin").await.0, 405);
    let answering = tokio::spawn(async move {
        for refused in [None, Some("a.toml, line 3: no such grok name".to_owned())] {
            let request: ReloadRequest = asked.recv().await.expect("a request");
            let fingerprint = "0badcafe".to_owned();
            request.reply.send(Reloaded { generation: 2, fingerprint, refused }).unwrap();
        }
    });
    let (status, body) = ask(&server, ("POST", RELOAD), "token-of-the-admin").await;
    assert_eq!((status, &body["outcome"], &body["generation"]), (200, &json!("done"), &json!(2)));
    let (status, body) = ask(&server, ("POST", RELOAD), "token-of-the-admin").await;
    assert_eq!((status, &body["outcome"]), (422, &json!("refused")));
    assert!(body["reason"].as_str().unwrap().contains("line 3"), "{body}");
    answering.await.unwrap();
}

/// Without tokens nobody may change anything, from this machine neither.
#[tokio::test]
async fn without_tokens_nobody_reloads_and_no_page_of_another_site_looks() {
    let (asking, _asked) = mpsc::channel(1);
    let answers = Answers { metrics: Metrics::new(), health: Health::new(), reload: Some(asking) };
    let server = Server::start(ANY_PORT, answers, Doors::default()).await.unwrap();
    check(&server, "POST", RELOAD, 403).await;
    check(&server, "GET", UNPARSED, 200).await;
    let foreign =
        format!("GET {UNPARSED} HTTP/1.1\r\nhost: evil.example\r\nconnection: close\r\n\r\n");
    let (head, _) = send(server.address(), &foreign).await;
    assert!(head.starts_with("http/1.1 403 "), "{head}");
    // Another configuration opens other doors, without a new port.
    server.doors().send_replace(Arc::new(doors()));
    check(&server, "GET", UNPARSED, 401).await;
}

#[tokio::test]
async fn the_port_speaks_tls_where_it_has_certificates() {
    let authority = Authority::new();
    let tls = tls::server_config(&authority.path("server.pem"), &authority.path("server.key"));
    let answers = Answers { metrics: Metrics::new(), health: Health::new(), reload: None };
    let doors = Doors { access: Vec::new(), tls: Some(tls.unwrap()) };
    let server = Server::start(ANY_PORT, answers, doors).await.unwrap();
    let answer = get_over_tls(&server, &authority).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    // Renewed, by another authority: counts from the next connection on.
    let other = Authority::new();
    assert!(get_over_tls(&server, &other).await.is_err());
    for name in ["server.pem", "server.key"] {
        std::fs::copy(other.path(name), authority.path(name)).unwrap();
    }
    let answer = get_over_tls(&server, &other).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    // Plain text gets nothing.
    let (head, _) = send(server.address(), LIVE).await;
    assert!(!head.contains("200"), "{head}");
}

const LIVE: &str = "GET /health/live HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";

/// What the port answers to who trusts an authority.
async fn get_over_tls(server: &Server, authority: &Authority) -> std::io::Result<String> {
    let files = TlsFiles { ca: Some(authority.path("ca.pem")), client: None };
    let connector = TlsConnector::from(Arc::new(client_config(&files).unwrap()));
    let stream = TcpStream::connect(server.address()).await?;
    let name = rustls_pki_types::ServerName::try_from("localhost").unwrap();
    let mut stream = connector.connect(name, stream).await?;
    stream.write_all(LIVE.as_bytes()).await?;
    let mut answer = String::new();
    // A server that closes without a notice of TLS is no error here.
    let _end = stream.read_to_string(&mut answer).await;
    Ok(answer)
}

#[tokio::test]
async fn certificates_that_do_not_fit_are_named() {
    let authority = Authority::new();
    let error = |cert: &str, key: &str| {
        let config = tls::server_config(&authority.path(cert), &authority.path(key));
        config.unwrap_err().to_string()
    };
    let missing = error("none.pem", "server.key");
    assert!(missing.starts_with("[http]: cannot read certificates from `"), "{missing}");
    let other = error("server.pem", "client.key");
    assert!(other.contains("is not the key of the certificate in"), "{other}");
}
