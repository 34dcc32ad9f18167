//! Binds the names of a plan to slots: where in a record or a line their values stand.
//!
//! Invariant: after binding no name is compared with another per line, but for a record's headers
//! and envelope fields, once per record. Next stop: `view`, which reads slots.
use riverhog_parsers::formats::Format;
use riverhog_parsers::grok::{FieldType, Grok};

use super::action::action_target;
use super::marks::MarkIds;
use crate::condition::Condition;
use crate::json::write_string;
use crate::labels::{Candidate, NODE_RANK, Reading};
use crate::names::Name;
use crate::numbers::WantedMetric;
use crate::plan::{ActionForm, LineParser, ParseRule, Plan};
use crate::selector::Selector;
use crate::step::{Action, Step};
use crate::template::Template;

/// Where a value stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Slot {
    Timestamp,
    /// The time that names days in destinations: `timestamp`, or `received` beyond `skew_max`.
    TemplateTime,
    Received,
    Level,
    Component,
    Content,
    /// The line without what was peeled off.
    Line,
    /// The raw line.
    Message,
    Rank,
    Tags,
    Partition,
    Host,
    /// Index into `Bound::columns`.
    HostColumn(u16),
    /// Index into `Bound::sources`.
    Record(u16),
    /// A parsed field by its id, where there is none the text of the record.
    Field {
        field: u16,
        record: u16,
    },
    /// A metric by its id.
    Metric(u16),
    /// Index into the plan's labels.
    Label(u16),
    /// A label that the plan does not have.
    Nothing,
}

/// A text that stands in the record itself.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Source {
    Topic,
    Key,
    Header(String),
    EnvelopeHost,
    Envelope(String),
}

/// What a set of slots depends on besides the record's texts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Reads {
    pub(super) level: bool,
    pub(super) time: bool,
    pub(super) received: bool,
    /// Anything else that may differ from line to line.
    pub(super) line: bool,
}

/// The plan's names, bound.
#[derive(Debug, Default)]
pub(super) struct Bound {
    pub(super) sources: Vec<Source>,
    /// Columns of the host table that rules read.
    pub(super) columns: Vec<String>,
    /// Names of parsed fields that rules read; a field's id is its index.
    fields: Vec<String>,
    /// Metrics that rules read; a metric's id is its index.
    pub(super) metrics: Vec<WantedMetric>,
    pub(super) rules: Vec<BoundRule>,
    pub(super) steps: Vec<BoundStep>,
    pub(super) hosts: Vec<Slot>,
    pub(super) host_of_line: bool,
    /// The host may be what a step made.
    pub(super) host_of_steps: bool,
    pub(super) labels: Vec<BoundLabel>,
    pub(super) label_of_line: bool,
    /// Of the rank, where the line states none.
    pub(super) rank: Vec<BoundCandidate>,
    /// The label that holds the rank of the node.
    pub(super) node_rank: Option<usize>,
    /// Where the time of the machine's start may stand.
    pub(super) boot: Vec<Slot>,
    pub(super) routes: Vec<BoundRoute>,
    /// Some route must be asked for each line.
    pub(super) route_of_line: bool,
    pub(super) targets: Vec<BoundTarget>,
    /// The target whose action lines stand in front of the documents.
    pub(super) action_target: Option<u8>,
    /// What the action lines of that target say.
    pub(super) action_form: ActionForm,
    /// What tells the streams of a partition apart.
    pub(super) stream: Vec<Slot>,
    pub(super) marks: MarkIds,
}

#[derive(Debug)]
pub(super) struct BoundRule {
    pub(super) when: Vec<Slot>,
    /// `when` can be answered once per record.
    pub(super) when_of_record: bool,
    pub(super) field: Slot,
    /// By grok field.
    pub(super) fields: Vec<BoundField>,
    pub(super) has_content: bool,
    /// Its numbers are metrics.
    pub(super) numbers: bool,
    /// Its field `uptime` counts seconds since the machine was started.
    pub(super) has_uptime: bool,
    /// Of a built-in format, whose fields are found by name.
    pub(super) format: Option<BoundFormat>,
}

/// A transform step.
#[derive(Debug, Default)]
pub(super) struct BoundStep {
    pub(super) when: Vec<Slot>,
    /// `when` can be answered once per record.
    pub(super) when_of_record: bool,
    /// What keys, hashes and lookups read.
    pub(super) slots: Vec<Slot>,
    /// By template, then by name.
    pub(super) templates: Vec<Vec<Slot>>,
    /// The parsers of a step that parses.
    pub(super) rules: Vec<BoundRule>,
}

/// A built-in format.
#[derive(Debug)]
pub(super) struct BoundFormat {
    pub(super) time_field: Option<String>,
    /// Names that programs give to the same things count too: `msg`, `severity`.
    pub(super) has_aliases: bool,
    /// The names that rules read, by id.
    pub(super) wanted: Vec<String>,
}

/// One field of a grok.
#[derive(Debug)]
pub(super) struct BoundField {
    pub(super) role: Role,
    pub(super) kind: FieldType,
    /// Its id, if a rule reads it.
    pub(super) id: Option<u16>,
    /// The first grok field of the same name: fields of one name are one member of the document.
    pub(super) group: u16,
    pub(super) name: String,
    /// `"name":`, ready.
    pub(super) key: Vec<u8>,
}

/// What a field is to the event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Role {
    Time,
    Level,
    Component,
    Content,
    Rank,
    Other,
}

#[derive(Debug)]
pub(super) struct BoundLabel {
    pub(super) from: Vec<Slot>,
    pub(super) presets: Vec<BoundCandidate>,
    pub(super) of_line: bool,
}

#[derive(Debug)]
pub(super) struct BoundCandidate {
    pub(super) from: Slot,
    pub(super) reading: Reading,
    pub(super) when: Vec<(Slot, String)>,
}

#[derive(Debug)]
pub(super) struct BoundRoute {
    pub(super) when: Vec<Slot>,
    /// It can be answered once per record and level.
    pub(super) of_record: bool,
}

#[derive(Debug)]
pub(super) struct BoundTarget {
    /// By template, then by name.
    pub(super) slots: Vec<Vec<Slot>>,
    pub(super) reads: Reads,
}

impl Bound {
    pub(super) fn new(plan: &Plan) -> Bound {
        let mut bound = Bound::default();
        bound.collect_fields(plan);
        bound.hosts = plan.hosts.from.iter().map(|from| bound.selector(plan, from)).collect();
        bound.host_of_line = bound.hosts.iter().any(|slot| bound.reads_line(*slot));
        for label in &plan.labels {
            let from = label.from.iter().map(|from| bound.selector(plan, from));
            let from: Vec<Slot> = from.collect();
            // Those of presets stand in the record.
            let presets = bound.candidates(plan, &label.presets);
            let of_line = from.iter().any(|slot| bound.reads_line(*slot));
            bound.label_of_line |= of_line;
            bound.labels.push(BoundLabel { from, presets, of_line });
        }
        bound.rank = bound.candidates(plan, &plan.rank.from);
        bound.node_rank = plan.labels.iter().position(|label| label.name == NODE_RANK);
        bound.boot = plan.boot.iter().map(|from| bound.selector(plan, from)).collect();
        for rule in &plan.parse {
            let rule = bound.rule(plan, rule);
            bound.rules.push(rule);
        }
        for step in &plan.steps {
            let step = bound.step(plan, step);
            bound.steps.push(step);
        }
        bound.host_of_steps = plan.steps_reach(&plan.hosts.from);
        for route in &plan.routes {
            let when = bound.condition(plan, route.when.as_ref());
            let reads = bound.reads(&when);
            let of_record = !reads.line && !reads.received;
            bound.route_of_line |= !of_record;
            bound.routes.push(BoundRoute { when, of_record });
        }
        for target in &plan.targets {
            let slots = target.destinations.iter().map(|text| bound.template(plan, text));
            let slots: Vec<Vec<Slot>> = slots.collect();
            let reads = bound.reads(&slots.concat());
            bound.targets.push(BoundTarget { slots, reads });
        }
        bound.action_target = action_target(plan);
        let target = bound.action_target.and_then(|at| plan.targets.get(usize::from(at)));
        bound.action_form = target.map(|target| target.action).unwrap_or_default();
        if let Some(join) = &plan.join {
            bound.stream = join.stream.iter().map(|from| bound.selector(plan, from)).collect();
        }
        bound.marks = MarkIds::new(&bound.fields);
        bound
    }

    /// Which fields of the groks rules read: only those are looked for per line.
    fn collect_fields(&mut self, plan: &Plan) {
        let labels = plan.labels.iter().flat_map(|label| &label.from).map(Selector::name);
        let presets = plan.labels.iter().flat_map(|label| &label.presets);
        let presets = presets.chain(&plan.rank.from).flat_map(Candidate::selectors);
        let labels = labels.chain(presets.chain(&plan.boot).map(Selector::name));
        let hosts = plan.hosts.from.iter().map(Selector::name);
        let routes = plan.routes.iter().filter_map(|route| route.when.as_ref());
        let routes = routes.flat_map(Condition::names_used);
        let targets = plan.targets.iter().flat_map(|target| &target.destinations);
        let targets = targets.flat_map(Template::names_used);
        let steps = plan.steps.iter().flat_map(Step::names_used);
        for name in labels.chain(hosts).chain(routes).chain(targets).chain(steps) {
            if let Name::Metric(metric) = name
                && let Some(names) = &plan.numbers
                && !self.metrics.iter().any(|known| known.name() == metric)
            {
                self.metrics.push(WantedMetric::new(names, metric));
            }
            if let Name::Field(field) = name
                && plan.may_give(field)
                && !self.fields.contains(field)
            {
                self.fields.push(field.clone());
            }
        }
    }

    fn rule(&mut self, plan: &Plan, rule: &ParseRule) -> BoundRule {
        let when = self.condition(plan, rule.when.as_ref());
        let reads = self.reads(&when);
        let field = rule.field.as_ref().map_or(Slot::Line, |field| self.selector(plan, field));
        let when_of_record = !reads.line && !reads.received && !reads.level;
        let time_field = rule.time.as_ref().map(|time| time.field.as_str());
        let grok = match &rule.parser {
            LineParser::Grok(grok) => grok,
            LineParser::Format(parser) => {
                let format = BoundFormat {
                    time_field: time_field.map(str::to_owned),
                    has_aliases: matches!(
                        parser.format(),
                        Format::Json(_) | Format::KeyValue(_) | Format::Logfmt
                    ),
                    wanted: self.fields.clone(),
                };
                let (fields, format) = (Vec::new(), Some(format));
                return BoundRule {
                    when,
                    when_of_record,
                    field,
                    fields,
                    has_content: false,
                    numbers: rule.numbers,
                    has_uptime: matches!(parser.format(), Format::Training(_) | Format::Dissect(_)),
                    format,
                };
            }
        };
        let has_content = has_field(grok, "content");
        let has_uptime = has_field(grok, "uptime");
        let grok = grok.fields();
        let fields = grok.iter().map(|field| {
            let first = grok.iter().position(|other| other.name == field.name);
            let mut key = Vec::new();
            write_string(&mut key, &field.name);
            key.push(b':');
            BoundField {
                role: role(&field.name, time_field),
                kind: field.kind,
                id: position(&self.fields, &field.name),
                group: first.unwrap_or_default() as u16,
                name: field.name.clone(),
                key,
            }
        });
        BoundRule {
            fields: fields.collect(),
            when,
            when_of_record,
            field,
            has_content,
            numbers: rule.numbers,
            has_uptime,
            format: None,
        }
    }

    fn step(&mut self, plan: &Plan, step: &Step) -> BoundStep {
        let when = self.condition(plan, step.when.as_ref());
        let reads = self.reads(&when);
        let when_of_record = !reads.line && !reads.received && !reads.level;
        let mut bound = BoundStep { when, when_of_record, ..BoundStep::default() };
        let keys = step.action.selectors();
        bound.slots = keys.iter().map(|key| self.selector(plan, key)).collect();
        match &step.action {
            Action::Set(given) => {
                let slots = given.iter().map(|(_, text)| self.template(plan, text));
                bound.templates = slots.collect();
            }
            Action::Parse(reparse) => {
                let rules = reparse.rules.iter().map(|rule| {
                    let mut bound = self.rule(plan, rule);
                    if rule.field.is_none() {
                        bound.field = Slot::Content;
                    }
                    bound
                });
                bound.rules = rules.collect();
            }
            _ => {}
        }
        bound
    }

    /// The names of parsed fields that rules read, by id.
    pub(super) fn field_names(&self) -> &[String] {
        &self.fields
    }

    fn condition(&mut self, plan: &Plan, condition: Option<&Condition>) -> Vec<Slot> {
        let names = condition.map_or(&[][..], Condition::names_used);
        names.iter().map(|name| self.slot(plan, name)).collect()
    }

    fn template(&mut self, plan: &Plan, template: &Template) -> Vec<Slot> {
        let slot = |name: &Name| match name {
            Name::Timestamp => Slot::TemplateTime,
            name => self.slot(plan, name),
        };
        template.names_used().iter().map(slot).collect()
    }

    fn candidates(&mut self, plan: &Plan, candidates: &[Candidate]) -> Vec<BoundCandidate> {
        let bind = |candidate: &Candidate| BoundCandidate {
            from: self.selector(plan, &candidate.from),
            reading: candidate.reading,
            when: {
                let when = candidate.when.iter();
                when.map(|(from, text)| (self.selector(plan, from), text.clone())).collect()
            },
        };
        candidates.iter().map(bind).collect()
    }

    fn selector(&mut self, plan: &Plan, selector: &Selector) -> Slot {
        self.slot(plan, selector.name())
    }

    fn slot(&mut self, plan: &Plan, name: &Name) -> Slot {
        match name {
            Name::Timestamp => Slot::Timestamp,
            Name::Received => Slot::Received,
            Name::Level => Slot::Level,
            Name::Component => Slot::Component,
            Name::Content => Slot::Content,
            Name::Message => Slot::Message,
            Name::Rank => Slot::Rank,
            Name::Tags => Slot::Tags,
            Name::Partition => Slot::Partition,
            Name::Host => Slot::Host,
            Name::HostColumn(column) => {
                let known = position(&self.columns, column);
                Slot::HostColumn(known.unwrap_or_else(|| push(&mut self.columns, column.clone())))
            }
            Name::Topic => Slot::Record(self.source(Source::Topic)),
            Name::Key => Slot::Record(self.source(Source::Key)),
            Name::Header(header) => Slot::Record(self.source(Source::Header(header.clone()))),
            Name::Envelope(path) if path == "host" => {
                Slot::Record(self.source(Source::EnvelopeHost))
            }
            Name::Envelope(path) => Slot::Record(self.source(Source::Envelope(path.clone()))),
            Name::Field(field) => {
                let record = self.source(Source::Envelope(format!("fields.{field}")));
                match position(&self.fields, field) {
                    Some(field) => Slot::Field { field, record },
                    None => Slot::Record(record),
                }
            }
            Name::Metric(metric) => {
                let known = self.metrics.iter().position(|known| known.name() == metric);
                known.map_or(Slot::Nothing, |id| Slot::Metric(id as u16))
            }
            Name::Label(label) => {
                let index = plan.labels.iter().position(|rule| rule.name == *label);
                index.map_or(Slot::Nothing, |index| Slot::Label(index as u16))
            }
        }
    }

    fn source(&mut self, source: Source) -> u16 {
        match self.sources.iter().position(|known| *known == source) {
            Some(known) => known as u16,
            None => push(&mut self.sources, source),
        }
    }

    fn reads_line(&self, slot: Slot) -> bool {
        let reads = self.reads(&[slot]);
        reads.line || reads.level || reads.time || reads.received
    }

    fn reads(&self, slots: &[Slot]) -> Reads {
        let mut reads = Reads::default();
        for slot in slots {
            match slot {
                Slot::Level => reads.level = true,
                Slot::TemplateTime => reads.time = true,
                Slot::Received => reads.received = true,
                Slot::Timestamp
                | Slot::Component
                | Slot::Content
                | Slot::Line
                | Slot::Message
                | Slot::Rank
                | Slot::Tags
                | Slot::Metric(_)
                | Slot::Field { .. } => reads.line = true,
                Slot::Host | Slot::HostColumn(_) => reads.line |= self.host_of_line,
                Slot::Label(label) => {
                    // A label of a later stage cannot be asked for here; its names checked that.
                    let label = self.labels.get(usize::from(*label));
                    reads.line |= label.is_some_and(|label| label.of_line);
                }
                Slot::Partition | Slot::Record(_) | Slot::Nothing => {}
            }
        }
        reads
    }
}

impl BoundFormat {
    /// What a field is to the event.
    pub(super) fn role(&self, name: &str) -> Role {
        match (role(name, self.time_field.as_deref()), name) {
            (Role::Other, "lvl" | "severity" | "levelname") if self.has_aliases => Role::Level,
            (Role::Other, "msg" | "message") if self.has_aliases => Role::Content,
            (Role::Other, "logger") if self.has_aliases => Role::Component,
            (role, _) => role,
        }
    }
}

fn role(name: &str, time_field: Option<&str>) -> Role {
    match name {
        _ if Some(name) == time_field => Role::Time,
        "level" => Role::Level,
        "component" => Role::Component,
        "content" => Role::Content,
        "rank" => Role::Rank,
        _ => Role::Other,
    }
}

fn has_field(grok: &Grok, name: &str) -> bool {
    grok.fields().iter().any(|field| field.name == name)
}

fn position(names: &[String], name: &str) -> Option<u16> {
    names.iter().position(|known| known == name).map(|index| index as u16)
}

fn push<T>(list: &mut Vec<T>, item: T) -> u16 {
    list.push(item);
    (list.len() - 1) as u16
}
