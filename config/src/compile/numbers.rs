//! `[numbers]` compiled. Invariant: a printed name is one metric's. Next: `transform.rs`.

use super::Compiler;
use crate::diagnostic::Diagnostic;
use crate::document::Text;
use crate::sections::NumbersDraft;
use riverhog_parsers::number::push_name;
use riverhog_rules::numbers::{MetricNames, is_metric_name};
use std::collections::HashMap;
use std::sync::Arc;

pub(super) fn compile(compiler: &Compiler<'_>, draft: &NumbersDraft) -> Option<Arc<MetricNames>> {
    let mut seen: HashMap<String, (&str, &Text)> = HashMap::new();
    for names in &draft.names {
        for text in &names.printed {
            let mut name = String::new();
            push_name(&mut name, &text.value, "");
            if name.is_empty() && !text.unresolved {
                let message = format!("`numbers.names.{}` holds no name", names.metric);
                let help = "write the name as it is printed, such as `my loss`";
                compiler.context.error(&text.place, message, help);
            } else if let Some((metric, first)) = seen.insert(name, (&names.metric, text)) {
                let message = format!("`{}` is named twice", text.shown());
                let problem = Diagnostic::error(&text.place, message, "keep one of the two");
                let first = problem.with_related(&first.place, format!("here for `{metric}`"));
                compiler.context.report(first);
            }
        }
    }
    let mut own: Vec<(&str, Vec<String>)> = Vec::new();
    for names in &draft.names {
        let printed = names.printed.iter().map(|text| text.value.clone()).collect();
        let (_, slips) = MetricNames::new([(names.metric.as_str(), &[][..])]);
        for slip in slips {
            let message = format!("`numbers.names`: {}", slip.message);
            compiler.context.error(&names.place, message, slip.help);
        }
        if is_metric_name(&names.metric) {
            own.push((&names.metric, printed));
        }
    }
    if !draft.enabled {
        if !draft.names.is_empty() {
            let help = "take out `enabled = false`, or the names";
            let message = "`numbers.names` is used by nothing: no number is a metric";
            compiler.context.warn(&draft.place, message, help);
        }
        return None;
    }
    let (names, slips) = MetricNames::new(own.iter().map(|(name, printed)| (*name, &printed[..])));
    for slip in slips {
        compiler.context.error(
            &draft.place,
            format!("`numbers.names`: {}", slip.message),
            slip.help,
        );
    }
    Some(Arc::new(names))
}
