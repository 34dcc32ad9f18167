//! Many patterns and one text: which of them are worth running.
//!
//! What it is for: with fifty formats, forty-nine are in vain. What a text begins with and the
//! literals in it leave one or two, at the cost of a few looks at it. Invariant: a pattern that is
//! left out does not match, so that trying the others in order finds what trying all finds. Next
//! on the trip: [`super::Grok::run`] runs those that are left.

use super::Grok;
use super::engine::{Start, first_bytes};

/// Bytes at the start of a text that are looked at.
const OFFSETS: usize = 12;
/// In place of a byte: the text ends there.
const END: usize = 256;
/// Fewer patterns look for their literals themselves, which is faster.
const SEARCHED_MIN: u32 = 8;
/// Places that four bytes of a literal may fall on.
const GRAM_BITS: u32 = 10;

/// What a number of patterns begin with and what they need.
pub struct Dispatch {
    /// Words of 64 patterns.
    words: usize,
    /// By offset, then by byte or end: the patterns that may have it there.
    beginnings: Vec<Box<[u64]>>,
    /// The patterns that start where a line does: not only at the start of a text of several.
    lines: Box<[u64]>,
    has_lines: bool,
    grams: Grams,
}

/// Four bytes that each of many patterns needs. One pass over a text finds which of them may be in
/// it: cheaper than an automaton, and enough to tell most patterns apart.
struct Grams {
    /// By place: the patterns whose four bytes fall on it.
    places: Box<[u64]>,
    /// The patterns that need some.
    owning: Box<[u64]>,
}

/// What a worker reuses from text to text.
#[derive(Default)]
pub struct DispatchScratch {
    candidates: Vec<u64>,
    seen: Vec<u64>,
}

/// The patterns that a text may match: an iterator over their indices.
pub struct Selection<'d> {
    /// A bit for each pattern that has not been given out yet.
    candidates: &'d mut [u64],
    /// The word that is being given out.
    word: usize,
}

impl Dispatch {
    /// Looks at the patterns, whose order is theirs in every [`Selection`].
    pub fn new(patterns: &[Grok]) -> Dispatch {
        let words = patterns.len().div_ceil(64).max(1);
        let mut beginnings = vec![vec![0; words * (END + 1)].into_boxed_slice(); OFFSETS];
        let mut lines = vec![0; words].into_boxed_slice();
        for (index, grok) in patterns.iter().enumerate() {
            let (word, bit) = (index / 64, 1_u64 << (index % 64));
            let start = grok.inner.engine.start();
            if start == Start::Line {
                lines[word] |= bit;
            }
            let known = match start {
                Start::Anywhere => None,
                Start::Text | Start::Line => grok.inner.engine.automaton(),
            };
            let known = known.map(|nfa| first_bytes(nfa, OFFSETS)).unwrap_or_default();
            for (offset, table) in beginnings.iter_mut().enumerate() {
                for byte in 0..=END {
                    if known.get(offset).is_none_or(|bytes| bytes[byte]) {
                        table[byte * words + word] |= bit;
                    }
                }
            }
        }
        let has_lines = lines.iter().any(|word| *word > 0);
        Dispatch { words, beginnings, lines, has_lines, grams: Grams::of(patterns, words) }
    }

    /// What a worker needs.
    pub fn scratch(&self) -> DispatchScratch {
        DispatchScratch { candidates: vec![0; self.words], seen: vec![0; self.words] }
    }

    /// Looks at the start of a text. `scratch` must come from this dispatch.
    #[inline]
    pub fn select<'d>(&'d self, text: &'d str, scratch: &'d mut DispatchScratch) -> Selection<'d> {
        let bytes = text.as_bytes();
        if let [candidates] = &mut scratch.candidates[..] {
            *candidates = self.begin_one(bytes);
        } else {
            self.begin_many(bytes, &mut scratch.candidates);
        }
        if self.has_lines && memchr::memchr(b'\n', bytes).is_some() {
            for (word, lines) in scratch.candidates.iter_mut().zip(&self.lines) {
                *word |= lines;
            }
        }
        self.grams.search(bytes, scratch);
        Selection { candidates: &mut scratch.candidates, word: 0 }
    }

    /// Up to 64 patterns, which is what there usually is.
    #[inline]
    fn begin_one(&self, bytes: &[u8]) -> u64 {
        let mut candidates = u64::MAX;
        for (offset, table) in self.beginnings.iter().enumerate() {
            let byte = bytes.get(offset).map_or(END, |byte| usize::from(*byte));
            candidates &= table[byte];
            if candidates & candidates.wrapping_sub(1) == 0 || byte == END {
                break;
            }
        }
        candidates
    }

    fn begin_many(&self, bytes: &[u8], candidates: &mut [u64]) {
        candidates.fill(u64::MAX);
        for (offset, table) in self.beginnings.iter().enumerate() {
            let byte = bytes.get(offset).map_or(END, |byte| usize::from(*byte));
            let row = &table[byte * self.words..(byte + 1) * self.words];
            let mut left = 0;
            for (word, may) in candidates.iter_mut().zip(row) {
                *word &= may;
                left += word.count_ones();
            }
            if left <= 1 || byte == END {
                break;
            }
        }
    }
}

impl Iterator for Selection<'_> {
    type Item = usize;

    /// The index of the next pattern that may match, in their order.
    #[inline]
    fn next(&mut self) -> Option<usize> {
        loop {
            let word = self.candidates.get_mut(self.word)?;
            if *word != 0 {
                let bit = word.trailing_zeros() as usize;
                *word &= *word - 1;
                return Some(self.word * 64 + bit);
            }
            self.word += 1;
        }
    }
}

impl Grams {
    fn of(patterns: &[Grok], words: usize) -> Grams {
        let mut places = vec![0; words << GRAM_BITS].into_boxed_slice();
        let mut owning = vec![0; words].into_boxed_slice();
        let mut used = vec![0_u32; 1 << GRAM_BITS];
        let grams = |grok: &Grok| -> Vec<usize> {
            let literals = grok.inner.engine.literals().iter();
            literals.flat_map(|literal| literal.windows(4).map(place)).collect()
        };
        for grok in patterns {
            for place in grams(grok) {
                used[place] += 1;
            }
        }
        for (index, grok) in patterns.iter().enumerate() {
            // The one that fewest others have says most.
            let rarest = grams(grok).into_iter().min_by_key(|place| used[*place]);
            if let Some(place) = rarest {
                places[place * words + index / 64] |= 1 << (index % 64);
                owning[index / 64] |= 1 << (index % 64);
            }
        }
        Grams { places, owning }
    }

    /// Looks for the four bytes, if that spares enough patterns.
    #[inline]
    fn search(&self, text: &[u8], scratch: &mut DispatchScratch) {
        let DispatchScratch { candidates, seen } = scratch;
        let asking =
            candidates.iter().zip(&self.owning).map(|(word, own)| (word & own).count_ones());
        if asking.sum::<u32>() < SEARCHED_MIN {
            return;
        }
        seen.fill(0);
        if let [seen] = &mut seen[..] {
            for gram in text.windows(4) {
                *seen |= self.places[place(gram)];
            }
        } else {
            for gram in text.windows(4) {
                let from = place(gram) * seen.len();
                for (seen, owners) in seen.iter_mut().zip(&self.places[from..]) {
                    *seen |= owners;
                }
            }
        }
        for ((word, seen), own) in candidates.iter_mut().zip(seen).zip(&self.owning) {
            *word &= *seen | !own;
        }
    }
}

/// Where four bytes fall.
#[inline]
fn place(gram: &[u8]) -> usize {
    let four = gram.first_chunk().map_or(0, |four| u32::from_le_bytes(*four));
    (four.wrapping_mul(0x9e37_79b1) >> (32 - GRAM_BITS)) as usize
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
        let mut scratch = dispatch.scratch();
        dispatch.select(text, &mut scratch).collect()
    }

    #[test]
    fn few_are_left() {
        let dispatch = Dispatch::new(&COMPILED);
        // The last begins with anything: in another case its `ß` is two letters.
        // Those without an anchor look for their literals themselves.
        assert_eq!(left(&dispatch, "2026-03-12 10:23:45 INFO x"), [0, 4, 5, 7, 8, 9, 10, 11]);
        assert_eq!(left(&dispatch, "[2026-03-12] loss=2.5"), [1, 4, 5, 7, 8, 9, 10, 11]);
        assert_eq!(left(&dispatch, "abc"), [2, 4, 5, 7, 8, 9, 10, 11]);
        assert_eq!(left(&dispatch, ""), [4, 5, 6, 7, 8, 9, 10, 11]);
        let several = "x\n2026-03-12 10:23:45 x=";
        assert_eq!(left(&dispatch, several), [0, 1, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
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
            let mut scratch = dispatch.scratch();
            let left: Vec<usize> = dispatch.select("x in state27: 1", &mut scratch).collect();
            assert!(left.contains(&17) && left.len() < count / 4, "{left:?}");
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
        let mut scratch = dispatch.scratch();
        for (text, expect) in [("f0: a", 0), ("f149: a", 149), ("g77", 77)] {
            let first = dispatch.select(text, &mut scratch).find(|index| {
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
