//! What sections must agree on: every line has somewhere to go, and no two sinks or sources write
//! or read the same. Invariant: only reports; nothing is changed here. Next stop: `fingerprint.rs`.

mod archives;
mod dead_letters;
mod numbers;
mod sources;
mod steps;

use crate::diagnostic::Diagnostic;
use crate::reader::Context;
use crate::sections::Drafts;
use crate::suggest;
use riverhog_rules::{Names, Plan, Stage};

/// Reports every disagreement.
pub(crate) fn check(context: &Context<'_>, drafts: &Drafts, plan: &Plan, names: &Names) {
    sources::check(context, drafts);
    numbers::check(context, drafts, plan);
    steps::check(context, drafts, plan);
    check_routes(context, drafts, plan);
    check_tests(context, drafts, names);
    archives::check(context, drafts);
    dead_letters::check(context, drafts, plan);
}

fn check_routes(context: &Context<'_>, drafts: &Drafts, plan: &Plan) {
    if drafts.routes.is_empty() {
        // A `route` that is no array has been reported already.
        if let Some(first) = drafts.sinks.first().filter(|_| !drafts.routes_unread) {
            let help = format!("add `[[route]]` with `sinks = [\"{}\"]`", first.sink.name);
            context.error(&first.place, "there is no route: no event reaches any sink", help);
        }
        return;
    }
    let reached = plan.routes.iter().fold(0, |bits, route| bits | route.sinks);
    let unsure = drafts.routes.iter().any(|route| {
        route.sinks.is_empty()
            || route.sinks.iter().any(|it| !drafts.sink_names.contains(&it.value))
    });
    for (index, draft) in drafts.sinks.iter().enumerate() {
        if reached & 1 << index == 0 && !unsure {
            let name = &draft.sink.name;
            let message = format!("no route leads to the sink `{name}`");
            let help = format!("add \"{name}\" to the `sinks` of a route, or remove it");
            context.warn(&draft.place, message, help);
        }
    }
    if let Some((index, always)) = plan.routes.iter().enumerate().find(|it| it.1.is_always()) {
        for (other, route) in plan.routes.iter().enumerate().filter(|it| it.0 != index) {
            if route.sinks != 0 && route.sinks & !always.sinks == 0 && other > index {
                let place = &drafts.routes[other].place;
                let message = "this route adds nothing: another takes every event to its sinks";
                let problem = Diagnostic::warning(place, message, "remove one of the two");
                context.report(problem.with_related(&drafts.routes[index].place, "takes all"));
            }
        }
    }
}

fn check_tests(context: &Context<'_>, drafts: &Drafts, names: &Names) {
    let sinks: Vec<&str> = drafts.sink_names.iter().map(String::as_str).collect();
    let names = names.at(Stage::Route);
    for draft in &drafts.tests {
        for text in &draft.sinks {
            if !sinks.contains(&text.value.as_str()) {
                let message = format!("the test expects the unknown sink \"{}\"", text.shown());
                context.error(&text.place, message, suggest::help(text.shown(), &sinks, "sink"));
            }
        }
        for expectation in &draft.test.expect {
            if let Err(error) = names.resolve(&expectation.name) {
                let help = error.help.unwrap_or_else(|| "use a name as in `when`".to_owned());
                context.error(&expectation.place, error.message, help);
            }
        }
    }
}
