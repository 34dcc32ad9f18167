//! What was typed behind `./x chaos`.
//!
//! The invariant: what is not understood is an error, never passed over.

use anyhow::{Context as _, Result, bail, ensure};
use riverhog_tests::random;

use crate::scenarios::{SCENARIOS, Scenario};

pub(crate) const USAGE: &str = "usage: ./x chaos [--rounds N] [--only NAME] [--seed S] [--list]

  --rounds N   so many rounds of each scenario, in place of each one's own number
  --only NAME  this scenario alone; may be given again
  --seed S     the first round's seed, the next ones count up; by chance without it
  --short      one small round of some scenarios: what ./x test runs
  --list       the scenarios";

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Options {
    pub(crate) rounds: Option<u64>,
    pub(crate) only: Vec<String>,
    pub(crate) seed: u64,
    pub(crate) short: bool,
    pub(crate) list: bool,
    pub(crate) help: bool,
}

impl Options {
    pub(crate) fn read(words: impl Iterator<Item = String>) -> Result<Self> {
        // Short enough to be typed again.
        let mut options = Self { seed: random() % 1_000_000, ..Self::default() };
        let mut words = words;
        while let Some(word) = words.next() {
            let mut value = || words.next().with_context(|| format!("{word} needs a value"));
            match &*word {
                "--rounds" => options.rounds = Some(number(&word, &value()?)?),
                "--seed" => options.seed = number(&word, &value()?)?,
                "--only" => options.only.push(value()?),
                "--short" => options.short = true,
                "--list" => options.list = true,
                "--help" | "-h" => options.help = true,
                other => bail!("{other} is not understood\n{USAGE}"),
            }
        }
        for name in &options.only {
            let is_known = SCENARIOS.iter().any(|scenario| scenario.name == name);
            ensure!(is_known, "there is no scenario {name}; --list shows all");
        }
        Ok(options)
    }

    pub(crate) fn wants(&self, scenario: &Scenario) -> bool {
        if self.only.is_empty() {
            return scenario.short || !self.short;
        }
        self.only.iter().any(|name| name == scenario.name)
    }

    pub(crate) fn rounds_of(&self, scenario: &Scenario) -> u64 {
        self.rounds.unwrap_or(if self.short { 1 } else { scenario.rounds })
    }
}

fn number(word: &str, value: &str) -> Result<u64> {
    value.parse().with_context(|| format!("{word} {value}: not a number"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(words: &[&str]) -> Result<Options> {
        Options::read(words.iter().map(|word| (*word).to_owned()))
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        for words in [&["--rouns", "3"][..], &["--rounds"], &["--seed", "x"], &["--only", "none"]] {
            assert!(check(words).is_err(), "{words:?}");
        }
        let options = check(&["--rounds", "3", "--only", "kill", "--seed", "7"]).unwrap();
        assert_eq!(options.rounds, Some(3));
        assert_eq!(options.seed, 7);
        let wanted: Vec<_> = SCENARIOS.iter().filter(|one| options.wants(one)).collect();
        assert_eq!(wanted.len(), 1);
        assert_eq!(options.rounds_of(wanted[0]), 3);
    }

    #[test]
    fn the_short_version_is_a_part_of_the_long_one() {
        let short = check(&["--short"]).unwrap();
        let count = SCENARIOS.iter().filter(|one| short.wants(one)).count();
        assert!((3..SCENARIOS.len()).contains(&count), "{count}");
        let long = check(&[]).unwrap();
        assert!(SCENARIOS.iter().all(|one| long.wants(one)));
        let kills = SCENARIOS.iter().find(|one| one.name == "kill").unwrap();
        assert!(long.rounds_of(kills) >= 50);
    }
}
