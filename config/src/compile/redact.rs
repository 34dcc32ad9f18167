//! `[redact]` compiled. Invariant: hashes have a salt that cannot be guessed, and every pattern a
//! name of its own. Next: `checks.rs`.

use super::{Compiler, Inside};
use crate::diagnostic::Diagnostic;
use crate::sections::{RedactDraft, RedactPatternDraft};
use riverhog_rules::redact::{Action, Kind, Redact, RedactPattern, RedactRules};
use std::sync::Arc;

/// A shorter salt could be tried out.
const SALT_BYTES_MIN: usize = 16;

pub(super) fn compile(compiler: &Compiler<'_>, draft: &RedactDraft) -> Option<Arc<Redact>> {
    check_salt(compiler, draft);
    let mut patterns = Vec::new();
    for index in 0..draft.patterns.len() {
        check_name(compiler, draft, index);
        patterns.extend(pattern(compiler, &draft.patterns[index]));
    }
    let rules = RedactRules {
        secrets: action(draft.secrets.0),
        email: action(draft.email.0),
        ip: action(draft.ip.0),
        home: action(draft.home.0),
        salt: draft.salt.as_ref().map(|(salt, _)| salt.reveal().clone()).unwrap_or_default(),
        patterns,
    };
    let redact = Redact::new(rules);
    (!redact.is_idle()).then(|| Arc::new(redact))
}

fn action(word: &str) -> Action {
    match word {
        "mask" => Action::Mask,
        "hash" => Action::Hash,
        "remove" => Action::Remove,
        _ => Action::Keep,
    }
}

fn check_salt(compiler: &Compiler<'_>, draft: &RedactDraft) {
    let context = compiler.context;
    match (draft.hashed(), &draft.salt) {
        (Some((name, place)), None) if !draft.has_salt => {
            let message = format!("`{name}` is \"hash\", and there is no `redact.salt`");
            let help = "add `salt = \"${REDACT_SALT}\"`: 16 bytes or more that nobody else knows";
            context.error(place, message, help);
        }
        (None, Some((_, text))) => {
            let help = "leave it out, or write `\"hash\"` for what is to stay comparable";
            context.warn(&text.place, "`redact.salt` is used by nothing", help);
        }
        (Some(_), Some((salt, text)))
            if salt.reveal().len() < SALT_BYTES_MIN && !text.unresolved =>
        {
            let message = format!("`redact.salt` has less than {SALT_BYTES_MIN} bytes");
            let help = "make one with `openssl rand -hex 16`";
            context.error(&text.place, message, help);
        }
        _ => {}
    }
}

fn check_name(compiler: &Compiler<'_>, draft: &RedactDraft, index: usize) {
    let Some(name) = &draft.patterns[index].name else { return };
    let allowed = |it: char| it.is_ascii_alphanumeric() || matches!(it, '_' | '-');
    let (context, shown) = (compiler.context, name.shown());
    if name.value.len() > 32 || !name.value.chars().all(allowed) {
        let message = format!("`{shown}` cannot be the name of a pattern");
        context.error(&name.place, message, "use 1 to 32 letters, digits, `_` and `-`");
    } else if Kind::ALL.iter().any(|kind| kind.as_str() == name.value) {
        let message = format!("`{shown}` is a kind that riverhog knows itself");
        context.error(&name.place, message, "give the pattern a name of its own");
    }
    let mut before = draft.patterns[..index].iter().filter_map(|it| it.name.as_ref());
    if let Some(first) = before.find(|it| it.value == name.value) {
        let message = format!("two patterns are named \"{shown}\"");
        let problem = Diagnostic::error(&name.place, message, "give each a name of its own");
        context.report(problem.with_related(&first.place, "first here"));
    }
}

fn pattern(compiler: &Compiler<'_>, draft: &RedactPatternDraft) -> Option<RedactPattern> {
    let (name, text) = (draft.name.as_ref()?, draft.regex.as_ref()?);
    match RedactPattern::compile(&name.value, &text.value, action(draft.action.0)) {
        Ok(pattern) => Some(pattern),
        Err(error) => {
            let inside = Inside { span: error.span, message: error.message, help: error.help };
            compiler.report(&format!("{}.regex", draft.path), text, inside, super::ESCAPE);
            None
        }
    }
}
