//! The configurations of the simulation: a base and five changes of it (routes, prefixes, zone,
//! parser, stream key), each compiled once for all seeds; and the joining stage that stands
//! between records and the real transform.
//!
//! Invariant: a line's destinations follow from its task and the variant alone
//! ([`Variant::sinks_of`]), so that the checker needs no second parser.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use riverhog::source::RecordBatch;
use riverhog::transform::{BatchTransform, Carry, Position, Transformed};
use riverhog_parsers::lines::split_lines;
use riverhog_rules::event::EventBuffer;
use riverhog_rules::origin::{Joined, join_hash};
use riverhog_rules::plan::Plan;
use riverhog_rules::transform::{Line, ReceivedSource, Record, Transformer};

pub(crate) const SEARCH: usize = 0;
pub(crate) const ARCHIVE: usize = 1;
pub(crate) const VAULT: usize = 2;
pub(crate) const SINKS: usize = 3;

/// How many there are.
pub(crate) const COUNT: usize = 6;

/// One configuration.
pub(crate) struct Variant {
    pub(crate) number: usize,
    pub(crate) fingerprint: Arc<str>,
    pub(crate) plan: Arc<Plan>,
    join_by_task: bool,
}

/// All of them, compiled at the first use.
pub(crate) fn variants() -> &'static [Variant] {
    static VARIANTS: OnceLock<Vec<Variant>> = OnceLock::new();
    VARIANTS.get_or_init(|| (0..COUNT).map(compile).collect())
}

fn compile(number: usize) -> Variant {
    let folder = tempfile::tempdir().expect("a folder for the configuration");
    let path = folder.path().join("riverhog.toml");
    std::fs::write(&path, text(number)).expect("the configuration is written");
    let config = match riverhog_config::load(&path, &riverhog_config::ProcessEnv) {
        Ok(config) => config,
        Err(report) => panic!("variant {number}: {}", report.render(false)),
    };
    Variant {
        number,
        fingerprint: Arc::from(config.fingerprint.as_str()),
        plan: config.plan,
        join_by_task: number == 5,
    }
}

fn text(number: usize) -> String {
    let prefix = if number == 2 { "{task}/all/" } else { "{task}/{timestamp:%Y-%m-%d}/" };
    let zone = if number == 3 { "Asia/Shanghai" } else { "UTC" };
    let content = if number == 4 { "component" } else { "content" };
    let routes = if number == 1 {
        "[[route]]\nsinks = ['search', 'archive', 'vault']\n"
    } else {
        "[[route]]\nwhen = 'level >= \"warn\"'\nsinks = ['search']\n\
         [[route]]\nwhen = 'task == \"a\"'\nsinks = ['vault']\n\
         [[route]]\nsinks = ['archive']\n"
    };
    format!(
        r#"
[sources.logs]
type = "kafka"
brokers = ["127.0.0.1:9092"]
topics = ["train"]
group = "sim"
[labels]
task = {{ from = ["fields.task"], default = "none" }}
[time]
zone = "{zone}"
[[parse]]
name = "line"
grok = '^(?:[+] )?%{{TIMESTAMP_ISO8601:log_time}} %{{LOGLEVEL:level}} task=%{{WORD:task}} s=%{{WORD:stream}} rid=%{{INT:rid}} %{{GREEDYDATA:{content}}}'
time = {{ field = "log_time", formats = ["yyyy-MM-dd HH:mm:ss,SSS"], zone = "UTC" }}
[[transform]]
when = 'fields.task == "d"'
drop = "100%"
{routes}
[sinks.search]
type = "elasticsearch"
urls = ["http://127.0.0.1:9200"]
index = "logs-{{task}}-{{timestamp:%Y.%m.%d}}"
[sinks.archive]
type = "s3"
endpoint = "http://127.0.0.1:9000"
bucket = "archive"
prefix = "{prefix}"
[sinks.vault]
type = "s3"
endpoint = "http://127.0.0.1:9000"
bucket = "vault"
prefix = "{{task}}/"
[dead_letter]
type = "local"
path = "dead"
"#
    )
}

impl Variant {
    /// Which sinks must hold a line of this task.
    pub(crate) fn sinks_of(&self, task: char) -> [bool; SINKS] {
        if task == 'd' {
            // A step drops it.
            [false; SINKS]
        } else if self.number == 1 {
            [true; SINKS]
        } else {
            [matches!(task, 'a' | 'c'), true, task == 'a']
        }
    }
}

/// Joins continuations to their opener, stream by stream, then transforms for real.
pub(crate) struct JoiningTransform {
    variant: Mutex<&'static Variant>,
    /// As a host table that was read again: used once the driver has taken note of it.
    offered: Mutex<Option<&'static Variant>>,
}

/// What the joining stage holds between batches: by stream, the open record.
#[derive(Default)]
struct OpenRecords(BTreeMap<String, OpenRecord>);

struct OpenRecord {
    /// Offset, record time and index of each line.
    lines: Vec<(i64, u32)>,
    time_ms: i64,
    text: Vec<u8>,
}

/// A record ends with this many lines at the latest.
const LINES_MAX: usize = 3;

impl BatchTransform for JoiningTransform {
    fn carry(&self) -> Option<Carry> {
        Some(Box::new(OpenRecords::default()))
    }

    fn transform(
        &self,
        batch: &RecordBatch,
        lineage: &str,
        carry: Option<&mut Carry>,
        _from: Position,
    ) -> Transformed {
        let mut fresh: Carry = Box::<OpenRecords>::default();
        let carry = carry.unwrap_or(&mut fresh);
        let open = carry.downcast_mut::<OpenRecords>().expect("this stage's own carry");
        let mut transformer = Transformer::new(Arc::clone(&self.variant().plan));
        let mut events = EventBuffer::default();
        let mut emit = |record: OpenRecord| {
            let (offset, index) = record.lines[0];
            let of_first = Record {
                topic: &batch.partition.topic,
                partition: batch.partition.number,
                offset,
                key: None,
                headers: &[],
                received_ns: record.time_ms * 1_000_000,
                received_source: ReceivedSource::CreateTime,
                envelope: None,
                lineage,
                time_ms: record.time_ms,
            };
            transformer.begin_record(&of_first);
            let line = Line { raw: &record.text, index, cut: false };
            if record.lines.len() == 1 {
                transformer.line(&of_first, &line, &mut events);
                return;
            }
            let hash = join_hash(record.lines.iter().copied());
            let joined = Joined { lines: record.lines.len() as u32, hash };
            let last = record.lines[record.lines.len() - 1].0;
            transformer.joined(&of_first, &line, joined, last, &mut events);
        };
        for entry in &batch.records {
            let Some(value) = entry.value else { continue };
            for (index, raw) in split_lines(batch.slice(value)).enumerate() {
                let text = String::from_utf8_lossy(raw);
                let stream = self.stream(&text);
                let at = (entry.offset, index as u32);
                if text.starts_with('+') {
                    if let Some(record) = open.0.get_mut(&stream) {
                        record.lines.push(at);
                        record.text.push(b'\n');
                        record.text.extend_from_slice(raw);
                        if record.lines.len() == LINES_MAX {
                            open.0.remove(&stream).into_iter().for_each(&mut emit);
                        }
                        continue;
                    }
                } else {
                    open.0.remove(&stream).into_iter().for_each(&mut emit);
                }
                let record =
                    OpenRecord { lines: vec![at], time_ms: entry.time_ms, text: raw.to_vec() };
                if text.contains(" open ") {
                    open.0.insert(stream, record);
                } else {
                    emit(record);
                }
            }
        }
        let open_from = open.0.values().map(|record| record.lines[0].0).min();
        Transformed { events: events.into(), open_from, rest: None }
    }

    fn swap_tables(&self) {
        if let Some(variant) = self.offered.lock().unwrap_or_else(PoisonError::into_inner).take() {
            *self.variant.lock().unwrap_or_else(PoisonError::into_inner) = variant;
        }
    }
}

impl JoiningTransform {
    pub(crate) fn new(variant: &'static Variant) -> JoiningTransform {
        JoiningTransform { variant: Mutex::new(variant), offered: Mutex::default() }
    }

    /// Offers the routes of another variant, as if they followed from a table.
    pub(crate) fn offer(&self, variant: &'static Variant) {
        *self.offered.lock().unwrap_or_else(PoisonError::into_inner) = Some(variant);
    }

    fn variant(&self) -> &'static Variant {
        *self.variant.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What tells the streams of a partition apart.
    fn stream(&self, text: &str) -> String {
        let key = if self.variant().join_by_task { " task=" } else { " s=" };
        let after = text.split(key).nth(1).unwrap_or("");
        after.chars().take(1).collect()
    }
}
