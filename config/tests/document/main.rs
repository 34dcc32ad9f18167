//! From the text of a configuration and the value of a record to the document: what
//! `[identity]` and `[time]` say about it.
//!
//! Invariant: values take the trip of a run, envelopes included. Next: `identity.rs`, `times.rs`.

mod identity;
mod times;

use riverhog_config::{ProcessEnv, load};
use riverhog_parsers::envelope::{EnvelopeKind, Unwrapper};
use riverhog_parsers::lines::split_lines;
use riverhog_rules::{EventBuffer, Line, ReceivedSource, Record, Transformer};
use serde_json::Value;
use std::fs;
use std::ops::ControlFlow;
use std::sync::Arc;

const FRAME: &str = "[sources.p]\ntype = 'stdin'\n[sinks.a]\ntype = 'local'\npath = 'a'\n\
                     [[route]]\nsinks = ['a']\n[peel]\n\
                     [[parse]]\nname = 'training'\nas = 'training'\n";
const HOSTS: &str = "host,boot_time\ngpu-07,2026-03-01T00:00:00Z\ngpu-08,1772323200\n\
                     gpu-09,2026-04-01T00:00:00Z\ngpu-10,yesterday\n";
/// 2026-03-12T02:23:46.004Z
const RECEIVED_NS: i64 = 1_773_282_226_004_000_000;

/// What a record holds.
struct Sent<'a> {
    topic: &'a str,
    headers: &'a [(&'a str, &'a [u8])],
    value: &'a str,
}

impl<'a> Sent<'a> {
    fn value(value: &'a str) -> Sent<'a> {
        Sent { topic: "train", headers: &[], value }
    }
}

/// The documents of records that follow each other, a second apart.
fn documents(config: &str, records: &[Sent<'_>]) -> Vec<Value> {
    let folder = tempfile::tempdir().expect("a folder of our own");
    fs::write(folder.path().join("hosts.csv"), HOSTS).expect("it can be written");
    let file = folder.path().join("a.toml");
    fs::write(&file, format!("{FRAME}{config}")).expect("it can be written");
    let config = load(&file, &ProcessEnv).unwrap_or_else(|it| panic!("{}", it.render(false)));
    let mut transformer = Transformer::new(Arc::clone(&config.plan));
    let (mut unwrapper, mut out) = (Unwrapper::new(), EventBuffer::new());
    for (offset, sent) in (0..).zip(records) {
        let received_ns = RECEIVED_NS + offset * 1_000_000_000;
        let record = Record {
            topic: sent.topic,
            partition: 3,
            offset,
            key: None,
            headers: sent.headers,
            received_ns,
            received_source: ReceivedSource::LogAppendTime,
            envelope: None,
            lineage: "c0ffee00",
            time_ms: received_ns / 1_000_000,
        };
        let mut lines = |record: &Record<'_>, text: &[u8]| {
            transformer.begin_record(record);
            for (index, raw) in (0..).zip(split_lines(text)) {
                transformer.line(
                    record,
                    &Line { raw, index, cut: false, returns: false },
                    &mut out,
                );
            }
        };
        let is_enveloped =
            unwrapper.run(EnvelopeKind::Auto, sent.value.as_bytes(), &mut |envelope| {
                lines(&Record { envelope: Some(envelope), ..record }, &envelope.message);
                ControlFlow::Continue(())
            });
        if !is_enveloped {
            lines(&record, sent.value.as_bytes());
        }
    }
    let parsed = |event| serde_json::from_slice(out.document(event)).expect("it is JSON");
    out.events.iter().map(parsed).collect()
}

/// The document of one record.
fn document(config: &str, sent: Sent<'_>) -> Value {
    documents(config, &[sent]).remove(0)
}
