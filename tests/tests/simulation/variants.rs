//! The configurations of the simulation: a base and six changes of it (routes, prefixes, zone,
//! parser, what tells processes apart and whether lines have parts, nothing is joined), each
//! compiled once for all seeds, with the real transform.
//!
//! Invariant: a line's destinations follow from its task and the variant alone
//! ([`Variant::sinks_of`]), so that the checker needs no second parser.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use riverhog::source::RecordBatch;
use riverhog::telemetry::metrics::Metrics;
use riverhog::transform::{Ahead, BatchTransform, Carry, PlanTransform, Position, Transformed};
use riverhog_config::EnvelopeKind;

pub(crate) const SEARCH: usize = 0;
pub(crate) const ARCHIVE: usize = 1;
pub(crate) const VAULT: usize = 2;
pub(crate) const SINKS: usize = 3;

/// How many there are.
pub(crate) const COUNT: usize = 7;

/// One configuration.
pub(crate) struct Variant {
    pub(crate) number: usize,
    pub(crate) fingerprint: Arc<str>,
    transform: PlanTransform,
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
    let fingerprint = Arc::from(config.fingerprint.as_str());
    let mut plan = Arc::into_inner(config.plan).expect("nobody else has it");
    // As long as records of several lines: the clock never ends a line.
    plan.pieces_gap_ms = 3_600_000;
    let (plan, envelope) = (Arc::new(plan), EnvelopeKind::Auto);
    let transform = PlanTransform::new(plan, envelope, 1 << 20, Metrics::new());
    Variant { number, fingerprint, transform }
}

/// Lines of a stream are joined however they came; pieces know streams of their own.
const JOIN: &str = r#"
[join]
builtin = false
stream = ["key"]
lines_max = 9
gap = "1h"
[[join.rules]]
name = "open"
start = ' open '
continue = '^(?:\[rank\d\]: )?[+] '
"#;

fn text(number: usize) -> String {
    let prefix = if number == 2 { "{task}/all/" } else { "{task}/{timestamp:%Y-%m-%d}/" };
    let zone = if number == 3 { "Asia/Shanghai" } else { "UTC" };
    // Streams are told apart by rank and task, or by the task alone; then lines have no parts.
    let layers = if number == 5 { "'worker'" } else { "'worker', 'rank', 'frames'" };
    let join = if number == 6 { "" } else { JOIN };
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
[peel]
layers = [{layers}]
{join}
[time]
zone = "{zone}"
[[parse]]
name = "line"
grok = '^(?:\[rank\d\]: )?(?:[+] |\r)?%{{TIMESTAMP_ISO8601:log_time}} %{{LOGLEVEL:level}} task=%{{WORD:task}} s=%{{WORD:stream}} rid=%{{INT:rid}} %{{GREEDYDATA:{content}}}'
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

/// The real transform, of one variant or another.
pub(crate) struct SwappingTransform {
    variant: Mutex<&'static Variant>,
    /// As a host table that was read again: used once the driver has taken note of it.
    offered: Mutex<Option<&'static Variant>>,
}

impl BatchTransform for SwappingTransform {
    fn carry(&self) -> Option<Carry> {
        self.variant().transform.carry()
    }

    fn runs_ahead(&self) -> bool {
        self.variant().transform.runs_ahead()
    }

    fn ahead(&self, batch: &RecordBatch, lineage: &str) -> Ahead {
        self.variant().transform.ahead(batch, lineage)
    }

    fn accept(
        &self,
        batch: &RecordBatch,
        lineage: &str,
        carry: &mut Option<Carry>,
        ahead: Ahead,
    ) -> Transformed {
        self.variant().transform.accept(batch, lineage, carry, ahead)
    }

    fn transform(
        &self,
        batch: &RecordBatch,
        lineage: &str,
        carry: Option<&mut Carry>,
        from: Position,
    ) -> Transformed {
        self.variant().transform.transform(batch, lineage, carry, from)
    }

    fn close_after(&self, carry: &Carry) -> Option<Duration> {
        self.variant().transform.close_after(carry)
    }

    fn close(&self, batch: &RecordBatch, lineage: &str, carry: &mut Carry) -> Transformed {
        self.variant().transform.close(batch, lineage, carry)
    }

    fn swap_tables(&self) {
        if let Some(variant) = self.offered.lock().unwrap_or_else(PoisonError::into_inner).take() {
            *self.variant.lock().unwrap_or_else(PoisonError::into_inner) = variant;
        }
    }
}

impl SwappingTransform {
    pub(crate) fn new(variant: &'static Variant) -> SwappingTransform {
        SwappingTransform { variant: Mutex::new(variant), offered: Mutex::default() }
    }

    /// Offers the routes of another variant, as if they followed from a table.
    pub(crate) fn offer(&self, variant: &'static Variant) {
        *self.offered.lock().unwrap_or_else(PoisonError::into_inner) = Some(variant);
    }

    fn variant(&self) -> &'static Variant {
        *self.variant.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
