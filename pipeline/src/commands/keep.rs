//! Keeps a pipeline running: stops it at a signal, and puts another one in its place when the
//! configuration is loaded again.
//!
//! Invariant: the next pipeline is built before the one that runs is told to give way, so that
//! what cannot be built changes nothing; a reload never takes longer than a stop. Next stop:
//! [`crate::assemble`].

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use riverhog_config::Config;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::CommandError;
use super::reload::{self, Asked, Requests};
use super::run::{RunArgs, deadline, share};
use super::signals::Signals;
use crate::assemble::{AssembleError, Following, Handed, Pipeline, Surroundings};
use crate::clock;
use crate::driver::Ended;
use crate::tables;
use crate::telemetry::health::Health;
use crate::telemetry::http::{Doors, Reloaded};
use crate::telemetry::metrics::Metrics;

/// Between two commits.
const COMMIT_INTERVAL: Duration = Duration::from_secs(1);
/// What a stop may take beyond its deadline: last commits, leaving the group.
const STOP_GRACE: Duration = Duration::from_secs(15);

/// What every pipeline of the process is given.
pub(super) struct Keeper<'a> {
    pub(super) args: &'a RunArgs,
    pub(super) metrics: Metrics,
    pub(super) health: Health,
    pub(super) doors: watch::Sender<Arc<Doors>>,
    pub(super) stop: watch::Sender<bool>,
    pub(super) signals: Signals,
    pub(super) requests: Requests,
}

/// How it came to an end.
pub(super) enum End {
    /// By itself, or as asked.
    Ended(Result<Ended, AssembleError>),
    /// Somebody could not wait.
    Interrupted,
}

/// What a pipeline answers when it ends or gives way.
type Run = (Result<Ended, AssembleError>, Vec<Handed>);

/// A configuration and what was built of it.
struct Current {
    config: Arc<Config>,
    pipeline: Pipeline,
    /// What the HTTP port is from now on; `None`: as it is.
    doors: Option<Doors>,
}

/// What follows a pipeline.
enum Turn {
    End(End),
    Next { current: Box<Current>, asked: Asked },
}

impl Keeper<'_> {
    /// Runs a configuration, and those that take its place, to the end.
    ///
    /// # Errors
    /// The first configuration cannot be built.
    pub(super) async fn keep(mut self, config: &Arc<Config>) -> Result<End, CommandError> {
        let pipeline = self.assemble(config, None).await?;
        let mut current = Current { config: Arc::clone(config), pipeline, doors: None };
        let (mut handed, mut generation) = (Vec::new(), 1);
        self.metrics.config_reloads("done", 0);
        self.metrics.config_reloads("failed", 0);
        loop {
            self.metrics.config_generation(generation);
            let Current { config, pipeline, doors } = current;
            if let Some(doors) = doors {
                self.doors.send_replace(Arc::new(doors));
            }
            let (following, tables) = (pipeline.following(), pipeline.tables());
            let tables = tables::follow(Arc::clone(&config), tables, self.metrics.clone());
            let _tables = Aborted(tokio::spawn(tables));
            let mut running = pin!(pipeline.run_after(std::mem::take(&mut handed)));
            let turn = self.turn((&config, generation), &following, running.as_mut()).await;
            let (next, asked) = match turn {
                Turn::End(end) => return Ok(end),
                Turn::Next { current, asked } => (current, asked),
            };
            let began = clock::instant();
            following.give_way();
            let Some((ended, back)) = self.wait(running.as_mut()).await else {
                return Ok(End::Interrupted);
            };
            if matches!(ended, Err(_) | Ok(Ended::Failed(_))) {
                return Ok(End::Ended(ended));
            }
            self.health.forget_halted();
            self.metrics.forget_halted();
            (handed, generation) = (back, generation + 1);
            self.metrics.config_reloads("done", 1);
            let fingerprint = next.config.fingerprint.clone();
            tracing::info!(
                generation, %fingerprint, took_ms = began.elapsed().as_millis() as u64,
                "another configuration runs"
            );
            asked.answer(&Reloaded { generation, fingerprint, refused: None });
            current = *next;
        }
    }

    /// Until the pipeline ends, or another one is there to take its place.
    async fn turn(
        &mut self,
        (config, generation): (&Arc<Config>, u64),
        following: &Following,
        mut running: Pin<&mut impl Future<Output = Run>>,
    ) -> Turn {
        loop {
            let asked = tokio::select! {
                (ended, _) = &mut running => return Turn::End(End::Ended(ended)),
                name = self.signals.next() => {
                    // The first came while the pipeline before gave way.
                    if *self.stop.borrow() {
                        warn_of_the_rest(name);
                        return Turn::End(End::Interrupted);
                    }
                    return Turn::End(self.stop(name, config, running).await);
                }
                asked = self.requests.next() => asked,
            };
            // The one that runs goes on meanwhile.
            let next = tokio::select! {
                (ended, _) = &mut running => return Turn::End(End::Ended(ended)),
                next = self.next(config, following, asked.by) => next,
            };
            match next {
                Ok(current) => return Turn::Next { current: Box::new(current), asked },
                Err(refused) => {
                    self.metrics.config_reloads("failed", 1);
                    tracing::error!(
                        by = asked.by, generation, reason = %refused,
                        "the configuration was loaded again and cannot be used; nothing changes"
                    );
                    let fingerprint = config.fingerprint.clone();
                    asked.answer(&Reloaded { generation, fingerprint, refused: Some(refused) });
                }
            }
        }
    }

    /// Loads the configuration and builds what is to run next.
    async fn next(
        &self,
        before: &Config,
        following: &Following,
        by: &'static str,
    ) -> Result<Current, String> {
        tracing::info!(by, "loading the configuration again");
        let config = Arc::new(reload::load(&self.args.config.path).await?);
        if let Some(refusal) = reload::refusal(before, &config) {
            return Err(refusal);
        }
        if config.http.listen != before.http.listen && self.args.listen.is_none() {
            tracing::warn!(
                listen = %config.http.listen,
                "[http] listen counts from the next start of the process"
            );
        }
        let doors = reload::doors(&config).map_err(|error| error.to_string())?;
        let pipeline = self.assemble(&config, Some(following)).await;
        let pipeline = pipeline.map_err(|error| error.in_a_line())?;
        Ok(Current { config, pipeline, doors: Some(doors) })
    }

    async fn assemble(
        &self,
        config: &Config,
        before: Option<&Following>,
    ) -> Result<Pipeline, CommandError> {
        let surroundings = Surroundings {
            metrics: self.metrics.clone(),
            health: self.health.clone(),
            stop: self.stop.clone(),
            stop_deadline: deadline(self.args.stop_deadline, config),
            commit_interval: COMMIT_INTERVAL,
            share: share(config, &self.args.sinks)?,
        };
        Ok(Pipeline::assemble(config, &surroundings, before).await?)
    }

    fn ask_to_stop(&self) {
        self.health.set_stopping();
        self.stop.send_replace(true);
    }

    /// Stops in order; a second signal ends at once.
    async fn stop(
        &mut self,
        name: &'static str,
        config: &Config,
        running: Pin<&mut impl Future<Output = Run>>,
    ) -> End {
        let deadline = deadline(self.args.stop_deadline, config);
        tracing::info!(
            signal = name,
            deadline_s = deadline.as_secs(),
            "stopping: what is read is delivered and committed; a second signal ends at once"
        );
        self.ask_to_stop();
        tokio::select! {
            (ended, _) = running => End::Ended(ended),
            name = self.signals.next() => {
                warn_of_the_rest(name);
                End::Interrupted
            }
            () = tokio::time::sleep(deadline + STOP_GRACE) => End::Ended(Ok(Ended::Deadline)),
        }
    }

    /// Waits for a pipeline that gives way. A signal asks whatever comes next to stop; a second
    /// ends at once: `None`.
    async fn wait(&mut self, mut running: Pin<&mut impl Future<Output = Run>>) -> Option<Run> {
        let name = tokio::select! {
            run = &mut running => return Some(run),
            name = self.signals.next() => name,
        };
        tracing::info!(signal = name, "stopping; a second signal ends at once");
        self.ask_to_stop();
        tokio::select! {
            run = running => Some(run),
            name = self.signals.next() => {
                warn_of_the_rest(name);
                None
            }
        }
    }
}

/// Somebody could not wait for the end of a stop.
fn warn_of_the_rest(signal: &'static str) {
    tracing::warn!(signal, "ending at once; the rest is read again");
}

/// A task that ends with whoever started it.
struct Aborted(JoinHandle<()>);

impl Drop for Aborted {
    fn drop(&mut self) {
        self.0.abort();
    }
}
