//! From the name of a field to a metric: one look into a table made at load.
//!
//! Invariant: a look costs the hash that the field has already and one comparison; what the table
//! does not know is asked for the words of losses and rewards once. Next stop: `found`.
use riverhog_parsers::fields::name_hash;
use riverhog_parsers::number::push_name;

use super::table::{METRICS, NO_METRICS, is_own};
use crate::json::write_string;

/// Longer names are no metrics.
pub(super) const NAME_BYTES_MAX: usize = 64;
/// So many metrics have names in the table or in the configuration.
const KNOWN_MAX: usize = 256;

/// Factors of units, by the end of a metric's name. A printed name without any of these ends has
/// the first factor.
const UNITS: [(&str, &[(&str, f64)]); 6] = [
    (
        "_seconds",
        &[
            ("", 1.0),
            ("_s", 1.0),
            ("_sec", 1.0),
            ("_secs", 1.0),
            ("_seconds", 1.0),
            ("_in_s", 1.0),
            ("_ms", 1e-3),
            ("_in_ms", 1e-3),
            ("_us", 1e-6),
            ("_min", 60.0),
            ("_mins", 60.0),
            ("_minutes", 60.0),
            ("_h", 3600.0),
            ("_hours", 3600.0),
        ],
    ),
    // What trainers call GB and MB are powers of 1024; a number alone is in MB.
    (
        "_gib",
        &[
            ("", 1.0 / 1024.0),
            ("_gib", 1.0),
            ("_gb", 1.0),
            ("_mib", 1.0 / 1024.0),
            ("_mb", 1.0 / 1024.0),
            ("_kib", 1.0 / 1_048_576.0),
            ("_kb", 1.0 / 1_048_576.0),
            ("_tib", 1024.0),
            ("_tb", 1024.0),
            ("_bytes", 1.0 / 1_073_741_824.0),
        ],
    ),
    ("_percent", &[("", 1.0), ("_percent", 1.0), ("_pct", 1.0)]),
    ("_watts", &[("", 1.0), ("_w", 1.0), ("_watts", 1.0), ("_mw", 1e-3), ("_kw", 1e3)]),
    ("_celsius", &[("", 1.0), ("_c", 1.0), ("_celsius", 1.0)]),
    ("", &[("", 1.0)]),
];

/// What a name is.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Meaning {
    /// A metric by its number, and the factor to its unit.
    Known { metric: u16, factor: f64 },
    /// A metric under its own name.
    Own,
    /// No metric.
    Nothing,
}

/// A metric that has a name in the table or in the configuration.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) name: String,
    /// `"name":`, ready.
    pub(super) key: Vec<u8>,
    pub(super) is_duration: bool,
}

#[derive(Debug)]
struct Slot {
    hash: u32,
    name: String,
    meaning: Meaning,
}

/// The names of metrics.
#[derive(Debug)]
pub struct MetricNames {
    known: Vec<Known>,
    slots: Vec<Option<Slot>>,
}

/// A name of a configuration that cannot be one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NameSlip {
    /// What is wrong.
    pub message: String,
    /// What to write in its place.
    pub help: String,
}

impl Default for MetricNames {
    /// The table's alone.
    fn default() -> MetricNames {
        MetricNames::new([]).0
    }
}

impl MetricNames {
    /// The table's names, and others before them: names of metrics with names that are printed.
    /// Those that cannot be names are told and left out.
    pub fn new<'a>(
        own: impl IntoIterator<Item = (&'a str, &'a [String])>,
    ) -> (MetricNames, Vec<NameSlip>) {
        let mut names = MetricNames { known: Vec::new(), slots: Vec::new() };
        let (mut entries, mut slips) = (Vec::new(), Vec::new());
        for metric in METRICS {
            names.add(metric.name);
        }
        for (name, printed) in own {
            if !super::is_metric_name(name) {
                let mut better = String::new();
                push_name(&mut better, name, "");
                let help = if better.is_empty() || better.len() > NAME_BYTES_MAX {
                    "use at most 64 small letters, digits and `_`".to_owned()
                } else {
                    format!("write `{better}`")
                };
                let message = format!("`{name}` cannot be the name of a metric");
                slips.push(NameSlip { message, help });
                continue;
            }
            let Some(metric) = names.add(name) else {
                let message = format!("there are more than {KNOWN_MAX} metrics");
                slips.push(NameSlip { message, help: "leave out some".to_owned() });
                break;
            };
            let printed = printed.iter().map(|printed| snake(printed));
            entries.extend(variants(metric, name, printed));
        }
        for (metric, row) in (0..).zip(METRICS) {
            let exact = row.exact.iter().map(|(name, factor)| ((*name).to_owned(), *factor));
            let known = |factor| Meaning::Known { metric, factor };
            entries.extend(exact.map(|(name, factor)| (name, known(factor))));
            entries.push((row.name.to_owned(), known(1.0)));
            // `elapsed_seconds` of `5ms` is printed in another unit than its name says.
            let printed = row.printed.iter().copied().chain([row.name]);
            entries.extend(variants(metric, row.name, printed.map(snake)));
        }
        entries.extend(NO_METRICS.map(|name| (name.to_owned(), Meaning::Nothing)));
        names.fill(entries);
        (names, slips)
    }

    /// The number of a name, which may be new.
    fn add(&mut self, name: &str) -> Option<u16> {
        if let Some(known) = self.number(name) {
            return Some(known);
        }
        if self.known.len() == KNOWN_MAX {
            return None;
        }
        let mut key = Vec::new();
        write_string(&mut key, name);
        key.push(b':');
        let is_duration = name.ends_with("_seconds");
        self.known.push(Known { name: name.to_owned(), key, is_duration });
        Some((self.known.len() - 1) as u16)
    }

    /// The first entry of a name counts.
    fn fill(&mut self, entries: Vec<(String, Meaning)>) {
        let length = (4 * entries.len()).next_power_of_two();
        self.slots.resize_with(length, || None);
        for (name, meaning) in entries {
            let hash = name_hash(&name);
            let mut at = hash as usize & (length - 1);
            while let Some(slot) = &self.slots[at] {
                if slot.name == name {
                    break;
                }
                at = (at + 1) & (length - 1);
            }
            if self.slots[at].is_none() {
                self.slots[at] = Some(Slot { hash, name, meaning });
            }
        }
    }

    /// The number of a metric.
    pub(super) fn number(&self, name: &str) -> Option<u16> {
        self.known.iter().position(|known| known.name == name).map(|index| index as u16)
    }

    pub(super) fn known(&self, metric: u16) -> Option<&Known> {
        self.known.get(usize::from(metric))
    }

    /// What a name in snake case is; `hash` is its hash.
    pub(super) fn meaning(&self, name: &str, hash: u32) -> Meaning {
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        while let Some(slot) = &self.slots[at] {
            if slot.hash == hash && slot.name == name {
                return slot.meaning;
            }
            at = (at + 1) & mask;
        }
        if name.len() <= NAME_BYTES_MAX && is_own(name) { Meaning::Own } else { Meaning::Nothing }
    }
}

fn snake(printed: &str) -> String {
    let mut name = String::new();
    push_name(&mut name, printed, "");
    name
}

/// A printed name with each unit that the metric may be printed in.
fn variants(
    metric: u16,
    name: &str,
    printed: impl Iterator<Item = String>,
) -> impl Iterator<Item = (String, Meaning)> {
    let units = UNITS.iter().find(|(end, _)| name.ends_with(end)).map_or(&[][..], |it| it.1);
    printed.flat_map(move |printed| {
        units.iter().map(move |(unit, factor)| {
            (format!("{printed}{unit}"), Meaning::Known { metric, factor: *factor })
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &str, expect: &str) {
        let own = ["mein loss".to_owned(), "step".to_owned()];
        let (names, slips) =
            MetricNames::new([("loss", &own[..1]), ("my_wait_seconds", &own[..0]), ("Loss", &own)]);
        assert_eq!(slips.len(), 1, "{slips:?}");
        let found = match names.meaning(name, name_hash(name)) {
            Meaning::Known { metric, factor } => {
                format!("{} {factor}", names.known(metric).expect("it is known").name)
            }
            other => format!("{other:?}"),
        };
        assert_eq!(found, expect, "{name}");
    }

    #[test]
    fn names_have_meanings() {
        check("lm_loss", "loss 1");
        check("mein_loss", "loss 1");
        check("iteration", "step 1");
        check("elapsed_time_per_iteration_ms", "step_seconds 0.001");
        check("elapsed_time_per_iteration_s", "step_seconds 1");
        check("memory_gib", "memory_gib 1");
        check("memory", "memory_gib 0.0009765625");
        check("temperature_gpu", "temperature_celsius 1");
        check("actor_grad_norm", "Own");
        check("rewards_accuracies_mean", "Own");
        check("mtp_1_loss", "Own");
        check("loss_scale", "loss_scale 1");
        check("line", "Nothing");
        check("glossy", "Nothing");
        check("my_own", "Nothing");
    }

    /// A row that another one shadows would never be found.
    #[test]
    fn no_name_stands_twice_in_the_table() {
        let mut seen = std::collections::HashMap::new();
        for metric in METRICS {
            assert!(super::super::is_metric_name(metric.name), "{}", metric.name);
            for name in metric.printed.iter().chain(metric.exact.iter().map(|(name, _)| name)) {
                assert_eq!(snake(name), *name);
                let before = seen.insert(*name, metric.name);
                assert!(before.is_none(), "{name}: {before:?} and {}", metric.name);
            }
        }
    }
}
