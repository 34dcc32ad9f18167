//! Grok: patterns as Logstash writes them, over engines that keep what Logstash's would answer.
//!
//! What it is for: a pattern is expanded (`syntax`), parsed (`regex`) and compiled once into
//! the cheapest engine that gives the general one's answers (`engine`); a line then costs no
//! allocation. Invariant: captures come in the order in which Logstash delivers them, as places in
//! the text. Next on the trip: `rules` makes the captures fields of an event.

mod all;
mod definitions;
mod dispatch;
mod engine;
mod explain;
mod field;
mod reference;
mod regex;
mod stock;
mod syntax;
mod types;

use std::fmt;
use std::sync::Arc;

pub use definitions::{PatternLine, check_definitions, pattern_lines};
pub use dispatch::{Dispatch, Selection};
pub use engine::Tier;
pub use explain::{Explanation, Finding, FindingKind, Part, Stop, slips};
pub use types::{Capture, FieldType, GrokError, GrokField, Outcome, Reason, to_float, to_int};

use all::{All, AllScratch};
use engine::Engine;
use field::Delivery;

/// Repeats and alternatives that a pattern may have. Where one is tried again, all of them may be:
/// a step of a larger pattern could take seconds.
const CHOICES_MAX: usize = 8_192;

/// Which stock patterns a pattern may refer to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum PatternSet {
    /// Logstash's `legacy` patterns.
    #[default]
    Legacy,
    /// Logstash's `ecs-v1` patterns: fields as the Elastic Common Schema names them.
    EcsV1,
}

/// How to compile a pattern.
#[derive(Clone, Debug)]
pub struct GrokOptions {
    /// The stock patterns.
    pub set: PatternSet,
    /// (name, regular expression): a later one of a name replaces an earlier one and the stock one.
    pub definitions: Vec<(String, String)>,
    /// False: a bare `%{WORD}` is a field `WORD` too.
    pub named_captures_only: bool,
    /// True: groups that matched nothing, or took no part in the match, are delivered too.
    pub keep_empty_captures: bool,
    /// The field that all fields stand in, `name` or `[outer][inner]`: its name goes before theirs.
    /// Empty: none.
    pub target: String,
}

impl Default for GrokOptions {
    fn default() -> GrokOptions {
        GrokOptions {
            set: PatternSet::Legacy,
            definitions: Vec::new(),
            named_captures_only: true,
            keep_empty_captures: false,
            target: String::new(),
        }
    }
}

/// A compiled pattern; cheap to clone.
#[derive(Clone)]
pub struct Grok {
    inner: Arc<Inner>,
    /// Where it is several patterns; `inner` is the first of them.
    all: Option<Arc<All>>,
}

struct Inner {
    pattern: String,
    expanded: syntax::Expanded,
    fields: Vec<GrokField>,
    deliveries: Vec<Delivery>,
    keep_empty_captures: bool,
    engine: Engine,
}

/// What one worker needs to run one pattern; reused from line to line.
pub struct GrokScratch {
    engine: engine::Scratch,
    all: Option<Box<AllScratch>>,
}

impl fmt::Debug for Grok {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Grok({:?}, {:?})", self.inner.pattern, self.tier())
    }
}

impl fmt::Debug for GrokScratch {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "GrokScratch({} groups)", self.engine.slots.len())
    }
}

impl Grok {
    /// Compiles a pattern. The work is bounded, whatever the pattern.
    ///
    /// # Errors
    /// An unknown name, a recursive definition, a fault of the regular expression or of a field
    /// name: with the bytes of the pattern that it stands in. A target that is no field name: with
    /// no bytes.
    pub fn compile(pattern: &str, options: &GrokOptions) -> Result<Grok, GrokError> {
        let mut definitions = syntax::Definitions::new(options)?;
        let expanded = syntax::expand(pattern, &mut definitions, options.named_captures_only)?;
        let fault = |error: regex::SyntaxError| GrokError {
            span: expanded.origin(error.span),
            message: error.message,
            help: error.help.map(str::to_owned),
        };
        let regex = regex::parse(&expanded.text).map_err(fault)?;
        if regex.root.choices() > CHOICES_MAX {
            let message =
                format!("a pattern with more than {CHOICES_MAX} repeats and alternatives");
            let help = Some("make several patterns of it".to_owned());
            return Err(GrokError { span: 0..pattern.len(), message, help });
        }
        let target = field::target(&options.target)?;
        let (fields, deliveries) = field::assign(&regex, &target).map_err(fault)?;
        let engine = Engine::compile(regex).map_err(fault)?;
        let inner = Inner {
            pattern: pattern.to_owned(),
            expanded,
            fields,
            deliveries,
            keep_empty_captures: options.keep_empty_captures,
            engine,
        };
        Ok(Grok { inner: Arc::new(inner), all: None })
    }

    /// The pattern as it was given.
    pub fn pattern(&self) -> &str {
        &self.inner.pattern
    }

    /// The fields that a match may deliver, in the order of delivery.
    pub fn fields(&self) -> &[GrokField] {
        match &self.all {
            None => &self.inner.fields,
            Some(all) => &all.fields,
        }
    }

    /// Which engine was chosen.
    pub fn tier(&self) -> Tier {
        self.inner.engine.tier()
    }

    /// Why that engine was chosen, for `grok --explain`.
    pub fn tier_reason(&self) -> &'static str {
        self.inner.engine.reason()
    }

    /// What a worker needs to run the pattern.
    pub fn scratch(&self) -> GrokScratch {
        let all = self.all.as_ref().map(|all| Box::new(all.scratch()));
        GrokScratch { engine: self.inner.engine.scratch(), all }
    }

    /// Searches a text. Clears `out`, then pushes the captures in the order in which Logstash
    /// delivers them: by field group in order of first appearance, not by place in the text. A
    /// field may come several times. Empty captures are left out unless `keep_empty_captures` was
    /// set.
    ///
    /// `scratch` must come from this pattern (or a clone of it).
    pub fn run(&self, text: &str, scratch: &mut GrokScratch, out: &mut Vec<Capture>) -> Outcome {
        out.clear();
        if let (Some(all), Some(scratch)) = (&self.all, &mut scratch.all) {
            return all.run(text, scratch, out);
        }
        match self.inner.engine.run(text, &mut scratch.engine) {
            Ok(()) => {
                self.deliver(&scratch.engine.slots, out);
                Outcome::Matched
            }
            Err(reason) => Outcome::Unmatched(reason),
        }
    }

    /// Where a match can start, and the literals that every match holds; nothing is known of
    /// several patterns.
    fn needs(&self) -> (engine::Start, Option<&engine::Literals>) {
        let engine = &self.inner.engine;
        match &self.all {
            None => (engine.start(), Some(engine.literals())),
            Some(_) => (engine::Start::Anywhere, None),
        }
    }

    fn deliver(&self, slots: &[engine::Slot], out: &mut Vec<Capture>) {
        for delivery in &self.inner.deliveries {
            let (start, end) = slots[delivery.slot];
            if start < end || self.inner.keep_empty_captures {
                out.push(Capture { field: delivery.field, start, end });
            }
        }
    }
}

/// The names that a set's patterns may refer to: its stock ones, and ours.
pub fn stock_names(set: PatternSet) -> impl Iterator<Item = &'static str> {
    stock::names(set)
}

#[cfg(test)]
mod tests;
