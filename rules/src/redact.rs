//! Redaction: secret values leave a text before anything of it is stored or decides where it goes.
//!
//! A line is walked once by a cheap prefilter; only where a value could stand do detectors look
//! closer. What they confirm is replaced in the line itself, and the fields, content and component
//! that were captured from it move along, so that whatever is written or rendered later on holds
//! the replacement. The stops: `text` and `prefilter`, the detectors `keyword`, `assignment`,
//! `token` and `personal`, `find`, `replace`. Invariant: what becomes of a text depends on the text
//! and the settings only; redacting twice changes nothing more. Next stop: `transform/redacting`.
mod assignment;
mod find;
mod keyword;
mod kind;
mod pattern;
mod personal;
mod prefilter;
mod replace;
mod text;
mod token;

use std::borrow::Cow;
use std::fmt;

use memchr::memmem;

pub use kind::Kind;
pub use pattern::RedactPattern;
pub use replace::{Redacted, salt_mark};

/// What becomes of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Action {
    /// It stays.
    Keep,
    /// `[redacted:KIND]` takes its place.
    #[default]
    Mask,
    /// `[redacted:KIND#HASH]` takes its place: equal values stay comparable.
    Hash,
    /// Nothing takes its place; of `NAME=VALUE` nothing is left.
    Remove,
}

/// What is to be redacted, and how.
#[derive(Clone, Debug)]
pub struct RedactRules {
    /// Secrets of all kinds.
    pub secrets: Action,
    /// E-mail addresses.
    pub email: Action,
    /// IP addresses.
    pub ip: Action,
    /// Names in `/home/NAME` and `/Users/NAME`.
    pub home: Action,
    /// What hashes are keyed with.
    pub salt: String,
    /// Patterns of one's own.
    pub patterns: Vec<RedactPattern>,
}

impl Default for RedactRules {
    /// Secrets are masked, all else stays.
    fn default() -> RedactRules {
        RedactRules {
            secrets: Action::Mask,
            email: Action::Keep,
            ip: Action::Keep,
            home: Action::Keep,
            salt: String::new(),
            patterns: Vec::new(),
        }
    }
}

/// Rules, ready to run.
pub struct Redact {
    /// By kind, the patterns behind the kinds.
    actions: Vec<Action>,
    patterns: Vec<RedactPattern>,
    salt: String,
    secrets: bool,
    /// Anything besides secrets.
    on_request: bool,
    /// Finds where a block of a private key begins.
    begin: memmem::Finder<'static>,
}

impl Default for Redact {
    fn default() -> Redact {
        Redact::new(RedactRules::default())
    }
}

impl fmt::Debug for Redact {
    /// Without the salt.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = out.debug_struct("Redact");
        shown.field("actions", &self.actions).field("patterns", &self.patterns);
        shown.finish_non_exhaustive()
    }
}

impl Redact {
    /// Makes rules ready.
    pub fn new(mut rules: RedactRules) -> Redact {
        rules.patterns.retain(|pattern| pattern.action != Action::Keep);
        let of_kind = |kind: &Kind| match kind {
            Kind::Email => rules.email,
            Kind::Ip => rules.ip,
            Kind::Home => rules.home,
            _ => rules.secrets,
        };
        let mut actions: Vec<Action> = Kind::ALL.iter().map(of_kind).collect();
        let requested = [rules.email, rules.ip, rules.home];
        let on_request =
            !rules.patterns.is_empty() || requested.iter().any(|action| *action != Action::Keep);
        actions.extend(rules.patterns.iter().map(|pattern| pattern.action));
        Redact {
            actions,
            patterns: rules.patterns,
            salt: rules.salt,
            secrets: rules.secrets != Action::Keep,
            on_request,
            begin: memmem::Finder::new(token::BEGIN),
        }
    }

    /// True when nothing is to be redacted at all.
    pub fn is_idle(&self) -> bool {
        !self.secrets && !self.on_request
    }

    /// The words for what is redacted, for metrics: the kinds, then the names of the patterns.
    pub fn kinds(&self) -> impl Iterator<Item = &str> {
        let names = self.patterns.iter().map(|pattern| pattern.name.as_str());
        Kind::ALL.iter().map(|kind| kind.as_str()).chain(names)
    }

    /// Looks for values. True when there is one; then `out` holds what is left of the text.
    pub fn redact(&self, text: &str, out: &mut Redacted) -> bool {
        self.find(text, &mut out.found);
        self.find_patterns(text, &mut out.found);
        if out.found.is_empty() {
            return false;
        }
        out.write(self, text);
        true
    }

    /// What is left of a text that stands alone.
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut out = Redacted::default();
        if self.redact(text, &mut out) { Cow::Owned(out.text().to_owned()) } else { text.into() }
    }
}

#[cfg(test)]
pub(crate) mod tests;
