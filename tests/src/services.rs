//! The real services that `./x test` has started, found through the environment.
//!
//! The invariant: without them a test says in one line that it is skipped, and why. Next stop: the
//! client of each, `kafka.rs`, `search.rs` and `objects.rs`.

use anyhow::{Context as _, Result, ensure};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Once;
use tokio::sync::{Mutex, MutexGuard};

use crate::{Broker, ObjectStore, SearchStore};

/// Where the services are, and how a test stops and starts one of them.
#[derive(Clone, Debug)]
pub struct Services {
    /// `127.0.0.1:PORT`, as in `brokers` of a Kafka source.
    pub kafka: String,
    /// The broker's listener with TLS that asks for a login: user `riverhog`, password
    /// `riverhog-secret` (PLAIN, SCRAM-SHA-256, SCRAM-SHA-512), or a token.
    pub kafka_login: String,
    /// The broker's listener with TLS that asks for a client's certificate.
    pub kafka_mutual: String,
    /// `http://127.0.0.1:PORT`, as in `urls` of an `elasticsearch` sink.
    pub opensearch: String,
    /// `http://127.0.0.1:PORT`, as in `endpoint` of an `s3` sink; region `us-east-1`, path style.
    pub s3: String,
    /// The access key that may do everything.
    pub s3_key: String,
    /// Its secret.
    pub s3_secret: String,
    /// `http://127.0.0.1:PORT` of VictoriaLogs, where it runs: by `./x chaos` alone.
    pub victorialogs: Option<String>,
    /// The broker's second listener: the port it listens on, and the one it advertises, where
    /// nobody listens but a test that stands between.
    pub kafka_between: Option<(u16, u16)>,
    folder: PathBuf,
}

/// One of the services that a test may stop and start again: same port, same data.
#[derive(Clone, Copy, Debug)]
pub enum Service {
    /// The Kafka broker.
    Kafka,
    /// The OpenSearch node.
    OpenSearch,
    /// The S3 server.
    S3,
}

/// The services, or `None`, said once on standard error, when the tests do not run by `./x test`.
pub fn services() -> Option<Services> {
    static SKIPPED: Once = Once::new();
    let found = from_environment();
    if found.is_none() {
        SKIPPED.call_once(|| {
            // Straight to standard error: the test runner keeps back what a passing test prints.
            let line = "skipped: tests with real services; `./x test` starts and runs them";
            writeln!(std::io::stderr(), "{line}").expect("standard error is open");
        });
    }
    found
}

fn from_environment() -> Option<Services> {
    let read = |name: &str| std::env::var(format!("RIVERHOG_TEST_{name}")).ok();
    Some(Services {
        kafka: read("KAFKA")?,
        kafka_login: read("KAFKA_LOGIN")?,
        kafka_mutual: read("KAFKA_MUTUAL")?,
        opensearch: read("OPENSEARCH")?,
        s3: read("S3")?,
        s3_key: read("S3_KEY")?,
        s3_secret: read("S3_SECRET")?,
        victorialogs: read("VICTORIALOGS"),
        kafka_between: read("KAFKA_BETWEEN").as_deref().and_then(two_ports),
        folder: read("SERVICES")?.into(),
    })
}

fn two_ports(text: &str) -> Option<(u16, u16)> {
    let (inner, outer) = text.split_once(' ')?;
    Some((inner.parse().ok()?, outer.parse().ok()?))
}

/// Holds the services for one test alone; see [`alone`].
pub type Alone = MutexGuard<'static, ()>;

/// Waits until no other test *of this process* that also asked for it is running. Cargo runs test
/// files one after the other, so the tests that stop a service stand in a file of their own, and
/// each of them holds this.
pub async fn alone() -> Alone {
    static ALONE: Mutex<()> = Mutex::const_new(());
    ALONE.lock().await
}

impl Services {
    /// The broker, with what a test asks of it.
    pub fn broker(&self) -> Broker {
        Broker::new(&self.kafka)
    }

    /// The search store.
    pub fn search(&self) -> SearchStore {
        SearchStore::new(&self.opensearch)
    }

    /// The object store, and in it a new bucket of this name.
    pub async fn bucket(&self, name: &str) -> Result<ObjectStore> {
        let store = ObjectStore::new(&self.s3, &self.s3_key, &self.s3_secret, name);
        store.create_bucket().await?;
        Ok(store)
    }

    /// The folder of the certificates and keys that the broker was made with; `certificates.sh`
    /// says which.
    pub fn certificates(&self) -> PathBuf {
        self.folder_of(Service::Kafka).join("tls")
    }

    /// The process id of a service that is running.
    pub fn process_id(&self, service: Service) -> Result<u32> {
        let path = self.folder_of(service).join("pid");
        let text = std::fs::read_to_string(&path)
            .with_context(|| format!("reading {}", path.display()))?;
        text.trim().parse().with_context(|| format!("reading {}: `{text}`", path.display()))
    }

    /// Ends the service in order; its data stay. Blocks until it has gone.
    pub fn stop(&self, service: Service) -> Result<()> {
        call(&self.folder_of(service).join("stop"), &[])
    }

    /// `kill -9` of the service. Blocks until it has gone.
    pub fn kill(&self, service: Service) -> Result<()> {
        call(&self.folder_of(service).join("stop"), &["now"])
    }

    /// Starts the service on its old port with its old data. Blocks until it answers.
    pub fn start(&self, service: Service) -> Result<()> {
        call(&self.folder_of(service).join("start"), &[])
    }

    fn folder_of(&self, service: Service) -> PathBuf {
        self.folder.join(match service {
            Service::Kafka => "kafka",
            Service::OpenSearch => "opensearch",
            Service::S3 => "s3",
        })
    }
}

fn call(script: &Path, args: &[&str]) -> Result<()> {
    let output = Command::new(script).args(args).output();
    let output = output.with_context(|| format!("running {}", script.display()))?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{}: {}: {said}", script.display(), output.status);
    Ok(())
}
