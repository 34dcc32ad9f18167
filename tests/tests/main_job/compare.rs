//! What the stores hold beside what was produced.
//!
//! The invariant: a line that is missing, there twice, in the wrong place, or in a store that no
//! route names is found, and the message counts each kind and shows some. Next stop: the tests.

use anyhow::{Result, bail};
use std::fmt::Write as _;

use crate::lines::{Line, Lines};
use crate::stores::{Held, key_parts};

/// Findings of one kind that are shown.
const SHOWN: usize = 5;

/// One of the two stores of the configuration.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Store<'a> {
    /// OpenSearch, and what stands before the day in its indices.
    Search(&'a str),
    /// The bucket.
    Archive,
}

#[derive(Default)]
struct Findings {
    kinds: Vec<(&'static str, usize, Vec<String>)>,
}

impl Findings {
    fn add(&mut self, kind: &'static str, what: impl FnOnce() -> String) {
        let at = self.kinds.iter().position(|(known, ..)| *known == kind).unwrap_or_else(|| {
            self.kinds.push((kind, 0, Vec::new()));
            self.kinds.len() - 1
        });
        let (_, count, shown) = &mut self.kinds[at];
        *count += 1;
        if shown.len() < SHOWN {
            shown.push(what());
        }
    }

    fn result(self, store: Store<'_>) -> Result<()> {
        if self.kinds.is_empty() {
            return Ok(());
        }
        let mut text = format!("{store:?}:");
        for (kind, count, shown) in self.kinds {
            write!(text, "\n{count} {kind}, such as\n    {}", shown.join("\n    "))?;
        }
        bail!(text)
    }
}

impl Store<'_> {
    /// Does a route take the line here?
    pub(crate) fn takes(self, line: &Line) -> bool {
        match self {
            Store::Search(_) => line.expect.is_searched(),
            Store::Archive => true,
        }
    }

    fn is_place_of(self, line: &Line, place: &str) -> bool {
        match self {
            Store::Search(stem) => place == line.index(stem),
            Store::Archive => key_parts(place).is_ok_and(|(prefix, ..)| prefix == line.prefix()),
        }
    }

    /// Every line that is routed here is here once, in its place, and nothing else is.
    pub(crate) fn holds_each_once(self, lines: &Lines, held: &Held) -> Result<()> {
        let mut findings = Findings::default();
        for line in lines.all() {
            let id = line.id(lines.topic());
            let places = held.get(&id).map(Vec::as_slice).unwrap_or_default();
            let routed = self.takes(line);
            match places {
                [] if routed => findings.add("lines are missing", || format!("{line:?}")),
                [] => {}
                [place] if routed && self.is_place_of(line, place) => {}
                [place] if routed => {
                    findings.add("lines are in a wrong place", || format!("{id} in {place}"));
                }
                [place] => findings.add("lines no route takes", || format!("{id} in {place}")),
                many => findings.add("lines are there twice", || format!("{id} in {many:?}")),
            }
        }
        for id in held.keys().filter(|id| lines.by_id(id).is_none()) {
            findings.add("events of no line", || id.clone());
        }
        findings.result(self)
    }

    /// Every line below a committed offset that is routed here is here, and none is twice. Returns
    /// how many lines are here that are not below: those that a restart could repeat.
    pub(crate) fn holds_what_is_committed(
        self,
        lines: &Lines,
        held: &Held,
        committed: &[i64],
    ) -> Result<usize> {
        let mut findings = Findings::default();
        let mut ahead = 0;
        for line in lines.all().iter().filter(|line| self.takes(line)) {
            let id = line.id(lines.topic());
            let places = held.get(&id).map_or(0, Vec::len);
            let below = line.offset < committed[line.expect.partition as usize];
            match places {
                0 if below => findings.add("committed lines are missing", || format!("{line:?}")),
                0 => {}
                1 => ahead += usize::from(!below),
                _ => findings.add("lines are there twice", || format!("{id} in {:?}", held[&id])),
            }
        }
        findings.result(self)?;
        Ok(ahead)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use riverhog_tests::corpus::Corpus;

    const STORE: Store<'_> = Store::Search("logs");

    fn lines() -> Lines {
        Lines::new("t", Corpus { seed: 5, lines: 2_000, partitions: 2 }, Vec::new())
    }

    fn right(lines: &Lines) -> Held {
        let routed = lines.all().iter().filter(|line| STORE.takes(line));
        routed.map(|line| (line.id("t"), vec![line.index("logs")])).collect()
    }

    #[track_caller]
    fn check(change: impl FnOnce(&Lines, &mut Held), expect: Option<&str>) {
        let lines = lines();
        let mut held = right(&lines);
        assert!(held.len() > 100, "too few are routed: {}", held.len());
        change(&lines, &mut held);
        let found = STORE.holds_each_once(&lines, &held).map_err(|error| error.to_string());
        match (found, expect) {
            (Ok(()), None) => {}
            (Err(text), Some(part)) => assert!(text.contains(part), "{text}"),
            (found, expect) => panic!("{found:?}, not {expect:?}"),
        }
    }

    fn first(held: &mut Held) -> &mut Vec<String> {
        held.values_mut().next().unwrap()
    }

    #[test]
    fn each_kind_of_fault_is_found() {
        check(|_, _| {}, None);
        check(
            |_, held| {
                let id = held.keys().next().unwrap().clone();
                held.remove(&id);
            },
            Some("1 lines are missing"),
        );
        check(|_, held| first(held).push("logs-2026.03.12".to_owned()), Some("1 lines are there"));
        check(|_, held| *first(held) = vec!["logs-1970.01.01".to_owned()], Some("wrong place"));
        let unrouted = |lines: &Lines, held: &mut Held| {
            let line = lines.all().iter().find(|line| !STORE.takes(line)).unwrap();
            held.insert(line.id("t"), vec![line.index("logs")]);
        };
        check(unrouted, Some("no route takes"));
        check(|_, held| drop(held.insert("t-0-9-a-0".to_owned(), vec![])), Some("of no line"));
    }

    #[test]
    fn a_commit_that_passes_a_missing_line_is_found() {
        let lines = lines();
        let mut held = right(&lines);
        let ends = lines.ends().to_vec();
        assert_eq!(STORE.holds_what_is_committed(&lines, &held, &ends).unwrap(), 0);
        let nothing = vec![0; ends.len()];
        let ahead = STORE.holds_what_is_committed(&lines, &held, &nothing).unwrap();
        assert_eq!(ahead, held.len());
        let missing = lines.all().iter().find(|line| STORE.takes(line)).unwrap();
        held.remove(&missing.id("t"));
        let mut committed = nothing;
        let at = missing.expect.partition as usize;
        committed[at] = missing.offset;
        assert!(STORE.holds_what_is_committed(&lines, &held, &committed).is_ok());
        committed[at] += 1;
        let error = STORE.holds_what_is_committed(&lines, &held, &committed).unwrap_err();
        assert!(error.to_string().contains("1 committed lines are missing"), "{error}");
    }
}
