//! `[join]` compiled. Invariant: an expression that does not compile is reported at its place.
//! Next: `parse.rs`.

use super::{Compiler, ESCAPE, Inside};
use crate::document::Text;
use crate::sections::{JoinDraft, JoinRuleDraft};
use riverhog_rules::Stage;
use riverhog_rules::join::{Join, JoinRule};

pub(super) fn compile(compiler: &Compiler<'_>, draft: &JoinDraft) -> Join {
    Join {
        stream: compiler.selectors(&draft.stream, "join.stream", Stage::Parse),
        builtin: draft.builtin,
        rules: draft.rules.iter().filter_map(|rule| compile_rule(compiler, rule)).collect(),
        lines_max: usize::try_from(draft.lines_max).unwrap_or(usize::MAX),
        bytes_max: usize::try_from(draft.bytes_max).unwrap_or(usize::MAX),
        gap_ms: i64::try_from(draft.gap_ms).unwrap_or(i64::MAX),
    }
}

fn compile_rule(compiler: &Compiler<'_>, draft: &JoinRuleDraft) -> Option<JoinRule> {
    let start = draft.start.as_ref()?;
    let text = |text: &Option<Text>| text.as_ref().map(|text| text.value.clone());
    let (goes_on, end) = (text(&draft.goes_on), text(&draft.end));
    match JoinRule::compile(&start.value, goes_on.as_deref(), end.as_deref()) {
        Ok(rule) => Some(rule),
        Err(failed) => {
            let text = match failed.key {
                "continue" => draft.goes_on.as_ref()?,
                "end" => draft.end.as_ref()?,
                _ => start,
            };
            let (span, message, help) =
                (failed.error.span, failed.error.message, failed.error.help);
            let inside = Inside { span, message, help };
            compiler.report(&format!("{}.{}", draft.path, failed.key), text, inside, ESCAPE);
            None
        }
    }
}
