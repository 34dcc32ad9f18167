//! Presets: the labels of each platform as each shipper writes them. Next: `times.rs`.

use super::{Sent, document};
use serde_json::{Map, Value, json};
use std::path::Path;

/// Labels of a pod, as `name=value`.
type Labels = &'static [(&'static str, &'static str)];

/// How shippers write the labels and annotations of a pod.
const SHIPPERS: [fn(Labels, Labels) -> Value; 5] =
    [filebeat, filebeat_undotted, fluent_bit, vector, otlp];

fn object(labels: Labels, name: impl Fn(&str) -> String) -> Map<String, Value> {
    labels.iter().map(|(key, value)| (name(key), json!(value))).collect()
}

fn filebeat(labels: Labels, annotations: Labels) -> Value {
    let dedot = |key: &str| key.replace('.', "_");
    json!({
        "@timestamp": "2026-03-12T02:23:46.001Z", "@metadata": { "beat": "filebeat" },
        "message": "step 7", "host": { "name": "gpu-07" },
        "kubernetes": {
            "labels": object(labels, dedot), "annotations": object(annotations, dedot),
        },
    })
}

/// Without `dedot` each dot of a name makes an object of its own.
fn filebeat_undotted(labels: Labels, annotations: Labels) -> Value {
    let nested = |labels: Labels| {
        let mut all = json!({});
        for (key, value) in labels {
            let mut place = &mut all;
            for part in key.split('.') {
                place = &mut place[part];
            }
            *place = json!(value);
        }
        all
    };
    json!({
        "@timestamp": "2026-03-12T02:23:46.001Z", "@metadata": { "beat": "filebeat" },
        "message": "step 7",
        "kubernetes": { "labels": nested(labels), "annotations": nested(annotations) },
    })
}

fn fluent_bit(labels: Labels, annotations: Labels) -> Value {
    json!({
        "@timestamp": 1_773_282_226.5, "log": "step 7", "stream": "stdout",
        "kubernetes": {
            "labels": object(labels, str::to_owned),
            "annotations": object(annotations, str::to_owned), "host": "gpu-07",
        },
    })
}

fn vector(labels: Labels, annotations: Labels) -> Value {
    json!({
        "message": "step 7", "source_type": "kubernetes_logs",
        "timestamp": "2026-03-12T02:23:46.001234567Z",
        "kubernetes": {
            "pod_labels": object(labels, str::to_owned),
            "pod_annotations": object(annotations, str::to_owned), "pod_node_name": "gpu-07",
        },
    })
}

fn otlp(labels: Labels, annotations: Labels) -> Value {
    let attribute = |kind: &str, (key, value): &(&str, &str)| {
        let key = format!("k8s.pod.{kind}.{key}");
        json!({ "key": key, "value": { "stringValue": value } })
    };
    let labels = labels.iter().map(|it| attribute("labels", it));
    let annotations = annotations.iter().map(|it| attribute("annotations", it));
    let attributes: Vec<Value> = labels.chain(annotations).collect();
    let record =
        json!({ "timeUnixNano": "1773282226001234567", "body": { "stringValue": "step 7" } });
    json!({ "resourceLogs": [{
        "resource": { "attributes": attributes }, "scopeLogs": [{ "logRecords": [record] }],
    }] })
}

/// Labels and rank of a document.
fn shown(document: &Value) -> Value {
    let mut shown = document["labels"].clone();
    if let Some(rank) = document.get("rank") {
        shown["rank"] = rank.clone();
    }
    shown
}

/// A pod's labels and annotations, through each shipper.
fn check(preset: &str, labels: Labels, annotations: Labels, expect: &Value) {
    let config = format!("[identity]\npresets = ['{preset}']\n");
    for (index, shipper) in SHIPPERS.iter().enumerate() {
        let value = shipper(labels, annotations).to_string();
        let found = shown(&document(&config, Sent::value(&value)));
        assert_eq!(found, *expect, "{preset}, shipper {index}: {value}");
    }
}

#[test]
fn kubeflow() {
    const JOB: (&str, &str) = ("training.kubeflow.org/job-name", "sft-7b");
    const TORCH: (&str, &str) = ("training.kubeflow.org/operator-name", "pytorchjob-controller");
    const MPI: (&str, &str) = ("training.kubeflow.org/operator-name", "mpijob-controller");
    const MASTER: (&str, &str) = ("training.kubeflow.org/replica-type", "master");
    const WORKER: (&str, &str) = ("training.kubeflow.org/replica-type", "worker");
    const ZERO: (&str, &str) = ("training.kubeflow.org/replica-index", "0");
    const TWO: (&str, &str) = ("training.kubeflow.org/replica-index", "2");
    let expect =
        |role: &str, node: &str| json!({"task": "sft-7b", "role": role, "node_rank": node});
    check("kubeflow", &[JOB, TORCH, MASTER, ZERO], &[], &expect("master", "0"));
    check("kubeflow", &[JOB, TORCH, WORKER, TWO], &[], &expect("worker", "3"));
    check("kubeflow", &[JOB, MPI, WORKER, TWO], &[], &expect("worker", "2"));
    check("kubeflow", &[JOB], &[], &json!({"task": "sft-7b"}));
}

#[test]
fn ray() {
    const CLUSTER: (&str, &str) = ("ray.io/cluster", "rlhf");
    const GROUP: (&str, &str) = ("ray.io/group", "rollout");
    let expect = |role: &str| json!({"task": "rlhf", "role": role});
    check("ray", &[CLUSTER, ("ray.io/node-type", "worker"), GROUP], &[], &expect("worker"));
    check("ray", &[CLUSTER, GROUP], &[], &expect("rollout"));
}

#[test]
fn volcano() {
    const INDEX: (&str, &str) = ("volcano.sh/task-index", "5");
    const JOB: (&str, &str) = ("volcano.sh/job-name", "mpi");
    const ROLE: (&str, &str) = ("volcano.sh/task-spec", "worker");
    let expect = json!({"task": "mpi", "role": "worker", "node_rank": "5"});
    check("volcano", &[JOB, ROLE, INDEX], &[], &expect);
    check("volcano", &[JOB, ROLE], &[INDEX], &expect);
}

#[test]
fn jobset() {
    const INDEX: (&str, &str) = ("batch.kubernetes.io/job-completion-index", "3");
    const NAME: (&str, &str) = ("jobset.sigs.k8s.io/jobset-name", "llama");
    const ROLE: (&str, &str) = ("jobset.sigs.k8s.io/replicatedjob-name", "node");
    const ONE: (&str, &str) = ("jobset.sigs.k8s.io/replicatedjob-replicas", "1");
    const TWO: (&str, &str) = ("jobset.sigs.k8s.io/replicatedjob-replicas", "2");
    let expect = json!({"task": "llama", "role": "node", "node_rank": "3"});
    check("jobset", &[NAME, ROLE, ONE, INDEX], &[], &expect);
    check("jobset", &[NAME, ROLE, ONE], &[INDEX], &expect);
    check("jobset", &[NAME, ROLE, TWO, INDEX], &[], &json!({"task": "llama", "role": "node"}));
}

fn check_slurm(sent: Sent<'_>, expect: &Value) {
    let config = "[identity]\npresets = ['slurm']\n";
    let value = sent.value.to_owned();
    assert_eq!(shown(&document(config, sent)), *expect, "{value}");
}

#[test]
fn slurm() {
    let filebeat = |member: &str| {
        format!("{{\"@metadata\":{{\"beat\":\"filebeat\"}},\"message\":\"step 7\",{member}}}")
    };
    let job = json!({"task": "4711"});
    let path = |path: &str| filebeat(&format!("\"log\":{{\"file\":{{\"path\":\"{path}\"}}}}"));
    check_slurm(Sent::value(&path("/home/a/slurm-4711.out")), &job);
    check_slurm(Sent::value(&path("/logs/job-4711/3.log")), &job);
    check_slurm(Sent::value(&path("/a/slurm-4711_3.out")), &json!({"task": "4711_3"}));
    check_slurm(Sent::value(&path("/var/log/train.log")), &json!({}));
    check_slurm(Sent { topic: "/a/slurm-4711.out", ..Sent::value("step 7") }, &job);
    let vector = "{\"file\":\"/a/slurm-4711.out\",\"message\":\"x\",\"source_type\":\"file\",\
                  \"timestamp\":\"2026-03-12T02:23:46Z\"}";
    check_slurm(Sent::value(vector), &job);
    let fluent_bit = "{\"@timestamp\":1773282226.5,\"log\":\"x\",\"filename\":\"slurm-4711.out\"}";
    check_slurm(Sent::value(fluent_bit), &job);
    let all = json!({"task": "4711", "node_rank": "2", "rank": 17});
    let fields = "\"fields\":{\"slurm_job_id\":4711,\"SLURM_NODEID\":2,\"slurm_procid\":\"17\"}";
    check_slurm(Sent::value(&filebeat(fields)), &all);
    let headers: [(&str, &[u8]); 3] =
        [("SLURM_JOB_ID", b"4711"), ("slurm_nodeid", b"2"), ("SLURM_PROCID", b"17")];
    check_slurm(Sent { headers: &headers, ..Sent::value("step 7") }, &all);
    // What the line says counts first, and what is no number is no rank.
    let of_line = json!({"task": "4711", "node_rank": "2", "rank": 3});
    check_slurm(Sent { headers: &headers, ..Sent::value("[rank3]: step 7") }, &of_line);
    check_slurm(Sent { headers: &[("SLURM_PROCID", b"-1")], ..Sent::value("x") }, &json!({}));
}

#[test]
fn ones_own_candidates_come_first_and_defaults_last() {
    let config = "[labels]\ntask = { from = ['header.task'] }\n\
                  role = { from = ['header.role'], default = 'none' }\n\
                  [identity]\npresets = ['ray', 'volcano']\n";
    let value = |labels: Labels| vector(labels, &[]).to_string();
    let of_ray = value(&[("volcano.sh/job-name", "b"), ("ray.io/cluster", "a")]);
    let of_volcano = value(&[("volcano.sh/job-name", "b")]);
    let headers: [(&str, &[u8]); 1] = [("task", b"c")];
    for (sent, task) in [
        (Sent::value(&of_ray), "a"),
        (Sent::value(&of_volcano), "b"),
        (Sent { headers: &headers, ..Sent::value(&of_ray) }, "c"),
    ] {
        let expect = json!({"task": task, "role": "none"});
        assert_eq!(shown(&document(config, sent)), expect);
    }
}

#[test]
fn labels_of_presets_have_names() {
    let config = "[identity]\npresets = ['volcano']\n\
                  [[transform]]\nset = { 'fields.at' = '{header.x}' }\n\
                  [[route]]\nwhen = 'task == \"mpi\" and node_rank == \"5\"'\nsinks = ['a']\n";
    let value = vector(&[("volcano.sh/job-name", "mpi")], &[]).to_string();
    assert_eq!(document(config, Sent::value(&value))["labels"]["task"], "mpi");
}

#[test]
fn ranks_of_a_node_are_counted_from_its_own() {
    const WORKER: Labels = &[
        ("training.kubeflow.org/operator-name", "pytorchjob-controller"),
        ("training.kubeflow.org/replica-type", "worker"),
        ("training.kubeflow.org/replica-index", "1"),
    ];
    let check = |per_node: &str, line: &str, expect: Option<u64>| {
        let config = format!("[identity]\npresets = ['kubeflow']\n{per_node}\n");
        let mut value = vector(WORKER, &[]);
        value["message"] = json!(line);
        let document = document(&config, Sent::value(&value.to_string()));
        assert_eq!(document.get("rank").and_then(Value::as_u64), expect, "{per_node} {line}");
    };
    check("", "step 7", None);
    check("ranks_per_node = 1", "step 7", Some(2));
    check("ranks_per_node = 8", "step 7", None);
    check("ranks_per_node = 8", "[default3]: step 7", Some(19));
    check("ranks_per_node = 8", "[default8]: step 7", None);
    check("ranks_per_node = 8", "[default3]:[rank40]: step 7", Some(40));
    let own = "ranks_per_node = 4\n[labels]\nnode_rank = { from = ['header.none'], default = '5' }";
    let line = Sent::value("[default3]: step 7");
    assert_eq!(document(&format!("[identity]\n{own}"), line)["rank"], 23);
}

#[test]
fn the_page_has_the_table() {
    const START: &str = "<!-- presets: written by the tests -->\n";
    const END: &str = "<!-- end of presets -->\n";
    let path = Path::new("../docs/identity.md");
    let page = std::fs::read_to_string(path).expect("the page");
    let (front, rest) = page.split_once(START).expect("the first mark");
    let (found, back) = rest.split_once(END).expect("the last mark");
    let expect = format!("\n{}\n", riverhog_config::presets_table());
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(path, format!("{front}{START}{expect}{END}{back}")).expect("a page");
        return;
    }
    assert!(found == expect, "docs/identity.md is stale: UPDATE=1 writes it anew");
}
