//! Members of other kinds: those of the consumer protocol (KIP-848), those with an id of their own,
//! and those of two configurations at a time.
//!
//! The invariant: whatever the group's protocol does with its partitions, each line is in each of
//! its stores once. Next stop: `members.rs`, whose group this is.

use anyhow::{Result, ensure};
use riverhog_tests::{Riverhog, services};
use std::time::Duration;

use crate::bed::QUICK_MEMBERS;
use crate::members::{Group, all_read_more};

const DEADLINE: Duration = Duration::from_secs(90);

/// A parser that takes no line of the corpus: the fingerprint is another, no document is.
const ANOTHER: (&str, &str) = (
    "[[parse]]                             # tried",
    "[[parse]]\nname = \"another\"\ngrok = 'no line of the corpus is this'\n[[parse]] # tried",
);

/// The broker knows members of this protocol as members of a group; so few properties are theirs.
const CONSUMER_PROTOCOL: &str = r#""group.protocol" = "consumer""#;

async fn end(mut instance: Riverhog) -> Result<()> {
    instance.stop(DEADLINE).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn members_of_the_consumer_protocol_come_and_go() -> Result<()> {
    let Some(services) = services() else {
        return Ok(());
    };
    let _alone = riverhog_tests::alone().await;
    let group = Group::new(&services, 21, CONSUMER_PROTOCOL).await?;
    let first = group.bed.start("first")?;
    all_read_more(&[&first]).await?;
    let second = group.bed.start("second")?;
    all_read_more(&[&first, &second]).await?;
    let third = group.bed.start("third")?;
    all_read_more(&[&first, &second, &third]).await?;
    end(first).await?;
    all_read_more(&[&second, &third]).await?;
    group.ends_with_each_line_once(vec![second, third]).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_upgrade_rolls_through_a_group_of_two_configurations() -> Result<()> {
    let Some(services) = services() else {
        return Ok(());
    };
    let _alone = riverhog_tests::alone().await;
    let group = Group::new(&services, 23, QUICK_MEMBERS).await?;
    let first = group.bed.start("first")?;
    let second = group.bed.start("second")?;
    all_read_more(&[&first, &second]).await?;
    end(first).await?;
    let first = group.bed.start_changed("first-new", &[], &[ANOTHER])?;
    all_read_more(&[&first, &second]).await?;
    let mut second = second;
    second.kill()?;
    let second = group.bed.start_changed("second-new", &[], &[ANOTHER])?;
    all_read_more(&[&first, &second]).await?;
    // And one of the old again, as when an upgrade is taken back.
    end(first).await?;
    let first = group.bed.start("first-again")?;
    all_read_more(&[&first, &second]).await?;
    group.ends_with_each_line_once(vec![first, second]).await
}

/// A member with an id of its own that is back within its session has its partitions as before,
/// and nobody else is disturbed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_member_with_an_id_comes_back_without_a_rebalance() -> Result<()> {
    let Some(services) = services() else {
        return Ok(());
    };
    let _alone = riverhog_tests::alone().await;
    let long = r#""session.timeout.ms" = "30000", "group.instance.id" = "@""#;
    let group = Group::new(&services, 24, long).await?;
    let start = |name: &str| {
        let id = format!("\"{name}\"");
        group.bed.start_changed(name, &[], &[("\"@\"", &id)])
    };
    let mut first = start("first")?;
    let second = start("second")?;
    all_read_more(&[&first, &second]).await?;
    let rebalances = async || -> Result<f64> {
        Ok(second.metrics().await?.sum("riverhog_rebalances_total", &[]))
    };
    let before = rebalances().await?;
    first.stop(DEADLINE).await?;
    first.restart()?;
    all_read_more(&[&first, &second]).await?;
    first.kill()?;
    first.restart()?;
    all_read_more(&[&first, &second]).await?;
    let after = rebalances().await?;
    ensure!((after - before).abs() < 0.5, "{after} rebalances, {before} before");
    group.ends_with_each_line_once(vec![first, second]).await
}
