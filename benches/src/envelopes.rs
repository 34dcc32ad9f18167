//! What it costs to take an envelope off: one record of each shipper, beside a tree of the same
//! JSON.
//!
//! The invariant: both ways go over the same bytes in turns, so that the ratio holds on a machine
//! that does other things too. Next stop: `report.rs`.

use std::hint::black_box;
use std::ops::ControlFlow;

use anyhow::{Result, ensure};
use riverhog_parsers::envelope::{EnvelopeKind, Unwrapper};
use serde_json::Value;

use crate::report;
use crate::training::{median, nanoseconds};

const RECORDS: [(&str, &str); 4] = [
    (
        "Filebeat",
        concat!(
            r#"{"@timestamp":"2026-03-12T02:23:46.001Z","@metadata":{"beat":"filebeat","#,
            r#""type":"_doc","version":"8.13.4"},"log":{"offset":1048576,"#,
            r#""file":{"path":"/logs/job-4711/rank3.log","device_id":"64768","#,
            r#""inode":"3932201"}},"#,
            r#""message":"[rank3]:[E312 10:23:45.123456789 ProcessGroupNCCL.cpp:632] [Rank 3] "#,
            r#"Watchdog caught collective operation timeout: WorkNCCL(SeqNum=4821,"#,
            r#" OpType=_ALLGATHER_BASE, NumelIn=1048576, NumelOut=8388608,"#,
            r#" Timeout(ms)=600000) ran for 600047 milliseconds before timing out.","#,
            r#""tags":["train"],"input":{"type":"filestream"},"fields":{"task":"job-4711","#,
            r#""role":"worker"},"ecs":{"version":"8.0.0"},"host":{"name":"gpu-node-017"},"#,
            r#""agent":{"name":"gpu-node-017","type":"filebeat","version":"8.13.4","#,
            r#""ephemeral_id":"00000000-0000-4000-8000-000000000001","#,
            r#""id":"00000000-0000-4000-8000-000000000002"}}"#,
        ),
    ),
    (
        "Fluent Bit",
        concat!(
            r#"{"@timestamp":1773282226.001234,"time":"2026-03-12T02:23:46.001234567Z","#,
            r#""stream":"stderr","_p":"F","log":"step 100 loss 2.104 lr 1.9e-05","#,
            r#""kubernetes":{"pod_name":"job-4711-worker-3","namespace_name":"train","#,
            r#""labels":{"job":"job-4711"},"host":"gpu-node-017","container_name":"trainer"}}"#,
        ),
    ),
    (
        "Vector",
        concat!(
            r#"{"file":"/logs/job-4711/rank3.log","host":"gpu-node-017","#,
            r#""message":"step 100 loss 2.104 lr 1.9e-05","source_type":"file","#,
            r#""timestamp":"2026-03-12T02:23:46.001234567Z"}"#,
        ),
    ),
    (
        "Docker",
        concat!(
            r#"{"log":"step 100 loss 2.104 lr 1.9e-05\n","stream":"stdout","#,
            r#""time":"2026-03-12T02:23:46.001234567Z"}"#,
        ),
    ),
];

/// What to measure.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Records in a round
    #[arg(long, default_value_t = 100_000)]
    records: usize,
    /// Rounds, of which the median is told
    #[arg(long, default_value_t = 9)]
    rounds: usize,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let mut unwrapper = Unwrapper::new();
    report::print("| envelope | bytes | unwrapped, ns | tree, ns | ratio |")?;
    report::print("|---|---|---|---|---|")?;
    for (name, record) in RECORDS {
        let (mut ours, mut trees, mut bytes) = (Vec::new(), Vec::new(), 0);
        for _ in 0..args.rounds {
            ours.push(nanoseconds(args.records, || {
                for _ in 0..args.records {
                    let value = black_box(record.as_bytes());
                    unwrapper.run(EnvelopeKind::Auto, value, &mut |envelope| {
                        bytes += black_box(envelope).message.len();
                        ControlFlow::Continue(())
                    });
                }
            }));
            trees.push(nanoseconds(args.records, || {
                for _ in 0..args.records {
                    let value = black_box(record.as_bytes());
                    let _tree = black_box(serde_json::from_slice::<Value>(value));
                }
            }));
        }
        ensure!(bytes > 0, "{name} was not recognised");
        let (ours, tree) = (median(&mut ours), median(&mut trees));
        let ratio = tree / ours;
        report::print(&format!(
            "| {name} | {} | {ours:.0} | {tree:.0} | {ratio:.1} |",
            record.len()
        ))?;
    }
    Ok(())
}
