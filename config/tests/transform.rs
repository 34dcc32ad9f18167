//! What `[[transform]]` steps make of a line, from the text of a configuration to the document.

use proptest::prelude::*;
use riverhog_config::{Config, ProcessEnv, load};
use riverhog_rules::transform::PartitionState;
use riverhog_rules::{Disposition, EventBuffer, Line, ReceivedSource, Record, Transformer};
use serde_json::{Map, Value, json};
use std::fs;
use std::sync::Arc;

const FRAME: &str = "[sources.p]\ntype = 'stdin'\n[sinks.a]\ntype = 'local'\npath = 'a'\n\
                     [[route]]\nsinks = ['a']\n";
const PARSE: &str = "[[parse]]\nname = 'swift'\n\
    grok = '%{LOGLEVEL:level} %{NOTSPACE:component}: step=%{INT:step:int} %{GREEDYDATA:content}'\n\
    [[parse]]\nname = 'json'\nas = 'json'\n";
const LINE: &str = "INFO swift.Trainer: step=12 loss=0.25 lr=1e-5";

struct Bed {
    config: Config,
    transformer: Transformer,
    out: EventBuffer,
}

impl Bed {
    fn new(steps: &str) -> Bed {
        Bed::with_files(steps, &[])
    }

    fn with_files(steps: &str, files: &[(&str, &str)]) -> Bed {
        let folder = tempfile::tempdir().expect("a folder of our own");
        for (name, text) in files {
            fs::write(folder.path().join(name), text).expect("it can be written");
        }
        let file = folder.path().join("a.toml");
        fs::write(&file, format!("{FRAME}{PARSE}{steps}")).expect("it can be written");
        let config = load(&file, &ProcessEnv).unwrap_or_else(|it| panic!("{}", it.render(false)));
        let transformer = Transformer::new(Arc::clone(&config.plan));
        Bed { config, transformer, out: EventBuffer::new() }
    }

    /// One line at a second of record time.
    fn line(&mut self, line: &str, second: i64, offset: i64) -> Option<Map<String, Value>> {
        let headers: [(&str, &[u8]); 1] = [("team", b"nlp")];
        let record = Record {
            topic: "train",
            partition: 3,
            offset,
            key: Some(b"gpu-07"),
            headers: &headers,
            received_ns: second * 1_000_000_000,
            received_source: ReceivedSource::LogAppendTime,
            envelope: None,
            lineage: "c0ffee00",
            time_ms: second * 1000,
        };
        self.out.clear();
        self.transformer.begin_record(&record);
        let line = Line { raw: line.as_bytes(), index: 0, cut: false, returns: false };
        self.transformer.line(&record, &line, &mut self.out);
        let event = &self.out.events[0];
        if matches!(event.disposition, Disposition::Dropped(_)) {
            assert_eq!(self.out.document(event), b"");
            return None;
        }
        let Ok(Value::Object(document)) = serde_json::from_slice(self.out.document(event)) else {
            panic!("a document is a JSON object");
        };
        Some(document)
    }
}

/// The parts that steps may change, of the document of one line.
fn parts(steps: &str, line: &str) -> Value {
    let mut document = Bed::new(steps).line(line, 1_773_282_226, 7).expect("it is not dropped");
    let names = ["level", "component", "content", "rank", "fields", "tags"];
    document.retain(|name, _| names.contains(&name.as_str()));
    Value::Object(document)
}

/// `changes` says what differs from the event without steps; null is absent.
fn check(steps: &str, line: &str, changes: &Value) {
    let mut expect = parts("", line);
    for (name, value) in changes.as_object().expect("an object") {
        let expect = expect.as_object_mut().expect("an object");
        match value {
            Value::Null => expect.remove(name),
            value => expect.insert(name.clone(), value.clone()),
        };
    }
    assert_eq!(parts(steps, line), expect, "{steps}");
}

/// One step on the line of all tests.
fn step(action: &str, changes: &Value) {
    check(&format!("[[transform]]\n{action}\n"), LINE, changes);
}

#[test]
fn what_no_step_touches_stays() {
    let expect = json!({
        "level": "info", "component": "swift.Trainer", "content": "loss=0.25 lr=1e-5",
        "fields": {"step": 12},
    });
    assert_eq!(parts("", LINE), expect);
    step("remove = ['fields.none']", &json!({}));
    step("when = 'level == \"error\"'\nremove = ['fields.step']", &json!({}));
}

#[test]
fn set_gives_values_and_keeps_types() {
    let fields = json!({"step": 12, "at": "train/3", "copy": 12, "team": "nlp"});
    step(
        "set = { 'fields.at' = '{topic}/{partition}', 'fields.copy' = '{fields.step}', \
         'fields.team' = '{header.team}' }",
        &json!({ "fields": fields }),
    );
    step("set = { level = 'WARNING', rank = '7' }", &json!({"level": "warn", "rank": 7}));
    step(
        "set = { content = '[{component}] {content}' }",
        &json!({
            "content": "[swift.Trainer] loss=0.25 lr=1e-5"
        }),
    );
    // The second sees what the first gave; a missing value gives nothing.
    step(
        "set = { component = 'a', 'fields.b' = '{component}b', 'fields.c' = '{fields.nothing}' }",
        &json!({"component": "a", "fields": {"step": 12, "b": "ab"}}),
    );
    // What JSON cannot say as a number is a text, as anywhere in a template.
    let set = "[[transform]]\nset = { 'fields.b' = '{fields.a}' }\n\
               [[transform]]\nremove = ['fields.a']\n";
    assert_eq!(parts(set, r#"{"a":1e999}"#)["fields"], json!({"b": "inf"}));
    let failed = json!(["_stepfailure"]);
    step("set = { level = 'loud' }", &json!({ "tags": failed }));
    step("set = { rank = 'first' }", &json!({ "tags": failed }));
}

#[test]
fn rename_moves_values() {
    step("rename = { 'fields.step' = 'fields.iteration' }", &json!({"fields": {"iteration": 12}}));
    step("rename = { 'fields.step' = 'rank' }", &json!({"rank": 12, "fields": null}));
    step(
        "rename = { component = 'fields.logger' }",
        &json!({
            "component": null, "fields": {"step": 12, "logger": "swift.Trainer"}
        }),
    );
    step("rename = { 'fields.none' = 'content' }", &json!({}));
    // `null` is no value that a part of the event could have.
    let rename = "[[transform]]\nrename = { 'fields.a' = 'component', 'fields.b' = 'content' }\n";
    check(rename, r#"{"a":null,"b":null}"#, &json!({"fields": {"a": null, "b": null}}));
    let line = r#"{"a":"1,2","b":"x","c":3}"#;
    let steps = "[[transform]]\nsplit = { 'fields.a' = ',' }\n\
                 [[transform]]\nrename = { 'fields.a' = 'fields.c' }\n";
    check(steps, line, &json!({"fields": {"c": ["1", "2"], "b": "x"}}));
}

#[test]
fn rename_takes_nothing_below_a_name_along() {
    let line = r#"{"a":3,"a.b":"x","*":1}"#;
    check(
        "[[transform]]\nrename = { 'fields.a' = 'rank' }\n",
        line,
        &json!({
            "rank": 3, "fields": {"a.b": "x", "*": 1}
        }),
    );
    check(
        "[[transform]]\nrename = { 'fields.*' = 'rank' }\n",
        line,
        &json!({
            "rank": 1, "fields": {"a": 3, "a.b": "x"}
        }),
    );
}

#[test]
fn remove_and_keep_know_stars_and_members() {
    let line = r#"{"kube":{"pod":"a","labels":{"x":"y"}},"tmp_1":1,"tmp_2":2,"loss":0.5}"#;
    let check = |action: &str, fields: Value| {
        check(&format!("[[transform]]\n{action}\n"), line, &json!({ "fields": fields }));
    };
    check("remove = ['fields.kube']", json!({"tmp_1": 1, "tmp_2": 2, "loss": 0.5}));
    let rest = json!({"kube.pod": "a", "kube.labels.x": "y", "loss": 0.5});
    check("remove = ['fields.tmp_*']", rest);
    check(
        "keep = ['fields.loss', 'fields.kube.labels']",
        json!({"kube.labels.x": "y", "loss": 0.5}),
    );
    check("remove = ['fields.*']", Value::Null);
    step("remove = ['level', 'component']", &json!({"level": null, "component": null}));
}

#[test]
fn convert_gives_types_or_fails() {
    let line = r#"{"i":"27.9","f":"1e-5","b":"Yes","t":5,"no":"1,000"}"#;
    let steps = "[[transform]]\nconvert = { 'fields.i' = 'int', 'fields.f' = 'float', \
                 'fields.b' = 'boolean', 'fields.t' = 'text' }\n";
    let fields = json!({"i": 27, "f": 1e-5, "b": true, "t": "5", "no": "1,000"});
    check(steps, line, &json!({ "fields": fields }));
    let failed = "[[transform]]\nconvert = { 'fields.no' = 'int', 'fields.i' = 'int' }\n";
    let fields = json!({"i": 27, "f": "1e-5", "b": "Yes", "t": 5, "no": "1,000"});
    check(failed, line, &json!({"fields": fields, "tags": ["_stepfailure"]}));
}

#[test]
fn texts_are_restyled_cut_and_replaced() {
    step("lowercase = ['component']", &json!({"component": "swift.trainer"}));
    step("uppercase = ['content']", &json!({"content": "LOSS=0.25 LR=1E-5"}));
    step("truncate = { content = '9B' }", &json!({"content": "loss=0.25"}));
    step(
        "gsub = { regex = '(\\w+)=(\\S+)', with = '\\2 is \\1' }",
        &json!({
            "content": "0.25 is loss 1e-5 is lr"
        }),
    );
    step("gsub = { field = 'component', regex = '\\..*' }", &json!({"component": "swift"}));
    let line = r#"{"a":"  显存不足 ","n":5}"#;
    check(
        "[[transform]]\ntrim = ['fields.a', 'fields.n']\n",
        line,
        &json!({
            "fields": {"a": "显存不足", "n": 5}
        }),
    );
    check(
        "[[transform]]\ntruncate = { 'fields.a' = '6B' }\n",
        line,
        &json!({
            "fields": {"a": "  显", "n": 5}
        }),
    );
}

#[test]
fn split_and_join_are_each_others_way_back() {
    let line = r#"{"hosts":"a,b,,c","x":1}"#;
    let split = "[[transform]]\nsplit = { 'fields.hosts' = ',' }\n";
    check(split, line, &json!({"fields": {"hosts": ["a", "b", "", "c"], "x": 1}}));
    check(&format!("{split}[[transform]]\njoin = {{ 'fields.hosts' = ',' }}\n"), line, &json!({}));
    let many = format!(r#"{{"hosts":"{}"}}"#, ",".repeat(2000));
    check(split, &many, &json!({"tags": ["_stepfailure"]}));
}

#[test]
fn tags_are_added_once_and_taken_away() {
    step("tag = ['slow', 'a\"b', 'slow']", &json!({"tags": ["slow", "a\"b"]}));
    let steps = "[[transform]]\nuntag = ['_unparsed']\n[[transform]]\nwhen = '\"_unparsed\" in tags'\n\
                 tag = ['x']\n";
    let steps = steps.replace("\"_unparsed\" in tags", "tags == \"_unparsed\"");
    check(&steps, "no format", &json!({"tags": null}));
}

#[test]
fn a_second_stage_reads_the_content() {
    let grok =
        "parse = { field = 'content', grok = 'loss=%{NUMBER:loss:float} %{GREEDYDATA:content}' }";
    step(grok, &json!({"content": "lr=1e-5", "fields": {"step": 12, "loss": 0.25}}));
    step("parse = { as = 'kv' }", &json!({"fields": {"step": 12, "loss": "0.25", "lr": "1e-5"}}));
    step(
        "parse = { as = 'kv', target = 'm' }",
        &json!({
            "fields": {"step": 12, "m.loss": "0.25", "m.lr": "1e-5"}
        }),
    );
    step("parse = { as = 'json' }", &json!({"tags": ["_stepfailure"]}));
    // Of several patterns the first that matches.
    let several = "parse = { grok = ['^no', 'lr=%{NOTSPACE:lr}'] }";
    step(several, &json!({"fields": {"step": 12, "lr": "1e-5"}}));
    let again = "parse = { field = 'message', grok = 'step=%{INT:step}' }";
    step(again, &json!({"fields": {"step": [12, "12"]}}));
    let overwrite = "parse = { field = 'message', grok = 'step=%{INT:step}', \
                     overwrite = ['fields.st*'] }";
    step(overwrite, &json!({"fields": {"step": "12"}}));
}

#[test]
fn a_second_stage_gives_the_time() {
    let steps = "[[transform]]\nparse = { grok = '^at %{TIMESTAMP_ISO8601:t}', \
                 time = { field = 't' } }\n";
    let mut bed = Bed::new(steps);
    let document = bed.line("INFO a: step=1 at 2026-03-12T02:23:45Z", 1_773_282_226, 1).unwrap();
    assert_eq!(document["@timestamp"], "2026-03-12T02:23:45.000000000Z");
    assert_eq!(document["timestamp_source"], "line");
}

#[test]
fn a_line_may_name_the_zone_of_its_time() {
    let parse = "[[parse]]\nname = 'zoned'\n\
        grok = '^at %{TIMESTAMP_ISO8601:t}(?: in %{NOTSPACE:tz})?: %{GREEDYDATA:content}'\n\
        time = { field = 't', zone = '+01:00', zone_field = 'tz' }\n";
    let mut bed = Bed::new(parse);
    let mut check = |line: &str, expect: &str| {
        let document = bed.line(line, 1_773_282_226, 1).unwrap();
        assert_eq!(document["@timestamp"], expect, "{line}");
    };
    check("at 2026-03-12T10:00:00 in Asia/Shanghai: x", "2026-03-12T02:00:00.000000000Z");
    check("at 2026-03-12T10:00:00 in -03:30: x", "2026-03-12T13:30:00.000000000Z");
    check("at 2026-03-12T10:00:00 in Nowhere: x", "2026-03-12T09:00:00.000000000Z");
    check("at 2026-03-12T10:00:00: x", "2026-03-12T09:00:00.000000000Z");
    check("at 2026-03-12T10:00:00Z in Asia/Shanghai: x", "2026-03-12T10:00:00.000000000Z");
}

#[test]
fn lookups_give_columns_or_a_default() {
    let table = [("xid.csv", "xid,meaning,fatal\n79,GPU has fallen off the bus,yes\n31,,\n")];
    let fields = |steps: &str, xid: &str| {
        let mut bed = Bed::with_files(steps, &table);
        let document = bed.line(&format!("{{\"xid\":{xid}}}"), 1_773_282_226, 1).unwrap();
        document["fields"].clone()
    };
    let all = "[[transform]]\nlookup = { from = 'fields.xid', table = 'xid.csv' }\n";
    let known = json!({"xid": 79, "meaning": "GPU has fallen off the bus", "fatal": "yes"});
    assert_eq!(fields(all, "79"), known);
    assert_eq!(fields(all, "31"), json!({"xid": 31}));
    assert_eq!(fields(all, "5"), json!({"xid": 5}));
    let one = "[[transform]]\nlookup = { from = 'fields.xid', table = 'xid.csv', \
               into = { meaning = 'fields.why' }, default = 'unknown' }\n";
    assert_eq!(fields(one, "5"), json!({"xid": 5, "why": "unknown"}));
    assert_eq!(fields(one, "79")["why"], "GPU has fallen off the bus");
}

#[test]
fn a_lookup_table_can_be_read_again() {
    let folder = tempfile::tempdir().expect("a folder of our own");
    let (file, table) = (folder.path().join("a.toml"), folder.path().join("t.csv"));
    let lookup = "[[transform]]\nlookup = { from = 'fields.a', table = 't.csv' }\n";
    fs::write(&file, format!("{FRAME}{lookup}{lookup}")).expect("it can be written");
    fs::write(&table, "a,b\nx,1\n").expect("it can be written");
    let config = load(&file, &ProcessEnv).unwrap_or_else(|it| panic!("{}", it.render(false)));
    assert_eq!(config.table_files, std::slice::from_ref(&table));
    let (tables, fingerprint) = config.reload_tables().unwrap().expect("there is a table");
    assert_eq!((tables.lookups.len(), &fingerprint), (1, &config.fingerprint));
    fs::write(&table, "a,b\nx,2\n").expect("it can be written");
    let (tables, fingerprint) = config.reload_tables().unwrap().expect("there is a table");
    assert_ne!(fingerprint, config.fingerprint);
    let cell = tables.lookups[0].get("x").and_then(|row| row.cell(0)).expect("a cell");
    assert_eq!(&*cell.text, "2");
    fs::write(&table, "a,c\nx,2\n").expect("it can be written");
    assert!(config.reload_tables().unwrap_err().to_string().contains("other columns"));
}

#[test]
fn fingerprints_are_for_ever() {
    let steps = "[[transform]]\nfingerprint = { from = ['header.team', 'content'], \
                 into = 'fields.fp' }\n";
    let first = parts(steps, LINE)["fields"]["fp"].clone();
    // SHA-256 of both lengths, 8 bytes each with the lowest first, and both texts.
    assert_eq!(first, "a3509d211467635c0e772c9971b2ceec");
    assert_ne!(
        parts(steps, "INFO swift.Trainer: step=12 loss=0.26 lr=1e-5")["fields"]["fp"],
        first
    );
}

#[test]
fn dropping_is_by_share_and_the_same_each_time() {
    let mut bed = Bed::new("[[transform]]\nwhen = 'level == \"info\"'\ndrop = '75%'\n");
    let mut read = || (0..4000).map(|offset| bed.line(LINE, 0, offset).is_some()).collect();
    let (first, again): (Vec<bool>, Vec<bool>) = (read(), read());
    assert_eq!(first, again);
    let kept = first.iter().filter(|kept| **kept).count();
    assert!((900..1100).contains(&kept), "{kept}");
    let warn = LINE.replace("INFO", "WARN");
    assert!((0..100).all(|offset| bed.line(&warn, 0, offset).is_some()));
    assert_eq!(bed.transformer.take_counters().steps[0].dropped, 2 * (4000 - kept as u64));
}

#[test]
fn samples_keep_whole_streams() {
    let steps = "[[transform]]\nsample = { keep = '20%', key = ['header.team', 'fields.step'] }\n";
    let mut bed = Bed::new(steps);
    let mut kept = 0;
    for step in 0..1000 {
        let line = format!("INFO a: step={step} x");
        let found: Vec<bool> =
            (0..3).map(|offset| bed.line(&line, offset, offset).is_some()).collect();
        assert!(found == [true; 3] || found == [false; 3], "{found:?}");
        kept += usize::from(found[0]);
    }
    assert!((150..250).contains(&kept), "{kept}");
}

#[test]
fn rates_are_limited_by_record_time() {
    let steps = "[[transform]]\nrate_limit = { lines = 2, per = '1m', key = ['component'] }\n";
    let mut bed = Bed::new(steps);
    let mut passed = |second: i64| bed.line("INFO a: step=1 x", second, second);
    let found: Vec<bool> = [0, 1, 2, 3].map(|second| passed(second).is_some()).to_vec();
    assert_eq!(found, [true, true, false, false]);
    let next = passed(60).expect("another window");
    assert_eq!(next["fields"]["held_back"], 2);
    assert!(bed.line("INFO b: step=1 x", 3, 3).is_some(), "another key");
    // What is known belongs to a partition.
    let mut other = PartitionState::default();
    bed.transformer.exchange_partition(&mut other);
    assert!(bed.line("INFO a: step=1 x", 61, 61).is_some());
    assert!(bed.config.plan.knows_partitions());
}

#[test]
fn steps_run_in_order_on_what_the_one_before_left() {
    let steps = "[[transform]]\nset = { 'fields.a' = '1' }\n\
                 [[transform]]\nwhen = 'fields.a == \"1\"'\nconvert = { 'fields.a' = 'int' }\n\
                 [[transform]]\nwhen = 'fields.a > 0'\nrename = { 'fields.a' = 'fields.b' }\n\
                 [[transform]]\nwhen = 'has(fields.a)'\ndrop = '100%'\n";
    check(steps, LINE, &json!({"fields": {"step": 12, "b": 1}}));
}

#[test]
fn labels_hosts_and_routes_see_what_steps_made() {
    let steps = "[labels]\ntask = { from = ['fields.job'] }\n[hosts]\nfrom = ['fields.node']\n\
                 [[transform]]\nset = { 'fields.job' = 'sft', 'fields.node' = 'gpu-{partition}' }\n";
    let document = Bed::new(steps).line(LINE, 0, 0).unwrap();
    assert_eq!(document["labels"], json!({"task": "sft"}));
    assert_eq!(document["host"], json!({"name": "gpu-3"}));
}

#[test]
fn no_step_carries_a_secret_into_a_field() {
    let secret = "hf_AbCdEfGhIjKlMnOpQrStUvWxYzAbCdEfGh";
    let steps = "[[transform]]\nset = { 'fields.copy' = '{content}' }\n\
                 [[transform]]\nparse = { grok = 'token %{NOTSPACE:token}' }\n\
                 [[transform]]\nset = { 'fields.joined' = 'password={fields.word}' }\n\
                 [[transform]]\nuppercase = ['fields.token']\n";
    let line = format!(r#"{{"message":"token {secret}","word":"hunter2hunter2"}}"#);
    let mut bed = Bed::new(steps);
    bed.line(&line, 0, 0);
    let document = String::from_utf8(bed.out.document(&bed.out.events[0]).to_vec()).unwrap();
    assert!(!document.to_lowercase().contains(&secret.to_lowercase()), "{document}");
    assert!(document.contains("password=[redacted:"), "{document}");
}

#[test]
fn what_steps_add_has_a_bound() {
    // Each step doubles the content; a thousand bytes would be a terabyte in the end.
    let double = "[[transform]]\nset = { content = '{content}{content}' }\n".repeat(30);
    let document = Bed::new(&double).line(&"x".repeat(1000), 0, 0).unwrap();
    assert!(document["content"].as_str().unwrap().len() < 8 << 20);
    assert_eq!(document["tags"], json!(["_unparsed", "_stepfailure"]));
}

#[test]
fn a_step_that_reads_a_label_of_the_line_is_warned_about() {
    let steps = "[labels]\ntask = { from = ['header.task', 'fields.step'] }\n\
                 [[transform]]\nwhen = 'task == \"a\"'\ndrop = '100%'\n";
    let warnings = Bed::new(steps).config.warnings;
    assert_eq!(warnings.len(), 1);
    let expect = "`transform[0]` reads the label `task` before the line gives it a value";
    assert_eq!(warnings[0].message, expect);
    assert_eq!(warnings[0].help, "read `fields.step` itself; labels are set after all steps");
}

#[test]
fn what_was_peeled_off_is_redacted_and_can_be_asked_for() {
    let steps = "[peel]\n[redact]\nip = 'mask'\n[labels]\nwho = { from = ['fields.worker'] }\n\
                 [[transform]]\nwhen = 'fields.pid == 17'\nset = { 'fields.seen' = '{fields.worker}' }\n";
    let line = "\u{1b}[36m(Actor pid=17, ip=10.0.0.7)\u{1b}[0m [rank3]: INFO a: step=1 x";
    let document = Bed::new(steps).line(line, 0, 0).unwrap();
    let fields = json!({
        "step": 1, "worker": "Actor", "pid": 17, "node": "[redacted:ip]", "seen": "Actor"
    });
    assert_eq!(document["fields"], fields);
    assert_eq!((&document["rank"], &document["content"]), (&json!(3), &json!("x")));
    assert_eq!(document["labels"], json!({"who": "Actor"}));
    let message = document["message"].as_str().unwrap();
    assert!(message.contains("(Actor pid=17, ip=[redacted:ip])"), "{message}");
    // Without steps too.
    let document = Bed::new("[peel]\n[redact]\nip = 'mask'\n").line(line, 0, 0).unwrap();
    assert_eq!(document["fields"]["node"], "[redacted:ip]");
}

/// Every action, on values that any line may have.
const ALL: &str = "[[transform]]\nset = { 'fields.x' = '{content}-{fields.a}', rank = '{fields.b}' }\n\
    [[transform]]\nsplit = { 'fields.x' = ' ', 'fields.a' = ',' }\n\
    [[transform]]\nconvert = { 'fields.x' = 'int', 'fields.b' = 'boolean' }\n\
    [[transform]]\ngsub = { field = 'fields.x', regex = '(.)(.?)', with = '\\2\\1\\\\' }\n\
    [[transform]]\nuppercase = ['fields.x', 'content', 'component']\n\
    [[transform]]\ntruncate = { 'fields.x' = '3B', content = '50B' }\n\
    [[transform]]\nrename = { 'fields.a' = 'fields.x', 'fields.b' = 'component' }\n\
    [[transform]]\nparse = { as = 'kv', overwrite = ['fields.*'] }\n\
    [[transform]]\nparse = { field = 'message', as = 'json', target = 'again' }\n\
    [[transform]]\njoin = { 'fields.x' = '§' }\n\
    [[transform]]\nfingerprint = { from = ['fields.x', 'component', 'key'] }\n\
    [[transform]]\nremove = ['fields.again.*', 'rank']\n\
    [[transform]]\nwhen = 'tags == \"_stepfailure\"'\ntag = ['failed']\n\
    [[transform]]\ndrop = '10%'\n";

proptest! {
    #[test]
    fn any_line_is_the_same_event_twice(
        lines in proptest::collection::vec(
            "(INFO|ERROR) [a-z]{1,3}: step=[0-9]{1,3} (\\PC|[a-c]=[0-9a-z,\" ]{1,4} ){0,9}|\
             \\{\"a\":(\"\\PC{0,9}\"|[0-9]{1,9}|null|\\[1,2\\]),\"b\":(true|\"x\"|1.5)\\}|\\PC{0,60}",
            1..20,
        )
    ) {
        let mut beds = [Bed::new(ALL), Bed::new(ALL)];
        for (offset, line) in lines.iter().enumerate() {
            let [first, again] = beds.each_mut().map(|bed| bed.line(line, 7, offset as i64));
            prop_assert_eq!(first, again);
        }
    }
}
