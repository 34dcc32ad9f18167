//! Sets of characters for the linear engines: exactly, or from above and below.
//!
//! Invariant: an exact set is made of ranges alone, since properties depend on the tables of the
//! engine that looks them up; of any set [`Bounds`] knows what is surely and what is possibly in
//! it. Next on the trip: [`super::Translator`].

use regex_syntax::hir::{ClassUnicode, ClassUnicodeRange};

use crate::grok::regex::{Item, Named, Set, posix_ascii};

/// The letters beyond ASCII that one of ASCII is in another case: `k` and the Kelvin sign, `s` and
/// the long s.
const FOLDED_BEYOND: [(char, char); 2] = [('k', '\u{212a}'), ('s', '\u{17f}')];

pub(super) fn range(first: char, last: char) -> ClassUnicode {
    ClassUnicode::new([ClassUnicodeRange::new(first, last)])
}

/// A letter of ASCII in any case.
pub(super) fn folded(letter: char) -> ClassUnicode {
    let (lower, upper) = (letter.to_ascii_lowercase(), letter.to_ascii_uppercase());
    let mut class = range(lower, lower);
    class.push(ClassUnicodeRange::new(upper, upper));
    for (_, beyond) in FOLDED_BEYOND.iter().filter(|(letter, _)| *letter == lower) {
        class.push(ClassUnicodeRange::new(*beyond, *beyond));
    }
    class
}

/// The characters of a set, where they can be told without tables of properties.
pub(super) fn exact(set: &Set) -> Result<ClassUnicode, &'static str> {
    let mut union = ClassUnicode::empty();
    for item in &set.items {
        match item {
            Item::Range(first, last) if set.fold => {
                if *last > '\x7f' {
                    return Err("a set in any case with letters beyond ASCII");
                }
                for letter in *first..=*last {
                    union.union(&folded(letter));
                }
            }
            Item::Range(first, last) | Item::Fixed(first, last) => {
                union.push(ClassUnicodeRange::new(*first, *last));
            }
            Item::Named { .. } => return Err("a class of Unicode characters"),
            Item::Set(inner) => union.union(&exact(inner)?),
        }
    }
    for within in &set.within {
        union.intersect(&exact(within)?);
    }
    if set.negated {
        union.negate();
    }
    Ok(union)
}

/// What is surely in a set and what may be: a bit for each character of ASCII, and one for all
/// characters beyond it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::grok) struct Bounds {
    sure: Part,
    possible: Part,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Part {
    ascii: u128,
    beyond: bool,
}

impl Part {
    const NOTHING: Part = Part { ascii: 0, beyond: false };
    const ALL: Part = Part { ascii: u128::MAX, beyond: true };

    fn not(self) -> Part {
        Part { ascii: !self.ascii, beyond: !self.beyond }
    }

    fn or(self, other: Part) -> Part {
        Part { ascii: self.ascii | other.ascii, beyond: self.beyond | other.beyond }
    }

    fn and(self, other: Part) -> Part {
        Part { ascii: self.ascii & other.ascii, beyond: self.beyond & other.beyond }
    }

    fn of_range(first: char, last: char) -> Part {
        let mut part = Part { ascii: 0, beyond: last > '\x7f' };
        for byte in 0..=0x7f_u8 {
            if (first..=last).contains(&char::from(byte)) {
                part.ascii |= 1 << byte;
            }
        }
        part
    }

    fn fold(self) -> Part {
        let mut part = self;
        for byte in 0..=0x7f_u8 {
            if self.ascii >> byte & 1 == 1 {
                part.ascii |= 1 << byte.to_ascii_lowercase() | 1 << byte.to_ascii_uppercase();
                part.beyond |= matches!(byte.to_ascii_lowercase(), b'k' | b's');
            }
        }
        if self.beyond {
            for byte in b"kKsS" {
                part.ascii |= 1 << byte;
            }
        }
        part
    }
}

impl Bounds {
    pub(in crate::grok) const NOTHING: Bounds =
        Bounds { sure: Part::NOTHING, possible: Part::NOTHING };
    pub(in crate::grok) const ANY: Bounds = Bounds { sure: Part::ALL, possible: Part::ALL };
    const UNKNOWN: Bounds = Bounds { sure: Part::NOTHING, possible: Part::ALL };

    /// All characters beyond ASCII.
    pub(super) fn beyond() -> Bounds {
        Bounds::of_range('\u{80}', char::MAX)
    }

    pub(in crate::grok) fn of_set(set: &Set) -> Bounds {
        let mut bounds = Bounds::NOTHING;
        for item in &set.items {
            bounds = bounds.or(match item {
                Item::Range(first, last) if set.fold => Bounds::of_range(*first, *last).fold(),
                Item::Range(first, last) | Item::Fixed(first, last) => {
                    Bounds::of_range(*first, *last)
                }
                Item::Named { named, negated: false } => Bounds::of_named(named),
                Item::Named { named, negated: true } => Bounds::of_named(named).not(),
                Item::Set(inner) => Bounds::of_set(inner),
            });
        }
        for within in &set.within {
            let within = Bounds::of_set(within);
            bounds = Bounds {
                sure: bounds.sure.and(within.sure),
                possible: bounds.possible.and(within.possible),
            };
        }
        if set.negated { bounds.not() } else { bounds }
    }

    pub(in crate::grok) fn of_char(letter: char, fold: bool) -> Bounds {
        let bounds = Bounds::of_range(letter, letter);
        if fold { bounds.fold() } else { bounds }
    }

    fn of_range(first: char, last: char) -> Bounds {
        let part = Part::of_range(first, last);
        let covers = last == char::MAX && first <= '\u{80}';
        Bounds { sure: Part { beyond: covers, ..part }, possible: part }
    }

    /// Of a property even the part in ASCII is the engine's affair.
    fn of_named(named: &Named) -> Bounds {
        let name = match named {
            Named::Alnum => "alnum",
            Named::Alpha => "alpha",
            Named::Blank => "blank",
            Named::Cntrl => "cntrl",
            Named::Digit => "digit",
            Named::Graph => "graph",
            Named::Lower => "lower",
            Named::Print => "print",
            Named::Punct => "punct",
            Named::Space => "space",
            Named::Upper => "upper",
            Named::Word => "word",
            Named::Property(_) => return Bounds::UNKNOWN,
        };
        let mut ascii = Part::NOTHING;
        for (first, last) in posix_ascii(name).unwrap_or_default() {
            ascii = ascii.or(Part::of_range(*first, *last));
        }
        Bounds { sure: ascii, possible: Part { beyond: true, ..ascii } }
    }

    fn fold(self) -> Bounds {
        Bounds { sure: self.sure, possible: self.possible.fold() }
    }

    fn not(self) -> Bounds {
        Bounds { sure: self.possible.not(), possible: self.sure.not() }
    }

    pub(in crate::grok) fn or(self, other: Bounds) -> Bounds {
        Bounds { sure: self.sure.or(other.sure), possible: self.possible.or(other.possible) }
    }

    /// True when no character may be in both.
    pub(in crate::grok) fn is_apart(self, other: Bounds) -> bool {
        self.possible.and(other.possible) == Part::NOTHING
    }

    /// The characters that may be in the set, by their first bytes.
    pub(in crate::grok) fn first_bytes(self) -> [bool; 256] {
        let mut table = [self.possible.beyond; 256];
        for (byte, possible) in table.iter_mut().enumerate().take(0x80) {
            *possible = self.possible.ascii >> byte & 1 == 1;
        }
        table
    }

    /// Every character that may be in the set.
    pub(super) fn class(self) -> ClassUnicode {
        let ascii = (0..=0x7f_u8).filter(|byte| self.possible.ascii >> byte & 1 == 1);
        let mut class = ClassUnicode::new(
            ascii.map(|byte| ClassUnicodeRange::new(char::from(byte), char::from(byte))),
        );
        if self.possible.beyond {
            class.push(ClassUnicodeRange::new('\u{80}', char::MAX));
        }
        class
    }
}
