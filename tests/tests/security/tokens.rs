//! OAUTHBEARER with tokens of an identity provider (OIDC).
//!
//! The invariant: the broker ends a connection with its token, so a client that does not renew it
//! in time is out. Next stop: none.

use anyhow::{Result, ensure};
use riverhog_tests::eventually;
use std::time::Duration;

use crate::bed::{Bed, DEADLINE, Properties};
use crate::issuer::{Issuer, SECRET};

/// librdkafka looks once a second whether four fifths of it have passed, and shows the next token
/// after nine tenths; the two must not come too close.
const LIFETIME: Duration = Duration::from_secs(15);
/// One client reads, one writes dead letters, one asks.
const CLIENTS: u64 = 3;
/// By each of them, while nothing comes.
const RENEWALS: u64 = 2;

fn properties(bed: &Bed, url: &str, secret: &str) -> Properties {
    vec![
        ("security.protocol", "SASL_SSL".to_owned()),
        bed.trusting(),
        ("sasl.mechanism", "OAUTHBEARER".to_owned()),
        ("sasl.oauthbearer.method", "oidc".to_owned()),
        ("sasl.oauthbearer.token.endpoint.url", url.to_owned()),
        ("sasl.oauthbearer.client.id", "riverhog".to_owned()),
        ("sasl.oauthbearer.client.secret", secret.to_owned()),
    ]
}

/// Waits until so many more tokens have been issued.
async fn renews(issuer: &Issuer, count: u64) {
    let before = issuer.issued();
    let deadline = LIFETIME * count as u32 + DEADLINE;
    eventually(deadline, &format!("{count} more tokens"), || async {
        let issued = issuer.issued() - before;
        ensure!(issued >= count, "{issued} of {count}");
        Ok(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn are_renewed_while_nothing_comes_and_after_an_outage() -> Result<()> {
    let Some(mut bed) = Bed::new("tokens").await? else { return Ok(()) };
    let issuer = Issuer::start(&bed, LIFETIME).await?;
    let (listener, properties) =
        (bed.services.kafka_login.clone(), properties(&bed, &issuer.url, SECRET));
    bed.produce()?;
    let checked = bed.check(&listener, &properties)?;
    ensure!(checked.code == Some(0), "{checked:?}");
    let mut running = bed.start(&listener, &properties)?;
    bed.is_settled().await?;

    renews(&issuer, RENEWALS * CLIENTS).await;
    let told = running.log();
    ensure!(!told.contains("uthentication"), "somebody was out meanwhile: {told}");
    bed.produce()?;
    bed.is_settled().await?;

    // Longer than a token lives: the broker has let go of all connections.
    issuer.set_out_of_order(true);
    eventually(LIFETIME + DEADLINE, "nobody is let in", || async {
        let ready = running.http().get("/health/ready").await?;
        ensure!(ready.status == 503, "{}", ready.status);
        Ok(())
    })
    .await;
    bed.produce()?;
    issuer.set_out_of_order(false);
    bed.is_settled().await?;
    running.stop(DEADLINE).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn are_asked_for_with_the_right_secret() -> Result<()> {
    let Some(bed) = Bed::new("no-token").await? else { return Ok(()) };
    let issuer = Issuer::start(&bed, LIFETIME).await?;
    let listener = bed.services.kafka_login.clone();
    let checked = bed.check(&listener, &properties(&bed, &issuer.url, "wrong"))?;
    ensure!(checked.code == Some(3), "{checked:?}");
    ensure!(checked.stdout.contains("invalid_client"), "{}", checked.stdout);
    Ok(())
}
