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
    metrics: Metrics,
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
        let (_, hand_over) = watch::channel(false);
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
            begin: None,
            cured: cures,
            hand_over,
            stop: stopped,
            fingerprint,
            memory: Memory::new(64 << 20),
            metrics: metrics.clone(),
            health: Health::new(),
            settings: Settings {
                commit_interval: Duration::from_secs(1),
                revoke_wait: Duration::from_secs(1),
                stop_deadline: Duration::from_secs(10),
                ahead_max_ms: 3_600_000,
                stall_after: Duration::from_mins(5),
                settle_max: Duration::from_secs(1),
                rules: DeliveryRules::all(),
            },
        };
        let ended = tokio::spawn(driver.run());
        Bed { events, commands: asked, sink, cured, stop, ended, metrics }
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
        self.read_at(epoch, lines, (0, 0)).await
    }

    /// As [`Bed::read_lines`], of records of a time, which begin at an offset.
    async fn read_at(
        &mut self,
        epoch: u64,
        lines: &[&str],
        (time_ms, first): (i64, i64),
    ) -> Delivery {
        let mut bytes = Vec::new();
        let mut records = Vec::new();
        for line in lines {
            let start = bytes.len();
            bytes.extend_from_slice(line.as_bytes());
            let value = Some((start as u32, bytes.len() as u32));
            let (offset, headers) = (first + start as i64, (0, 0));
            records.push(RecordEntry { offset, time_ms, key: None, value, headers });
            bytes.push(b'\n');
        }
        self.tell(SourceEvent::Records(RecordBatch {
            epoch,
            next_offset: first + bytes.len() as i64,
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
                SourceCommand::Rewind { .. }
                | SourceCommand::Hold { .. }
                | SourceCommand::ReadOn
                | SourceCommand::StopReading => {}
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

/// What the driver asks next, commits aside.
async fn asked(bed: &mut Bed) -> SourceCommand {
    loop {
        match bed.commands.recv().await.unwrap() {
            SourceCommand::Commit { entries, reply } => {
                reply.send(vec![CommitOutcome::Done; entries.len()]).unwrap();
            }
            other => return other,
        }
    }
}

const HOUR_MS: i64 = 3_600_000;

#[tokio::test(start_paused = true)]
async fn far_ahead_of_a_halted_destination_nothing_is_read_until_the_cure() {
    let mut bed = Bed::start();
    bed.assign().await;
    let first = bed.read_at(1, &["line"], (HOUR_MS, 0)).await;
    first.batch.generation.give_up(0, "*");
    first.batch.generation.set_end_offset(1_000);
    let second = bed.read_at(1, &["line"], (2 * HOUR_MS, 5)).await;
    second.batch.settle(0, [0]);
    // An hour ahead is not too far; a millisecond more is.
    tokio::time::sleep(Duration::from_secs(5)).await;
    let third = bed.read_at(1, &["line"], (2 * HOUR_MS + 1, 10)).await;
    third.batch.settle(0, [0]);
    let SourceCommand::Hold { is_held: true, .. } = asked(&mut bed).await else {
        panic!("it is to be held")
    };
    assert!(bed.metrics.render().contains(r#"reason="ahead_max""#));
    bed.cured.send(Cured { sink: 0, destination: "*".to_owned() }).await.unwrap();
    let SourceCommand::Rewind { offset: 0, epoch, .. } = asked(&mut bed).await else {
        panic!("it is to be read again")
    };
    let again = bed.read_at(epoch, &["line"], (HOUR_MS, 0)).await;
    again.batch.settle(0, [0]);
    bed.stop.send_replace(true);
    assert_eq!(bed.end().await, Ended::Settled);
}

#[tokio::test(start_paused = true)]
async fn a_partition_that_stands_still_is_told_with_what_holds_it() {
    let mut bed = Bed::start();
    bed.assign().await;
    let delivery = bed.read_at(1, &["line"], (HOUR_MS, 0)).await;
    delivery.batch.generation.set_end_offset(1_000);
    let stalled = |is: u8| {
        format!("riverhog_partition_stalled{{partition=\"0\",topic=\"sample.log\"}} {is}\n")
    };
    // Five minutes, and the second that the sink waits by itself.
    tokio::time::sleep(Duration::from_mins(5)).await;
    let page = bed.metrics.render();
    assert!(page.contains(&stalled(0)) && page.contains(r#"reason="sink",sink="a""#), "{page}");
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert!(bed.metrics.render().contains(&stalled(1)), "{}", bed.metrics.render());
    delivery.batch.settle(0, [0]);
    tokio::time::sleep(Duration::from_secs(2)).await;
    let page = bed.metrics.render();
    assert!(page.contains(&stalled(0)) && page.contains(r#"reason="source",sink="""#), "{page}");
    // The broker gives nothing: it is asked once more from the same place.
    let SourceCommand::Rewind { offset: 5, epoch, .. } = asked(&mut bed).await else {
        panic!("the broker is to be asked again")
    };
    let next = bed.read_at(epoch, &["line"], (HOUR_MS, 5)).await;
    next.batch.settle(0, [0]);
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert!(bed.metrics.render().contains(&stalled(0)));
    bed.stop.send_replace(true);
    assert_eq!(bed.end().await, Ended::Settled);
}
