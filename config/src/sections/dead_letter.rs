//! `[dead_letter]`. Next: `tests.rs`.

use super::sources::{brokers, check_topic};
use super::{TopLevel, kafka_properties, paths, s3};
use crate::declare;
use crate::diagnostic::Place;
use crate::document::Text;
use crate::settings::{DeadLetter, KafkaDeadLetter, KafkaSource, LocalDeadLetter};

/// The target of dead letters and the places others must agree with.
pub(crate) struct DeadLetterDraft {
    pub(crate) target: DeadLetter,
    pub(crate) place: Place,
    pub(crate) topic: Option<Text>,
}

pub(super) fn read(top: &TopLevel<'_>) -> Option<DeadLetterDraft> {
    let reader = top.one_of("dead_letter", &declare::DEAD_LETTERS)?;
    let (target, topic) = if reader.word() == "kafka" {
        let brokers = brokers(&reader);
        let topic = reader.text("topic");
        if let Some(topic) = &topic {
            check_topic(&reader, "topic", topic);
        }
        let properties = kafka_properties::read(&reader, kafka_properties::Role::Producer);
        let name = topic.as_ref().map(|text| text.value.clone()).unwrap_or_default();
        (DeadLetter::Kafka(KafkaDeadLetter { brokers, topic: name, properties }), topic)
    } else if reader.word() == "s3" {
        (DeadLetter::S3(Box::new(s3::read_dead_letter(&reader))), None)
    } else {
        let path = reader.path("path");
        if let Some((path, text)) = &path {
            paths::warn_of_folder(&reader, path, text);
        }
        let path = path.map(|it| it.0).unwrap_or_default();
        (DeadLetter::Local(LocalDeadLetter { path }), None)
    };
    reader.reject_unknown();
    Some(DeadLetterDraft { target, place: reader.place.clone(), topic })
}

impl DeadLetterDraft {
    /// Takes brokers, and what it takes to connect to them, from a source.
    pub(crate) fn borrow_brokers(&mut self, source: &KafkaSource) {
        if let DeadLetter::Kafka(kafka) = &mut self.target {
            kafka.brokers.clone_from(&source.brokers);
            for (name, value) in kafka_properties::connection(&source.properties) {
                kafka.properties.entry(name.clone()).or_insert_with(|| value.clone());
            }
        }
    }
}
