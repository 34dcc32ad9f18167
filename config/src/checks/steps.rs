//! Transform steps and what comes after them. Invariant: a step that reads a label which only the
//! line can give is told so: it would see the label's default. Next: `archives.rs`.

use crate::reader::Context;
use crate::sections::Drafts;
use riverhog_rules::{Name, Plan};

pub(super) fn check(context: &Context<'_>, drafts: &Drafts, plan: &Plan) {
    // Where a step did not compile, the rest cannot be told apart by its number.
    if plan.steps.len() != drafts.steps.len() {
        return;
    }
    for (step, draft) in plan.steps.iter().zip(&drafts.steps) {
        let labels = step.names_used().filter_map(|name| match name {
            Name::Label(label) => plan.labels.iter().find(|rule| rule.name == *label),
            _ => None,
        });
        for label in labels {
            let of_line = |name: &&Name| match name {
                Name::Field(field) => plan.may_give(field),
                name => name.is_of_line(),
            };
            let mut names = label.from.iter().map(riverhog_rules::Selector::name);
            let Some(name) = names.find(of_line) else { continue };
            let message = format!(
                "`{}` reads the label `{}` before the line gives it a value",
                draft.path, label.name
            );
            let help = format!("read `{name}` itself; labels are set after all steps");
            context.warn(&draft.place, message, help);
        }
    }
}
