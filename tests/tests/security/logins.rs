//! Each way of proving who one is: all of a run goes through it, source, commits and dead letters.
//!
//! The invariant: each way is the only one that its listener lets in. Next stop: `refused.rs`.

use anyhow::{Result, ensure};

use crate::bed::{Bed, DEADLINE, Properties};

/// Reads, writes dead letters and commits over a listener.
async fn goes_through(name: &str, properties: impl Fn(&Bed) -> (String, Properties)) -> Result<()> {
    let Some(mut bed) = Bed::new(name).await? else { return Ok(()) };
    let (listener, properties) = properties(&bed);
    for _ in 0..20 {
        bed.produce()?;
    }
    let checked = bed.check(&listener, &properties)?;
    ensure!(checked.code == Some(0), "{checked:?}");
    let mut running = bed.start(&listener, &properties)?;
    bed.is_settled().await?;
    running.stop(DEADLINE).await
}

fn password(bed: &Bed, mechanism: &str) -> (String, Properties) {
    let properties = vec![
        ("security.protocol", "SASL_SSL".to_owned()),
        bed.trusting(),
        ("sasl.mechanism", mechanism.to_owned()),
        ("sasl.username", "riverhog".to_owned()),
        ("sasl.password", "riverhog-secret".to_owned()),
    ];
    (bed.services.kafka_login.clone(), properties)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn plain() -> Result<()> {
    goes_through("plain", |bed| password(bed, "PLAIN")).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scram_sha_256() -> Result<()> {
    goes_through("scram256", |bed| password(bed, "SCRAM-SHA-256")).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scram_sha_512() -> Result<()> {
    goes_through("scram512", |bed| password(bed, "SCRAM-SHA-512")).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_certificate() -> Result<()> {
    goes_through("mutual", |bed| {
        let file = |name: &str| bed.certificate(name).display().to_string();
        let properties = vec![
            ("security.protocol", "SSL".to_owned()),
            bed.trusting(),
            ("ssl.certificate.location", file("client.pem")),
            ("ssl.key.location", file("client.key")),
        ];
        (bed.services.kafka_mutual.clone(), properties)
    })
    .await
}
