//! The dead-letter writer from its settings.
//!
//! Invariant: one writer for all sinks and drivers of a process. Next stop:
//! [`crate::sink::dead_letter`].

use std::sync::Arc;

use riverhog_config::{Config, DeadLetter, KafkaDeadLetter};

use super::sinks::s3_store;
use super::{AssembleError, random};
use crate::backoff::Jitter;
use crate::delivery_rules::DeliveryRules;
use crate::sink::RetrySettings;
use crate::sink::dead_letter::kafka::{KafkaProducer, ProducerSettings};
use crate::sink::dead_letter::local::LocalLetters;
use crate::sink::dead_letter::s3::StoredLetters;
use crate::sink::dead_letter::{DeadLetterTarget, DeadLetters};
use crate::telemetry::metrics::Metrics;

/// Starts the writer, where the configuration has one.
pub(super) async fn start(
    config: &Config,
    retry: &RetrySettings,
    jitter: &Arc<Jitter>,
    metrics: &Metrics,
    rules: DeliveryRules,
) -> Result<Option<DeadLetters>, AssembleError> {
    let Some(dead_letter) = &config.dead_letter else { return Ok(None) };
    let target = target(dead_letter).await?;
    let jitter = Arc::clone(jitter);
    Ok(Some(DeadLetters::spawn(target, retry.clone(), jitter, metrics.clone(), rules)))
}

/// The place that a configuration names.
///
/// # Errors
/// Settings of no use.
pub async fn target(dead_letter: &DeadLetter) -> Result<Arc<dyn DeadLetterTarget>, AssembleError> {
    match dead_letter {
        DeadLetter::Local(local) => Ok(Arc::new(LocalLetters::new(local.path.clone()))),
        DeadLetter::S3(s3) => {
            let store = s3_store(s3).await;
            let store = store.map_err(|error| AssembleError::DeadLetter(error.to_string()))?;
            Ok(Arc::new(StoredLetters::new(Arc::new(store), s3.prefix.clone(), random())))
        }
        DeadLetter::Kafka(kafka) => {
            let producer = KafkaProducer::new(&producer_settings(kafka));
            let producer = producer.map_err(|error| AssembleError::DeadLetter(error.to_string()));
            Ok(Arc::new(producer?))
        }
    }
}

/// How the topic of dead letters is reached.
pub fn producer_settings(kafka: &KafkaDeadLetter) -> ProducerSettings {
    let properties = kafka.properties.iter();
    ProducerSettings {
        brokers: kafka.brokers.clone(),
        topic: kafka.topic.clone(),
        properties: properties
            .map(|(name, value)| (name.clone(), value.reveal().clone()))
            .collect(),
    }
}
