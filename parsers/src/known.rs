//! What can be read without a pattern, by name, with who writes it and a line of it: for lists and
//! pages.
//!
//! Invariant: each sample is taken by the format or the envelope whose name it has, and told from
//! the others. The formats of training logs have their own table. Next on the trip:
//! [`crate::formats`] and [`crate::envelope`].

/// A format or an envelope.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    /// The word that chooses it.
    pub name: &'static str,
    /// What writes such lines.
    pub about: &'static str,
    /// A line of it.
    pub sample: &'static str,
}

const fn known(name: &'static str, about: &'static str, sample: &'static str) -> Known {
    Known { name, about, sample }
}

/// Formats of logs in general, words of `as`.
pub const FORMATS: [Known; 7] = [
    known(
        "json",
        "programs that log an object a line: structlog, pino, zap, logback",
        r#"{"ts":"2026-03-12T10:23:45Z","level":"error","logger":"trainer","msg":"out of memory"}"#,
    ),
    known(
        "kv",
        "programs that put pairs anywhere into a line",
        "checkpoint saved step=1250 path=/ckpt/1250 seconds=12.5",
    ),
    known(
        "logfmt",
        "Go programs, Heroku, Grafana's own services",
        r#"time=2026-03-12T10:23:45Z level=warn component=loader msg="slow shard" shard=17"#,
    ),
    known("csv", "exports in columns; `columns` names them", "2026-03-12T10:23:45Z,gpu-07,3,97,81"),
    known(
        "syslog",
        "rsyslog, syslog-ng, systemd: RFC 5424 and RFC 3164",
        "<11>1 2026-03-12T10:23:45.123Z gpu-07 sshd 1234 - - Connection closed by 10.0.0.7",
    ),
    known(
        "cri",
        "containerd and CRI-O, in /var/log/pods",
        "2026-03-12T10:23:45.123456789Z stdout F step 100 loss 2.104",
    ),
    known(
        "klog",
        "Kubernetes components, programs with glog",
        "I0312 10:23:45.123456    2261 kuberuntime_manager.go:1007] SyncLoop (PLEG)",
    ),
];

/// Envelopes of shippers, words of a source's `envelope`; `auto` knows each of them.
pub const ENVELOPES: [Known; 8] = [
    known(
        "otlp",
        "the OpenTelemetry Collector and Grafana Alloy; in protobuf too",
        r#"{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"body":{"stringValue":"step 100"}}]}]}]}"#,
    ),
    known(
        "loki",
        "Loki's push requests, from a gateway",
        r#"{"streams":[{"stream":{"host":"gpu-07"},"values":[["1773282226001234567","step 100"]]}]}"#,
    ),
    known(
        "filebeat",
        "Filebeat 5 to 9",
        r#"{"@timestamp":"2026-03-12T02:23:46.001Z","@metadata":{"beat":"filebeat"},"message":"step 100"}"#,
    ),
    known(
        "vector",
        "Vector, `encoding.codec = \"json\"`",
        r#"{"message":"step 100","source_type":"file","timestamp":"2026-03-12T02:23:46.001234567Z"}"#,
    ),
    known(
        "fluent-bit",
        "Fluent Bit, `format json`",
        r#"{"@timestamp":1773282226.001234,"stream":"stderr","log":"step 100"}"#,
    ),
    known(
        "docker",
        "Docker's json-file",
        r#"{"log":"step 100\n","stream":"stdout","time":"2026-03-12T02:23:46.001234567Z"}"#,
    ),
    known(
        "journald",
        "journalctl -o json, systemd-journal-upload",
        r#"{"__REALTIME_TIMESTAMP":"1773282226001234","_HOSTNAME":"gpu-07","MESSAGE":"step 100"}"#,
    ),
    known("pack", "promtail's stage `pack`", r#"{"pod":"job-4711-worker-3","_entry":"step 100"}"#),
];

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use super::*;
    use crate::envelope::{EnvelopeKind, Unwrapper};
    use crate::fields::Fields;
    use crate::formats::{Format, FormatParser};
    use crate::grok::Outcome;

    #[test]
    fn each_sample_is_of_its_format() {
        for known in &FORMATS {
            let format = Format::named(known.name).expect(known.name);
            let mut fields = Fields::new();
            let outcome = FormatParser::new(format, []).run(known.sample, &mut fields);
            assert_eq!(outcome, Outcome::Matched, "{}", known.name);
            assert!(fields.len() > 1, "{}", known.name);
        }
        let names: Vec<&str> = FORMATS.iter().map(|known| known.name).collect();
        assert!(Format::NAMES.iter().all(|name| *name == "training" || names.contains(name)));
        assert_eq!(names.len() + 1, Format::NAMES.len());
    }

    #[test]
    fn each_sample_is_told_from_other_envelopes() {
        for known in &ENVELOPES {
            let mut kinds = Vec::new();
            let value = known.sample.as_bytes();
            Unwrapper::new().run(EnvelopeKind::Auto, value, &mut |envelope| {
                assert!(envelope.message.starts_with(b"step 100"), "{}", known.name);
                kinds.push(envelope.kind);
                ControlFlow::Continue(())
            });
            assert_eq!(kinds, [known.name]);
        }
    }
}
