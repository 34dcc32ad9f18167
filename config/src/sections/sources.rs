//! `[sources.NAME]`. Next: `kafka_properties.rs`.

use super::{TopLevel, kafka_properties, paths};
use crate::EnvelopeKind;
use crate::declare;
use crate::diagnostic::Place;
use crate::document::{Text, Value};
use crate::reader::Reader;
use crate::settings::{FileSource, KafkaSource, Source, SourceKind, Start, Topics};

/// A source and the places others must agree with.
pub(crate) struct SourceDraft {
    pub(crate) source: Source,
    pub(crate) place: Place,
    /// The topics that are listed, with their places.
    pub(crate) topics: Vec<Text>,
}

pub(super) fn read(top: &TopLevel<'_>) -> Vec<SourceDraft> {
    let entries = top.named("sources");
    let mut drafts: Vec<SourceDraft> = Vec::new();
    for entry in entries {
        let Some(reader) = top.variant_of("sources", entry, &declare::SOURCES) else { continue };
        let mut topics = Vec::new();
        let kind = match reader.word() {
            "kafka" => SourceKind::Kafka(read_kafka(&reader, &mut topics)),
            "file" => {
                let path = reader.path("path");
                if let Some((path, text)) = &path {
                    paths::warn_of_source(&reader, path, text);
                }
                let path = path.map(|it| it.0).unwrap_or_default();
                SourceKind::File(FileSource { path })
            }
            _ => SourceKind::Stdin,
        };
        let source = Source {
            name: entry.key.clone(),
            kind,
            envelope: match reader.choice("envelope") {
                "none" => EnvelopeKind::None,
                "filebeat" => EnvelopeKind::Filebeat,
                "fluent-bit" => EnvelopeKind::FluentBit,
                "vector" => EnvelopeKind::Vector,
                "cri" => EnvelopeKind::Cri,
                "docker" => EnvelopeKind::Docker,
                "otlp" => EnvelopeKind::Otlp,
                "loki" => EnvelopeKind::Loki,
                "journald" => EnvelopeKind::Journald,
                "pack" => EnvelopeKind::Pack,
                _ => EnvelopeKind::Auto,
            },
            line_max_bytes: reader.bytes("line_max") as usize,
            lineage: read_lineage(&reader),
        };
        reader.reject_unknown();
        drafts.push(SourceDraft { source, place: entry.key_place.clone(), topics });
    }
    if entries.is_empty() && !top.context.broken {
        let help = "add a section `[sources.NAME]` with `type = \"kafka\"`, `file` or `stdin`";
        top.context.error(top.top, "there is no source", help);
    }
    drafts
}

fn read_kafka(reader: &Reader<'_>, topics: &mut Vec<Text>) -> KafkaSource {
    let brokers = brokers(reader);
    *topics = reader.texts("topics");
    let pattern = reader.text("topic_pattern");
    let subscription = subscription(reader, topics, pattern);
    let group = reader.text("group").map(|text| text.value).unwrap_or_default();
    let start = read_start(reader);
    if let (Start::Group(other), Some(node)) = (&start, reader.node("start"))
        && *other == group
        && !group.is_empty()
    {
        let message = format!("`{}` names the source's own group", reader.name_of("start"));
        let help = "a group goes on where it has committed anyway: leave `start` out, or give \
                    another group";
        reader.context.error(&node.place, message, help);
    }
    let properties = kafka_properties::read(reader, kafka_properties::Role::Consumer);
    KafkaSource { brokers, topics: subscription, group, start, properties }
}

/// `brokers`, each checked to be `host:port`.
pub(super) fn brokers(reader: &Reader<'_>) -> Vec<String> {
    let texts = reader.texts("brokers");
    for text in &texts {
        let value = &text.value;
        let problem = if value.contains("://") {
            Some("is an address with a scheme")
        } else if value.contains(',') {
            Some("holds a comma")
        } else if value.contains(|it: char| it.is_whitespace() || it == '/') {
            Some("is no `host:port`")
        } else {
            value
                .rsplit_once(':')
                .filter(|(_, port)| !port.ends_with(']') && port.parse::<u16>().is_err())
                .map(|_| "has no valid port")
        };
        if let Some(problem) = problem {
            let message =
                format!("`{}`: \"{}\" {problem}", reader.name_of("brokers"), text.shown());
            let help = "write `host:port`, one string for each broker";
            reader.context.error(&text.place, message, help);
        }
    }
    texts.into_iter().map(|text| text.value).collect()
}

fn subscription(reader: &Reader<'_>, topics: &[Text], pattern: Option<Text>) -> Topics {
    for topic in topics {
        check_topic(reader, "topics", topic);
    }
    let Some(pattern) = pattern else {
        let absent = !reader.has("topics") && !reader.has("topic_pattern");
        if absent && !reader.context.broken {
            let message = format!("`{}.topics` is missing", reader.path);
            let help = "add `topics = [\"…\"]`, or `topic_pattern = '^…'`";
            reader.context.error(&reader.place, message, help);
        }
        return Topics::List(topics.iter().map(|text| text.value.clone()).collect());
    };
    if reader.has("topics") {
        let message = format!("`{}` has both `topics` and `topic_pattern`", reader.path);
        let help = "keep one of the two";
        reader.context.error(&reader.place_of("topic_pattern"), message, help);
    }
    check_pattern(reader, &pattern);
    Topics::Pattern(pattern.value)
}

/// Kafka's own rule for topic names.
pub(super) fn check_topic(reader: &Reader<'_>, key: &str, topic: &Text) {
    let allowed = |it: char| it.is_ascii_alphanumeric() || matches!(it, '.' | '_' | '-');
    let name = reader.name_of(key);
    if topic.value.starts_with('^') {
        let message = format!("`{name}`: \"{}\" is a pattern, not a topic", topic.shown());
        reader.context.error(&topic.place, message, "use `topic_pattern` for it");
    } else if !topic.value.chars().all(allowed) || topic.value.len() > 249 {
        let message = format!("`{name}`: \"{}\" cannot be a topic", topic.shown());
        let help = "Kafka allows up to 249 letters, digits, `.`, `_` and `-`";
        reader.context.error(&topic.place, message, help);
    }
}

fn check_pattern(reader: &Reader<'_>, pattern: &Text) {
    let name = reader.name_of("topic_pattern");
    if !pattern.value.starts_with('^') {
        let message = format!("`{name}` is \"{}\", without `^`", pattern.shown());
        let help = format!("write `'^{}'`: Kafka's client asks for it", pattern.shown());
        reader.context.error(&pattern.place, message, help);
    } else if let Err(error) = regex::Regex::new(&pattern.value) {
        let message = match error {
            _ if pattern.is_secret() => format!("`{name}` is no regular expression"),
            error => {
                let text = error.to_string();
                let reason = text.lines().last().unwrap_or_default().trim_start_matches("error: ");
                format!("`{name}` is no regular expression: {reason}")
            }
        };
        reader.context.error(&pattern.place, message, "escape what is meant literally with `\\`");
    }
}

fn read_start(reader: &Reader<'_>) -> Start {
    let example = "write `earliest`, `latest` or a time such as `2026-03-12T10:00:00+08:00`";
    let Some(node) = reader.node("start") else {
        reader.note("start", "earliest");
        return Start::Earliest;
    };
    let (value, shown) = match &node.value {
        Value::Text(text) => (text.value.as_str(), text.shown()),
        Value::Datetime(time) => (time.as_str(), time.as_str()),
        other => {
            let message =
                format!("`{}` is {}, expected a string", reader.name_of("start"), other.kind());
            reader.context.error(&node.place, message, example);
            return Start::Earliest;
        }
    };
    reader.note("start", value);
    let name = reader.name_of("start");
    match value {
        "earliest" => Start::Earliest,
        "latest" => Start::Latest,
        group if group.starts_with("group:") => {
            let group = &group["group:".len()..];
            if group.is_empty() {
                let message = format!("`{name} = \"{shown}\"` names no group");
                let help = "write the group whose commits count, such as `group:logstash`";
                reader.context.error(&node.place, message, help);
            }
            Start::Group(group.to_owned())
        }
        time => match epoch_ms(time) {
            Ok(ms) => Start::Timestamp(ms),
            Err(TimeError::NoOffset) => {
                let message = format!("`{name}` is {shown}, a time without an offset");
                let help = format!("add it: `{shown}Z` for UTC, or `{shown}+08:00`");
                reader.context.error(&node.place, message, help);
                Start::Earliest
            }
            Err(TimeError::NoTime) => {
                let message = format!("`{name}` cannot be \"{shown}\"");
                let help = match crate::suggest::closest(shown, ["earliest", "latest"]) {
                    Some(word) => format!("did you mean `{word}`?"),
                    None => example.to_owned(),
                };
                reader.context.error(&node.place, message, help);
                Start::Earliest
            }
        },
    }
}

#[derive(Debug, PartialEq, Eq)]
enum TimeError {
    NoTime,
    NoOffset,
}

/// Milliseconds since the epoch of an RFC 3339 time.
fn epoch_ms(text: &str) -> Result<i64, TimeError> {
    let time: toml::value::Datetime = text.parse().map_err(|_| TimeError::NoTime)?;
    let (Some(date), Some(clock)) = (time.date, time.time) else { return Err(TimeError::NoTime) };
    let offset_minutes = match time.offset {
        Some(toml::value::Offset::Z) => 0,
        Some(toml::value::Offset::Custom { minutes }) => i64::from(minutes),
        None => return Err(TimeError::NoOffset),
    };
    let days = days_since_epoch(i64::from(date.year), i64::from(date.month), i64::from(date.day));
    let second = i64::from(clock.second.unwrap_or_default());
    let minutes = (days * 24 + i64::from(clock.hour)) * 60 + i64::from(clock.minute);
    let seconds = (minutes - offset_minutes) * 60 + second;
    Ok(seconds * 1000 + i64::from(clock.nanosecond.unwrap_or_default() / 1_000_000))
}

/// Days from 1970-01-01 in the Gregorian calendar, counting years from March so that the leap day
/// is the last of its year.
fn days_since_epoch(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

fn read_lineage(reader: &Reader<'_>) -> Option<String> {
    let text = reader.text("lineage")?;
    if text.value.len() > 16 || !text.value.chars().all(|it| it.is_ascii_alphanumeric()) {
        let message = format!("`{}` cannot be \"{}\"", reader.name_of("lineage"), text.shown());
        let help = "use up to 16 letters and digits: it stands in every event id";
        reader.context.error(&text.place, message, help);
    }
    Some(text.value)
}

#[cfg(test)]
mod unit_tests {
    use super::*;

    #[test]
    fn times_are_counted_from_the_epoch() {
        let check = |text: &str, expect: Result<i64, TimeError>| {
            assert_eq!(epoch_ms(text), expect, "{text}");
        };
        check("1970-01-01T00:00:00Z", Ok(0));
        check("2026-03-12T10:23:45.123+08:00", Ok(1_773_282_225_123));
        check("2000-02-29 23:59:59Z", Ok(951_868_799_000));
        check("1969-12-31T23:59:59-00:01", Ok(59_000));
        check("2026-03-12T10:23:45", Err(TimeError::NoOffset));
        check("2026-03-12", Err(TimeError::NoTime));
        check("2026-02-30T00:00:00Z", Err(TimeError::NoTime));
        check("yesterday", Err(TimeError::NoTime));
    }
}
