//! From a loaded configuration to a running pipeline: the one place that turns settings into parts.
//! Sinks and dead letters are shared; each source has a driver of its own.
//!
//! Invariant: a sink's number is its place in the configuration, and the dead-letter writer's comes
//! after the last; every driver and sink of a process is built with these numbers. Next stop:
//! [`sinks`], [`dead_letters`], [`sources`], in the order they are started.

pub mod dead_letters;
pub mod sinks;
pub mod sources;

use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;
use std::time::Duration;

use riverhog_config::{Config, Sink, Source, SourceKind};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

use crate::backoff::Jitter;
use crate::delivery_rules::DeliveryRules;
use crate::dispatch::Dispatch;
use crate::driver::{self, Driver, Ended, Handover};
use crate::memory::Memory;
use crate::share::Share;
use crate::sink::archive::s3::S3SettingsError;
use crate::sink::dead_letter::{DeadLetterTarget, DeadLetters};
use crate::sink::elasticsearch::http::HttpSetupError;
use crate::sink::{Cured, RetrySettings, SinkContext, SinkHandle};
use crate::source::error::SourceError;
use crate::source::kafka::{self, KafkaSettings};
use crate::tables::TableSwap;
use crate::telemetry::health::Health;
use crate::telemetry::metrics::Metrics;
use crate::transform::PlanTransform;

/// Cures on their way to a driver.
const CURES_MAX: usize = 64;
/// How long a revoke waits for what is in flight: well below the time a group gives its members.
const REVOKE_WAIT: Duration = Duration::from_secs(5);
/// Words of dead letters that do not come from a store, counted from zero.
const DEAD_LETTER_REASONS: [&str; 8] = [
    "no_route",
    "unparsed",
    "missing_value",
    "panicked",
    "record_panicked",
    "refused",
    "too_large",
    "halted",
];

/// A part that its settings cannot make.
#[derive(Debug, thiserror::Error)]
pub enum AssembleError {
    /// The client of an `elasticsearch` sink.
    #[error("[sinks.{sink}]: {cause}")]
    Http {
        /// The sink.
        sink: String,
        /// What is wrong.
        cause: HttpSetupError,
    },
    /// The client of an `s3` sink.
    #[error("[sinks.{sink}]: {cause}")]
    S3 {
        /// The sink.
        sink: String,
        /// What is wrong.
        cause: S3SettingsError,
    },
    /// A source.
    #[error("[sources.{source_name}]: {cause}")]
    Source {
        /// The source.
        source_name: String,
        /// What is wrong.
        cause: SourceError,
    },
    /// The target of dead letters.
    #[error("[dead_letter]: {0}")]
    DeadLetter(String),
}

impl AssembleError {
    /// Whether the settings are at fault, not the machine.
    pub fn is_wrong_input(&self) -> bool {
        !matches!(
            self,
            AssembleError::Source { cause: SourceError::Thread(_) | SourceError::Ended, .. }
        )
    }
}

/// What a pipeline is given beside its configuration.
#[derive(Debug, Clone)]
pub struct Surroundings {
    /// Counters.
    pub metrics: Metrics,
    /// Readiness.
    pub health: Health,
    /// Set to true by whoever wants the pipeline to stop; by the pipeline when a source fails.
    pub stop: watch::Sender<bool>,
    /// How long a stop flushes.
    pub stop_deadline: Duration,
    /// Between two commits.
    pub commit_interval: Duration,
    /// The sinks to run.
    pub share: Share,
}

/// A pipeline whose sinks run and whose sources wait for [`Pipeline::run`].
pub struct Pipeline {
    sources: Vec<SourceRun>,
    tables: TableSwap,
    memory: Memory,
    stop: watch::Sender<bool>,
    hand_over: watch::Sender<bool>,
}

/// A Kafka source that goes on under the next pipeline, if that has one of the same settings.
pub struct Handed {
    settings: Box<KafkaSettings>,
    handover: Handover,
}

/// One source on its way to a driver.
struct SourceRun {
    source: Source,
    kafka_sources: u64,
    transform: Arc<PlanTransform>,
    dispatch: Dispatch,
    cured: mpsc::Receiver<Cured>,
    memory: Memory,
    share: Share,
    sink_names: Arc<[String]>,
    metrics: Metrics,
    health: Health,
    settings: driver::Settings,
    stop: watch::Receiver<bool>,
    hand_over: watch::Receiver<bool>,
    fingerprint: watch::Receiver<Arc<str>>,
}

impl Pipeline {
    /// Builds all parts and starts sinks and dead letters. Nothing is read yet. `before`: the
    /// pipeline that this one is to follow.
    ///
    /// # Errors
    /// The first part whose settings are of no use.
    pub async fn assemble(
        config: &Config,
        surroundings: &Surroundings,
        before: Option<&Following>,
    ) -> Result<Pipeline, AssembleError> {
        let Surroundings { metrics, health, stop, share, .. } = surroundings;
        let kept = before.map(|it| &it.memory).filter(|it| it.limit() == config.memory_bytes);
        // Sources that go on hold permits of it.
        let memory = kept.cloned().unwrap_or_else(|| Memory::new(config.memory_bytes));
        let letters = match &config.dead_letter {
            Some(dead_letter) => Some(dead_letters::target(dead_letter).await?),
            None => None,
        };
        let (shared, cures) = Shared::new(letters, &memory, metrics, health);
        let sinks = start_sinks(config, *share, |number, sink| shared.context(number, sink));
        let sinks = sinks.await?.into();
        let dead_letters = shared.dead_letters;
        if dead_letters.is_some() {
            metrics.declare_dead_letters(&DEAD_LETTER_REASONS);
        }
        let (share, metrics) = (*share, metrics.clone());
        let dispatch = Dispatch { sinks, dead_letters, share, metrics };
        let (fingerprint, _) = watch::channel(config.fingerprint.as_str().into());
        let (hand_over, handing) = watch::channel(false);
        let around = Around { dispatch, memory: memory.clone(), hand_over: handing };
        let sources = source_runs(config, surroundings, &around, (cures, &fingerprint));
        for source in sources.iter().filter(|_| before.is_some()) {
            source.prove()?;
        }
        let transforms = sources.iter().map(|source| Arc::clone(&source.transform)).collect();
        let tables = TableSwap::new(transforms, fingerprint);
        Ok(Pipeline { sources, tables, memory, stop: stop.clone(), hand_over })
    }

    /// What the next pipeline must know of this one, and how this one is told to give way.
    pub fn following(&self) -> Following {
        Following { memory: self.memory.clone(), hand_over: self.hand_over.clone() }
    }

    /// Takes another host table to all sources while they run.
    pub fn tables(&self) -> TableSwap {
        self.tables.clone()
    }

    /// Reads until every source has ended or the pipeline is told to stop.
    ///
    /// # Errors
    /// A source whose settings are of no use.
    pub async fn run(self) -> Result<Ended, AssembleError> {
        self.run_after(Vec::new()).await.0
    }

    /// As [`Pipeline::run`], or until it is told to give way; then its Kafka sources come back.
    /// `handed`: those of the pipeline before. When one source fails, the others are stopped.
    ///
    /// # Errors
    /// A source whose settings are of no use.
    pub async fn run_after(
        self,
        mut handed: Vec<Handed>,
    ) -> (Result<Ended, AssembleError>, Vec<Handed>) {
        let mut taken = Vec::new();
        for source in self.sources {
            let settings = source.kafka_settings();
            let same = |it: &Handed| settings.as_ref() == Some(&*it.settings);
            let place = handed.iter().position(same);
            taken.push((source, place.map(|place| handed.swap_remove(place))));
        }
        // Their partitions are free before others ask for them.
        for Handed { settings, handover } in handed {
            tracing::info!(group = %settings.group, "a source that is no longer the same ends");
            driver::leave(handover.link).await;
        }
        let mut running = JoinSet::new();
        for (source, handed) in taken {
            running.spawn(source.run(handed));
        }
        let mut all = Ok(Ended::Read);
        let mut back = Vec::new();
        while let Some(joined) = running.join_next().await {
            let (one, handed) = joined.unwrap_or_else(|panic| {
                (Ok(Ended::Failed(format!("a driver broke off: {panic}"))), None)
            });
            back.extend(handed);
            if matches!(one, Err(_) | Ok(Ended::Failed(_))) {
                self.stop.send_replace(true);
            }
            all = worse(all, one);
        }
        (all, back)
    }
}

/// What all sinks of a process share.
struct Shared {
    retry: RetrySettings,
    jitter: Arc<Jitter>,
    memory: Memory,
    dead_letters: Option<DeadLetters>,
    cured: mpsc::Sender<Cured>,
    metrics: Metrics,
    health: Health,
    rules: DeliveryRules,
}

impl Shared {
    /// Starts the dead-letter writer, where there is a place for what is refused. Destinations
    /// that work again are told to the receiver.
    fn new(
        letters: Option<Arc<dyn DeadLetterTarget>>,
        memory: &Memory,
        metrics: &Metrics,
        health: &Health,
    ) -> (Shared, mpsc::Receiver<Cured>) {
        let (retry, rules) = (RetrySettings::default(), DeliveryRules::all());
        let jitter = Arc::new(Jitter::new(random()));
        let start = |target: Arc<dyn DeadLetterTarget>| {
            let jitter = Arc::clone(&jitter);
            DeadLetters::spawn(target, retry.clone(), jitter, metrics.clone(), rules)
        };
        let dead_letters = letters.map(start);
        let (cured, cures) = mpsc::channel(CURES_MAX);
        let (memory, metrics, health) = (memory.clone(), metrics.clone(), health.clone());
        (Shared { retry, jitter, memory, dead_letters, cured, metrics, health, rules }, cures)
    }

    /// What a sink is given; when it halts is as configured.
    fn context(&self, number: usize, sink: &Sink) -> SinkContext {
        SinkContext {
            number,
            name: sink.name.as_str().into(),
            retry: self.retry.clone(),
            jitter: Arc::clone(&self.jitter),
            memory: self.memory.clone(),
            dead_letters: self.dead_letters.clone(),
            halt_after: sink.halt_after_ms.map(Duration::from_millis),
            halt_above: sinks::halt_above(sink),
            cured: self.cured.clone(),
            metrics: self.metrics.clone(),
            health: self.health.clone(),
            rules: self.rules,
        }
    }
}

/// Starts the sinks of a share; others have a place without anybody there.
async fn start_sinks(
    config: &Config,
    share: Share,
    context: impl Fn(usize, &Sink) -> SinkContext,
) -> Result<Vec<SinkHandle>, AssembleError> {
    let mut handles = Vec::with_capacity(config.sinks.len());
    for (number, sink) in config.sinks.iter().enumerate() {
        if share.has(number) {
            let context = context(number, sink);
            context.metrics.declare_sink(&sink.name);
            handles.push(sinks::start(sink, context, &config.fingerprint).await?);
        } else {
            handles.push(SinkHandle::absent(&sink.name));
        }
    }
    Ok(handles)
}

/// The sinks of a configuration for whoever reads from no source: what they refuse, and what no
/// route takes, goes to `refused`.
///
/// # Errors
/// The first sink whose settings are of no use.
pub async fn sinks_alone(
    config: &Config,
    refused: Arc<dyn DeadLetterTarget>,
    health: &Health,
) -> Result<Dispatch, AssembleError> {
    let (memory, metrics) = (Memory::new(config.memory_bytes), Metrics::new());
    let share = Share::all(config.sinks.len());
    let (shared, mut cures) = Shared::new(Some(refused), &memory, &metrics, health);
    tokio::spawn(async move { while cures.recv().await.is_some() {} });
    let context = |number: usize, sink: &Sink| SinkContext {
        // What is refused again stays where it is, however much it is.
        halt_after: None,
        halt_above: riverhog_rules::step::Share::ALL,
        ..shared.context(number, sink)
    };
    let sinks = start_sinks(config, share, context).await?.into();
    Ok(Dispatch { sinks, dead_letters: shared.dead_letters, share, metrics })
}

/// A pipeline as the one after it sees it.
#[derive(Debug, Clone)]
pub struct Following {
    memory: Memory,
    hand_over: watch::Sender<bool>,
}

impl Following {
    /// Tells the pipeline to give way.
    pub fn give_way(&self) {
        self.hand_over.send_replace(true);
    }
}

/// The first failure, else the first deadline that was missed, else the first that was stopped.
fn worse(
    before: Result<Ended, AssembleError>,
    one: Result<Ended, AssembleError>,
) -> Result<Ended, AssembleError> {
    let weight = |ended: &Result<Ended, AssembleError>| match ended {
        Ok(Ended::Read) => 0,
        Ok(Ended::Settled) => 1,
        Ok(Ended::Deadline) => 2,
        Ok(Ended::Failed(_)) => 3,
        Err(_) => 4,
    };
    if weight(&one) > weight(&before) { one } else { before }
}

/// What all sources of a pipeline share.
struct Around {
    dispatch: Dispatch,
    memory: Memory,
    hand_over: watch::Receiver<bool>,
}

fn source_runs(
    config: &Config,
    surroundings: &Surroundings,
    around: &Around,
    (cures, fingerprint): (mpsc::Receiver<Cured>, &watch::Sender<Arc<str>>),
) -> Vec<SourceRun> {
    let count = config.sources.len();
    let kafka_sources = config.sources.iter().filter(|it| it.kafka().is_some()).count() as u64;
    let settings = driver::Settings {
        commit_interval: surroundings.commit_interval,
        revoke_wait: REVOKE_WAIT,
        stop_deadline: surroundings.stop_deadline,
        ahead_max_ms: config.ahead_max_ms as i64,
        stall_after: Duration::from_millis(config.stall_after_ms),
        settle_max: sinks::settle_max(config, surroundings.share),
        rules: DeliveryRules::all(),
    };
    let sink_names: Arc<[String]> = config.sinks.iter().map(|sink| sink.name.clone()).collect();
    let with_cures = config.sources.iter().zip(fan_out(cures, count));
    let run = |(source, cured): (&Source, mpsc::Receiver<Cured>)| SourceRun {
        transform: Arc::new(PlanTransform::new(
            Arc::clone(&config.plan),
            source.envelope,
            source.line_max_bytes,
            surroundings.metrics.clone(),
        )),
        kafka_sources,
        dispatch: around.dispatch.clone(),
        cured,
        memory: around.memory.clone(),
        hand_over: around.hand_over.clone(),
        share: surroundings.share,
        sink_names: Arc::clone(&sink_names),
        metrics: surroundings.metrics.clone(),
        // A file that has been read to its end must not make the others' process unready.
        health: match source.kind {
            SourceKind::Kafka(_) => surroundings.health.clone(),
            SourceKind::File(_) | SourceKind::Stdin if count == 1 => surroundings.health.clone(),
            SourceKind::File(_) | SourceKind::Stdin => Health::new(),
        },
        settings: settings.clone(),
        stop: surroundings.stop.subscribe(),
        fingerprint: fingerprint.subscribe(),
        source: source.clone(),
    };
    with_cures.map(run).collect()
}

/// Every driver is told of every cure: each knows by itself whether it gave lines up.
fn fan_out(mut cures: mpsc::Receiver<Cured>, count: usize) -> Vec<mpsc::Receiver<Cured>> {
    if count == 1 {
        return vec![cures];
    }
    let (senders, receivers): (Vec<_>, Vec<_>) =
        (0..count).map(|_| mpsc::channel::<Cured>(CURES_MAX)).unzip();
    tokio::spawn(async move {
        while let Some(cured) = cures.recv().await {
            for sender in &senders {
                if sender.send(cured.clone()).await.is_err() {
                    tracing::trace!("a driver that has ended needs no cure");
                }
            }
        }
    });
    receivers
}

impl SourceRun {
    fn room(&self) -> sources::Room<'_> {
        sources::Room {
            memory: &self.memory,
            kafka_sources: self.kafka_sources,
            revoke_wait: REVOKE_WAIT,
        }
    }

    /// `None` for a source that is not Kafka.
    fn kafka_settings(&self) -> Option<KafkaSettings> {
        let kafka = self.source.kafka()?;
        Some(sources::kafka_settings(&self.source, kafka, self.room(), self.share()))
    }

    /// What a reload must know before the pipeline that runs gives way.
    fn prove(&self) -> Result<(), AssembleError> {
        let Some(settings) = self.kafka_settings() else { return Ok(()) };
        kafka::prove(&settings)
            .map_err(|cause| AssembleError::Source { source_name: self.source.name.clone(), cause })
    }

    fn share(&self) -> (Share, &[String]) {
        (self.share, &self.sink_names)
    }

    async fn run(self, handed: Option<Handed>) -> (Result<Ended, AssembleError>, Option<Handed>) {
        let settings = self.kafka_settings().map(Box::new);
        let (link, begin) = if let Some(Handed { handover: Handover { link, begin }, .. }) = handed
        {
            (link, Some(begin))
        } else {
            let starting = sources::start(&self.source, self.room(), self.share());
            let (mut stop, mut hand_over) = (self.stop.clone(), self.hand_over.clone());
            let link = tokio::select! {
                biased;
                // Nothing was read, so nothing is unsettled.
                _ = stop.wait_for(|stop| *stop) => return (Ok(Ended::Settled), None),
                _ = hand_over.wait_for(|it| *it) => return (Ok(Ended::Settled), None),
                link = starting => link,
            };
            match link {
                Ok(link) => (link, None),
                Err(error) => return (Err(error), None),
            }
        };
        let driver = Driver {
            link,
            begin,
            transform: self.transform,
            dispatch: self.dispatch,
            cured: self.cured,
            stop: self.stop,
            hand_over: self.hand_over,
            fingerprint: self.fingerprint,
            memory: self.memory,
            metrics: self.metrics,
            health: self.health,
            settings: self.settings,
        };
        let (ended, handover) = driver.run_or_hand_over().await;
        let handed = handover.zip(settings);
        (Ok(ended), handed.map(|(handover, settings)| Handed { settings, handover }))
    }
}

/// A number that differs from process to process: every `RandomState` has keys of its own.
pub(crate) fn random() -> u64 {
    RandomState::new().hash_one(0)
}
