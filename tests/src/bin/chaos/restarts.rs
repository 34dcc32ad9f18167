//! Services that go and come back, and a disk that is full.
//!
//! The invariant: a service comes back with its data, on its port, also when the round fails. Next
//! stop: `wires.rs`.

use anyhow::{Context as _, Result, ensure};
use riverhog_tests::{Riverhog, Service, Services, eventually, pass};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::count::{Count, Met};
use crate::place::{Archive, Place, Round, Setup};
use crate::processes::with;

const FEED_TIME: Duration = Duration::from_secs(6);
const DEADLINE: Duration = Duration::from_secs(40);
/// Less than the lines of a round come to, and more.
const DISK: &str = "size=192k";
const DISK_ENOUGH: &str = "remount,size=64m";

pub(crate) async fn broker(round: Round) -> Result<Count> {
    restart(round, Service::Kafka).await
}

pub(crate) async fn search(round: Round) -> Result<Count> {
    restart(round, Service::OpenSearch).await
}

pub(crate) async fn archive(round: Round) -> Result<Count> {
    restart(round, Service::S3).await
}

async fn restart(round: Round, service: Service) -> Result<Count> {
    let mut place = Place::new(&round).await?;
    let setup = place.setup();
    let riverhog = place.ready("riverhog", &setup).await?;
    let feed = place.feed(FEED_TIME);
    pass(place.millis(500, 3_000)).await;
    ensure!(!feed.is_done(), "nothing was left to be produced");
    let is_killed = place.dice.percent(50);
    let away = place.millis(100, 2_000);
    go_and_come_back(&round.services, service, is_killed, away).await?;
    let mut met = Met::default();
    met.add(if is_killed { "killed" } else { "stopped" }, 1);
    Ok(with(place.finish(feed, vec![riverhog]).await?, met))
}

async fn go_and_come_back(
    services: &Services,
    service: Service,
    is_killed: bool,
    away: Duration,
) -> Result<()> {
    let go = services.clone();
    let gone =
        tokio::task::spawn_blocking(
            move || {
                if is_killed { go.kill(service) } else { go.stop(service) }
            },
        );
    gone.await??;
    pass(away).await;
    let back = services.clone();
    tokio::task::spawn_blocking(move || back.start(service)).await?
}

/// A small file system; it goes when this is dropped.
struct Disk(PathBuf);

impl Disk {
    fn mount(path: PathBuf) -> Result<Self> {
        fs::create_dir_all(&path)?;
        mount(&["-t", "tmpfs", "-o", DISK, "riverhog-chaos"], &path)?;
        Ok(Self(path))
    }

    fn enlarge(&self) -> Result<()> {
        mount(&["-o", DISK_ENOUGH], &self.0)
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // It may be busy or gone: then the folder stays, and says so by being there.
        Command::new("umount").arg(&self.0).status().ok();
    }
}

fn mount(args: &[&str], path: &Path) -> Result<()> {
    let output = Command::new("mount").args(args).arg(path).output().context("running mount")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "mount: {}", said.trim());
    Ok(())
}

pub(crate) async fn full_disk(round: Round) -> Result<Count> {
    let disk = match Disk::mount(round.folder.join("disk")) {
        Ok(disk) => disk,
        Err(error) => return Ok(Count::skipped(format!("no small file system: {error:#}"))),
    };
    let mut place = Place::new(&round).await?;
    let folder = disk.0.join("archive");
    let setup = Setup { archive: Archive::Local(folder.clone()), ..place.setup() };
    let riverhog = place.ready("riverhog", &setup).await?;
    let feed = place.feed(FEED_TIME);
    eventually(DEADLINE, "the disk is full", || async {
        let put_off = put_off(&riverhog).await?;
        ensure!(put_off > 0, "nothing was put off");
        Ok(())
    })
    .await;
    pass(place.millis(500, 3_000)).await;
    let mut met = Met::default();
    met.add("lines put off", put_off(&riverhog).await?);
    disk.enlarge()?;
    let count = place.finish_local(feed, vec![riverhog], &folder).await?;
    Ok(with(count, met))
}

async fn put_off(riverhog: &Riverhog) -> Result<u64> {
    let labels = [("sink", "archive"), ("outcome", "retry")];
    Ok(riverhog.metrics().await?.sum("riverhog_sink_lines_total", &labels) as u64)
}
