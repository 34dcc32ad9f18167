//! The one room that knows TOML: reads a configuration, checks it, and compiles it into settings
//! and a plan. Invariant: `load` never panics and stops at nothing: all problems come back at once,
//! each with its place and its cure, and what came from the environment is in none of them.
//!
//! The trip of a file: `document` reads the text into a tree with places → `reader` takes settings
//! out of it as `declare` declares them → `sections` makes drafts → `compile` compiles texts into
//! `riverhog_rules::Plan` → `checks` compares sections → `fingerprint` → [`Config`]. Next stop:
//! `document.rs`; of a line's trip: the `pipeline` room.

mod checks;
mod compile;
mod declare;
mod diagnostic;
mod document;
mod env;
mod fingerprint;
mod generate;
mod guarantee;
mod pattern_files;
mod pieces;
mod presets;
mod quantity;
mod reader;
mod render;
mod sections;
mod settings;
mod suggest;
mod table_file;

pub use diagnostic::{Counts, Diagnostic, Place, Report, Severity, SourceFile};
pub use env::{Env, ProcessEnv};
pub use generate::{reference_page, schema};
pub use guarantee::guarantees;
pub use pattern_files::{PatternFile, read_pattern_files};
pub use presets::presets_table;
pub use render::{render_all, summary};
pub use riverhog_parsers::envelope::EnvelopeKind;
pub use settings::{
    Auth, BatchSettings, ClientFiles, Compression, DeadLetter, ElasticsearchSink, Exclusive,
    Expectation, FileSource, HttpAccess, HttpSettings, KafkaDeadLetter, KafkaSource, LineTest,
    LocalDeadLetter, LocalSink, ObjectSettings, Records, S3Credentials, S3Sink, Secret, Sink,
    SinkKind, Source, SourceKind, Start, TlsFiles, Topics,
};

use riverhog_rules::Plan;
use riverhog_rules::plan::Tables;
use sections::Drafts;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A configuration that can be run.
#[derive(Debug)]
pub struct Config {
    /// At least one, in the order of the file.
    pub sources: Vec<Source>,
    /// Everything compiled; `plan.targets` has one entry for each of `sinks`, in the same order.
    pub plan: Arc<Plan>,
    /// One to 64, in the order of the file.
    pub sinks: Vec<Sink>,
    /// Present whenever a line can become a dead letter.
    pub dead_letter: Option<DeadLetter>,
    /// What everything held in memory may add up to.
    pub memory_bytes: u64,
    /// What a stop may take until what is not settled is left for the next start.
    pub stop_deadline_ms: u64,
    /// How far, in milliseconds of record time, a partition is read ahead of lines that wait for a
    /// halted destination.
    pub ahead_max_ms: u64,
    /// After how long an assigned partition with lag that stands still is told.
    pub stall_after_ms: u64,
    /// Metrics and health.
    pub http: HttpSettings,
    /// 16 hexadecimal digits that change whenever an event could come out differently.
    pub fingerprint: String,
    /// `[[tests]]`, in the order of the file.
    pub tests: Vec<LineTest>,
    /// What is hardly meant, but can be run.
    pub warnings: Vec<Diagnostic>,
    /// What was declared.
    pub counts: Counts,
    /// The files of tables, to be watched: that of hosts first, if there is one, then those that
    /// steps look things up in, in the order of the plan.
    pub table_files: Vec<PathBuf>,
    settings_hash: u64,
    /// Of the settings that bear on no event.
    beside_hash: u64,
}

impl Config {
    /// Reads the tables again. Gives the new tables and the fingerprint they make; `None` where
    /// there are none.
    ///
    /// # Errors
    /// When a file cannot be read, or has other columns than before: conditions, templates and
    /// steps were checked against those, so the whole configuration must be loaded again.
    pub fn reload_tables(&self) -> Result<Option<(Tables, String)>, Report> {
        let old = &self.plan.tables;
        let mut paths = self.table_files.iter();
        let (mut tables, mut hashes) = (Tables::default(), Vec::new());
        if let Some(old) = &old.hosts {
            let path = paths.next().expect("a table of hosts has a file");
            let read = table_file::read_hosts(path, &shown(path));
            let (table, hash) = read.map_err(|it| self.failed(it.alone()))?;
            self.check_columns(path, table.columns() == old.columns())?;
            tables.hosts = Some(Arc::new(table));
            hashes.push(hash);
        }
        for (path, old) in paths.zip(&old.lookups) {
            let read = table_file::read_lookup(path, &shown(path));
            let (table, hash) = read.map_err(|it| self.failed(it.alone()))?;
            self.check_columns(path, table.columns() == old.columns())?;
            tables.lookups.push(Arc::new(table));
            hashes.push(hash);
        }
        let fingerprint = fingerprint::combine(self.settings_hash, &hashes);
        Ok((!hashes.is_empty()).then_some((tables, fingerprint)))
    }

    /// True when the other says the same in all settings but secrets. The texts of tables, keys
    /// and certificates are not looked at; those of pattern files are.
    pub fn is_same_but_for_secrets(&self, other: &Config) -> bool {
        (self.settings_hash, self.beside_hash) == (other.settings_hash, other.beside_hash)
    }

    fn check_columns(&self, path: &Path, are_same: bool) -> Result<(), Report> {
        if are_same {
            return Ok(());
        }
        let message = format!("the table `{}` has other columns than before", path.display());
        let help = "load the whole configuration again";
        Err(self.failed(Diagnostic::unreadable(message, help)))
    }

    fn failed(&self, problem: Diagnostic) -> Report {
        Report::new(vec![problem], self.counts)
    }
}

/// What messages about a table call it.
fn shown(path: &Path) -> Secret<String> {
    let shown = path.to_string_lossy();
    Secret::with_shown(shown.clone().into_owned(), &shown)
}

/// Loads a file, or a folder of `*.toml` files in the order of their names.
///
/// # Errors
/// Every problem there is, when at least one of them is an error.
pub fn load(path: &Path, env: &dyn Env) -> Result<Config, Report> {
    let mut unread = Vec::new();
    let document = document::read(path, env, &mut unread);
    let Some(first) = document.files.first() else {
        return Err(Report::new(unread, Counts::default()));
    };
    let broken = !document.broken_lines.is_empty() || unread.iter().any(|it| it.place.is_none());
    let context = reader::Context::new(&document.folder, broken);
    let drafts = sections::read(&context, &document.root, &Place::new(first, 0..0));
    let counts = drafts.counts();
    // Where the text itself is broken, what is missing may only be unread.
    let compiled = (!broken).then(|| {
        let compiled = compile::compile(&context, &drafts);
        checks::check(&context, &drafts, &compiled.plan, &compiled.names);
        compiled
    });
    let secrets = context.take_secrets();
    warn_of_open_files(&context, &secrets, env);
    let mut problems =
        diagnostic::consequences_removed(unread, context.take_problems(), &document.broken_lines);
    diagnostic::sort(&mut problems);
    diagnostic::hide(&mut problems, &secrets, &document.broken_lines);
    match compiled {
        Some(compiled) if problems.iter().all(|it| it.severity == Severity::Warning) => {
            let resolved = context.take_resolved();
            let settings_hash = fingerprint::of_settings(resolved, env.program_version());
            let beside_hash = fingerprint::of_settings(context.take_beside(), "");
            Ok(assemble(drafts, compiled, (settings_hash, beside_hash), problems))
        }
        _ => Err(Report { diagnostics: problems, counts }),
    }
}

/// A secret that stands in a file is of those who may read the file.
fn warn_of_open_files(context: &reader::Context<'_>, secrets: &[Place], env: &dyn Env) {
    let mut told = Vec::new();
    for secret in secrets {
        let file = secret.file();
        if told.contains(&file.order) {
            continue;
        }
        told.push(file.order);
        if env.is_open_to_all(Path::new(&file.name)) {
            let message =
                format!("everybody on this machine may read the secret in `{}`", file.name);
            let help = "`chmod o-r` it, or write the secret as `${NAME}` or `${file:PATH}`";
            context.warn(secret, message, help);
        }
    }
}

fn assemble(
    drafts: Drafts,
    compiled: compile::Compiled,
    (settings_hash, beside_hash): (u64, u64),
    warnings: Vec<Diagnostic>,
) -> Config {
    let counts = drafts.counts();
    let sources: Vec<Source> = drafts.sources.into_iter().map(|it| it.source).collect();
    let dead_letter = drafts.dead_letter.map(|mut draft| {
        let borrow = matches!(&draft.target, DeadLetter::Kafka(it) if it.brokers.is_empty());
        if let Some(kafka) = sources.iter().find_map(Source::kafka).filter(|_| borrow) {
            draft.borrow_brokers(kafka);
        }
        draft.target
    });
    Config {
        sources,
        plan: Arc::new(compiled.plan),
        sinks: drafts.sinks.into_iter().map(|it| it.sink).collect(),
        dead_letter,
        memory_bytes: drafts.general.memory_bytes,
        stop_deadline_ms: drafts.general.stop_deadline_ms,
        ahead_max_ms: drafts.general.ahead_max_ms,
        stall_after_ms: drafts.general.stall_after_ms,
        http: drafts.http,
        fingerprint: fingerprint::combine(settings_hash, &compiled.tables.hashes),
        tests: drafts.tests.into_iter().map(|it| it.test).collect(),
        warnings,
        counts,
        table_files: compiled.tables.paths,
        settings_hash,
        beside_hash,
    }
}
