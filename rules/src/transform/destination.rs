//! The destination stop: from a route mask to interned destinations, rendered only when something
//! that the templates read has changed.
//!
//! Invariant: the key of a remembered destination covers everything its templates read; templates
//! that read more than record, level and day are rendered for each line. Next stop: `encode`.
use super::bind::{Bound, BoundTarget};
use super::view::{Bind, View};
use crate::counters::Counters;
use crate::date::Window;
use crate::event::{DeadReason, Destinations, EventBuffer, EventTarget};
use crate::names::Name;
use crate::plan::{Plan, TARGETS_MAX, Target};
use crate::sanitise::TargetKind;
use riverhog_parsers::level::Level;

/// What a worker remembers about destinations.
pub(super) struct DestinationCache {
    targets: Vec<Remembered>,
    /// What was rendered last for each target.
    rendered: Vec<Rendered>,
    /// By level, `None` last: the routes that record and level decide.
    masks: [Option<u64>; 7],
    masks_generation: u64,
}

/// The parts of a destination back to back, cut at `ends`.
#[derive(Clone, Default)]
struct Rendered {
    text: Vec<u8>,
    ends: Vec<usize>,
}

/// The destination that a target had last, and for what.
#[derive(Clone, Copy)]
struct Remembered {
    /// Stamp of the buffer that gave the id.
    stamp: u64,
    /// Of the record's context; 0 is no context's.
    generation: u64,
    level: Option<Level>,
    time: Window,
    received: Window,
    result: Result<u32, DeadReason>,
}

impl DestinationCache {
    pub(super) fn new(plan: &Plan) -> DestinationCache {
        let nothing = Remembered {
            stamp: 0,
            generation: 0,
            level: None,
            time: Window::NEVER,
            received: Window::NEVER,
            result: Err(DeadReason::MissingValue),
        };
        DestinationCache {
            targets: vec![nothing; plan.targets.len()],
            rendered: vec![Rendered::default(); plan.targets.len()],
            masks: [None; 7],
            masks_generation: 0,
        }
    }

    /// The union of the sinks of all routes that hold.
    pub(super) fn route(
        &mut self,
        plan: &Plan,
        bound: &Bound,
        generation: u64,
        view: &View<'_>,
    ) -> u64 {
        if self.masks_generation != generation {
            self.masks_generation = generation;
            self.masks = [None; 7];
        }
        let level = view.parsed.level.map_or(6, |level| level as usize);
        let mut mask = match self.masks[level] {
            Some(mask) => mask,
            None => union(plan, bound, view, true),
        };
        self.masks[level] = Some(mask);
        if bound.route_of_line {
            mask |= union(plan, bound, view, false);
        }
        mask
    }

    /// Appends the targets of a mask.
    pub(super) fn push_targets(
        &mut self,
        plan: &Plan,
        bound: &Bound,
        (mask, generation): (u64, u64),
        view: &View<'_>,
        out: &mut EventBuffer,
        counters: &mut Counters,
    ) {
        let EventBuffer { targets, destinations, .. } = out;
        let mut rest = mask;
        while rest != 0 {
            let sink = rest.trailing_zeros();
            rest &= rest - 1;
            let index = sink as usize;
            let (Some(target), Some(bound)) = (plan.targets.get(index), bound.targets.get(index))
            else {
                continue;
            };
            let (known, rendered) = (&mut self.targets[index], &mut self.rendered[index]);
            if !known.holds(bound, generation, view) {
                let result = rendered.render(plan, target, bound, view);
                let result = result.map(|()| rendered.intern(sink as u8, destinations));
                let stamp = destinations.stamp();
                *known = Remembered::new(plan, target, stamp, generation, view, result);
            } else if known.stamp != destinations.stamp() {
                // Another batch: the same destination under another number.
                known.result = known.result.map(|_| rendered.intern(sink as u8, destinations));
                known.stamp = destinations.stamp();
            }
            let result = known.result;
            counters.missing_values += u64::from(result.is_err());
            targets.push(EventTarget { sink: sink as u8, result });
        }
    }
}

impl Rendered {
    fn render(
        &mut self,
        plan: &Plan,
        target: &Target,
        bound: &BoundTarget,
        view: &View<'_>,
    ) -> Result<(), DeadReason> {
        self.text.clear();
        self.ends.clear();
        for (part, (template, slots)) in target.destinations.iter().zip(&bound.slots).enumerate() {
            // What follows an index is no name.
            let is_value = part > 0 && target.kind == TargetKind::Index;
            let kind = if is_value { TargetKind::Text } else { target.kind };
            template
                .render(&Bind(view, slots), plan.zone, kind, &mut self.text)
                .map_err(|_| DeadReason::MissingValue)?;
            self.ends.push(self.text.len());
        }
        Ok(())
    }

    fn intern(&self, sink: u8, destinations: &mut Destinations) -> u32 {
        destinations.intern(sink, &self.text, &self.ends)
    }
}

impl Remembered {
    fn new(
        plan: &Plan,
        target: &Target,
        stamp: u64,
        generation: u64,
        view: &View<'_>,
        result: Result<u32, DeadReason>,
    ) -> Remembered {
        let window = |name: &Name, epoch_ns: i64| {
            target.destinations.iter().fold(Window::ALWAYS, |window, template| {
                window.intersect(template.window(name, epoch_ns, plan.zone))
            })
        };
        Remembered {
            stamp,
            generation,
            level: view.parsed.level,
            time: window(&Name::Timestamp, view.template_ns),
            received: window(&Name::Received, view.received_ns),
            result,
        }
    }

    fn holds(&self, bound: &BoundTarget, generation: u64, view: &View<'_>) -> bool {
        self.generation == generation
            && !bound.reads.line
            && (!bound.reads.level || self.level == view.parsed.level)
            && (!bound.reads.time || self.time.contains(view.template_ns))
            && (!bound.reads.received || self.received.contains(view.received_ns))
    }
}

/// The sinks of the routes that hold, either of those that record and level decide or of the
/// others.
fn union(plan: &Plan, bound: &Bound, view: &View<'_>, of_record: bool) -> u64 {
    let mut mask = 0;
    for (route, bound) in plan.routes.iter().zip(&bound.routes) {
        if bound.of_record == of_record
            && route.when.as_ref().is_none_or(|when| when.holds(&Bind(view, &bound.when)))
        {
            // A bit without a target would make an event that is routed nowhere and settled.
            mask |= route.sinks & existing_targets(plan);
        }
    }
    mask
}

/// One bit for each target that exists.
fn existing_targets(plan: &Plan) -> u64 {
    match plan.targets.len() {
        count @ 0..TARGETS_MAX => (1 << count) - 1,
        _ => u64::MAX,
    }
}
