//! The plan: everything a configuration says about lines, compiled and ready to run.
//!
//! Invariant: a plan is immutable and complete; what follows from it for a line depends on the line
//! and its record only. Built by the `config` room. Next stop: `transform`, which runs it.
use std::fmt;
use std::sync::Arc;

use riverhog_parsers::formats::FormatParser;
use riverhog_parsers::grok::Grok;
use riverhog_parsers::peel::Layers;
use riverhog_parsers::time::TimeParser;

use crate::condition::Condition;
use crate::hosts::{HostRule, HostTable};
use crate::join::Join;
use crate::labels::{LabelRule, RankRule};
use crate::numbers::MetricNames;
use crate::pieces::PIECES_MAX;
use crate::redact::Redact;
use crate::route::Route;
use crate::sanitise::TargetKind;
use crate::selector::Selector;
use crate::step::{Action, Step};
use crate::table::Table;
use crate::template::Template;
use crate::transform::may_be_peeled;
use crate::zone::Zone;

/// A plan has at most this many targets: a route is one bit mask.
pub const TARGETS_MAX: usize = 64;

/// Milliseconds that the next piece of a line is waited for, where no `[join]` says so.
pub const PIECES_GAP_MS: i64 = 5000;

/// Everything compiled.
#[derive(Debug)]
pub struct Plan {
    /// What comes off a line before it is parsed.
    pub peel: Layers,
    /// How lines are joined; `None` where each is an event of its own.
    pub join: Option<Join>,
    /// As the gap of `join`, for pieces of lines where nothing is joined.
    pub pieces_gap_ms: i64,
    /// Parse rules, tried in order; the first that accepts wins.
    pub parse: Vec<ParseRule>,
    /// Which numbers are metrics; `None` where none are.
    pub numbers: Option<Arc<MetricNames>>,
    /// Transform steps, in written order.
    pub steps: Vec<Step>,
    /// What is looked up in; the only part of a plan of which another one may be taken later on.
    pub tables: Tables,
    /// Labels, in the order of the document.
    pub labels: Vec<LabelRule>,
    /// The rank of lines that state none.
    pub rank: RankRule,
    /// How the host is found.
    pub hosts: HostRule,
    /// Routes; an event goes to the union of those that hold.
    pub routes: Vec<Route>,
    /// One target per sink, in the order of the sinks; at most `TARGETS_MAX`.
    pub targets: Vec<Target>,
    /// The zone of dates in templates.
    pub zone: Zone,
    /// How far, in nanoseconds, an event's time may be from `received` and still name its day.
    pub skew_max_ns: i64,
    /// How far it may be from `received` without a tag.
    pub skew_tag_ns: i64,
    /// Where the time of a machine's start may be found, which seconds since then are counted from.
    pub boot: Vec<Selector>,
    /// What becomes of lines that no parser accepts.
    pub unparsed: UnparsedPolicy,
    /// Which values leave a line before it is stored; `None` where all of them stay.
    pub redact: Option<Arc<Redact>>,
}

/// The tables of a plan.
#[derive(Clone, Debug, Default)]
pub struct Tables {
    /// What is known about hosts.
    pub hosts: Option<Arc<HostTable>>,
    /// What steps look up, by the numbers that they give the tables.
    pub lookups: Vec<Arc<Table>>,
}

impl Default for Plan {
    /// No rules, UTC, 48 h and 24 h, keep; nothing is peeled off or joined, secrets are masked,
    /// numbers have the names of the table.
    fn default() -> Plan {
        Plan {
            peel: Layers::NONE,
            join: None,
            pieces_gap_ms: PIECES_GAP_MS,
            parse: Vec::new(),
            numbers: Some(Arc::default()),
            steps: Vec::new(),
            tables: Tables::default(),
            labels: Vec::new(),
            rank: RankRule::default(),
            hosts: HostRule::default(),
            routes: Vec::new(),
            targets: Vec::new(),
            zone: Zone::UTC,
            skew_max_ns: 48 * 3600 * 1_000_000_000,
            skew_tag_ns: 24 * 3600 * 1_000_000_000,
            boot: Vec::new(),
            unparsed: UnparsedPolicy::Keep,
            redact: Some(Arc::new(Redact::default())),
        }
    }
}

impl Plan {
    /// True for a parsed field that a parser or a step may give.
    pub fn may_give(&self, field: &str) -> bool {
        may_be_peeled(field)
            || self.parse.iter().any(|rule| rule.parser.may_give(field))
            || self.steps.iter().any(|step| step.action.may_give(field))
    }

    /// True when a step may change what one of these reads.
    pub(crate) fn steps_reach(&self, selectors: &[Selector]) -> bool {
        self.steps
            .iter()
            .any(|step| selectors.iter().any(|selector| step.action.may_change(selector.name())))
    }

    /// True when lines are joined or rates limited, so that something is known of a partition from
    /// batch to batch, and its batches must come in their order.
    pub fn knows_partitions(&self) -> bool {
        let limits = |step: &Step| matches!(step.action, Action::RateLimit(_));
        self.join.is_some() || self.steps.iter().any(limits)
    }

    /// What is held of a partition ends when a later record of it has a record time that is more
    /// than this many milliseconds later.
    pub fn gap_ms(&self) -> i64 {
        self.join.as_ref().map_or(self.pieces_gap_ms, |join| join.gap_ms)
    }

    /// Pieces that a line which is put together has at most.
    pub(crate) fn pieces_max(&self) -> usize {
        self.join.as_ref().map_or(PIECES_MAX, |join| join.lines_max)
    }

    /// True when some route takes every event, so that none can be without a route.
    pub fn always_routed(&self) -> bool {
        self.routes.iter().any(Route::is_always)
    }
}

/// One way to read a line.
pub struct ParseRule {
    /// Its name, a metric label.
    pub name: String,
    /// Which lines it is tried on; all where it is `None`. Compiled at `Stage::Parse`.
    pub when: Option<Condition>,
    /// What it reads; the line itself where it is `None`. Compiled at `Stage::Parse`.
    pub field: Option<Selector>,
    /// What reads it.
    pub parser: LineParser,
    /// How it reads the event's time.
    pub time: Option<TimeRule>,
    /// Its numbers are metrics, as far as the plan knows their names.
    pub numbers: bool,
}

impl fmt::Debug for ParseRule {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = out.debug_struct("ParseRule");
        shown.field("name", &self.name).field("when", &self.when).field("field", &self.field);
        shown.finish_non_exhaustive()
    }
}

/// What reads a line.
#[derive(Debug)]
pub enum LineParser {
    /// A pattern.
    Grok(Grok),
    /// A built-in format.
    Format(Box<FormatParser>),
}

impl LineParser {
    /// True for a field that a line may give.
    pub fn may_give(&self, field: &str) -> bool {
        match self {
            LineParser::Grok(grok) => grok.fields().iter().any(|known| known.name == field),
            LineParser::Format(parser) => {
                parser.format().names().is_none_or(|names| names.contains(&field))
            }
        }
    }
}

/// How a parse rule reads the event's time.
pub struct TimeRule {
    /// The field that holds it.
    pub field: String,
    /// Reads it.
    pub parser: TimeParser,
    /// The field that names the zone of a time that names none; where it is absent or names no
    /// zone, that of the parser counts.
    pub zone_field: Option<String>,
    /// Its formats are those that the built-in format itself names, in that order.
    pub is_own: bool,
}

/// Where one sink puts events.
#[derive(Clone, Debug)]
pub struct Target {
    /// The sink's name.
    pub name: String,
    /// The index, with routing and pipeline where `action` has them; or the bucket (empty text
    /// where it is fixed) and the prefix.
    pub destinations: Vec<Template>,
    /// What `_bulk` action lines say beside index and id.
    pub action: ActionForm,
    /// The sink takes documents without `message`.
    pub omit_message: bool,
    /// What may stand in a destination.
    pub kind: TargetKind,
}

/// What the `_bulk` action lines of a target say beside index and id.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ActionForm {
    /// What is asked of the store.
    pub op: Op,
    /// A routing value is part of the destination, after the index.
    pub routing: bool,
    /// The name of an ingest pipeline is part of the destination, as its last part.
    pub pipeline: bool,
}

/// What a `_bulk` request asks of a store.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Op {
    /// Store the document unless its id is taken.
    #[default]
    Create,
    /// Store the document in place of what has its id.
    Index,
}

/// What becomes of lines that no parser accepts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum UnparsedPolicy {
    /// Events like any other, with the tag `_unparsed`.
    #[default]
    Keep,
    /// Dead letters.
    DeadLetter,
    /// Dropped and counted.
    Drop,
}
