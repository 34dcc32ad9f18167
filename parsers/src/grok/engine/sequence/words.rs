//! A list of words, looked up whole.
//!
//! Invariant: the list is the expression's whole language, and no word is empty. Next on the trip:
//! [`super::Matcher`].

use super::{Table, run_length};
use crate::grok::regex::{Kind, Node, Regex};

/// Longer words do not fit the key.
const WORD_BYTES_MAX: usize = 15;
/// Longer lists are no list of words.
const WORDS_MAX: usize = 512;

/// A set of words.
pub(super) struct Words {
    letters: Box<Table>,
    /// Open addressing, at most a quarter full; 0 is an empty place.
    places: Box<[u128]>,
    shift: u32,
}

impl Words {
    /// The words that an expression matches, if it is a list of them.
    pub(super) fn of(node: &Node, regex: &Regex) -> Option<Words> {
        let words = language(node, regex)?;
        if words.is_empty() || words.iter().any(Vec::is_empty) {
            return None;
        }
        let mut letters = Box::new([false; 256]);
        let bits = (words.len() * 4).next_power_of_two().trailing_zeros();
        let mut places = vec![0; 1 << bits].into_boxed_slice();
        let shift = 64 - bits;
        for word in &words {
            for byte in word {
                letters[usize::from(*byte)] = true;
            }
            let key = key(word);
            let mut place = hash(key, shift);
            while places[place] != 0 && places[place] != key {
                place = (place + 1) % places.len();
            }
            places[place] = key;
        }
        Some(Words { letters, places, shift })
    }

    /// Every byte that stands in a word.
    pub(super) fn letters(&self) -> &Table {
        &self.letters
    }

    /// The length of the word that all letters at the start of a text make.
    pub(super) fn match_length(&self, text: &[u8]) -> Option<usize> {
        let length = run_length(&text[..text.len().min(WORD_BYTES_MAX + 1)], &self.letters);
        if length == 0 || length > WORD_BYTES_MAX {
            return None;
        }
        let key = key(&text[..length]);
        let mut place = hash(key, self.shift);
        loop {
            match self.places[place] {
                0 => return None,
                found if found == key => return Some(length),
                _ => place = (place + 1) % self.places.len(),
            }
        }
    }
}

/// The word and its length in one number.
fn key(word: &[u8]) -> u128 {
    let mut bytes = [0; 16];
    bytes[..word.len()].copy_from_slice(word);
    bytes[15] = word.len() as u8;
    u128::from_le_bytes(bytes)
}

fn hash(key: u128, shift: u32) -> usize {
    let folded = (key as u64) ^ ((key >> 64) as u64).rotate_left(29);
    (folded.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> shift) as usize
}

/// Every text that an expression matches, while they are few, short and ASCII.
fn language(node: &Node, regex: &Regex) -> Option<Vec<Vec<u8>>> {
    let words = match &node.kind {
        Kind::Empty => vec![Vec::new()],
        Kind::Char { letter, fold: false } if letter.is_ascii() => vec![vec![*letter as u8]],
        Kind::Set(set) => {
            let table = set.byte_table()?;
            if table[0x80] {
                return None;
            }
            (0..=0x7f).filter(|byte| table[usize::from(*byte)]).map(|byte| vec![byte]).collect()
        }
        Kind::Group(inner) => language(inner, regex)?,
        Kind::Capture { slot, node: inner } if regex.groups[*slot].name.is_none() => {
            language(inner, regex)?
        }
        Kind::Concat(nodes) => {
            let mut words = vec![Vec::new()];
            for node in nodes {
                words = product(&words, &language(node, regex)?)?;
            }
            words
        }
        Kind::Alternate(nodes) => {
            let mut words = Vec::new();
            for node in nodes {
                words.extend(language(node, regex)?);
                if words.len() > WORDS_MAX {
                    return None;
                }
            }
            words
        }
        Kind::Repeat { node: inner, min, max: Some(max), mode } => {
            // A possessive part may refuse words that the list would have.
            if *mode == crate::grok::regex::Mode::Possessive || *max > WORD_BYTES_MAX as u32 {
                return None;
            }
            let once = language(inner, regex)?;
            let mut power = vec![Vec::new()];
            let mut words = if *min == 0 { power.clone() } else { Vec::new() };
            for count in 1..=*max {
                power = product(&power, &once)?;
                if count >= *min {
                    words.extend_from_slice(&power);
                }
            }
            words
        }
        _ => return None,
    };
    (words.len() <= WORDS_MAX).then_some(words)
}

fn product(fronts: &[Vec<u8>], backs: &[Vec<u8>]) -> Option<Vec<Vec<u8>>> {
    if fronts.len().checked_mul(backs.len())? > WORDS_MAX {
        return None;
    }
    let mut words = Vec::with_capacity(fronts.len() * backs.len());
    for front in fronts {
        for back in backs {
            if front.len() + back.len() > WORD_BYTES_MAX {
                return None;
            }
            words.push([&front[..], back].concat());
        }
    }
    Some(words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grok::regex::parse;

    #[track_caller]
    fn check(expression: &str, text: &str, expect: Option<usize>) {
        let regex = parse(expression).unwrap();
        let words = Words::of(&regex.root, &regex).unwrap();
        assert_eq!(words.match_length(text.as_bytes()), expect, "{expression:?} on {text:?}");
    }

    #[test]
    fn lookups() {
        check("INFO|WARN(?:ING)?", "WARN x", Some(4));
        check("INFO|WARN(?:ING)?", "WARNING", Some(7));
        check("INFO|WARN(?:ING)?", "WARNIN", None);
        check("INFO|WARN(?:ING)?", "", None);
        check("INFO|WARN(?:ING)?", "INFORMATION-INFORMATION", None);
        check("[Ii]nfo?", "inf:", Some(3));
        check("(a|b){1,2}", "ba", Some(2));
        check("(a|b){1,2}", "bab", None);
        check("abcdefghijklmno", "abcdefghijklmno", Some(15));
    }

    #[test]
    fn what_is_no_list_of_words() {
        for expression in
            ["a?", "a*", "训", "[^a]", "abcdefghijklmnop", "[a-z]{3}", "(?i)a", "(?>a|ab)", "a?+b"]
        {
            let regex = parse(expression).unwrap();
            assert!(Words::of(&regex.root, &regex).is_none(), "{expression:?}");
        }
    }
}
