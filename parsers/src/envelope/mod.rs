//! Envelopes: what a shipper wraps around a line before it reaches Kafka.
//!
//! Invariant: a value is taken for an envelope only when it carries the shipper's own marks; a JSON
//! log line is a raw line like any other. Next on the trip: [`crate::lines`] splits the message.

mod filebeat;

/// Which envelopes a source looks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum EnvelopeKind {
    /// Values are raw lines.
    None,
    /// Each value is looked at: the known envelopes are taken off, anything else is a raw line.
    #[default]
    Auto,
}

/// What an envelope said about its line.
#[derive(Clone, PartialEq, Debug)]
pub struct Envelope {
    /// The wrapped text, one line or several.
    pub message: String,
    /// The host that the shipper ran on.
    pub host: Option<String>,
    /// When the shipper read the line, nanoseconds since the epoch; not when the event happened.
    pub time_ns: Option<i64>,
    /// Every other scalar as (dotted path, text), in the order of the object: `fields.task`,
    /// `kubernetes.labels.job`. Bounded, see [`FIELDS_MAX`].
    pub fields: Vec<(String, String)>,
    /// The shipper, as a metric label.
    pub kind: &'static str,
}

/// More fields than this are left out: no shipper sends as many, and what is kept is held in
/// memory.
pub const FIELDS_MAX: usize = 512;

/// Takes the envelope off a value; `None` when the value is a raw line itself.
pub fn unwrap_envelope(kind: EnvelopeKind, value: &[u8]) -> Option<Envelope> {
    match kind {
        EnvelopeKind::None => None,
        EnvelopeKind::Auto => {
            // Only an object can be an envelope: all other lines cost one look at their first byte.
            if value.trim_ascii_start().first() != Some(&b'{') {
                return None;
            }
            match serde_json::from_slice(value) {
                Ok(serde_json::Value::Object(object)) => filebeat::unwrap(object),
                _ => None,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// As Filebeat 8 writes it.
    const FILEBEAT: &str = r#"{"@timestamp":"2024-05-15T10:23:46.001Z",
        "@metadata":{"beat":"filebeat","type":"_doc","version":"8.13.4"},
        "log":{"offset":1048576,"file":{"path":"/logs/job-4711/rank3.log"}},
        "message":"[rank3]: <b> \u003c训练\u003e\nsecond","tags":["train"],
        "fields":{"task":"job-4711","role":"worker"},"kubernetes":{"labels":{"job":"a"}},
        "host":{"name":"gpu-node-017"},"agent":{"name":"other","type":"filebeat"}}"#;

    #[test]
    fn filebeat() {
        let envelope = unwrap_envelope(EnvelopeKind::Auto, FILEBEAT.as_bytes()).unwrap();
        assert_eq!(envelope.kind, "filebeat");
        assert_eq!(envelope.message, "[rank3]: <b> <训练>\nsecond");
        assert_eq!(envelope.host.as_deref(), Some("gpu-node-017"));
        assert_eq!(envelope.time_ns, Some(1_715_768_626_001_000_000));
        let field = |path: &str| {
            let found = envelope.fields.iter().find(|(known, _)| known == path);
            found.map(|(_, value)| value.as_str())
        };
        assert_eq!(field("fields.task"), Some("job-4711"));
        assert_eq!(field("kubernetes.labels.job"), Some("a"));
        assert_eq!(field("log.offset"), Some("1048576"));
        assert_eq!(field("log.file.path"), Some("/logs/job-4711/rank3.log"));
        assert_eq!((field("message"), field("tags")), (None, None));
    }

    /// `host`: one entry for an envelope, none for a raw line.
    #[track_caller]
    fn check(value: &str, host: &[Option<&str>]) {
        let found = unwrap_envelope(EnvelopeKind::Auto, value.as_bytes());
        let found: Vec<Option<&str>> =
            found.iter().map(|envelope| envelope.host.as_deref()).collect();
        assert_eq!(found, host, "{value:?}");
        assert_eq!(unwrap_envelope(EnvelopeKind::None, value.as_bytes()), None);
    }

    #[test]
    fn marks() {
        let timed = |rest: &str| format!(r#" {{"@timestamp":"","message":"x",{rest}}}"#);
        check(&timed(r#""agent":{"name":"n","type":"filebeat"}"#), &[Some("n")]);
        check(r#"{"message":"x","agent":{"type":"filebeat","hostname":"h"}}"#, &[Some("h")]);
        check(&timed(r#""beat":{"hostname":"h"}"#), &[Some("h")]);
        check(&timed(r#""@metadata":{"beat":"filebeat"},"host":"h""#), &[Some("h")]);
        check(&timed(r#""@metadata":{"beat":"filebeat"},"host":{}"#), &[None]);
        // JSON lines of a program's own.
        check(r#"{"message":"x"}"#, &[]);
        check(r#"{"message":"x","host":"h"}"#, &[]);
        check(r#"{"message":"x","fields":{"task":"t"}}"#, &[]);
        check(r#"{"message":"x","host":{"name":"h"},"fields":{"a":1}}"#, &[]);
        check(r#"{"message":"x","agent":{"type":"t"},"beat":{"hostname":"h"}}"#, &[]);
        check(&timed(r#""agent":{"name":"n"},"host":{"name":"h"},"log":{},"fields":{}"#), &[]);
        check(r#"{"@timestamp":"","message":1,"agent":{"type":"filebeat"}}"#, &[]);
        check(r#"{"loss":1.5}"#, &[]);
        check("{'loss': 1.5}", &[]);
        check(&(timed(r#""agent":{"type":"filebeat"}"#) + " {}"), &[]);
        check("[1]", &[]);
        check("", &[]);
    }

    const MARKS: &str = r#""@timestamp":"","message":"x","agent":{"type":"filebeat"}"#;

    #[test]
    fn bounds() {
        let deep = format!("{{{MARKS},\"deep\":{}1{}}}", "{\"a\":".repeat(100), "}".repeat(100));
        let envelope = unwrap_envelope(EnvelopeKind::Auto, deep.as_bytes()).unwrap();
        assert_eq!(envelope.fields.len(), 2, "the marks");
        // Deeper than the JSON reader goes: a raw line.
        let deep = format!("{{{MARKS},\"deep\":{}1{}}}", "{\"a\":".repeat(9999), "}".repeat(9999));
        assert_eq!(unwrap_envelope(EnvelopeKind::Auto, deep.as_bytes()), None);
        let many: Vec<String> =
            (0..2 * FIELDS_MAX).map(|index| format!("\"k{index}\":1")).collect();
        let wide = format!("{{{MARKS},{}}}", many.join(","));
        let envelope = unwrap_envelope(EnvelopeKind::Auto, wide.as_bytes()).unwrap();
        assert_eq!(envelope.fields.len(), FIELDS_MAX);
    }

    proptest! {
        #[test]
        fn no_value_panics(
            value in proptest::collection::vec(any::<u8>(), 0..60),
            cut in 0..600usize,
        ) {
            let _envelope = unwrap_envelope(EnvelopeKind::Auto, &value);
            let cut = cut.min(FILEBEAT.len());
            let _envelope = unwrap_envelope(EnvelopeKind::Auto, &FILEBEAT.as_bytes()[..cut]);
        }
    }
}
