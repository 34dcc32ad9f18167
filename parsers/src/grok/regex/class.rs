//! Sets of characters: what a bracket, `\w` or `[[:alpha:]]` stands for.
//!
//! Invariant: ASCII classes are kept as ranges (their complements too), Unicode ones by name, so
//! that both an engine's text and a table of bytes can be made of a set. Next on the trip:
//! [`super::set`] parses brackets into these.

/// A set of characters.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(in crate::grok) struct Set {
    pub(in crate::grok) negated: bool,
    /// Ranges match in any case.
    pub(in crate::grok) fold: bool,
    /// The union of these, …
    pub(in crate::grok) items: Vec<Item>,
    /// … of which only what lies in each of these too.
    pub(in crate::grok) within: Vec<Set>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::grok) enum Item {
    Range(char, char),
    /// A range that `fold` does not widen: `\w` has no Kelvin sign in it.
    Fixed(char, char),
    Named {
        named: Named,
        negated: bool,
    },
    Set(Set),
}

/// Classes of Unicode characters.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::grok) enum Named {
    Alnum,
    Alpha,
    Blank,
    Cntrl,
    Digit,
    Graph,
    Lower,
    Print,
    Punct,
    Space,
    Upper,
    Word,
    /// A property by the name that the engine knows.
    Property(String),
}

/// `\s` of ASCII.
pub(in crate::grok) const SPACE: &[(char, char)] = &[('\t', '\r'), (' ', ' ')];
/// `\d` of ASCII.
pub(in crate::grok) const DIGIT: &[(char, char)] = &[('0', '9')];
/// `\w` of ASCII.
pub(in crate::grok) const WORD: &[(char, char)] = &[('0', '9'), ('A', 'Z'), ('_', '_'), ('a', 'z')];
/// `\h`: a hexadecimal digit.
pub(in crate::grok) const HEX: &[(char, char)] = &[('0', '9'), ('A', 'F'), ('a', 'f')];

/// The ranges of a POSIX class in ASCII, sorted.
pub(in crate::grok) fn posix_ascii(name: &str) -> Option<&'static [(char, char)]> {
    Some(match name {
        "alnum" => &[('0', '9'), ('A', 'Z'), ('a', 'z')],
        "alpha" => &[('A', 'Z'), ('a', 'z')],
        "ascii" => &[('\0', '\x7f')],
        "blank" => &[('\t', '\t'), (' ', ' ')],
        "cntrl" => &[('\0', '\x1f'), ('\x7f', '\x7f')],
        "digit" => DIGIT,
        "graph" => &[('!', '~')],
        "lower" => &[('a', 'z')],
        "print" => &[(' ', '~')],
        "punct" => &[('!', '/'), (':', '@'), ('[', '`'), ('{', '~')],
        "space" => SPACE,
        "upper" => &[('A', 'Z')],
        "word" => WORD,
        "xdigit" => HEX,
        _ => return None,
    })
}

/// A POSIX class in Unicode; `None` where it has none of its own (`ascii`, `xdigit`).
pub(in crate::grok) fn posix_unicode(name: &str) -> Option<Named> {
    Some(match name {
        "alnum" => Named::Alnum,
        "alpha" => Named::Alpha,
        "blank" => Named::Blank,
        "cntrl" => Named::Cntrl,
        "digit" => Named::Digit,
        "graph" => Named::Graph,
        "lower" => Named::Lower,
        "print" => Named::Print,
        "punct" => Named::Punct,
        "space" => Named::Space,
        "upper" => Named::Upper,
        "word" => Named::Word,
        _ => return None,
    })
}

/// What lies outside sorted ranges.
pub(in crate::grok) fn complement(ranges: &[(char, char)]) -> Vec<(char, char)> {
    let mut outside = Vec::with_capacity(ranges.len() + 1);
    let mut from = '\0';
    for (first, last) in ranges {
        if from < *first {
            let before = char::from_u32(u32::from(*first) - 1).expect("ASCII has no gaps");
            outside.push((from, before));
        }
        from = char::from_u32(u32::from(*last) + 1).expect("ASCII has no gaps");
    }
    outside.push((from, char::MAX));
    outside
}

impl Set {
    /// A set of ranges, or of what lies outside them.
    pub(in crate::grok) fn of_ranges(ranges: &[(char, char)], negated: bool) -> Set {
        let items = ranges.iter().map(|(first, last)| Item::Fixed(*first, *last)).collect();
        Set { negated, items, ..Set::default() }
    }

    /// The characters of the set as a table of UTF-8 bytes, where that says the same: every
    /// character beyond ASCII is in the set, or none is.
    pub(in crate::grok) fn byte_table(&self) -> Option<[bool; 256]> {
        if self.fold || !self.within.is_empty() {
            return None;
        }
        let mut table = [false; 256];
        // How far the ranges cover what lies beyond ASCII: all of it by one range, or nothing.
        let mut beyond = false;
        for item in &self.items {
            let (Item::Range(first, last) | Item::Fixed(first, last)) = item else { return None };
            if *last > '\x7f' {
                if *last != char::MAX || *first > '\u{80}' {
                    return None;
                }
                beyond = true;
            }
            for byte in 0..=0x7f_u8 {
                table[usize::from(byte)] |= (*first..=*last).contains(&char::from(byte));
            }
        }
        table[0x80..].fill(beyond);
        if self.negated {
            for contained in &mut table {
                *contained = !*contained;
            }
        }
        Some(table)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complements() {
        assert_eq!(complement(DIGIT), [('\0', '/'), (':', char::MAX)]);
        assert_eq!(complement(&[('\0', 'a')]), [('b', char::MAX)]);
        assert_eq!(complement(SPACE), [('\0', '\x08'), ('\x0e', '\x1f'), ('!', char::MAX)]);
    }

    #[test]
    fn byte_tables() {
        let table = Set::of_ranges(SPACE, true).byte_table().unwrap();
        assert!(table[usize::from(b'a')] && table[0xe8] && !table[usize::from(b'\t')]);
        let table = Set::of_ranges(WORD, false).byte_table().unwrap();
        assert!(table[usize::from(b'_')] && !table[0xe8] && !table[usize::from(b'-')]);
        assert_eq!(Set::of_ranges(&[('a', 'é')], false).byte_table(), None);
        let named = Item::Named { named: Named::Alpha, negated: false };
        assert_eq!(Set { items: vec![named], ..Set::default() }.byte_table(), None);
    }
}
