//! "Did you mean": the closest known word to an unknown one.
//!
//! Invariant: only a word close enough to be a slip is named. Used when something is compiled,
//! never per line.

/// Longer words are not compared: the distance costs the product of both lengths.
const WORD_BYTES_MAX: usize = 64;

/// The candidate that is fewest edits away from `word`, if that is at most a third of its length.
pub(crate) fn closest<'c>(
    word: &str,
    candidates: impl Iterator<Item = &'c str>,
) -> Option<&'c str> {
    if word.len() > WORD_BYTES_MAX {
        return None;
    }
    let allowed = (word.chars().count() / 3).max(1);
    candidates
        .filter(|candidate| candidate.len() <= WORD_BYTES_MAX)
        .map(|candidate| (distance(word, candidate), candidate))
        .filter(|(edits, _)| *edits <= allowed)
        .min_by_key(|(edits, _)| *edits)
        .map(|(_, candidate)| candidate)
}

/// Edits between two words, where a swap of neighbours is one edit and case is none.
fn distance(left: &str, right: &str) -> usize {
    let left: Vec<char> = left.chars().map(|letter| letter.to_ascii_lowercase()).collect();
    let right: Vec<char> = right.chars().map(|letter| letter.to_ascii_lowercase()).collect();
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=right.len()).collect();
    for (row, left_char) in left.iter().enumerate() {
        let mut current = Vec::with_capacity(right.len() + 1);
        current.push(row + 1);
        for (column, right_char) in right.iter().enumerate() {
            let replaced = last[column] + usize::from(left_char != right_char);
            let mut edits = replaced.min(last[column + 1] + 1).min(current[column] + 1);
            let swapped = row > 0
                && column > 0
                && *left_char == right[column - 1]
                && left[row - 1] == *right_char;
            if swapped {
                edits = edits.min(before_last[column - 1] + 1);
            }
            current.push(edits);
        }
        before_last = std::mem::replace(&mut last, current);
    }
    last[right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closest_word() {
        let words = ["WORD", "NUMBER", "TIMESTAMP_ISO8601", "INT"];
        let check = |word: &str, expect: Option<&str>| {
            assert_eq!(closest(word, words.into_iter()), expect, "{word:?}");
        };
        check("NUMBR", Some("NUMBER"));
        check("number", Some("NUMBER"));
        check("TIMESTAMP_ISO8610", Some("TIMESTAMP_ISO8601"));
        check("WROD", Some("WORD"));
        check("SOMETHING", None);
        check("", None);
        check(&"W".repeat(500), None);
    }
}
