//! `[redact]`. Patterns are only read here; `compile/redact.rs` compiles them. Invariant: the salt
//! is shown nowhere, and counts for the fingerprint by a mark that does not tell it. Next:
//! `sinks.rs`.

use super::TopLevel;
use crate::declare;
use crate::diagnostic::Place;
use crate::document::Text;
use crate::reader::Reader;
use crate::settings::Secret;

/// `[redact]`
pub(crate) struct RedactDraft {
    /// A word, and where it stands.
    pub(crate) secrets: (&'static str, Place),
    pub(crate) email: (&'static str, Place),
    pub(crate) ip: (&'static str, Place),
    pub(crate) home: (&'static str, Place),
    pub(crate) salt: Option<(Secret<String>, Text)>,
    /// There is one, whatever is wrong with it.
    pub(crate) has_salt: bool,
    pub(crate) patterns: Vec<RedactPatternDraft>,
}

/// `[[redact.patterns]]`
pub(crate) struct RedactPatternDraft {
    pub(crate) path: String,
    pub(crate) name: Option<Text>,
    pub(crate) regex: Option<Text>,
    pub(crate) action: (&'static str, Place),
}

pub(super) fn read(top: &TopLevel<'_>) -> RedactDraft {
    let reader = top.one("redact", &declare::REDACT);
    let action = |key: &str| (reader.choice(key), reader.place_of(key));
    let (secrets, email) = (action("secrets"), action("email"));
    let (ip, home) = (action("ip"), action("home"));
    let (salt, has_salt) = (reader.secret("salt"), reader.has("salt"));
    let patterns = reader.sections("patterns").iter().map(read_pattern).collect();
    reader.reject_unknown();
    let draft = RedactDraft { secrets, email, ip, home, salt, has_salt, patterns };
    if let Some((salt, _)) = draft.salt.as_ref().filter(|_| draft.hashed().is_some()) {
        top.context.note("redact.salt", riverhog_rules::redact::salt_mark(salt.reveal()));
    }
    draft
}

fn read_pattern(reader: &Reader<'_>) -> RedactPatternDraft {
    let (name, regex) = (reader.text("name"), reader.text("regex"));
    let action = (reader.choice("action"), reader.place_of("action"));
    reader.reject_unknown();
    RedactPatternDraft { path: reader.path.clone(), name, regex, action }
}

impl RedactDraft {
    /// The first setting that asks for hashes, and how it is named.
    pub(crate) fn hashed(&self) -> Option<(String, &Place)> {
        let named = [
            ("redact.secrets", &self.secrets),
            ("redact.email", &self.email),
            ("redact.ip", &self.ip),
            ("redact.home", &self.home),
        ];
        let named = named.into_iter().map(|(name, action)| (name.to_owned(), action));
        let patterns = self.patterns.iter().map(|it| (format!("{}.action", it.path), &it.action));
        let mut all = named.chain(patterns);
        all.find(|(_, action)| action.0 == "hash").map(|(name, action)| (name, &action.1))
    }
}
