//! Transform steps: what a configuration says about changing an event between parsing and hosts,
//! compiled.
//!
//! Steps run in written order, each on the event as the one before left it. Invariant: what a step
//! does depends on the line, its record and a window of record time; never on the clock or on
//! chance. A step that fails leaves the event as it was, with the tag [`FAILURE_TAG`]. Next stop:
//! `transform/steps`, which runs them.
mod gsub;
mod pattern;
mod rate;
mod share;
mod target;

use crate::condition::Condition;
use crate::names::Name;
use crate::plan::ParseRule;
use crate::selector::Selector;
use crate::template::Template;

pub use gsub::Gsub;
pub use pattern::NamePattern;
pub(crate) use rate::Verdict;
pub use rate::{HELD_BACK_FIELD, KEYS_MAX, RateLimit, RateState};
pub(crate) use share::Hasher;
pub use share::Share;
pub use target::Target;

/// The tag of an event on which a step failed.
pub const FAILURE_TAG: &str = "_stepfailure";

/// One `[[transform]]`.
#[derive(Debug)]
pub struct Step {
    /// Its name, a metric label.
    pub name: String,
    /// Which events it takes; all where it is `None`. Compiled at `Stage::Transform`.
    pub when: Option<Condition>,
    /// What it does.
    pub action: Action,
}

impl Step {
    /// Every name that it reads.
    pub fn names_used(&self) -> impl Iterator<Item = &Name> {
        let when = self.when.iter().flat_map(Condition::names_used);
        let keys = self.action.selectors().iter().map(Selector::name);
        let (templates, fields): (&[(Target, Template)], &[ParseRule]) = match &self.action {
            Action::Set(given) => (given, &[]),
            Action::Parse(reparse) => (&[], &reparse.rules),
            _ => (&[], &[]),
        };
        let templates = templates.iter().flat_map(|(_, template)| template.names_used());
        let fields = fields.iter().filter_map(|rule| rule.field.as_ref()).map(Selector::name);
        when.chain(keys).chain(templates).chain(fields)
    }
}

/// What a step does. Names and templates are compiled at `Stage::Transform`.
#[derive(Debug)]
pub enum Action {
    /// Gives values; what a template meets no value for stays as it is. A template of one name
    /// alone keeps the type of the value.
    Set(Vec<(Target, Template)>),
    /// Moves values.
    Rename(Vec<(Target, Target)>),
    /// Takes values away.
    Remove(Vec<Removal>),
    /// Takes every parsed field away that none of these names.
    Keep(Vec<NamePattern>),
    /// Gives values another type.
    Convert(Vec<(Target, Conversion)>),
    /// Writes letters or ends otherwise.
    Restyle(Restyle, Vec<Target>),
    /// Makes several values of one, cut at a separator.
    Split(Vec<(Target, String)>),
    /// Makes one value of several.
    Join(Vec<(Target, String)>),
    /// Replaces what a regular expression matches.
    Gsub(Gsub),
    /// Cuts values at a number of bytes, between two characters.
    Truncate(Vec<(Target, usize)>),
    /// Gives what a table says about a value.
    Lookup(Lookup),
    /// Gives a hash of several values.
    Fingerprint(Fingerprint),
    /// Reads a value by a parser, as a parse rule reads a line.
    Parse(Box<Reparse>),
    /// Drops a share of the events.
    Drop(Share),
    /// Keeps a share of the streams, each of them whole.
    Sample(Sample),
    /// Keeps a number of lines for each window of record time.
    RateLimit(RateLimit),
    /// Adds tags.
    Tag(Vec<String>),
    /// Takes tags away.
    Untag(Vec<String>),
}

impl Action {
    /// The key that stands for it in a configuration.
    pub fn as_str(&self) -> &'static str {
        match self {
            Action::Set(_) => "set",
            Action::Rename(_) => "rename",
            Action::Remove(_) => "remove",
            Action::Keep(_) => "keep",
            Action::Convert(_) => "convert",
            Action::Restyle(Restyle::Lowercase, _) => "lowercase",
            Action::Restyle(Restyle::Uppercase, _) => "uppercase",
            Action::Restyle(Restyle::Trim, _) => "trim",
            Action::Split(_) => "split",
            Action::Join(_) => "join",
            Action::Gsub(_) => "gsub",
            Action::Truncate(_) => "truncate",
            Action::Lookup(_) => "lookup",
            Action::Fingerprint(_) => "fingerprint",
            Action::Parse(_) => "parse",
            Action::Drop(_) => "drop",
            Action::Sample(_) => "sample",
            Action::RateLimit(_) => "rate_limit",
            Action::Tag(_) => "tag",
            Action::Untag(_) => "untag",
        }
    }

    /// What keys, hashes and lookups read.
    pub(crate) fn selectors(&self) -> &[Selector] {
        match self {
            Action::Lookup(lookup) => std::slice::from_ref(&lookup.key),
            Action::Fingerprint(fingerprint) => &fingerprint.from,
            Action::Sample(sample) => &sample.key,
            Action::RateLimit(limit) => &limit.key,
            _ => &[],
        }
    }

    /// True for a part of an event that the action may change.
    pub(crate) fn may_change(&self, name: &Name) -> bool {
        let is_name = |target: &Target| match (target, name) {
            (Target::Field(field), Name::Field(name))
            | (Target::Metric(field), Name::Metric(name)) => field == name,
            (Target::Level, Name::Level)
            | (Target::Component, Name::Component)
            | (Target::Content, Name::Content)
            | (Target::Rank, Name::Rank) => true,
            _ => false,
        };
        match self {
            Action::Set(given) => given.iter().any(|(target, _)| is_name(target)),
            Action::Rename(moved) => moved.iter().any(|(from, to)| is_name(from) || is_name(to)),
            Action::Convert(wanted) => wanted.iter().any(|(target, _)| is_name(target)),
            Action::Restyle(_, targets) => targets.iter().any(is_name),
            Action::Split(targets) | Action::Join(targets) => {
                targets.iter().any(|(target, _)| is_name(target))
            }
            Action::Gsub(gsub) => is_name(&gsub.field),
            Action::Truncate(limits) => limits.iter().any(|(target, _)| is_name(target)),
            Action::Lookup(lookup) => lookup.columns.iter().any(|(_, target)| is_name(target)),
            Action::Fingerprint(fingerprint) => is_name(&fingerprint.into),
            // These take any field away, or give whatever they find.
            Action::Remove(_) | Action::Keep(_) | Action::Parse(_) => true,
            Action::RateLimit(_) => *name == Name::Field(HELD_BACK_FIELD.to_owned()),
            Action::Tag(_) | Action::Untag(_) => *name == Name::Tags,
            Action::Drop(_) | Action::Sample(_) => false,
        }
    }

    /// True for a parsed field that the action may give a value.
    pub fn may_give(&self, field: &str) -> bool {
        let is_field = |target: &Target| target.field() == Some(field);
        match self {
            Action::Set(given) => given.iter().any(|(target, _)| is_field(target)),
            Action::Rename(moved) => moved.iter().any(|(_, to)| is_field(to)),
            Action::Lookup(lookup) => lookup.columns.iter().any(|(_, target)| is_field(target)),
            Action::Fingerprint(fingerprint) => is_field(&fingerprint.into),
            Action::Parse(reparse) => {
                let named = reparse.prefix.as_deref().map_or(Some(field), |prefix| {
                    field.strip_prefix(prefix).and_then(|rest| rest.strip_prefix('.'))
                });
                let mut rules = reparse.rules.iter();
                named.is_some_and(|field| rules.any(|rule| rule.parser.may_give(field)))
            }
            Action::RateLimit(_) => field == HELD_BACK_FIELD,
            _ => false,
        }
    }
}

/// What a step takes away.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Removal {
    /// A part of the event, which is absent then.
    Part(Target),
    /// Parsed fields.
    Fields(NamePattern),
    /// Metrics.
    Metrics(NamePattern),
}

/// The type that a value is given.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Conversion {
    /// A whole number; a fraction is cut off.
    Int,
    /// A finite number.
    Float,
    /// `true` of true, t, yes, y, on, 1, `false` of false, f, no, n, off, 0, in any case of
    /// letters.
    Boolean,
    /// Text.
    Text,
}

impl Conversion {
    /// Reads the word of a configuration.
    pub fn parse(word: &str) -> Option<Conversion> {
        match word {
            "int" => Some(Conversion::Int),
            "float" => Some(Conversion::Float),
            "boolean" => Some(Conversion::Boolean),
            "text" => Some(Conversion::Text),
            _ => None,
        }
    }
}

/// How a text is written otherwise.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Restyle {
    /// In small letters, those of other scripts than Latin too.
    Lowercase,
    /// In capital letters.
    Uppercase,
    /// Without white space at its ends.
    Trim,
}

/// Gives what a table says about a value.
#[derive(Debug)]
pub struct Lookup {
    /// What is looked up.
    pub key: Selector,
    /// Index of the table in `Tables::lookups`.
    pub table: usize,
    /// Columns of the table by their index, and what each is given to.
    pub columns: Vec<(usize, Target)>,
    /// Given to every target where the table knows no such key.
    pub default: Option<String>,
}

/// Gives a hash of several values.
#[derive(Debug)]
pub struct Fingerprint {
    /// What is hashed, in order; an absent value differs from an empty one.
    pub from: Vec<Selector>,
    /// What is given the hash: 32 hexadecimal digits of the same values for ever.
    pub into: Target,
}

/// Reads a value by a parser.
#[derive(Debug)]
pub struct Reparse {
    /// The parsers, tried in order. `field` says what is read (the content where it is `None`);
    /// `name` and `when` say nothing.
    pub rules: Vec<ParseRule>,
    /// Fields that take the place of those of their name; others stand beside them.
    pub overwrite: Vec<NamePattern>,
    /// What the names of fields begin with. With it nothing becomes a part of the event.
    pub prefix: Option<String>,
}

/// Keeps a share of the streams.
#[derive(Debug)]
pub struct Sample {
    /// The share that is kept.
    pub keep: Share,
    /// Events with equal values here are one stream. Never empty.
    pub key: Vec<Selector>,
}
