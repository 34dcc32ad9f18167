//! Rules that ask for metrics, and parsers that give them. Invariant: only warns; a metric may come
//! with any line. Next: `steps.rs`.

use crate::diagnostic::Place;
use crate::reader::Context;
use crate::sections::{Drafts, ShapeOfStep};
use riverhog_rules::step::{Action, Target};
use riverhog_rules::{Condition, Name, ParseRule, Plan};

pub(super) fn check(context: &Context<'_>, drafts: &Drafts, plan: &Plan) {
    for draft in &drafts.parse {
        warn_of_nothing(context, drafts, draft.numbers.as_ref(), &draft.path);
    }
    for step in &drafts.steps {
        if let Some(ShapeOfStep::Parse(draft)) = &step.shape {
            warn_of_nothing(context, drafts, draft.parse.numbers.as_ref(), &draft.parse.path);
        }
    }
    // Where a parser did not compile, nobody knows what it would give.
    if plan.parse.len() < drafts.parse.len() || plan.routes.len() < drafts.routes.len() {
        return;
    }
    if gives_any(plan) {
        return;
    }
    let warn = |name: &Name, place: &Place| {
        let message = format!("no parser gives metrics, so `{name}` never has a value");
        context.warn(place, message, "add `numbers = true` to the parser of these lines");
    };
    let is_metric = |name: &&Name| matches!(name, Name::Metric(_));
    // Where a step did not compile, the rest cannot be told apart by its number.
    if plan.steps.len() == drafts.steps.len() {
        for (step, draft) in plan.steps.iter().zip(&drafts.steps) {
            let mut names = step.when.iter().flat_map(Condition::names_used);
            if let (Some(name), Some(when)) = (names.find(is_metric), &draft.when) {
                warn(name, &when.place);
            }
        }
    }
    for (route, draft) in plan.routes.iter().zip(&drafts.routes) {
        let mut names = route.when.iter().flat_map(Condition::names_used);
        if let Some(name) = names.find(is_metric) {
            warn(name, draft.when.as_ref().map_or(&draft.place, |when| &when.place));
        }
    }
}

fn gives_any(plan: &Plan) -> bool {
    let of_parsers = |rules: &[ParseRule]| rules.iter().any(|rule| rule.numbers);
    let is_metric = |target: &Target| matches!(target, Target::Metric(_));
    let of_step = |action: &Action| match action {
        Action::Parse(reparse) => plan.numbers.is_some() && of_parsers(&reparse.rules),
        Action::Set(given) => given.iter().any(|(target, _)| is_metric(target)),
        Action::Rename(moved) => moved.iter().any(|(_, to)| is_metric(to)),
        Action::Lookup(lookup) => lookup.columns.iter().any(|(_, target)| is_metric(target)),
        _ => false,
    };
    (plan.numbers.is_some() && of_parsers(&plan.parse))
        || plan.steps.iter().any(|step| of_step(&step.action))
}

fn warn_of_nothing(
    context: &Context<'_>,
    drafts: &Drafts,
    numbers: Option<&(bool, Place)>,
    path: &str,
) {
    if let (false, Some((true, place))) = (drafts.numbers.enabled, numbers) {
        let message = format!("`{path}.numbers` has no effect: `numbers.enabled` is `false`");
        context.warn(place, message, "take out one of the two");
    }
}
