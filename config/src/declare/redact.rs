//! `[redact]`. Next: `sources.rs`.

use super::{Choice, Kind, Section, Setting, word};

const ACTIONS: &[Choice] = &[
    word("mask", "`[redacted:KIND]` takes the value's place"),
    word("hash", "`[redacted:KIND#HASH]` does, so that equal values stay comparable"),
    word("remove", "nothing does; of `NAME=VALUE` nothing is left"),
    word("keep", "the value stays"),
];

/// `[redact]`
pub(crate) static REDACT: Section = Section {
    title: "`[redact]`",
    doc: "",
    settings: &[
        Setting::new(
            "secrets",
            Kind::Choice(ACTIONS),
            "Passwords, tokens, keys of clouds and services, private keys, credentials in headers \
             and addresses.",
        )
        .default("mask"),
        Setting::new("email", Kind::Choice(ACTIONS), "E-mail addresses.").default("keep"),
        Setting::new("ip", Kind::Choice(ACTIONS), "IPv4 and IPv6 addresses.").default("keep"),
        Setting::new("home", Kind::Choice(ACTIONS), "NAME in `/home/NAME` and `/Users/NAME`.")
            .default("keep"),
        Setting::new(
            "salt",
            Kind::Secret,
            "What hashes are keyed with, at least 16 bytes that nobody else knows. With another \
             salt equal values have other hashes.",
        )
        .absent("required for `hash`"),
        Setting::new("patterns", Kind::Sections(&REDACT_PATTERN), "Patterns of your own."),
    ],
    example: "[redact]\n\
              secrets = \"mask\"\n\
              email   = \"hash\"\n\
              salt    = \"${REDACT_SALT}\"\n\
              \n\
              [[redact.patterns]]\n\
              name  = \"badge\"\n\
              regex = '\\bE-\\d{6}\\b'\n",
};

/// `[[redact.patterns]]`
pub(crate) static REDACT_PATTERN: Section = Section {
    title: "`[[redact.patterns]]`",
    doc: "",
    settings: &[
        Setting::new(
            "name",
            Kind::Text,
            "Its name, in metrics and in what takes the value's place: at most 32 letters, \
             digits, `_` and `-`.",
        )
        .required(),
        Setting::new(
            "regex",
            Kind::Text,
            "A regular expression; all that it matches is the value. Write it as a literal string \
             ('…').",
        )
        .required(),
        Setting::new("action", Kind::Choice(ACTIONS), "What becomes of the value.").default("mask"),
    ],
    example: "",
};
