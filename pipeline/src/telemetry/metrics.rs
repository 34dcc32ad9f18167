//! Every metric of the process, declared in this one file and named
//! `riverhog_<what>_<unit>[_total]`. Counted by OpenTelemetry's SDK, rendered for a Prometheus
//! scrape.
//!
//! Invariant: a call here is made per batch, request or tick, never per line, and no label names a
//! run, a host or a rank, so that the number of series follows the configuration and not the data.
//! What goes away (a revoked partition, a cured destination) takes its series with it.
//! Next stop: [`record`], the calls that count; then [`super::http`], which serves
//! [`Metrics::render`].

mod record;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use opentelemetry::KeyValue;
use opentelemetry::metrics::{Counter, Gauge, Histogram, Meter, MeterProvider, UpDownCounter};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::metrics::{Instrument, SdkMeterProvider, Stream};
use prometheus::{Registry, TextEncoder};

use super::unparsed::Unparsed;
use record::{add, labels};

/// Most series of one metric about partitions; the rest is added up under
/// `otel_metric_overflow="true"`. Four such metrics of 10,000 partitions are a scrape of 4 MB.
const PARTITION_SERIES_MAX: usize = 10_000;

/// Most series of any other metric.
const SERIES_MAX: usize = 1_000;

/// Upper bounds of `riverhog_sink_request_seconds`: from a local store's answer to the longest
/// request timeout anybody sets.
const REQUEST_SECONDS: [f64; 13] =
    [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0];

/// Upper bounds of `riverhog_parse_seconds`: from a short line of a simple pattern to one on which
/// a pattern takes all the steps that it may.
const PARSE_SECONDS: [f64; 11] =
    [1e-7, 2.5e-7, 5e-7, 1e-6, 2.5e-6, 5e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1];

/// Upper bounds of `riverhog_archive_object_bytes`: 64 KiB to 256 MiB.
const OBJECT_BYTES: [f64; 8] = [
    65_536.0,
    262_144.0,
    1_048_576.0,
    4_194_304.0,
    16_777_216.0,
    33_554_432.0,
    67_108_864.0,
    268_435_456.0,
];

/// The metrics of one process. Clones count into the same series; none of the methods blocks for
/// longer than a short lock, or fails.
#[derive(Clone, Debug)]
pub struct Metrics {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    registry: Registry,
    // Held because the instruments report nothing once their provider is dropped.
    _provider: SdkMeterProvider,
    state: Arc<Mutex<State>>,
    unparsed: Unparsed,
    source: SourceMetrics,
    sink: SinkMetrics,
    archive: ArchiveMetrics,
    process: ProcessMetrics,
}

/// What observable gauges read at each scrape: series come and go with its entries.
#[derive(Debug, Default)]
struct State {
    partitions: BTreeMap<(String, i32), Partition>,
    /// Sink, destination, reason.
    halted: BTreeSet<(String, String, String)>,
}

/// What is known about an assigned partition; a gauge without a value has no series.
#[derive(Debug, Default)]
struct Partition {
    lag_lines: Option<i64>,
    lag_seconds: Option<f64>,
    commit_age_seconds: Option<f64>,
    held: Option<Hold>,
    stalled: Option<u8>,
}

/// What the watermark of a partition waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hold {
    /// A word of a closed list.
    pub reason: &'static str,
    /// The sink, where it is one.
    pub sink: Option<String>,
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl Metrics {
    /// Metrics of their own, all at zero. A process makes them once and clones them.
    pub fn new() -> Metrics {
        let registry = Registry::new();
        let exporter = opentelemetry_prometheus::exporter()
            .with_registry(registry.clone())
            // The names below are complete, so that a search for one finds its declaration.
            .without_units()
            .without_counter_suffixes()
            .without_target_info()
            .scope_info_enabled(false)
            .build()
            .expect("an empty registry takes a first collector");
        let provider = SdkMeterProvider::builder()
            .with_reader(exporter)
            .with_resource(Resource::builder_empty().build())
            .with_view(limit_series)
            .build();
        let meter = provider.meter("riverhog");
        let state = Arc::new(Mutex::new(State::default()));
        declare_partition_gauges(&meter, &state);
        declare_halted_gauge(&meter, &state);
        let inner = Inner {
            source: SourceMetrics::declare(&meter),
            sink: SinkMetrics::declare(&meter),
            archive: ArchiveMetrics::declare(&meter),
            process: ProcessMetrics::declare(&meter),
            registry,
            _provider: provider,
            state,
            unparsed: Unparsed::default(),
        };
        Metrics { inner: Arc::new(inner) }
    }

    /// The latest lines that no parser accepted, beside the counter of all of them.
    pub fn unparsed_lines(&self) -> &Unparsed {
        &self.inner.unparsed
    }

    /// The page of a scrape, in Prometheus' text format 0.0.4, sorted by name.
    pub fn render(&self) -> String {
        let mut page = String::new();
        if let Err(error) = TextEncoder::new().encode_utf8(&self.inner.registry.gather(), &mut page)
        {
            tracing::error!(%error, "metrics cannot be rendered");
        }
        page
    }
}

#[derive(Debug)]
struct SourceMetrics {
    records: Counter<u64>,
    lines: Counter<u64>,
    bytes: Counter<u64>,
    tombstones: Counter<u64>,
    cut_lines: Counter<u64>,
    lost_lines: Counter<u64>,
    rebalances: Counter<u64>,
    parse_lines: Counter<u64>,
    transform_lines: Counter<u64>,
    transform_panics: Counter<u64>,
    overwritten_frames: Counter<u64>,
    records_closed_early: Counter<u64>,
    parse_seconds: Histogram<f64>,
    unknown_host_lines: Counter<u64>,
    unparsed_lines: Counter<u64>,
    redacted_values: Counter<u64>,
}

impl SourceMetrics {
    fn declare(meter: &Meter) -> SourceMetrics {
        let counter = |name, help| counter(meter, name, help);
        let metrics = SourceMetrics {
            records: counter("riverhog_source_records_total", "Kafka records read."),
            lines: counter(
                "riverhog_source_lines_total",
                "Raw lines that records were split into.",
            ),
            bytes: counter("riverhog_source_bytes_total", "Bytes of the values of records read."),
            tombstones: counter(
                "riverhog_source_tombstones_total",
                "Records without a value, skipped.",
            ),
            cut_lines: counter(
                "riverhog_source_cut_lines_total",
                "Lines cut at the setting line_max.",
            ),
            lost_lines: counter(
                "riverhog_source_lost_lines_total",
                "Offsets that the broker had dropped before they were read.",
            ),
            rebalances: counter(
                "riverhog_rebalances_total",
                "Changes of the assignment of partitions.",
            ),
            parse_lines: counter(
                "riverhog_parse_lines_total",
                "Lines tried by a parser, by parser and outcome.",
            ),
            transform_lines: counter(
                "riverhog_transform_lines_total",
                "Lines taken by a transform step, by step and outcome: applied, failed, dropped.",
            ),
            transform_panics: counter(
                "riverhog_transform_panics_total",
                "Batches that the program failed on: a bug. They are taken again line by line.",
            ),
            overwritten_frames: counter(
                "riverhog_peel_overwritten_frames_total",
                "Frames of progress bars left out, since a later one wrote over them.",
            ),
            records_closed_early: counter(
                "riverhog_join_closed_early_total",
                "Records of several lines closed by the clock, at the end of their partition.",
            ),
            parse_seconds: meter
                .f64_histogram("riverhog_parse_seconds")
                .with_description("How long a parser took for a line it accepted, one in 64.")
                .with_boundaries(PARSE_SECONDS.to_vec())
                .build(),
            unknown_host_lines: counter(
                "riverhog_unknown_host_lines_total",
                "Lines whose host is not in the table of hosts.",
            ),
            unparsed_lines: counter(
                "riverhog_unparsed_lines_total",
                "Lines that no parser accepted.",
            ),
            redacted_values: counter(
                "riverhog_redacted_values_total",
                "Values of lines that were redacted, by kind.",
            ),
        };
        add(&metrics.unknown_host_lines, 0, []);
        add(&metrics.unparsed_lines, 0, []);
        metrics
    }
}

#[derive(Debug)]
struct SinkMetrics {
    lines: Counter<u64>,
    bytes: Counter<u64>,
    requests: Counter<u64>,
    request_seconds: Histogram<f64>,
    in_flight: UpDownCounter<i64>,
    in_flight_limit: Gauge<u64>,
    address_up: Gauge<u64>,
    oldest_seconds: Gauge<f64>,
    dead_letter_lines: Counter<u64>,
}

impl SinkMetrics {
    fn declare(meter: &Meter) -> SinkMetrics {
        let counter = |name, help| counter(meter, name, help);
        SinkMetrics {
            lines: counter(
                "riverhog_sink_lines_total",
                "Lines by what became of them in a sink: done, known, retry, refused, given_up, \
                 skipped.",
            ),
            bytes: counter("riverhog_sink_bytes_total", "Bytes of request bodies sent."),
            requests: counter("riverhog_sink_requests_total", "Requests by outcome."),
            request_seconds: meter
                .f64_histogram("riverhog_sink_request_seconds")
                .with_description("How long requests took.")
                .with_boundaries(REQUEST_SECONDS.to_vec())
                .build(),
            in_flight: meter
                .i64_up_down_counter("riverhog_sink_in_flight_requests")
                .with_description("Requests sent and not answered yet.")
                .build(),
            in_flight_limit: gauge(
                meter,
                "riverhog_sink_in_flight_limit",
                "Requests that may be in flight; below the setting while a store is overloaded.",
            ),
            address_up: gauge(
                meter,
                "riverhog_sink_address_up",
                "1 while an address of a store is in turn, 0 while it is set aside.",
            ),
            oldest_seconds: meter
                .f64_gauge("riverhog_sink_oldest_seconds")
                .with_description("Age of the oldest unsettled line of a sink, by record time.")
                .build(),
            dead_letter_lines: counter(
                "riverhog_dead_letter_lines_total",
                "Lines stored as dead letters, by reason.",
            ),
        }
    }
}

#[derive(Debug)]
struct ArchiveMetrics {
    object_bytes: Histogram<u64>,
    objects: Counter<u64>,
    unread_footers: Counter<u64>,
    conflicts: Counter<u64>,
    live_prefixes: Gauge<u64>,
}

impl ArchiveMetrics {
    fn declare(meter: &Meter) -> ArchiveMetrics {
        let counter = |name, help| counter(meter, name, help);
        ArchiveMetrics {
            object_bytes: meter
                .u64_histogram("riverhog_archive_object_bytes")
                .with_description("Compressed size of objects written.")
                .with_boundaries(OBJECT_BYTES.to_vec())
                .build(),
            objects: counter(
                "riverhog_archive_objects_total",
                "Objects written, by the reason they were closed.",
            ),
            unread_footers: counter(
                "riverhog_archive_unread_footers_total",
                "Footers that could not be read and counted as holding no ids.",
            ),
            conflicts: counter(
                "riverhog_archive_conflicts_total",
                "Appends that found their number taken by another writer.",
            ),
            live_prefixes: gauge(
                meter,
                "riverhog_archive_live_prefixes",
                "Prefixes with an open object.",
            ),
        }
    }
}

#[derive(Debug)]
struct ProcessMetrics {
    commits: Counter<u64>,
    table_reloads: Counter<u64>,
    config_reloads: Counter<u64>,
    config_generation: Gauge<u64>,
    memory_bytes: Gauge<u64>,
    memory_limit_bytes: Gauge<u64>,
    generations: Gauge<u64>,
}

impl ProcessMetrics {
    fn declare(meter: &Meter) -> ProcessMetrics {
        gauge(meter, "riverhog_build_info", "The version of the program, as a label; always 1.")
            .record(1, &labels([("version", env!("CARGO_PKG_VERSION"))]));
        ProcessMetrics {
            commits: counter(
                meter,
                "riverhog_commits_total",
                "Commits of a partition's offset, by outcome.",
            ),
            table_reloads: counter(
                meter,
                "riverhog_table_reloads_total",
                "Times the tables were read again because one had changed, by outcome: done, failed.",
            ),
            config_reloads: counter(
                meter,
                "riverhog_config_reloads_total",
                "Times the configuration was loaded again, by outcome: done, failed.",
            ),
            config_generation: gauge(
                meter,
                "riverhog_config_generation",
                "The configuration that runs, counted from 1 since the start of the process.",
            ),
            memory_bytes: gauge(
                meter,
                "riverhog_memory_bytes",
                "Bytes held, by part, as counted against the setting memory.",
            ),
            memory_limit_bytes: gauge(meter, "riverhog_memory_limit_bytes", "The setting memory."),
            generations: gauge(
                meter,
                "riverhog_generations",
                "Assignment generations that are open.",
            ),
        }
    }
}

/// The gauges of assigned partitions, read from the shared state at each scrape. The SDK reports
/// of an observable gauge what its callback has just observed, so a partition that left the state
/// is gone from the next page.
fn declare_partition_gauges(meter: &Meter, state: &Arc<Mutex<State>>) {
    let declare = |name, help, value: fn(&Partition) -> Option<f64>| {
        let state = Arc::clone(state);
        meter
            .f64_observable_gauge(name)
            .with_description(help)
            .with_callback(move |observer| {
                for ((topic, partition), known) in &lock(&state).partitions {
                    let Some(value) = value(known) else { continue };
                    let mut labels = vec![
                        KeyValue::new("topic", topic.clone()),
                        KeyValue::new("partition", i64::from(*partition)),
                    ];
                    if let Some(hold) = known.held.as_ref().filter(|_| name == HELD) {
                        labels.push(KeyValue::new("reason", hold.reason));
                        let sink = hold.sink.clone().unwrap_or_default();
                        labels.push(KeyValue::new("sink", sink));
                    }
                    observer.observe(value, &labels);
                }
            })
            .build();
    };
    declare(LAG_LINES, "Lines between the position of a partition and its end.", |partition| {
        partition.lag_lines.map(|lines| lines as f64)
    });
    declare(LAG_SECONDS, "How far a partition is behind its end, in record time.", |partition| {
        partition.lag_seconds
    });
    declare(COMMIT_AGE, "Time since the committed offset of a partition moved.", |partition| {
        partition.commit_age_seconds
    });
    let help =
        "What the watermark of a partition with lag waits for: always 1, the reason in a label.";
    declare(HELD, help, |partition| partition.held.as_ref().map(|_| 1.0));
    let help = "1 when an assigned partition with lag has stood still for stall_after.";
    declare(STALLED, help, |partition| partition.stalled.map(f64::from));
}

const LAG_LINES: &str = "riverhog_lag_lines";
const LAG_SECONDS: &str = "riverhog_lag_seconds";
const COMMIT_AGE: &str = "riverhog_commit_age_seconds";
const HELD: &str = "riverhog_partition_held";
const STALLED: &str = "riverhog_partition_stalled";

fn declare_halted_gauge(meter: &Meter, state: &Arc<Mutex<State>>) {
    let state = Arc::clone(state);
    meter
        .u64_observable_gauge("riverhog_sink_halted")
        .with_description("1 while a destination is halted: it needs somebody to act.")
        .with_callback(move |observer| {
            for (sink, destination, reason) in &lock(&state).halted {
                let pairs = [("sink", &**sink), ("destination", destination), ("reason", reason)];
                observer.observe(1, &labels(pairs));
            }
        })
        .build();
}

/// The bound on the series of each metric.
fn limit_series(instrument: &Instrument) -> Option<Stream> {
    let limit = match instrument.name() {
        LAG_LINES | LAG_SECONDS | COMMIT_AGE | HELD | STALLED => PARTITION_SERIES_MAX,
        _ => SERIES_MAX,
    };
    Stream::builder().with_cardinality_limit(limit).build().ok()
}

fn counter(meter: &Meter, name: &'static str, help: &'static str) -> Counter<u64> {
    meter.u64_counter(name).with_description(help).build()
}

fn gauge(meter: &Meter, name: &'static str, help: &'static str) -> Gauge<u64> {
    meter.u64_gauge(name).with_description(help).build()
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each of `expect` is a line of the page.
    fn check(metrics: &Metrics, expect: &[&str]) {
        let page = metrics.render();
        for line in expect {
            assert!(page.lines().any(|candidate| candidate == *line), "no {line:?} in\n{page}");
        }
    }

    fn check_absent(metrics: &Metrics, text: &str) {
        let page = metrics.render();
        assert!(!page.contains(text), "{text:?} is in\n{page}");
    }

    /// One call of every method.
    fn all() -> Metrics {
        let metrics = Metrics::new();
        metrics.source_records("logs", 3);
        metrics.source_lines("logs", 5);
        metrics.source_bytes("logs", 512);
        metrics.source_tombstones("logs", 1);
        metrics.source_cut_lines("logs", 2);
        metrics.source_lost_lines("logs", 7);
        metrics.rebalances("assigned");
        metrics.parse_lines("swift", "matched", 4);
        metrics.transform_lines("quiet", "dropped", 3);
        metrics.transform_panics("logs");
        metrics.overwritten_frames("logs", 90);
        metrics.records_closed_early(2);
        metrics.parse_seconds("swift", 3e-7);
        metrics.unknown_hosts(6);
        metrics.unparsed(1);
        metrics.redacted_values("hf_token", 2);
        metrics.sink_lines("search", "done", 5);
        metrics.sink_bytes("search", 900);
        metrics.sink_requests("search", "done");
        metrics.sink_request_seconds("search", 0.02);
        metrics.sink_halted("search", "logs-nlp", "forbidden", true);
        metrics.sink_in_flight("search", 3);
        metrics.sink_in_flight_limit("search", 4);
        metrics.sink_address_up("search", "http://search-1:9200", true);
        metrics.sink_oldest_seconds("search", 1.5);
        metrics.dead_letter_lines("mapping", 2);
        metrics.archive_object("archive", "age", 2_000_000);
        metrics.archive_unread_footers("archive", 1);
        metrics.archive_conflicts("archive", 2);
        metrics.archive_live_prefixes("archive", 12);
        metrics.partition_lag("logs", 3, 1_000, 2.5);
        metrics.partition_commit_age("logs", 3, 0.5);
        let hold = Hold { reason: "sink", sink: Some("search".to_owned()) };
        metrics.partition_held("logs", 3, Some(hold));
        metrics.partition_stalled("logs", 3, true);
        metrics.commits("done", 4);
        metrics.table_reloads("failed", 1);
        metrics.config_reloads("failed", 1);
        metrics.config_generation(2);
        metrics.memory("batches", 1 << 20);
        metrics.memory_limit(1 << 28);
        metrics.generations(2);
        metrics
    }

    #[test]
    fn every_metric_has_its_name_help_and_type() {
        let page = all().render();
        let names: Vec<&str> = page
            .lines()
            .filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' '))
            .map(|(name, _)| name)
            .collect();
        let expect = [
            "riverhog_archive_conflicts_total",
            "riverhog_archive_live_prefixes",
            "riverhog_archive_object_bytes",
            "riverhog_archive_objects_total",
            "riverhog_archive_unread_footers_total",
            "riverhog_build_info",
            "riverhog_commit_age_seconds",
            "riverhog_commits_total",
            "riverhog_config_generation",
            "riverhog_config_reloads_total",
            "riverhog_dead_letter_lines_total",
            "riverhog_generations",
            "riverhog_join_closed_early_total",
            "riverhog_lag_lines",
            "riverhog_lag_seconds",
            "riverhog_memory_bytes",
            "riverhog_memory_limit_bytes",
            "riverhog_parse_lines_total",
            "riverhog_parse_seconds",
            "riverhog_partition_held",
            "riverhog_partition_stalled",
            "riverhog_peel_overwritten_frames_total",
            "riverhog_rebalances_total",
            "riverhog_redacted_values_total",
            "riverhog_sink_address_up",
            "riverhog_sink_bytes_total",
            "riverhog_sink_halted",
            "riverhog_sink_in_flight_limit",
            "riverhog_sink_in_flight_requests",
            "riverhog_sink_lines_total",
            "riverhog_sink_oldest_seconds",
            "riverhog_sink_request_seconds",
            "riverhog_sink_requests_total",
            "riverhog_source_bytes_total",
            "riverhog_source_cut_lines_total",
            "riverhog_source_lines_total",
            "riverhog_source_lost_lines_total",
            "riverhog_source_records_total",
            "riverhog_source_tombstones_total",
            "riverhog_table_reloads_total",
            "riverhog_transform_lines_total",
            "riverhog_transform_panics_total",
            "riverhog_unknown_host_lines_total",
            "riverhog_unparsed_lines_total",
        ];
        assert_eq!(names, expect);
        for name in names {
            assert!(page.contains(&format!("# HELP {name} ")), "{name} has no help");
            let is_counter = page.contains(&format!("# TYPE {name} counter\n"));
            assert_eq!(name.ends_with("_total"), is_counter, "{name}");
        }
        assert!(!page.contains("otel_") && !page.contains("target_info"), "{page}");
    }

    #[test]
    fn series_carry_values_and_labels() {
        check(
            &all(),
            &[
                "riverhog_source_lines_total{topic=\"logs\"} 5",
                "riverhog_parse_lines_total{outcome=\"matched\",parser=\"swift\"} 4",
                "riverhog_unknown_host_lines_total 6",
                "riverhog_sink_lines_total{outcome=\"done\",sink=\"search\"} 5",
                "riverhog_sink_requests_total{outcome=\"done\",sink=\"search\"} 1",
                "riverhog_sink_request_seconds_bucket{sink=\"search\",le=\"0.01\"} 0",
                "riverhog_sink_request_seconds_bucket{sink=\"search\",le=\"0.025\"} 1",
                "riverhog_sink_request_seconds_bucket{sink=\"search\",le=\"+Inf\"} 1",
                "riverhog_parse_seconds_bucket{parser=\"swift\",le=\"0.00000025\"} 0",
                "riverhog_parse_seconds_bucket{parser=\"swift\",le=\"0.0000005\"} 1",
                "riverhog_parse_seconds_count{parser=\"swift\"} 1",
                "riverhog_sink_request_seconds_sum{sink=\"search\"} 0.02",
                "riverhog_sink_request_seconds_count{sink=\"search\"} 1",
                "riverhog_archive_object_bytes_bucket{sink=\"archive\",le=\"1048576\"} 0",
                "riverhog_archive_object_bytes_bucket{sink=\"archive\",le=\"4194304\"} 1",
                "riverhog_archive_objects_total{reason=\"age\",sink=\"archive\"} 1",
                "riverhog_sink_halted{destination=\"logs-nlp\",reason=\"forbidden\",\
                 sink=\"search\"} 1",
                "riverhog_lag_lines{partition=\"3\",topic=\"logs\"} 1000",
                "riverhog_lag_seconds{partition=\"3\",topic=\"logs\"} 2.5",
                "riverhog_commit_age_seconds{partition=\"3\",topic=\"logs\"} 0.5",
                "riverhog_partition_held{partition=\"3\",reason=\"sink\",sink=\"search\",topic=\"logs\"} 1",
                "riverhog_partition_stalled{partition=\"3\",topic=\"logs\"} 1",
                "riverhog_memory_bytes{part=\"batches\"} 1048576",
                "riverhog_memory_limit_bytes 268435456",
                concat!("riverhog_build_info{version=\"", env!("CARGO_PKG_VERSION"), "\"} 1"),
            ],
        );
    }

    #[test]
    fn counters_add_up_and_gauges_follow() {
        let metrics = all();
        let clone = metrics.clone();
        clone.sink_lines("search", "done", 10);
        clone.sink_in_flight("search", -2);
        clone.sink_oldest_seconds("search", 0.0);
        clone.partition_lag("logs", 3, -4, -0.5);
        check(
            &metrics,
            &[
                "riverhog_sink_lines_total{outcome=\"done\",sink=\"search\"} 15",
                "riverhog_sink_in_flight_requests{sink=\"search\"} 1",
                "riverhog_sink_oldest_seconds{sink=\"search\"} 0",
                "riverhog_lag_lines{partition=\"3\",topic=\"logs\"} 0",
                "riverhog_lag_seconds{partition=\"3\",topic=\"logs\"} 0",
            ],
        );
        // A second scrape tells the same: reading resets nothing.
        assert_eq!(metrics.render(), metrics.render());
    }

    #[test]
    fn a_partition_takes_its_series_with_it() {
        let metrics = all();
        metrics.partition_lag("logs", 4, 9, 0.25);
        check(&metrics, &["riverhog_lag_lines{partition=\"4\",topic=\"logs\"} 9"]);
        metrics.partition_held("logs", 3, None);
        check_absent(&metrics, "riverhog_partition_held");
        metrics.partition_gone("logs", 3);
        check_absent(&metrics, "partition=\"3\"");
        check(&metrics, &["riverhog_lag_lines{partition=\"4\",topic=\"logs\"} 9"]);
        metrics.partition_gone("logs", 4);
        check_absent(&metrics, "riverhog_lag");
        metrics.partition_lag("logs", 3, 1, 1.0);
        check(&metrics, &["riverhog_lag_lines{partition=\"3\",topic=\"logs\"} 1"]);
        check_absent(&metrics, "riverhog_commit_age_seconds");
    }

    #[test]
    fn a_cured_destination_takes_its_series_with_it() {
        let metrics = all();
        metrics.sink_halted("search", "logs-nlp", "tls", true);
        metrics.sink_halted("search", "logs-nlp", "forbidden", false);
        check_absent(&metrics, "forbidden");
        check(
            &metrics,
            &["riverhog_sink_halted{destination=\"logs-nlp\",reason=\"tls\",sink=\"search\"} 1"],
        );
        metrics.sink_halted("search", "logs-nlp", "tls", false);
        check_absent(&metrics, "riverhog_sink_halted");
    }

    #[test]
    fn declared_series_start_at_zero() {
        let metrics = Metrics::new();
        metrics.declare_topic("logs");
        metrics.declare_sink("search");
        metrics.declare_dead_letters(&["mapping"]);
        check(
            &metrics,
            &[
                "riverhog_source_lost_lines_total{topic=\"logs\"} 0",
                "riverhog_sink_lines_total{outcome=\"given_up\",sink=\"search\"} 0",
                "riverhog_dead_letter_lines_total{reason=\"mapping\"} 0",
                "riverhog_unparsed_lines_total 0",
            ],
        );
    }

    #[test]
    fn a_label_cannot_break_the_page() {
        let metrics = Metrics::new();
        metrics.sink_halted("search", "a\"b\\c\nd", "blocked", true);
        check(
            &metrics,
            &["riverhog_sink_halted{destination=\"a\\\"b\\\\c\\nd\",reason=\"blocked\",\
               sink=\"search\"} 1"],
        );
    }

    #[test]
    fn the_number_of_series_is_bounded() {
        let metrics = Metrics::new();
        for number in 0..SERIES_MAX + 500 {
            metrics.parse_lines(&format!("parser-{number}"), "matched", 1);
            metrics.partition_lag("logs", number as i32, 1, 1.0);
        }
        let page = metrics.render();
        let count = |name: &str| page.lines().filter(|line| line.starts_with(name)).count();
        // One more holds the sum of the rest.
        assert_eq!(count("riverhog_parse_lines_total{"), SERIES_MAX + 1);
        assert_eq!(count("riverhog_lag_lines{"), SERIES_MAX + 500);
        check(&metrics, &["riverhog_parse_lines_total{otel_metric_overflow=\"true\"} 500"]);
    }
}
