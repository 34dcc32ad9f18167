//! Dead letters as records of a Kafka topic, keyed by event id.
//!
//! Invariant: `Done` means acknowledged by all in-sync replicas; a record may be there twice after
//! a lost answer beyond the producer's own retries, never silently not at all. Memory is bounded by
//! the producer's queue. Next stop: `redrive` reads the topic.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rdkafka::ClientConfig;
use rdkafka::client::ClientContext;
use rdkafka::config::{FromClientConfigAndContext as _, RDKafkaLogLevel};
use rdkafka::error::{KafkaError, RDKafkaErrorCode as Code};
use rdkafka::producer::future_producer::DeliveryFuture;
use rdkafka::producer::{FutureProducer, FutureRecord};
use tokio::time::Instant;

use super::letter::Letter;
use super::{DeadLetterTarget, LetterOutcome, Writing};
use crate::clock;
use crate::source::kafka::{properties, without};

/// Largest record by default, bytes: librdkafka's own default, below the broker's.
const RECORD_BYTES_MAX: usize = 1_000_000;

/// What key, headers and framing may add to a value.
const FRAMING_BYTES: usize = 256;

/// How long librdkafka itself tries to deliver a record.
const DELIVERY_MAX_MS: &str = "30000";

/// Bytes and records that may wait in the producer.
const QUEUE_KBYTES: &str = "16384";
const QUEUE_RECORDS: &str = "20000";

/// An authentication error this old no longer explains why a record was not delivered.
const ERROR_MEMORY: Duration = Duration::from_mins(1);

/// Where dead letters go.
#[derive(Debug, Clone)]
pub struct ProducerSettings {
    /// `host:port` of some brokers.
    pub brokers: Vec<String>,
    /// The topic; it is not created.
    pub topic: String,
    /// librdkafka properties of the user. Acknowledgement and idempotence cannot be changed.
    pub properties: BTreeMap<String, String>,
}

/// A property that librdkafka refuses.
#[derive(Debug, thiserror::Error)]
#[error("kafka properties of the dead-letter topic are refused: {0}")]
pub struct ProducerError(String);

/// What became of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProduceOutcome {
    /// Acknowledged.
    Done,
    /// Not now.
    Retry(String),
    /// Larger than client or topic take; a value of at most `limit` bytes may pass.
    TooLarge {
        /// Bytes.
        limit: usize,
    },
    /// Nothing will get through until somebody acts.
    Halt(String),
}

/// A producer for one topic.
pub struct KafkaProducer {
    config: ClientConfig,
    topic: String,
    record_max: usize,
    context: Context,
    /// Replaced after a fatal error, which an idempotent producer does not survive.
    together: Mutex<Option<Client>>,
    /// Sends each record in a batch of its own; made when a topic refuses a batch for its size,
    /// since the broker does not say which record was too large.
    alone: Mutex<Option<Client>>,
}

type Client = FutureProducer<Context>;

impl std::fmt::Debug for KafkaProducer {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("KafkaProducer").field("topic", &self.topic).finish_non_exhaustive()
    }
}

impl KafkaProducer {
    /// A producer; reaches no broker yet.
    ///
    /// # Errors
    /// Properties that librdkafka refuses.
    pub fn new(settings: &ProducerSettings) -> Result<KafkaProducer, ProducerError> {
        let config = config(settings);
        let limit = config.get("message.max.bytes").and_then(|text| text.parse().ok());
        let producer = KafkaProducer {
            config,
            topic: settings.topic.clone(),
            record_max: limit.unwrap_or(RECORD_BYTES_MAX),
            context: Context::default(),
            together: Mutex::new(None),
            alone: Mutex::new(None),
        };
        match producer.client(false) {
            Ok(_) => Ok(producer),
            Err(KafkaError::ClientConfig(_, reason, name, value)) => {
                Err(ProducerError(without(&value, &name, &reason)))
            }
            Err(error) => Err(ProducerError(error.to_string())),
        }
    }

    /// Sends a record and waits for its acknowledgement, half a minute at most.
    pub async fn send(&self, key: &[u8], value: &[u8]) -> ProduceOutcome {
        let sent = self.enqueue(false, key, value);
        self.outcome(sent, key, value).await
    }

    async fn outcome(&self, sent: Sent, key: &[u8], value: &[u8]) -> ProduceOutcome {
        let outcome = self.wait(sent, key, value).await;
        let by_the_broker = matches!(outcome, ProduceOutcome::TooLarge { .. })
            && key.len() + value.len() + FRAMING_BYTES <= self.record_max;
        if !by_the_broker {
            return outcome;
        }
        let sent = self.enqueue(true, key, value);
        self.wait(sent, key, value).await
    }

    /// Puts a record into the producer's queue, without waiting.
    fn enqueue(&self, alone: bool, key: &[u8], value: &[u8]) -> Sent {
        let client = self.client(alone)?;
        let record = FutureRecord::to(&self.topic).key(key).payload(value);
        let delivery = client.send_result(record).map_err(|(error, _)| error);
        Ok((client.clone(), delivery?))
    }

    async fn wait(&self, sent: Sent, key: &[u8], value: &[u8]) -> ProduceOutcome {
        let error = match sent {
            Ok((_client, delivery)) => match delivery.await {
                Ok(Ok(_)) => return ProduceOutcome::Done,
                Ok(Err((error, _))) => error,
                Err(_) => return ProduceOutcome::Retry("the producer has ended".to_owned()),
            },
            Err(error) => error,
        };
        let code = error.rdkafka_error_code().unwrap_or(Code::Unknown);
        let outcome = classify(code, self.context.refused(clock::instant()));
        match outcome {
            ProduceOutcome::TooLarge { .. } => {
                let room = self.record_max.saturating_sub(key.len() + FRAMING_BYTES);
                // The topic takes less than the client: how much less only tries can tell.
                let limit = if value.len() > room { room } else { value.len() / 2 };
                ProduceOutcome::TooLarge { limit }
            }
            other => {
                if code == Code::Fatal {
                    self.renew();
                }
                other
            }
        }
    }

    fn client(&self, alone: bool) -> Result<Client, KafkaError> {
        let slot = if alone { &self.alone } else { &self.together };
        let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = &*slot {
            return Ok(client.clone());
        }
        let mut config = self.config.clone();
        if alone {
            config.set("batch.num.messages", "1");
        }
        let client = Client::from_config_and_context(&config, self.context.clone())?;
        Ok(slot.insert(client).clone())
    }

    fn renew(&self) {
        for slot in [&self.together, &self.alone] {
            let gone = slot.lock().unwrap_or_else(PoisonError::into_inner).take();
            // Its end may take a while, on a thread where that hurts nobody.
            if let Some(gone) = gone {
                tokio::task::spawn_blocking(move || drop(gone));
            }
        }
    }
}

type Sent = Result<(Client, DeliveryFuture), KafkaError>;

impl DeadLetterTarget for KafkaProducer {
    fn write<'a>(&'a self, letters: &'a [Letter]) -> Writing<'a> {
        // All are queued before the first is waited for.
        let queued = letters.iter().map(|letter| self.enqueue(false, &letter.key, &letter.value));
        let sent: Vec<Sent> = queued.collect();
        Box::pin(async move {
            let mut outcomes = Vec::with_capacity(letters.len());
            for (letter, sent) in letters.iter().zip(sent) {
                outcomes.push(match self.outcome(sent, &letter.key, &letter.value).await {
                    ProduceOutcome::Done => LetterOutcome::Done,
                    ProduceOutcome::Retry(reason) => LetterOutcome::Retry(reason),
                    ProduceOutcome::TooLarge { limit } => LetterOutcome::TooLarge(limit),
                    ProduceOutcome::Halt(reason) => LetterOutcome::Halt(reason),
                });
            }
            outcomes
        })
    }
}

fn config(settings: &ProducerSettings) -> ClientConfig {
    let defaults = [
        ("message.timeout.ms", DELIVERY_MAX_MS),
        ("queue.buffering.max.kbytes", QUEUE_KBYTES),
        ("queue.buffering.max.messages", QUEUE_RECORDS),
        ("compression.type", "lz4"),
        ("linger.ms", "5"),
        // 30 s by default until a topic that is not there is said to be missing.
        ("topic.metadata.propagation.max.ms", "10000"),
    ];
    let user = settings.properties.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let mut config = properties::connection(&settings.brokers, defaults.into_iter().chain(user));
    for name in ["acks", "request.required.acks"] {
        config.remove(name);
    }
    config.set("enable.idempotence", "true");
    config.set("acks", "all");
    config
}

/// The produce column of the outcome table. `refused` is what a broker last said against us as a
/// whole: a wrong password shows as a record that is never delivered.
fn classify(code: Code, refused: Option<String>) -> ProduceOutcome {
    match code {
        Code::MessageSizeTooLarge | Code::InvalidMessageSize | Code::MessageBatchTooLarge => {
            ProduceOutcome::TooLarge { limit: 0 }
        }
        Code::MessageTimedOut | Code::BrokerTransportFailure | Code::AllBrokersDown => {
            let outcome = refused.map(ProduceOutcome::Halt);
            outcome.unwrap_or_else(|| ProduceOutcome::Retry(code.to_string()))
        }
        // The producer is made anew.
        Code::Fatal | Code::PurgeQueue | Code::PurgeInflight => {
            ProduceOutcome::Retry(code.to_string())
        }
        Code::QueueFull
        | Code::OperationTimedOut
        | Code::Retry
        | Code::Resolve
        | Code::WaitingForCoordinator
        | Code::RequestTimedOut
        | Code::NotLeaderForPartition
        | Code::LeaderNotAvailable
        | Code::BrokerNotAvailable
        | Code::ReplicaNotAvailable
        | Code::NetworkException
        | Code::NotEnoughReplicas
        | Code::NotEnoughReplicasAfterAppend
        | Code::KafkaStorageError
        | Code::InvalidMessage
        | Code::UnknownLeaderEpoch
        | Code::FencedLeaderEpoch
        | Code::OutOfOrderSequenceNumber
        | Code::UnknownProducerId
        | Code::ThrottlingQuotaExceeded => ProduceOutcome::Retry(code.to_string()),
        // Authorisation, unknown topic, and whatever no later try can change.
        other => ProduceOutcome::Halt(refused.unwrap_or_else(|| other.to_string())),
    }
}

/// Remembers what brokers say against the client as a whole.
#[derive(Debug, Default, Clone)]
struct Context(Arc<Mutex<Option<(Instant, String)>>>);

impl Context {
    fn refused(&self, now: Instant) -> Option<String> {
        let refused = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let recent = refused.as_ref().filter(|(at, _)| now.duration_since(*at) < ERROR_MEMORY);
        recent.map(|(_, reason)| reason.clone())
    }
}

impl ClientContext for Context {
    fn log(&self, level: RDKafkaLogLevel, facility: &str, text: &str) {
        if matches!(level, RDKafkaLogLevel::Debug) {
            tracing::debug!(facility, "librdkafka: {text}");
        } else {
            // The outcome of each record says it again, at a bounded rate.
            tracing::info!(facility, "librdkafka: {text}");
        }
    }

    fn error(&self, error: KafkaError, reason: &str) {
        let code = error.rdkafka_error_code().unwrap_or(Code::Unknown);
        if matches!(
            code,
            Code::Authentication
                | Code::SSL
                | Code::SaslAuthenticationFailed
                | Code::ClusterAuthorizationFailed
                | Code::UnsupportedSASLMechanism
        ) {
            let mut refused = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            *refused = Some((clock::instant(), reason.to_owned()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(code: Code, refused: Option<&str>, expect: &ProduceOutcome) {
        assert_eq!(classify(code, refused.map(str::to_owned)), *expect, "{code:?}");
    }

    #[test]
    fn every_code_has_one_meaning() {
        let retry = |code: Code| ProduceOutcome::Retry(code.to_string());
        let halt = |code: Code| ProduceOutcome::Halt(code.to_string());
        for code in [Code::MessageTimedOut, Code::NotEnoughReplicas, Code::QueueFull, Code::Fatal] {
            check(code, None, &retry(code));
        }
        for code in [
            Code::TopicAuthorizationFailed,
            Code::UnknownTopicOrPartition,
            Code::UnknownTopic,
            Code::InvalidRecord,
            Code::Unknown,
        ] {
            check(code, None, &halt(code));
        }
        let said = ProduceOutcome::Halt("wrong password".to_owned());
        check(Code::MessageTimedOut, Some("wrong password"), &said);
        check(Code::MessageSizeTooLarge, None, &ProduceOutcome::TooLarge { limit: 0 });
    }

    #[test]
    fn acknowledgement_cannot_be_weakened() {
        let weak = [("acks", "0"), ("request.required.acks", "1"), ("enable.idempotence", "false")];
        let settings = ProducerSettings {
            brokers: vec!["127.0.0.1:1".to_owned()],
            topic: "dead".to_owned(),
            properties: weak.map(|(k, v)| (k.to_owned(), v.to_owned())).into(),
        };
        let config = config(&settings);
        assert_eq!(config.get("acks"), Some("all"));
        assert_eq!(config.get("enable.idempotence"), Some("true"));
        assert_eq!(config.get("request.required.acks"), None);
        assert!(KafkaProducer::new(&settings).is_ok());
    }

    #[test]
    fn an_old_refusal_is_forgotten() {
        let context = Context::default();
        context.error(KafkaError::Global(Code::Authentication), "wrong password");
        let now = clock::instant();
        assert_eq!(context.refused(now).as_deref(), Some("wrong password"));
        assert_eq!(context.refused(now + ERROR_MEMORY * 2), None);
    }
}
