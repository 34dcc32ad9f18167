//! The place of dead letters from its settings.
//!
//! Invariant: `run` writes to, and `redrive` reads from, what is made here. Next stop:
//! [`crate::sink::dead_letter`].

use std::sync::Arc;

use riverhog_config::{DeadLetter, KafkaDeadLetter};

use super::sinks::s3_store;
use super::{AssembleError, random};
use crate::sink::dead_letter::DeadLetterTarget;
use crate::sink::dead_letter::kafka::{KafkaProducer, ProducerSettings};
use crate::sink::dead_letter::local::LocalLetters;
use crate::sink::dead_letter::s3::StoredLetters;

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
