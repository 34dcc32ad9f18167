//! Doors that stay shut: what `check --connect` says, and that a run waits until they open.
//!
//! The invariant: who is not let in is told why, and what to look at. Next stop: `tokens.rs`.

use anyhow::{Result, ensure};

use crate::bed::{Bed, Properties};

fn is_told(bed: &Bed, listener: &str, properties: &Properties, words: &str) -> Result<()> {
    let checked = bed.check(listener, properties)?;
    ensure!(checked.code == Some(3), "{words}: {checked:?}");
    ensure!(checked.stdout.contains(words), "`{words}` is not in {}", checked.stdout);
    ensure!(!checked.stdout.contains("wrong-password"), "{}", checked.stdout);
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_is_not_let_in_is_told_why() -> Result<()> {
    let Some(bed) = Bed::new("refused").await? else { return Ok(()) };
    let (login, mutual) = (bed.services.kafka_login.clone(), bed.services.kafka_mutual.clone());
    let sasl = |mechanism: &str| {
        vec![
            ("security.protocol", "SASL_SSL".to_owned()),
            bed.trusting(),
            ("sasl.mechanism", mechanism.to_owned()),
            ("sasl.username", "riverhog".to_owned()),
            ("sasl.password", "wrong-password".to_owned()),
        ]
    };
    for mechanism in ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] {
        is_told(&bed, &login, &sasl(mechanism), "uthentication failed")?;
    }
    is_told(&bed, &login, &sasl("GSSAPI"), "GSSAPI")?;
    let ssl = || vec![("security.protocol", "SSL".to_owned())];
    is_told(&bed, &mutual, &ssl(), "certificate verify failed")?;
    let mut trusting = ssl();
    trusting.push(bed.trusting());
    is_told(&bed, &mutual, &trusting, "certificate")?;
    // No TLS where TLS is spoken, and the other way round.
    is_told(&bed, &login, &Vec::new(), "security.protocol")?;
    is_told(&bed, &bed.services.kafka.clone(), &trusting, "security.protocol")
}
