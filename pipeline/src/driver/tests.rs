//! How a driver ends: what a stop finds read and settled, and what a cure makes it read again.

use std::fs;
use std::time::Duration;

use riverhog_config::{EnvelopeKind, ProcessEnv, load};
use tokio::task::JoinHandle;

use super::*;
use crate::generation::InFlight;
use crate::share::Share;
use crate::sink::{Delivery, SinkHandle};
use crate::source::{Epochs, RecordBatch, RecordEntry, StampKind};
use crate::transform::PlanTransform;

const CONFIG: &str = "[sources.p]\ntype = 'stdin'\n[sinks.a]\ntype = 'local'\npath = 'a'\n\
                      prefix = ''\n[[route]]\nsinks = ['a']\n[join]\n";

/// A driver whose source and one sink are the test's hands.
struct Bed {
    events: mpsc::Sender<SourceEvent>,
    commands: mpsc::Receiver<SourceCommand>,
    sink: mpsc::Receiver<SinkMessage>,
    cured: mpsc::Sender<Cured>,
    stop: watch::Sender<bool>,
    ended: JoinHandle<Ended>,
}

impl Bed {
    fn start() -> Bed {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.toml");
        fs::write(&path, CONFIG).unwrap();
        let config = load(&path, &ProcessEnv).unwrap();
        let (events, told) = mpsc::channel(16);
        let (commands, asked) = mpsc::channel(16);
        let (queue, sink) = mpsc::channel(16);
        let (cured, cures) = mpsc::channel(16);
        let (stop, stopped) = watch::channel(false);
        let (_, fingerprint) = watch::channel(Arc::from("fingerprint"));
        let metrics = Metrics::new();
        let epochs = Arc::new(Epochs::default());
        let driver = Driver {
            link: SourceLink { events: told, commands, epochs, lineage: Arc::from("c0ffee00") },
            transform: Arc::new(PlanTransform::new(
                config.plan,
                EnvelopeKind::None,
                1 << 20,
                metrics.clone(),
            )),
            dispatch: Dispatch {
                sinks: vec![SinkHandle { name: Arc::from("a"), queue }].into(),
                dead_letters: None,
                share: Share::all(1),
                metrics: metrics.clone(),
            },
            cured: cures,
            stop: stopped,
            fingerprint,
            memory: Memory::new(64 << 20),
            metrics,
            health: Health::new(),
            settings: Settings {
                commit_interval: Duration::from_secs(1),
                revoke_wait: Duration::from_secs(1),
                stop_deadline: Duration::from_secs(10),
                rules: DeliveryRules::all(),
            },
        };
        let ended = tokio::spawn(driver.run());
        Bed { events, commands: asked, sink, cured, stop, ended }
    }

    async fn tell(&self, event: SourceEvent) {
        self.events.send(event).await.unwrap();
    }

    /// Waits until the driver has taken what it was told.
    async fn all_taken(&self) {
        while self.events.capacity() < self.events.max_capacity() {
            tokio::task::yield_now().await;
        }
    }

    async fn assign(&self) {
        let assigned = Assigned {
            partition: partition(),
            epoch: 1,
            position: 0,
            metadata: Vec::new(),
            end_offset: -1,
            incarnation: None,
        };
        self.tell(SourceEvent::Assigned(vec![assigned])).await;
    }

    /// Reads the one line there is, as the sink is handed it.
    async fn read(&mut self, epoch: u64) -> Delivery {
        self.read_lines(epoch, &["line"]).await
    }

    /// Reads lines, of which the sink is handed one at least.
    async fn read_lines(&mut self, epoch: u64, lines: &[&str]) -> Delivery {
        let mut bytes = Vec::new();
        let mut records = Vec::new();
        for line in lines {
            let start = bytes.len();
            bytes.extend_from_slice(line.as_bytes());
            let value = Some((start as u32, bytes.len() as u32));
            let (offset, headers) = (start as i64, (0, 0));
            records.push(RecordEntry { offset, time_ms: 0, key: None, value, headers });
            bytes.push(b'\n');
        }
        self.tell(SourceEvent::Records(RecordBatch {
            epoch,
            next_offset: bytes.len() as i64,
            bytes,
            records,
            stamp: StampKind::None,
            received_ms: 1_773_282_225_000,
            ..RecordBatch::empty(partition())
        }))
        .await;
        self.delivery().await
    }

    /// What the sink is handed next.
    async fn delivery(&mut self) -> Delivery {
        loop {
            if let SinkMessage::Deliver(delivery) = self.sink.recv().await.unwrap() {
                return delivery;
            }
        }
    }

    /// The source takes commands, and leaves when it is asked to.
    async fn end(self) -> Ended {
        let Bed { mut commands, events, ended, .. } = self;
        while let Some(command) = commands.recv().await {
            match command {
                SourceCommand::Commit { entries, reply } => {
                    reply.send(vec![CommitOutcome::Done; entries.len()]).unwrap();
                }
                SourceCommand::Close => break,
                SourceCommand::Rewind { .. } | SourceCommand::StopReading => {}
            }
        }
        drop(events);
        ended.await.unwrap()
    }
}

fn partition() -> Partition {
    Partition { topic: Arc::from("sample.log"), number: 0 }
}

#[tokio::test]
async fn a_stop_after_the_end_of_the_input_has_read_all_of_it() {
    let mut bed = Bed::start();
    bed.assign().await;
    let delivery = bed.read(1).await;
    bed.tell(SourceEvent::Finished).await;
    // The driver is asked to stop while the sink still owes the line.
    bed.all_taken().await;
    bed.stop.send_replace(true);
    delivery.batch.settle(0, [0]);
    assert_eq!(bed.end().await, Ended::Read);
}

#[tokio::test]
async fn a_stop_at_the_end_of_the_input_leaves_no_record_open() {
    let mut bed = Bed::start();
    bed.assign().await;
    let delivery =
        bed.read_lines(1, &["line", "Traceback (most recent call last):", "  File \"a\""]).await;
    bed.stop.send_replace(true);
    while !matches!(bed.commands.recv().await, Some(SourceCommand::StopReading)) {}
    bed.tell(SourceEvent::Finished).await;
    delivery.batch.settle(0, [0]);
    let rest = bed.delivery().await;
    assert_eq!(rest.batch.events.events[0].first_offset, 5);
    rest.batch.settle(0, [0]);
    assert_eq!(bed.end().await, Ended::Read);
}

#[tokio::test]
async fn a_stop_before_the_end_of_the_input_has_not() {
    let mut bed = Bed::start();
    bed.assign().await;
    let delivery = bed.read(1).await;
    bed.stop.send_replace(true);
    delivery.batch.settle(0, [0]);
    assert_eq!(bed.end().await, Ended::Settled);
}

#[tokio::test]
async fn what_a_cure_makes_it_read_again_is_waited_for() {
    let mut bed = Bed::start();
    bed.assign().await;
    let delivery = bed.read(1).await;
    let in_flight = InFlight::begin(&delivery.batch.generation);
    delivery.batch.generation.give_up(0, "*");
    bed.tell(SourceEvent::Finished).await;
    bed.all_taken().await;
    bed.cured.send(Cured { sink: 0, destination: "*".to_owned() }).await.unwrap();
    let epoch = loop {
        match bed.commands.recv().await.unwrap() {
            SourceCommand::Rewind { offset: 0, epoch, .. } => break epoch,
            SourceCommand::Commit { entries, reply } => {
                reply.send(vec![CommitOutcome::Done; entries.len()]).unwrap();
            }
            other => panic!("{other:?}"),
        }
    };
    drop(in_flight);
    // The end was told before the cure, and of the new generation nothing was read yet.
    let again = bed.read(epoch).await;
    again.batch.settle(0, [0]);
    bed.tell(SourceEvent::Finished).await;
    assert_eq!(bed.end().await, Ended::Read);
}
