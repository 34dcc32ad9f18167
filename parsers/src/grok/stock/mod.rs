//! The stock patterns: Logstash's two sets, and names of our own.
//!
//! What it is for: what a name stands for in a set. The legacy set is the `grok` crate's data and,
//! where that differs from Logstash's, `legacy.grok`; the ECS set is the legacy definitions under
//! other names of fields, and definitions of its own where the shapes differ; `riverhog.grok`
//! stands behind both. Invariant: a stock name means what Logstash's means, but for the deviations
//! that `docs/grok.md` lists. Next on the trip: [`super::syntax`] expands them.

mod file;

use std::collections::HashMap;
use std::sync::OnceLock;

use super::PatternSet;
use file::PatternFile;

/// The legacy set: what the crate's data has otherwise, or not at all.
const LEGACY: &str = include_str!("legacy.grok");
/// The ECS set, by the files of Logstash's.
const ECS: [&str; 15] = [
    include_str!("ecs/core.grok"),
    include_str!("ecs/aws.grok"),
    include_str!("ecs/bacula.grok"),
    include_str!("ecs/bind.grok"),
    include_str!("ecs/bro.grok"),
    include_str!("ecs/exim.grok"),
    include_str!("ecs/firewalls.grok"),
    include_str!("ecs/haproxy.grok"),
    include_str!("ecs/httpd.grok"),
    include_str!("ecs/java.grok"),
    include_str!("ecs/junos.grok"),
    include_str!("ecs/nagios.grok"),
    include_str!("ecs/syslog.grok"),
    include_str!("ecs/zeek.grok"),
    include_str!("ecs/small.grok"),
];
/// Names of our own.
const RIVERHOG: &str = include_str!("riverhog.grok");

/// Names that the crate has in the shape of the ECS set. Logstash's legacy set has the last three
/// in another one and lacks the others, which can be used here all the same.
const ECS_IN_CRATE: [&str; 10] = [
    "IPTABLES",
    "IPTABLES4_FRAG",
    "IPTABLES4_PART",
    "IPTABLES6_PART",
    "IPTABLES_TCP_FLAGS",
    "IPTABLES_TCP_PART",
    "SFW2_LOG_PREFIX",
    "EMAILLOCALPART",
    "SFW2",
    "SHOREWALL",
];

/// Every name of a set with its definition, and ours.
type Patterns = HashMap<String, String>;

/// The definition of a name: the stock one, else ours.
pub(super) fn definition(set: PatternSet, name: &str) -> Option<&'static str> {
    let ours = || riverhog().get(name);
    patterns(set).get(name).or_else(ours).map(String::as_str)
}

/// Every stock name of a set, and ours, sorted.
pub(super) fn names(set: PatternSet) -> impl Iterator<Item = &'static str> {
    let all = patterns(set).keys().chain(riverhog().keys());
    let mut names: Vec<&'static str> = all.map(String::as_str).collect();
    names.sort_unstable();
    names.into_iter()
}

fn patterns(set: PatternSet) -> &'static Patterns {
    static LEGACY_SET: OnceLock<Patterns> = OnceLock::new();
    static ECS_SET: OnceLock<Patterns> = OnceLock::new();
    match set {
        PatternSet::Legacy => LEGACY_SET.get_or_init(legacy),
        PatternSet::EcsV1 => ECS_SET.get_or_init(|| ecs(patterns(PatternSet::Legacy))),
    }
}

fn riverhog() -> &'static Patterns {
    static OURS: OnceLock<Patterns> = OnceLock::new();
    OURS.get_or_init(|| read(RIVERHOG).definitions.into_iter().collect())
}

fn legacy() -> Patterns {
    let crates = grok::patterns().iter();
    let crates = crates.map(|(name, regex)| ((*name).to_owned(), (*regex).to_owned()));
    crates.chain(read(LEGACY).definitions).collect()
}

/// The legacy definitions, below those of the ECS files.
fn ecs(legacy: &Patterns) -> Patterns {
    let mut patterns = legacy.clone();
    for (name, regex) in grok::patterns().iter().filter(|(name, _)| ECS_IN_CRATE.contains(name)) {
        patterns.insert((*name).to_owned(), (*regex).to_owned());
    }
    for text in ECS {
        let file = read(text);
        for (name, source) in &file.legacy {
            let text = legacy.get(source).expect("the files name what is there");
            patterns.insert(name.clone(), file.renamed(name, text));
        }
        patterns.extend(file.definitions);
    }
    patterns
}

fn read(text: &str) -> PatternFile {
    PatternFile::read(text).expect("the files are constant, and read by the tests")
}

#[cfg(test)]
mod tests;
