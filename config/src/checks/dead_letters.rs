//! A line that no sink may hold has somewhere to go. Invariant: a configuration that can produce a
//! dead letter and has no target for it is refused. Next: `fingerprint.rs`.

use crate::diagnostic::{Diagnostic, Place};
use crate::reader::Context;
use crate::sections::{Drafts, RouteDraft, SinkDraft};
use crate::settings::{DeadLetter, SinkKind};
use riverhog_rules::{Condition, Name, Plan, Route, Template};

const CURE: &str = "add `[dead_letter]` with `type = \"local\"` and `path`, `type = \"kafka\"` and `topic`, or \
     `type = \"s3\"` and `bucket`";

pub(super) fn check(context: &Context<'_>, drafts: &Drafts, plan: &Plan) {
    let takes_all = |(route, draft): (&Route, &RouteDraft)| {
        draft.when.is_none() || route.when.as_ref().is_some_and(Condition::is_always)
    };
    let all_taken = plan.routes.iter().zip(&drafts.routes).any(takes_all);
    let unrouted = drafts.routes.first().filter(|_| !all_taken);
    if let Some(draft) = &drafts.dead_letter {
        if let Some(first) = unrouted {
            let message = "an event that no route takes becomes a dead letter";
            let help = "add a `[[route]]` without `when` to take what is left";
            context.warn(&first.place, message, help);
        }
        let nameless =
            matches!(&draft.target, DeadLetter::Kafka(kafka) if kafka.brokers.is_empty());
        if nameless {
            check_brokers(context, drafts, &draft.place);
        }
        return;
    }
    let mut needs: Vec<(&Place, String)> = Vec::new();
    if drafts.unparsed.0 == "dead_letter" {
        needs.push((&drafts.unparsed.1, "an unparsed line becomes a dead letter".to_owned()));
    }
    if let Some(first) = unrouted {
        let what = "an event that no route takes becomes a dead letter";
        needs.push((&first.place, what.to_owned()));
    }
    for (draft, target) in drafts.sinks.iter().zip(&plan.targets) {
        if let Some(what) = need_of(draft, &target.destinations, plan) {
            needs.push((&draft.place, what));
        }
    }
    let mut needs = needs.into_iter();
    if let Some((place, what)) = needs.next() {
        let message = format!("{what}, and there is no [dead_letter]");
        let problem = Diagnostic::error(place, message, CURE);
        let problem =
            needs.fold(problem, |problem, (place, what)| problem.with_related(place, what));
        context.report(problem);
    }
}

/// How a line that was routed to this sink may become a dead letter.
fn need_of(draft: &SinkDraft, templates: &[Template], plan: &Plan) -> Option<String> {
    let name = &draft.sink.name;
    if draft.sink.halt_after_ms.is_some() {
        return Some(format!("`{name}` gives lines to the dead letters after `halt_after`"));
    }
    if let SinkKind::Elasticsearch(_) = &draft.sink.kind {
        return Some(format!("the store of `{name}` may refuse a document"));
    }
    let missing = templates.iter().flat_map(Template::names_used).find(|it| may_miss(it, plan));
    missing.map(|missing| format!("`{name}` needs `{missing}`, which an event may be without"))
}

fn may_miss(name: &Name, plan: &Plan) -> bool {
    match name {
        Name::Timestamp
        | Name::Received
        | Name::Topic
        | Name::Partition
        | Name::Host
        | Name::Content
        | Name::Message => false,
        Name::Label(label) => {
            plan.labels.iter().any(|rule| rule.name == *label && rule.default.is_none())
        }
        _ => true,
    }
}

/// Without brokers of its own a topic is looked for at the source's.
fn check_brokers(context: &Context<'_>, drafts: &Drafts, place: &Place) {
    let mut brokers =
        drafts.sources.iter().filter_map(|it| it.source.kafka()).map(|it| &it.brokers);
    let Some(first) = brokers.next() else {
        if !drafts.sources.is_empty() {
            let message = "`dead_letter.brokers` is missing, and no source is `kafka`";
            context.error(
                place,
                message,
                "add `brokers = [\"host:port\"]`, or use `type = \"local\"`",
            );
        }
        return;
    };
    if brokers.any(|other| other != first) {
        let message = "`dead_letter.brokers` is missing, and sources have different ones";
        context.error(place, message, "add `brokers = [\"host:port\"]`");
    }
}
