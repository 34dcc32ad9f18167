//! The dead-letter writer from its settings.
//!
//! Invariant: one writer for all sinks and drivers of a process. Next stop:
//! [`crate::sink::dead_letter`].

use std::sync::Arc;

use riverhog_config::{Config, DeadLetter};

use super::AssembleError;
use crate::backoff::Jitter;
use crate::delivery_rules::DeliveryRules;
use crate::sink::RetrySettings;
use crate::sink::dead_letter::kafka::{KafkaProducer, ProducerSettings};
use crate::sink::dead_letter::local::LocalLetters;
use crate::sink::dead_letter::{DeadLetterTarget, DeadLetters};
use crate::telemetry::metrics::Metrics;

/// Starts the writer, where the configuration has one.
pub(super) fn start(
    config: &Config,
    retry: &RetrySettings,
    jitter: &Arc<Jitter>,
    metrics: &Metrics,
    rules: DeliveryRules,
) -> Result<Option<DeadLetters>, AssembleError> {
    let Some(dead_letter) = &config.dead_letter else { return Ok(None) };
    let target: Arc<dyn DeadLetterTarget> = match dead_letter {
        DeadLetter::Local(local) => Arc::new(LocalLetters::new(local.path.clone())),
        DeadLetter::Kafka(kafka) => {
            let properties = kafka.properties.iter();
            let settings = ProducerSettings {
                brokers: kafka.brokers.clone(),
                topic: kafka.topic.clone(),
                properties: properties
                    .map(|(name, value)| (name.clone(), value.reveal().clone()))
                    .collect(),
            };
            let producer = KafkaProducer::new(&settings);
            Arc::new(producer.map_err(|error| AssembleError::DeadLetter(error.to_string()))?)
        }
    };
    let jitter = Arc::clone(jitter);
    Ok(Some(DeadLetters::spawn(target, retry.clone(), jitter, metrics.clone(), rules)))
}
