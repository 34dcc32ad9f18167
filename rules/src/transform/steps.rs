//! The transform steps: what the configuration says about changing the event, in written order.
//!
//! Steps run behind the redaction of the line, so no step can carry a secret value into a field;
//! what steps put together is redacted once more at their end. Invariant: without steps, and for a
//! line that no step takes, nothing is copied. Stops: `choose` (drop, sample, rate limit), `apply`
//! (all else), and `edit`, the event that they change. Next stop: `line`, whose host and labels may
//! read what the steps made.
mod apply;
mod choose;
mod edit;
mod fields;
mod given;
mod reparse;
mod texts;

use std::sync::Arc;

use riverhog_parsers::fields::FieldKind;

use super::applies::Applies;
use super::bind::{Bound, BoundStep};
use super::view::View;
use crate::counters::Counters;
use crate::plan::Plan;
use crate::redact::{Redact, Redacted};
use crate::step::{Action, HELD_BACK_FIELD, RateState, Step, Target, Verdict};
use crate::table::Table;
use apply::apply;
pub(super) use choose::EventKey;
use choose::in_share;
pub(super) use choose::stream_hash;
pub(super) use edit::Edit;
use edit::{Failed, Part};
use reparse::ReparseScratch;

/// What a worker reuses from line to line.
pub(super) struct StepScratch {
    edit: Edit,
    /// By step, for those that parse.
    parsers: Vec<Option<ReparseScratch>>,
    /// By the numbers that lookups have.
    pub(super) lookups: Vec<Arc<Table>>,
    /// By step: what the record alone says about its `when`.
    applies: Vec<Applies>,
    generation: u64,
    key: String,
    redacted: Redacted,
}

/// What became of an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Passage {
    /// A step dropped it.
    Dropped,
    Passed,
    /// It has another time: one that a step read from the line.
    PassedWithTime,
}

impl StepScratch {
    pub(super) fn new(plan: &Plan, bound: &Bound) -> StepScratch {
        let parser = |step: &Step| match &step.action {
            Action::Parse(reparse) => Some(ReparseScratch::new(reparse)),
            _ => None,
        };
        StepScratch {
            edit: Edit::new(bound.field_names().to_vec(), bound.metrics.clone()),
            parsers: plan.steps.iter().map(parser).collect(),
            lookups: plan.tables.lookups.clone(),
            applies: Vec::new(),
            generation: 0,
            key: String::new(),
            redacted: Redacted::default(),
        }
    }

    /// Runs the steps over a line that was parsed and redacted.
    pub(super) fn run<'a>(
        &'a mut self,
        (plan, bound): (&Plan, &Bound),
        generation: u64,
        view: &mut View<'a>,
        (key, rates): (EventKey<'_>, &mut RateState),
        counters: &mut Counters,
    ) -> Passage {
        self.ask_record(plan, bound, generation, view);
        self.edit.clear();
        for (index, (step, bound)) in plan.steps.iter().zip(&bound.steps).enumerate() {
            let when = step.when.as_ref();
            let now = || self.edit.view(view);
            if !self.applies[index].holds(when, &bound.when, now) {
                continue;
            }
            let counts = &mut counters.steps[index];
            match self.step(plan, (index, step, bound), view, (key, rates)) {
                Ok(true) => counts.applied += 1,
                Ok(false) => {
                    counts.dropped += 1;
                    return Passage::Dropped;
                }
                Err(Failed) => {
                    counts.failed += 1;
                    self.edit.open(view);
                    self.edit.fail();
                }
            }
        }
        if self.edit.is_active() {
            if let Some(redact) = &plan.redact {
                self.redact(redact, counters);
            }
            *view = self.edit.view(view);
            if self.edit.time_given {
                return Passage::PassedWithTime;
            }
        }
        Passage::Passed
    }

    fn ask_record(&mut self, plan: &Plan, bound: &Bound, generation: u64, view: &View<'_>) {
        if self.generation == generation {
            return;
        }
        self.generation = generation;
        self.applies.clear();
        for (step, bound) in plan.steps.iter().zip(&bound.steps) {
            let when = (step.when.as_ref(), &bound.when[..]);
            self.applies.push(Applies::ask(when, bound.when_of_record, view));
        }
    }

    /// One step. `Ok(false)`: it drops the event.
    fn step(
        &mut self,
        plan: &Plan,
        (index, step, bound): (usize, &Step, &BoundStep),
        base: &View<'_>,
        (key, rates): (EventKey<'_>, &mut RateState),
    ) -> Result<bool, Failed> {
        let StepScratch { edit, parsers, lookups, key: text, .. } = self;
        // What only chooses copies nothing.
        match &step.action {
            Action::Drop(share) => return Ok(!in_share(*share, &step.name, key)),
            Action::Sample(sample) => {
                let hash = stream_hash(&step.name, &bound.slots, &edit.view(base), text);
                return Ok(sample.keep.has(hash));
            }
            Action::RateLimit(limit) => {
                let hash = stream_hash("", &bound.slots, &edit.view(base), text);
                return match rates.line(index, limit, (hash, base.received_ns)) {
                    Verdict::Hold => Ok(false),
                    Verdict::Pass(0) => Ok(true),
                    Verdict::Pass(held) => {
                        edit.open(base);
                        let target = Target::Field(HELD_BACK_FIELD.to_owned());
                        edit.set(&target, (&held.to_string(), FieldKind::Int), false)?;
                        Ok(true)
                    }
                };
            }
            _ => {}
        }
        edit.open(base);
        apply(edit, base, (plan, step, bound), (&mut parsers[index], lookups))?;
        Ok(true)
    }

    /// Redacts what steps put together: two harmless texts may be a secret side by side.
    fn redact(&mut self, redact: &Redact, counters: &mut Counters) {
        let StepScratch { edit, redacted, .. } = self;
        for index in 0..edit.entries.len() {
            let entry = edit.entries[index];
            let is_text = matches!(entry.kind, FieldKind::Text | FieldKind::Json);
            if entry.made && is_text && redact.redact(edit.show(entry.value), redacted) {
                counters.count_all_redacted(redacted);
                edit.entries[index].value = edit.write(redacted.text());
                edit.entries[index].kind = FieldKind::Text;
            }
        }
        for part in [edit.content, edit.component] {
            let Part::Given { value, made: true } = part else { continue };
            if !redact.redact(edit.show(value), redacted) {
                continue;
            }
            counters.count_all_redacted(redacted);
            let clean = Part::Given { value: edit.write(redacted.text()), made: false };
            if edit.content == part {
                edit.content = clean;
            } else {
                edit.component = clean;
            }
        }
    }
}
