//! The documented sample of the event format.
//!
//! Invariant: it is made by the transform itself, so it cannot drift from what is sent.
use std::sync::Arc;

use riverhog_parsers::grok::{Grok, GrokOptions};
use riverhog_parsers::time::TimeParser;

use super::{Line, ReceivedSource, Record, Transformer};
use crate::event::EventBuffer;
use crate::hosts::{HostRule, HostTable};
use crate::labels::LabelRule;
use crate::names::{Names, Stage};
use crate::plan::{ActionForm, LineParser, ParseRule, Plan, Tables, Target, TimeRule};
use crate::route::Route;
use crate::sanitise::TargetKind;
use crate::selector::Selector;
use crate::template::Template;

const SAMPLE: &str = "it is covered by a test";

/// One event's document as it is sent: every member of the format stands in it.
pub fn document_sample() -> String {
    let mut transformer = Transformer::new(Arc::new(sample_plan()));
    let headers: [(&str, &[u8]); 3] =
        [("task", b"sft-qwen-7b"), ("project", b"nlp"), ("host", b"gpu-07")];
    let record = Record {
        topic: "train-logs",
        partition: 3,
        offset: 18_422,
        key: None,
        headers: &headers,
        received_ns: 1_773_282_226_004_000_000,
        received_source: ReceivedSource::LogAppendTime,
        envelope: None,
        lineage: "5f0a91c2",
        time_ms: 1_773_282_226_004,
    };
    let raw =
        b"2026-03-12 10:23:45,123 ERROR [rank 37] swift.trainer worker=w3 step=1250 loss=2.104: \
        CUDA out of memory.";
    let mut out = EventBuffer::new();
    transformer.begin_record(&record);
    transformer.line(&record, &Line { raw, index: 0, cut: true, returns: false }, &mut out);
    String::from_utf8_lossy(out.document(&out.events[0])).into_owned()
}

/// A plan like that of the documentation's first configuration.
pub(super) fn sample_plan() -> Plan {
    let names = Names::new().labels(["task", "role", "project"]);
    let label = |name: &str, from: &[&str], default: &str| LabelRule {
        name: name.to_owned(),
        from: selectors(&names, Stage::Labels, from),
        default: Some(default.to_owned()),
        ..LabelRule::default()
    };
    let table = HostTable::from_csv("host,node,gpu_model,rack\ngpu-07,n7,H100,r3\n");
    let pattern = "%{TIMESTAMP_ISO8601:log_time} %{LOGLEVEL:level} (?:\\[rank %{INT:rank:int}\\] )?\
        %{NOTSPACE:component}(?: worker=%{WORD:worker} step=%{INT:step:int} loss=%{NUMBER:loss:float})?: \
        %{GREEDYDATA:content}";
    let grok = Grok::compile(pattern, &GrokOptions::default()).expect(SAMPLE);
    let formats = ["ISO8601", "yyyy-MM-dd HH:mm:ss,SSS"];
    let parser = TimeParser::compile(&formats, "Asia/Shanghai").expect(SAMPLE);
    let template = |text: &str| Template::compile(text, &names).expect(SAMPLE);
    Plan {
        parse: vec![ParseRule {
            name: "swift".to_owned(),
            when: None,
            field: None,
            parser: LineParser::Grok(grok),
            time: Some(TimeRule {
                field: "log_time".to_owned(),
                parser,
                zone_field: None,
                is_own: false,
            }),
            numbers: true,
        }],
        labels: vec![
            label("task", &["header.task", "fields.task", "kubernetes.labels.job"], "unassigned"),
            label("role", &["header.role", "fields.role"], "worker"),
            label("project", &["header.project", "fields.project"], "shared"),
        ],
        hosts: HostRule {
            from: selectors(&names, Stage::Hosts, &["header.host", "envelope.host", "key"]),
        },
        tables: Tables { hosts: Some(Arc::new(table.expect(SAMPLE))), ..Tables::default() },
        routes: vec![Route { name: None, when: None, sinks: 0b11 }],
        targets: vec![
            Target {
                name: "search".to_owned(),
                destinations: vec![template("ms-swift-train-logs-{timestamp:%Y.%m.%d}")],
                omit_message: false,
                action: ActionForm::default(),
                kind: TargetKind::Index,
            },
            Target {
                name: "archive".to_owned(),
                destinations: vec![
                    template("train-logs"),
                    template("{task}/{timestamp:%Y-%m-%d}/{role}/"),
                ],
                omit_message: false,
                action: ActionForm::default(),
                kind: TargetKind::Path,
            },
        ],
        ..Plan::default()
    }
}

fn selectors(names: &Names, stage: Stage, from: &[&str]) -> Vec<Selector> {
    let names = names.at(stage);
    from.iter().map(|text| Selector::compile(text, &names).expect(SAMPLE)).collect()
}
