//! Numbers of lines, from the text of a configuration to documents and their destinations.
//!
//! The invariant: numbers go where a route on `metrics.*` takes them, and every metric of a
//! document is a float. Next: `docs/numbers.md`.

use riverhog_config::{ProcessEnv, load};
use riverhog_rules::{EventBuffer, Line, ReceivedSource, Record, Transformer};
use serde_json::Value;
use std::fs;
use std::sync::Arc;

const FRAME: &str = "[sources.p]\ntype = 'stdin'\n\
    [labels]\nscale = { from = ['metrics.loss_scale'] }\n\
    [sinks.numbers]\ntype = 'elasticsearch'\nurls = ['http://127.0.0.1:1']\n\
    index = 'numbers-{timestamp:%Y}'\n\
    [sinks.prefix]\ntype = 'local'\npath = 'a'\nprefix = 'numbers/{metrics.epoch}/'\n\
    [sinks.lines]\ntype = 'local'\npath = 'b'\nprefix = 'lines/'\n\
    [dead_letter]\ntype = 'local'\npath = 'dead'\n\
    [[route]]\nwhen = 'has(metrics.loss)'\nsinks = ['numbers']\n\
    [[route]]\nwhen = 'metrics.loss > 2'\nsinks = ['prefix']\n\
    [[route]]\nwhen = 'not has(metrics.loss)'\nsinks = ['lines']\n";
const TRAINING: &str = "[[parse]]\nname = 'training'\nas = 'training'\n";

/// Destinations, then `metrics`, `fields`, `labels` and `tags` where there are any.
fn becomes(rest: &str, line: &str) -> String {
    let folder = tempfile::tempdir().expect("a folder of our own");
    let file = folder.path().join("a.toml");
    fs::write(&file, format!("{FRAME}{rest}")).expect("it can be written");
    let config = load(&file, &ProcessEnv).unwrap_or_else(|it| panic!("{}", it.render(false)));
    let mut transformer = Transformer::new(Arc::clone(&config.plan));
    let mut out = EventBuffer::new();
    let record = Record {
        topic: "train",
        partition: 0,
        offset: 1,
        key: None,
        headers: &[],
        received_ns: 1_773_282_226_004_000_000,
        received_source: ReceivedSource::LogAppendTime,
        envelope: None,
        lineage: "c0ffee00",
        time_ms: 1_773_282_226_004,
    };
    transformer.begin_record(&record);
    let line = Line { raw: line.as_bytes(), index: 0, cut: false, returns: false };
    transformer.line(&record, &line, &mut out);
    let event = &out.events[0];
    let mut shown: Vec<String> = Vec::new();
    for target in out.targets(event) {
        shown.push(match target.result {
            Ok(id) => out.destinations.get(id).join("|"),
            Err(reason) => reason.as_str().to_owned(),
        });
    }
    let document: Value = serde_json::from_slice(out.document(event)).expect("it is JSON");
    for name in ["metrics", "fields", "labels", "tags"] {
        let value = match &document[name] {
            Value::Null => continue,
            Value::Object(members) => {
                let without_format = members.iter().filter(|(name, _)| *name != "format");
                let members: serde_json::Map<String, Value> =
                    without_format.map(|(name, value)| (name.clone(), value.clone())).collect();
                if members.is_empty() {
                    continue;
                }
                Value::Object(members)
            }
            other => other.clone(),
        };
        shown.push(format!("{name}={value}"));
    }
    shown.join(" ")
}

#[track_caller]
fn check(rest: &str, line: &str, expect: &str) {
    assert_eq!(becomes(rest, line), expect, "{line}");
}

#[test]
fn numbers_have_an_index_and_a_prefix_of_their_own() {
    check(
        TRAINING,
        "{'loss': 2.5, 'epoch': 3, 'loss_scale': 1024}",
        "numbers-2026 |numbers/3.0/ metrics={\"loss\":2.5,\"epoch\":3.0,\"loss_scale\":1024.0} \
         labels={\"scale\":\"1024\"}",
    );
    check(
        TRAINING,
        "{'loss': '1.5', 'epoch': 3}",
        "numbers-2026 metrics={\"loss\":1.5,\"epoch\":3.0}",
    );
    check(TRAINING, "{'epoch': 3}", "|lines/ metrics={\"epoch\":3.0}");
    check(TRAINING, "WARNING:root:loss is high", "|lines/");
    check(TRAINING, "{'loss': nan}", "numbers-2026 metrics={\"loss\":null} tags=[\"_not_finite\"]");
}

#[test]
fn parsers_give_metrics_as_they_are_told() {
    let json = "[[parse]]\nname = 'json'\nas = 'json'\n";
    let line = "{\"loss\":\"1.5\",\"port\":1}";
    check(json, line, "|lines/ fields={\"loss\":\"1.5\",\"port\":1}");
    let with = format!("{json}numbers = true\n");
    check(&with, line, "numbers-2026 metrics={\"loss\":1.5} fields={\"port\":1}");
    let none = format!("{TRAINING}numbers = false\n");
    check(&none, "{'loss': 2}", "|lines/ fields={\"loss\":2}");
    let off = format!("{TRAINING}[numbers]\nenabled = false\n");
    check(&off, "{'loss': 2}", "|lines/ fields={\"loss\":2}");
    let names = format!("{with}[numbers]\nnames = {{ loss = ['Objective'], port = ['port'] }}\n");
    let line = "{\"objective\":3,\"port\":1}";
    let expect = "numbers-2026 missing_value metrics={\"loss\":3.0,\"port\":1.0}";
    check(&names, line, expect);
}

#[test]
fn steps_change_metrics() {
    let line = "{'loss': 1.5, 'mtp_loss': 9, 'grad_norm': nan, 'epoch': 3}";
    let step = |step: &str| format!("{TRAINING}[[transform]]\n{step}\n");
    let rest = "\"loss\":1.5,\"epoch\":3.0";
    check(
        &step("remove = ['metrics.mtp_*', 'metrics.grad_norm']"),
        line,
        &format!("numbers-2026 metrics={{{rest}}}"),
    );
    check(
        &step("when = 'metrics.mtp_loss > 8'\nset = { 'metrics.loss' = '{metrics.mtp_loss}' }"),
        "{'loss': 1.5, 'mtp_loss': 9, 'epoch': 3}",
        "numbers-2026 |numbers/3.0/ metrics={\"loss\":9.0,\"mtp_loss\":9.0,\"epoch\":3.0}",
    );
    check(
        &step("rename = { 'metrics.loss' = 'fields.x', 'metrics.epoch' = 'metrics.round' }"),
        "{'loss': 1.5, 'epoch': 3}",
        "|lines/ metrics={\"round\":3.0} fields={\"x\":1.5}",
    );
    check(
        &step("set = { 'metrics.y' = 'high' }"),
        "{'epoch': 3}",
        "|lines/ metrics={\"epoch\":3.0} tags=[\"_stepfailure\"]",
    );
    check(
        "[[parse]]\nname = 'g'\ngrok = '^%{WORD:kind} %{GREEDYDATA:content}'\n\
         [[transform]]\nparse = { as = 'kv', numbers = true }\n",
        "step loss=1.5 port=3",
        "numbers-2026 metrics={\"loss\":1.5} fields={\"kind\":\"step\",\"port\":\"3\"}",
    );
}

#[test]
fn metrics_move_as_they_are() {
    let line = "{'loss': 1.5, 'grad_norm': nan}";
    let rename = |pairs: &str| format!("{TRAINING}[[transform]]\nrename = {{ {pairs} }}\n");
    let tag = "tags=[\"_not_finite\"]";
    check(
        &rename("'metrics.loss' = 'metrics.loss', 'level' = 'level'"),
        line,
        &format!("numbers-2026 metrics={{\"loss\":1.5,\"grad_norm\":null}} {tag}"),
    );
    check(
        &rename("'metrics.grad_norm' = 'metrics.norm'"),
        line,
        &format!("numbers-2026 metrics={{\"loss\":1.5,\"norm\":null}} {tag}"),
    );
    check(
        &rename("'metrics.grad_norm' = 'metrics.loss'"),
        line,
        &format!("numbers-2026 metrics={{\"loss\":null}} {tag}"),
    );
    check(
        &rename("'metrics.grad_norm' = 'fields.norm'"),
        line,
        "numbers-2026 metrics={\"loss\":1.5} fields={\"norm\":null}",
    );
}

/// Of two numbers of one name the first is the metric, also where a step reads the second.
#[test]
fn a_parse_step_overwrites_no_metric() {
    check(
        "[[parse]]\nname = 'g'\ngrok = '^loss %{NUMBER:loss} x %{NUMBER:x_loss} \
         %{GREEDYDATA:content}'\nnumbers = true\n\
         [[transform]]\nparse = { as = 'kv', numbers = true }\n",
        "loss 1.5 x 2 loss=9 x_loss=8 y_loss=3 step=4",
        "numbers-2026 metrics={\"loss\":1.5,\"x_loss\":2.0,\"y_loss\":3.0,\"step\":4.0} \
         fields={\"loss\":\"9\",\"x_loss\":\"8\"}",
    );
}
