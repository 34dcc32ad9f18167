//! Whether a broker lets this client in, and why not.
//!
//! Invariant: a broker that is silent is waited for, one that turns this client away is not, and
//! its words are told. Next stop: `connect.rs`, which tells them.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rdkafka::client::ClientContext;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::consumer::{BaseConsumer, Consumer as _, ConsumerContext};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};

use super::Finding;
use crate::source::kafka::properties;
use crate::telemetry::escape::escape_control;

/// Longest that a broker is waited for.
const BROKER_MAX: Duration = Duration::from_secs(10);
/// Until it is asked what librdkafka complains of.
const BROKER_SHORT: Duration = Duration::from_secs(2);
/// Complaints of librdkafka that are kept; they repeat.
const COMPLAINTS_MAX: usize = 16;
/// Longest wait for each.
const COMPLAINTS_WAIT: Duration = Duration::from_millis(100);

/// Asks a broker for its metadata; all topics where none is named.
pub(super) async fn broker(
    part: &str,
    brokers: &[String],
    properties: Vec<(String, String)>,
    topics: Option<Vec<String>>,
) -> Finding {
    let asked = format!("brokers {}", brokers.join(", "));
    let config = properties::connection(brokers, properties);
    let asking = tokio::task::spawn_blocking(move || {
        let consumer = config.create_with_context(Complaints::default());
        let consumer: BaseConsumer<Complaints> = consumer.map_err(|error| error.to_string())?;
        let short = metadata(&consumer, topics.as_deref(), BROKER_SHORT);
        let answer = match short {
            Err(problem) if !hear(&consumer).is_final() => {
                tracing::debug!(%problem, "the broker has not answered yet");
                metadata(&consumer, topics.as_deref(), BROKER_MAX)
            }
            answer => answer,
        };
        answer.map_err(|problem| hear(&consumer).most_telling().unwrap_or(problem))
    });
    let answer = asking.await.unwrap_or_else(|error| Err(error.to_string()));
    match answer {
        Ok(words) => Finding::good(part, words),
        Err(problem) => {
            // A broker wrote some of it.
            let problem = escape_control(&problem).into_owned();
            let help = broker_help(&problem);
            Finding::bad(part, asked, problem, help)
        }
    }
}

/// The cure of what librdkafka says.
fn broker_help(problem: &str) -> &'static str {
    let says = |words: &[&str]| words.iter().any(|word| problem.contains(word));
    if says(&["certificate"]) {
        "`ssl.ca.location` names who signed the broker's certificate; a broker that asks for the \
         client's wants `ssl.certificate.location` and `ssl.key.location`"
    } else if says(&["listener?", "APIVERSION_QUERY"]) {
        // A listener with TLS closes what does not speak it, before anything was said.
        "does `security.protocol` fit the listener at this port (PLAINTEXT, SSL, SASL_SSL)?"
    } else if says(&["SASL", "OAUTHBEARER", "OIDC", "uthentication"]) {
        "check `sasl.mechanism`, and user and password, or what the token endpoint is sent"
    } else {
        "is the address right, does the broker run, and may this client connect?"
    }
}

/// What librdkafka complains of: who is not let in, and whatever else connections failed of.
#[derive(Default)]
struct Complaints(Mutex<[Vec<String>; 2]>);

impl Complaints {
    /// That nobody is reached is no news.
    fn most_telling(&self) -> Option<String> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter().flatten().next().cloned()
    }

    /// Whether this client was turned away: it would be again.
    fn is_final(&self) -> bool {
        !self.0.lock().unwrap_or_else(PoisonError::into_inner)[0].is_empty()
    }

    fn push(&self, kind: usize, text: &str) {
        let kept = &mut self.0.lock().unwrap_or_else(PoisonError::into_inner)[kind];
        if kept.len() < COMPLAINTS_MAX {
            kept.push(text.to_owned());
        }
    }
}

impl ClientContext for Complaints {
    fn error(&self, error: KafkaError, reason: &str) {
        match error.rdkafka_error_code() {
            Some(RDKafkaErrorCode::AllBrokersDown) => {}
            Some(RDKafkaErrorCode::Authentication | RDKafkaErrorCode::SSL) => self.push(0, reason),
            _ => self.push(1, reason),
        }
    }

    fn log(&self, _: RDKafkaLogLevel, facility: &str, text: &str) {
        if facility == "FAIL" {
            // `[thrd:NAME]: ` comes first.
            self.push(1, text.split_once("]: ").map_or(text, |(_, words)| words));
        }
    }
}

impl ConsumerContext for Complaints {}

/// What librdkafka has found out is told when it is polled, one at a time.
fn hear(consumer: &BaseConsumer<Complaints>) -> &Complaints {
    for _ in 0..COMPLAINTS_MAX {
        if consumer.poll(COMPLAINTS_WAIT).is_none() {
            break;
        }
    }
    consumer.context()
}

fn metadata(
    consumer: &BaseConsumer<Complaints>,
    topics: Option<&[String]>,
    wait: Duration,
) -> Result<String, String> {
    let ask = |topic| consumer.fetch_metadata(topic, wait).map_err(|e| e.to_string());
    let Some(topics) = topics else {
        let all = ask(None)?;
        return Ok(format!("{} brokers, {} topics", all.brokers().len(), all.topics().len()));
    };
    let mut words = Vec::new();
    for topic in topics {
        let answer = ask(Some(topic))?;
        let found = answer.topics().iter().find(|it| it.name() == topic);
        let partitions = found.map_or(0, |it| it.partitions().len());
        if partitions == 0 {
            return Err(format!("there is no topic {topic}"));
        }
        if words.is_empty() {
            words.push(format!("{} brokers", answer.brokers().len()));
        }
        words.push(format!("topic {topic} with {partitions} partitions"));
    }
    Ok(words.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cure_is_that_of_the_words() {
        let table = [
            ("SSL handshake failed: … certificate verify failed", "ssl.ca.location"),
            ("Receive failed: … sslv3 alert bad certificate (in state APIVERSION_QUERY)", "ssl.ca"),
            ("Disconnected: connection closed by peer (in state APIVERSION_QUERY)", "security."),
            ("SSL handshake failed: … connecting to a PLAINTEXT broker listener?", "security."),
            ("SASL authentication error: Authentication failed", "sasl.mechanism"),
            ("Failed to acquire SASL OAUTHBEARER token: invalid_client", "token endpoint"),
            ("Connect to ipv4#127.0.0.1:1 failed: Connection refused", "is the address right"),
        ];
        for (problem, cure) in table {
            assert!(broker_help(problem).contains(cure), "{problem}");
        }
    }
}
