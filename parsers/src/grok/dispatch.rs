//! Many patterns and one text: which of them are worth running.
//!
//! What it is for: with fifty formats, forty-nine are in vain. What a text begins with and the
//! literals in it leave one or two, at the cost of a few looks at it. Invariant: a pattern that is
//! left out does not match, so that trying the others in order finds what trying all finds. Next
//! on the trip: [`super::Grok::run`] runs those that are left.

use super::Grok;
use super::engine::{Literals, Start, first_bytes};

/// Patterns that are looked at together: one is a bit of a word.
const GROUP: usize = 64;
/// Bytes at the start of a text that are looked at.
const OFFSETS: usize = 12;
/// So many of them before anything else.
const FIRST_OFFSETS: usize = 2;
/// In place of a byte: the text ends there.
const END: usize = 256;

/// Bytes of a literal that are looked up at once.
const GRAM_BYTES: usize = 4;
/// Places that they may fall on.
const GRAM_BITS: u32 = 10;
const PLACES: usize = 1 << GRAM_BITS;
/// Stretches of literals that are looked for, for each pattern.
const STRETCHES: usize = 2;
/// The most bytes that a search goes on by at once.
const STRIDE_MAX: usize = 4;
/// What running a pattern in vain costs, in lookups of a search: measured, and rounded down.
const RUN_LOOKUPS: usize = 16;
/// So many patterns are always worth a search: each of them would look for its literals itself.
const SEARCHED_ALWAYS: usize = 8;
/// Bytes of a line to reckon with before any is there.
const LINE_BYTES: usize = 96;

/// What a number of patterns begin with and what they need.
pub struct Dispatch {
    groups: Vec<Group>,
}

/// What up to 64 patterns begin with and what they need.
struct Group {
    /// A bit for each pattern.
    all: u64,
    /// By offset, then by byte or end: the patterns that may have it there.
    beginnings: Vec<[u64; END + 1]>,
    /// The patterns that start where a line does: not only at the start of a text of several.
    lines: u64,
    grams: Grams,
}

/// Stretches of literals that each of many patterns needs. One pass over a text finds which of them
/// may be in it: cheaper than an automaton, and enough to tell most patterns apart.
///
/// A stretch has as many windows of four bytes as the pass goes on by at once, so that one of them
/// is met wherever in a text the stretch stands.
struct Grams {
    /// By place: the patterns of whose first, second stretch a window falls on it.
    places: Box<[[u64; STRETCHES]; PLACES]>,
    /// The patterns that need such a stretch.
    owning: [u64; STRETCHES],
    /// Bytes that the pass goes on by at once.
    stride: usize,
}

/// The patterns that a text may match: an iterator over their indices.
pub struct Selection<'d> {
    text: &'d str,
    groups: std::iter::Enumerate<std::slice::Iter<'d, Group>>,
    /// Index of the first pattern of the group that is being given out.
    first: usize,
    /// A bit for each pattern of it that has not been given out yet.
    candidates: u64,
}

impl Dispatch {
    /// Looks at the patterns, whose order is theirs in every [`Selection`].
    pub fn new(patterns: &[Grok]) -> Dispatch {
        Dispatch { groups: patterns.chunks(GROUP).map(Group::of).collect() }
    }

    /// Looks at the start of a text and for what patterns need. Later patterns are looked at only
    /// when they are asked for.
    #[inline]
    pub fn select<'d>(&'d self, text: &'d str) -> Selection<'d> {
        Selection { text, groups: self.groups.iter().enumerate(), first: 0, candidates: 0 }
    }
}

impl Iterator for Selection<'_> {
    type Item = usize;

    /// The index of the next pattern that may match, in their order.
    #[inline]
    fn next(&mut self) -> Option<usize> {
        while self.candidates == 0 {
            let (number, group) = self.groups.next()?;
            (self.first, self.candidates) = (number * GROUP, group.select(self.text.as_bytes()));
        }
        let bit = self.candidates.trailing_zeros() as usize;
        self.candidates &= self.candidates - 1;
        Some(self.first + bit)
    }
}

impl Group {
    fn of(patterns: &[Grok]) -> Group {
        let mut beginnings = vec![[0; END + 1]; OFFSETS];
        let (mut all, mut lines) = (0, 0);
        for (index, grok) in patterns.iter().enumerate() {
            let bit = 1_u64 << index;
            all |= bit;
            let (start, _) = grok.needs();
            if start == Start::Line {
                lines |= bit;
            }
            let known = match start {
                Start::Anywhere => None,
                Start::Text | Start::Line => grok.inner.engine.automaton(),
            };
            let known = known.map(|nfa| first_bytes(nfa, OFFSETS)).unwrap_or_default();
            for (offset, table) in beginnings.iter_mut().enumerate() {
                for (byte, may) in table.iter_mut().enumerate() {
                    if known.get(offset).is_none_or(|bytes| bytes[byte]) {
                        *may |= bit;
                    }
                }
            }
        }
        // Offsets that say nothing about any pattern need no look.
        let says = |table: &[u64]| table.iter().any(|may| *may != all);
        let depth = beginnings.iter().rposition(|table| says(&table[..]));
        beginnings.truncate(depth.map_or(0, |last| last + 1));
        Group { all, beginnings, lines, grams: Grams::of(patterns) }
    }

    /// The patterns that may match.
    fn select(&self, text: &[u8]) -> u64 {
        // The first bytes tell most shapes apart. What follows is a time in the formats of one
        // program; literals tell more.
        let (first, more) = self.beginnings.split_at(self.beginnings.len().min(FIRST_OFFSETS));
        let mut candidates = begin(first, 0, text, self.all);
        if is_several(candidates) {
            candidates = self.grams.search(text, candidates);
        }
        if is_several(candidates) && text.len() >= FIRST_OFFSETS {
            candidates = begin(more, FIRST_OFFSETS, text, candidates);
        }
        if self.lines != 0 && memchr::memchr(b'\n', text).is_some() {
            return candidates | self.grams.search(text, self.lines);
        }
        candidates
    }
}

/// Leaves out what does not begin so; `tables` are those of the offsets from `offset` on.
#[inline]
fn begin(tables: &[[u64; END + 1]], offset: usize, text: &[u8], mut candidates: u64) -> u64 {
    for (offset, table) in (offset..).zip(tables) {
        let byte = text.get(offset).map_or(END, |byte| usize::from(*byte));
        candidates &= table[byte];
        if !is_several(candidates) || byte == END {
            break;
        }
    }
    candidates
}

#[inline]
fn is_several(candidates: u64) -> bool {
    candidates & candidates.wrapping_sub(1) != 0
}

impl Grams {
    fn of(patterns: &[Grok]) -> Grams {
        let literals = |grok: &Grok| -> Vec<Vec<u8>> {
            let literals = grok.needs().1.into_iter().flat_map(Literals::iter);
            literals.map(<[u8]>::to_vec).collect()
        };
        let literals: Vec<Vec<Vec<u8>>> = patterns.iter().map(literals).collect();
        let mut used = vec![0_u32; PLACES];
        for place in literals.iter().flatten().flat_map(|literal| places_of(literal)) {
            used[place] += 1;
        }
        let stride = stride(&literals);
        let (mut places, mut owning) = (Box::new([[0; STRETCHES]; PLACES]), [0; STRETCHES]);
        for (index, literals) in literals.iter().enumerate() {
            let stretches = literals.iter().flat_map(|one| one.windows(stretch_bytes(stride)));
            let mut stretches: Vec<&[u8]> = stretches.collect();
            // Those whose windows fewest others have say most.
            stretches.sort_by_key(|one| places_of(one).map(|place| used[place]).sum::<u32>());
            let mut taken: Vec<usize> = Vec::new();
            for (which, owning) in owning.iter_mut().enumerate() {
                let is_new = |one: &&&[u8]| !places_of(one).any(|place| taken.contains(&place));
                let Some(stretch) = stretches.iter().find(is_new) else { break };
                *owning |= 1 << index;
                for place in places_of(stretch) {
                    places[place][which] |= 1 << index;
                    taken.push(place);
                }
            }
        }
        Grams { places, owning, stride }
    }

    /// Leaves out those candidates whose stretches are not in the text, if looking is cheaper than
    /// running them.
    #[inline]
    fn search(&self, text: &[u8], candidates: u64) -> u64 {
        let asking = (candidates & self.owning[0]).count_ones() as usize;
        let pays = asking > 1 && asking * RUN_LOOKUPS * self.stride >= text.len();
        if !pays && asking < SEARCHED_ALWAYS {
            return candidates;
        }
        // A stride that is known when this is compiled makes a faster loop.
        let seen = match self.stride {
            1 => self.pass::<1>(text),
            2 => self.pass::<2>(text),
            3 => self.pass::<3>(text),
            _ => self.pass::<STRIDE_MAX>(text),
        };
        let found = seen.iter().zip(&self.owning).map(|(seen, owning)| seen | !owning);
        found.fold(candidates, |candidates, found| candidates & found)
    }

    #[inline]
    fn pass<const STRIDE: usize>(&self, text: &[u8]) -> [u64; STRETCHES] {
        let mut seen = [0; STRETCHES];
        let mut rest = text;
        while let Some(&gram) = rest.first_chunk() {
            let owners = &self.places[place(gram)];
            for (seen, owners) in seen.iter_mut().zip(owners) {
                *seen |= owners;
            }
            rest = rest.get(STRIDE..).unwrap_or_default();
        }
        seen
    }
}

/// A long stride looks seldom, but a pattern whose literals are shorter than its stretches cannot
/// be told apart: the one that costs an ordinary line least.
fn stride(literals: &[Vec<Vec<u8>>]) -> usize {
    let cost = |stride: &usize| {
        let has = |literals: &[Vec<u8>], stride| {
            literals.iter().any(|one| one.len() >= stretch_bytes(stride))
        };
        let lost = literals.iter().filter(|one| has(one, 1) && !has(one, *stride)).count();
        LINE_BYTES / stride + lost * RUN_LOOKUPS
    };
    (1..=STRIDE_MAX).min_by_key(cost).unwrap_or(1)
}

/// Bytes of a stretch: one window for each byte of the stride.
fn stretch_bytes(stride: usize) -> usize {
    stride + GRAM_BYTES - 1
}

/// Where four bytes fall.
#[inline]
fn place(gram: [u8; GRAM_BYTES]) -> usize {
    (u32::from_le_bytes(gram).wrapping_mul(0x9e37_79b1) >> (32 - GRAM_BITS)) as usize
}

/// The places of all windows of a text.
fn places_of(text: &[u8]) -> impl Iterator<Item = usize> {
    text.windows(GRAM_BYTES).filter_map(<[u8]>::first_chunk).copied().map(place)
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use proptest::prelude::*;

    use super::super::{GrokOptions, Outcome};
    use super::*;

    const PATTERNS: [&str; 12] = [
        "^%{TIMESTAMP_ISO8601:t} %{LOGLEVEL:l} %{GREEDYDATA:m}",
        r"^\[%{TIMESTAMP_ISO8601:t}\] %{GREEDYDATA:m}",
        r"\A(?<x>ab?)c",
        "^%{SYSLOGTIMESTAMP:t} %{GREEDYDATA:m}",
        "loss=%{NUMBER:loss}",
        "step=%{INT:step}",
        "^$",
        r"(?<=\] )xy",
        "epoch (?<e>[0-9]+)",
        "rank: (?<r>[0-9]+)",
        "%{WORD:w}=%{WORD:v}",
        "^(?i)(?<l>warn|ß)",
    ];

    static COMPILED: LazyLock<Vec<Grok>> = LazyLock::new(|| {
        let compile = |pattern: &&str| Grok::compile(pattern, &GrokOptions::default()).unwrap();
        PATTERNS.iter().map(compile).collect()
    });

    static DISPATCH: LazyLock<Dispatch> = LazyLock::new(|| Dispatch::new(&COMPILED));

    /// The patterns that are left.
    fn left(dispatch: &Dispatch, text: &str) -> Vec<usize> {
        dispatch.select(text).collect()
    }

    #[test]
    fn few_are_left() {
        let dispatch = Dispatch::new(&COMPILED);
        // The last begins with anything: in another case its `ß` is two letters. 7 and 10
        // have no anchor, and no literal of four bytes that a search would find.
        assert_eq!(left(&dispatch, "2026-03-12 10:23:45 INFO x"), [0, 7, 10, 11]);
        assert_eq!(left(&dispatch, "[2026-03-12] loss=2.5"), [1, 4, 7, 10, 11]);
        assert_eq!(left(&dispatch, "abc"), [2, 7, 10, 11]);
        assert_eq!(left(&dispatch, ""), [6, 7, 10, 11]);
        let several = "x\n2026-03-12 10:23:45 x=";
        assert_eq!(left(&dispatch, several), [0, 1, 3, 6, 7, 10, 11]);
        assert!(left(&Dispatch::new(&[]), "abc").is_empty());
    }

    #[test]
    fn many_without_an_anchor_are_told_apart_by_literals() {
        let compile = |number: usize| {
            let pattern = format!("%{{WORD:w}} in state{number}: %{{INT:n}}");
            Grok::compile(&pattern, &GrokOptions::default()).unwrap()
        };
        for count in [40, 90] {
            let many: Vec<Grok> = (10..count).map(compile).collect();
            let dispatch = Dispatch::new(&many);
            // Wherever a stretch stands, one of its windows is met.
            for before in 0..2 * STRIDE_MAX {
                let text = "x".repeat(before) + " in state27: 1";
                let left = left(&dispatch, &text);
                assert!(left.contains(&17) && left.len() < count / 3, "{text:?}: {left:?}");
            }
        }
    }

    #[test]
    fn more_patterns_than_a_word_has_bits() {
        let many: Vec<Grok> = (0..150)
            .map(|number| {
                let pattern = format!("^f{number}: (?<x>a)|^g{number}");
                Grok::compile(&pattern, &GrokOptions::default()).unwrap()
            })
            .collect();
        let dispatch = Dispatch::new(&many);
        for (text, expect) in [("f0: a", 0), ("f149: a", 149), ("g77", 77)] {
            let first = dispatch.select(text).find(|index| {
                let grok = &many[*index];
                grok.run(text, &mut grok.scratch(), &mut Vec::new()) == Outcome::Matched
            });
            // `g7` comes before `g77` and matches its start.
            assert_eq!(first, Some(if expect == 77 { 7 } else { expect }), "{text:?}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

        #[test]
        fn none_is_left_out_that_matches(
            parts in proptest::collection::vec(
                proptest::sample::select(vec![
                    "2026-03-12 10:23:45", " INFO ", "[", "] ", "abc", "Mar  7 04:02:11", "loss=",
                    "2.5", "step=12", "\n", "x", "epoch 3", "rank: 1", "warn", "SS", "ẞ", "训",
                ]),
                0..6,
            ),
        ) {
            let text = parts.concat();
            let left = left(&DISPATCH, &text);
            for (index, grok) in COMPILED.iter().enumerate() {
                if grok.run(&text, &mut grok.scratch(), &mut Vec::new()) == Outcome::Matched {
                    prop_assert!(left.contains(&index), "{grok:?} on {text:?}");
                }
            }
        }
    }
}
