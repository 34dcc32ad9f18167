//! Numbers of lines as metrics, through the whole transform.
use proptest::prelude::*;
use riverhog_parsers::formats::{Format, FormatParser, Training};

use super::formats::{json, kv};
use super::*;
use crate::numbers::{METRICS_MAX, MetricNames};

fn training() -> Format {
    Format::Training(Training::all())
}

fn plan_of(format: Format) -> Plan {
    let parser = LineParser::Format(Box::new(FormatParser::new(format, [])));
    let rule = ParseRule { parser, time: None, numbers: true, ..rule("numbers", "x") };
    Plan { parse: vec![rule], ..plan() }
}

/// `metrics`, `fields` but the format's name, and tags of what a line becomes, as text.
fn found(plan: Plan, line: &str) -> String {
    let (out, _) = run(plan, &[(record(), line.as_bytes())]);
    let document = std::str::from_utf8(out.document(&out.events[0])).unwrap();
    let parsed: Json = serde_json::from_str(document).unwrap();
    // As it is written: a reader of JSON would not tell 8.0 from 8.
    let metrics = document.split_once(r#","metrics":"#).map_or("none", |(_, rest)| {
        let end = rest.find('}').unwrap();
        &rest[..=end]
    });
    let mut fields = parsed["fields"].as_object().cloned().unwrap_or_default();
    fields.retain(|name, _| name != "format" && name != "description");
    let mut text = metrics.to_owned();
    if !fields.is_empty() {
        write!(text, " {}", Json::Object(fields)).unwrap();
    }
    if parsed["tags"].is_array() {
        write!(text, " {}", parsed["tags"]).unwrap();
    }
    text
}

#[track_caller]
fn check(format: Format, line: &str, expect: &str) {
    assert_eq!(found(plan_of(format), line), expect, "{line}");
}

#[test]
fn lines_of_trainers() {
    check(
        training(),
        " iteration      100/  500000 | consumed samples:       102400 | elapsed time per \
         iteration (ms): 13248.2 | throughput per GPU (TFLOP/s/GPU): 412.3 | learning rate: \
         1.000000E-05 | global batch size:  1024 | lm loss: 2.104512E+00 | loss scale: 1.0 | \
         mtp_1 loss: 2.2E+00 | grad norm: 0.870 | number of skipped iterations:   0 | number of \
         nan iterations:   0 |",
        r#"{"step":100.0,"step_total":500000.0,"consumed_samples":102400.0,"step_seconds":13.2482,"tflops_per_gpu":412.3,"learning_rate":1.000000E-05,"global_batch_size":1024.0,"loss":2.104512E+00,"loss_scale":1.0,"mtp_1_loss":2.2E+00,"grad_norm":0.870,"skipped_iterations":0.0,"nan_iterations":0.0}"#,
    );
    check(
        training(),
        "{'loss': '2.104', 'grad_norm': 0.87, 'learning_rate': '1.9e-05', 'memory(GiB)': 61.75, \
         'train_speed(s/it)': 1.923401, 'epoch': 3, 'global_step/max_steps': '100/1000', \
         'elapsed_time': '3m 12s', 'remaining_time': '1h 28m 51s', 'model': 'm', 'seed': 7}",
        r#"{"loss":2.104,"grad_norm":0.87,"learning_rate":1.9e-05,"memory_gib":61.75,"step_seconds":1.923401,"epoch":3.0,"step":100.0,"step_total":1000.0,"elapsed_seconds":192.0,"eta_seconds":5331.0} {"model":"m","seed":7}"#,
    );
    check(
        training(),
        "[titan] 2024-05-15 10:23:45,123 - root - INFO - step: 10  loss:  2.10400  memory: \
         61.75GiB(78.01%)  tps: 8,123  tflops: 412.30  mfu: 41.69%",
        r#"{"step":10.0,"loss":2.10400,"memory_gib":61.75,"memory_percent":78.01,"tokens_per_second_per_gpu":8123.0,"tflops_per_gpu":412.30,"mfu_percent":41.69} {"log_time":"2024-05-15 10:23:45,123"}"#,
    );
    check(
        training(),
        "Train:  10%|█         | 100/1000 [03:12<28:51,  1.92s/it, loss=2.1]",
        r#"{"progress_percent":10.0,"step":100.0,"step_total":1000.0,"elapsed_seconds":192.0,"eta_seconds":1731.0,"step_seconds":1.92,"loss":2.1}"#,
    );
    check(
        training(),
        "12/05/2023 10:23:45 [INFO|DP=0|PP=0|TP=0|node-17]: iteration: 1 / 15 | consumed_tokens: \
         11.5K | tokens_per_sec: 85.8G | lm_loss: 11.5 | lr: 1.5e-05",
        r#"{"step":1.0,"step_total":15.0,"consumed_tokens":11.5e3,"tokens_per_second":85.8e9,"loss":11.5,"learning_rate":1.5e-05} {"log_time":"12/05/2023 10:23:45"}"#,
    );
    check(
        training(),
        "2024/05/15 10:23:45 - mmengine - INFO - Epoch(train)  [3][  50/1000]  lr: 1.0000e-02  \
         eta: 2 days, 1:02:03  time: 0.3123  memory: 15360  loss: 2.1040",
        r#"{"epoch":3.0,"step":50.0,"step_total":1000.0,"learning_rate":1.0000e-02,"eta_seconds":176523.0,"step_seconds":0.3123,"memory_gib":15.0,"loss":2.1040} {"log_time":"2024/05/15 10:23:45"}"#,
    );
}

#[test]
fn odd_numbers() {
    let tag = r#" ["_not_finite"]"#;
    let line = "{'loss': nan, 'grad_norm': 'inf', 'epoch': 1}";
    check(training(), line, &format!(r#"{{"loss":null,"grad_norm":null,"epoch":1.0}}{tag}"#));
    check(json(), r#"{"loss":1e999}"#, &format!(r#"{{"loss":null}}{tag}"#));
    check(json(), r#"{"loss":-0,"step":007.5}"#, r#"none ["_unparsed"]"#);
    check(
        kv(),
        "loss=+2.5 step=007 epoch=.5 lr=5.",
        r#"{"loss":2.5,"step":7.0,"learning_rate":5.0} {"epoch":".5"}"#,
    );
    check(
        kv(),
        "step=9007199254740993 loss=1e15",
        r#"{"step":9007199254740992.0,"loss":1000000000000000.0}"#,
    );
    check(
        kv(),
        "tps=1,234,567 mfu=41.69% memory=61.75GiB",
        r#"{"tokens_per_second_per_gpu":1234567.0,"mfu_percent":41.69,"memory_gib":61.75}"#,
    );
    check(
        kv(),
        "step=100/1000 iteration=1/2 loss=1/2",
        r#"{"step":100.0,"step_total":1000.0} {"iteration":"1/2","loss":"1/2"}"#,
    );
    check(
        kv(),
        "loss=high step=12ab lr=[6e-05] eta=?",
        r#"{"learning_rate":6e-5} {"loss":"high","step":"12ab","eta":"?"}"#,
    );
}

#[test]
fn names_of_any_shape() {
    check(
        json(),
        r#"{"train/loss":2.5,"actor/grad_norm":"0.5","rewards/margins/mean":1,"metrics":{"lr":0.1},"a":{"n":0.3,"Iteration":3},"port":8080,"ok":true,"loss":2}"#,
        r#"{"loss":2.5,"actor_grad_norm":0.5,"rewards_margins_mean":1.0,"learning_rate":0.1,"step":3.0} {"a.n":0.3,"port":8080,"ok":true,"loss":2}"#,
    );
    check(
        json(),
        r#"{"temperature.gpu":"69","utilization.gpu [%]":"68 %","memory.used [MiB]":"62464 MiB","power.draw [W]":"512.33 W"}"#,
        r#"{"temperature_celsius":69.0,"gpu_utilization_percent":68.0,"memory_gib":61.0,"power_watts":512.33}"#,
    );
    check(json(), r#"{"损失_loss":1}"#, r#"{"损失_loss":1.0}"#);
}

#[test]
fn the_last_step_of_a_path_is_asked() {
    check(
        json(),
        r#"{"metrics":{"lr":1e-5,"loss":2.5,"grad_norm":1}}"#,
        r#"{"learning_rate":1e-5,"loss":2.5,"grad_norm":1.0}"#,
    );
    check(
        json(),
        r#"{"aux":{"loss":0.1},"eval":{"loss":3},"loss":2.5,"data":{"loss":7}}"#,
        r#"{"aux_loss":0.1,"eval_loss":3.0,"loss":2.5,"data_loss":7.0}"#,
    );
}

#[test]
fn only_counts_have_totals() {
    let line = r#"{"train/loss":"100/1000"}"#;
    check(json(), line, r#"none {"train/loss":"100/1000"}"#);
    check(
        training(),
        "{'train/loss': '100/1000', 'lr': 1}",
        r#"{"learning_rate":1.0} {"train_loss":"100/1000"}"#,
    );
    check(training(), r#"{"eta":"1/2","loss":1}"#, r#"{"loss":1.0} {"eta":"1/2"}"#);
    check(json(), r#"{"global_step/max_steps":"3/9"}"#, r#"{"step":3.0,"step_total":9.0}"#);
}

#[test]
fn counts_of_bars() {
    let bar = |counts: &str| format!("x:  10%|█   | {counts} [03:12<28:51, 1.92s/it, loss=1.5e]");
    let rest = r#""elapsed_seconds":192.0,"eta_seconds":1731.0,"step_seconds":1.92"#;
    let with = |counts: &str| format!(r#"{{"progress_percent":10.0,{counts}{rest}}}"#);
    let steps = |done: &str, all: &str| with(&format!(r#""step":{done},"step_total":{all},"#));
    check(training(), &bar("100MB/1GB"), &steps("100e6", "1e9"));
    check(training(), &bar("1.2k/10.0M"), &steps("1.2e3", "10.0e6"));
    check(training(), &bar("1e5/1000"), &steps("1e5", "1000.0"));
    check(training(), &bar("100MiB/1GiB"), &with(""));
}

#[test]
fn units_behind_names_of_seconds() {
    let own = ["wait".to_owned(), "wait_seconds".to_owned()];
    let names = Arc::new(MetricNames::new([("wait_seconds", &own[..])]).0);
    let plan = |format| Plan { numbers: Some(Arc::clone(&names)), ..plan_of(format) };
    for format in [json, training] {
        let line = |value: &str| format!(r#"{{"wait_seconds":"{value}","loss":1}}"#);
        let expect = |value: &str| format!(r#"{{"wait_seconds":{value},"loss":1.0}}"#);
        assert_eq!(found(plan(format()), &line("5ms")), expect("0.005"));
        assert_eq!(found(plan(format()), &line("5 min")), expect("300.0"));
    }
    check(
        training(),
        "throughput: 5K tokens/s loss: 3",
        r#"{"tokens_per_second_per_gpu":5e3,"loss":3.0}"#,
    );
    check(training(), "loss: 3 tokens/s: 7", r#"{"loss":3.0,"tokens_per_second":7.0}"#);
}

/// The first of two values of one name is the metric; no number is lost.
#[test]
fn the_first_of_two_is_the_metric() {
    check(
        json(),
        r#"{"loss":1,"lm_loss":2,"kl_x":4,"kl/x":5}"#,
        r#"{"loss":1.0,"kl_x":4.0} {"lm_loss":2,"kl/x":5}"#,
    );
    check(json(), r#"{"step/iteration":"1/2"}"#, r#"none {"step/iteration":"1/2"}"#);
}

#[test]
fn groks_give_metrics_on_request() {
    let pattern = "^step=%{INT:step:int} loss=%{NUMBER:loss} x=%{INT:x:int}";
    let one = |numbers: bool| {
        let rule = ParseRule { numbers, time: None, ..rule("grok", pattern) };
        found(Plan { parse: vec![rule], ..plan() }, "step=12 loss=2.5 x=3")
    };
    assert_eq!(one(true), r#"{"step":12.0,"loss":2.5} {"x":3}"#);
    assert_eq!(one(false), r#"none {"step":12,"loss":"2.5","x":3}"#);
}

#[test]
fn a_plan_names_its_own_or_none() {
    let own = ["my loss".to_owned(), "port".to_owned()];
    let names = MetricNames::new([("eval_loss", &own[..1]), ("doors", &own[1..])]).0;
    let line = r#"{"my_loss":1,"port":8080,"loss":2}"#;
    let with = Plan { numbers: Some(Arc::new(names)), ..plan_of(json()) };
    assert_eq!(found(with, line), r#"{"eval_loss":1.0,"doors":8080.0,"loss":2.0}"#);
    let without = Plan { numbers: None, ..plan_of(json()) };
    assert_eq!(found(without, line), r#"none {"my_loss":1,"port":8080,"loss":2}"#);
}

#[track_caller]
fn check_route(when: &str, line: &str, expect: bool) {
    let plan = Plan {
        targets: vec![target(TargetKind::Path, &[""])],
        routes: vec![route(when, 1)],
        ..plan_of(training())
    };
    let (out, _) = run(plan, &[(record(), line.as_bytes())]);
    assert_eq!(out.events[0].disposition == Disposition::Routed, expect, "{when}: {line}");
}

#[test]
fn conditions_see_metrics() {
    let line = "{'loss': 2.5, 'grad_norm': nan, 'epoch': 1, 'mtp_loss': 3}";
    check_route("has(metrics.loss) and metrics.loss > 2 and metrics.loss <= 2.5", line, true);
    check_route("metrics.mtp_loss == 3", line, true);
    check_route("has(metrics.step)", line, false);
    check_route("has(fields.loss) or has(fields.epoch)", line, false);
    check_route("has(metrics.grad_norm)", line, true);
    check_route(
        "metrics.grad_norm > 0 or metrics.grad_norm <= 0 or metrics.grad_norm == 0",
        line,
        false,
    );
    check_route(r#"tags == "_not_finite""#, line, true);
}

/// What a value that was redacted looked like is no metric either.
#[test]
fn redacted_numbers_are_gone() {
    let secret = "password=12345678901 loss=2.5 token_loss=7";
    let found = found(plan_of(kv()), secret);
    assert!(!found.contains("12345678901"), "{found}");
    assert!(found.starts_with(r#"{"loss":2.5"#), "{found}");
}

fn value() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(vec![
        "1", "0", "9", ".", ",", "-", "+", "e", "E", "nan", "inf", "K", "GiB", "%", "/", ":", "ms",
        "'", "[", " ", "训",
    ]);
    proptest::collection::vec(pieces, 0..10).prop_map(|pieces| pieces.concat())
}

proptest! {
    /// Whatever a line holds, a metric is a float or null, and there are not too many.
    #[test]
    fn metrics_are_floats(
        members in proptest::collection::vec(
            (prop::sample::select(vec![
                "loss", "step", "eta", "memory", "a_loss", "global_step/max_steps", "x.lr", "训_kl",
                "Memory (GiB)", "power.draw [W]",
            // No end makes the name of a secret.
            ]), "[abx_]{0,3}", value(), any::<f64>(), any::<bool>()),
            0..90,
        ),
    ) {
        let mut line = serde_json::Map::new();
        for (name, end, text, number, is_text) in members {
            let value = if is_text { Json::from(text) } else { Json::from(number) };
            line.insert(format!("{name}{end}"), value);
        }
        let line = Json::Object(line).to_string();
        let (out, _) = run(plan_of(json()), &[(record(), line.as_bytes())]);
        let document: Json = serde_json::from_slice(out.document(&out.events[0])).unwrap();
        let metrics = document["metrics"].as_object().cloned().unwrap_or_default();
        prop_assert!(metrics.len() <= METRICS_MAX);
        for (name, value) in &metrics {
            prop_assert!(value.is_f64() || value.is_null(), "{name}: {value}");
            prop_assert!(crate::numbers::is_metric_name(name), "{name}");
        }
        let is_tagged = document["tags"].as_array().is_some_and(|tags| {
            tags.iter().any(|tag| tag == "_not_finite")
        });
        prop_assert_eq!(is_tagged, metrics.values().any(Json::is_null));
        // A member is a metric or a field.
        let members: Json = serde_json::from_str(&line).unwrap();
        let fields = document["fields"].as_object().map_or(0, serde_json::Map::len);
        let parts = usize::from(members.as_object().is_some_and(|it| it.contains_key("level")));
        let found = fields + metrics.len() + parts;
        prop_assert!(found >= members.as_object().map_or(0, serde_json::Map::len), "{line}");
    }

    #[test]
    fn any_line_of_training_is_read(
        line in "\\PC{0,80}|[a-z]{1,5}[:= |]{1,3}[-0-9.eE%KMG/,:]{0,12}",
    ) {
        let (out, _) = run(plan_of(training()), &[(record(), line.as_bytes())]);
        let document = out.document(&out.events[0]);
        prop_assert!(serde_json::from_slice::<Json>(document).is_ok());
    }
}
