//! The walk over every line: where a secret could stand at all.
//!
//! Two facts make it cheap. A token is a run of at least [`RUN_MIN`] letters and digits, so a walk
//! that looks at every sixteenth byte first sees few bytes of ordinary text. And a value that is
//! short, such as a password, stands behind `=` or `:`, in front of which a keyword ends in one of
//! few letters. Invariant: what is not found here is not found at all, and the walk looks at each
//! byte a fixed number of times. Next stop: `find`, which confirms.
use super::keyword::ends_like_one;
use super::text::{ALPHANUMERIC, BEFORE_SEPARATOR, WORD, is};

/// The shortest run that is looked at: the oldest access key ids have 16 characters.
pub(super) const RUN_MIN: usize = 16;

/// The next run of letters, digits, `_` and `-` of at least `RUN_MIN` bytes at or after `from`.
pub(super) fn next_run(bytes: &[u8], from: usize) -> Option<(usize, usize)> {
    let mut start = from;
    loop {
        let window = bytes.get(start..start + RUN_MIN)?;
        let Some(other) = window.iter().rposition(|byte| !is(*byte, WORD)) else {
            let rest = &bytes[start + RUN_MIN..];
            let more = rest.iter().position(|byte| !is(*byte, WORD)).unwrap_or(rest.len());
            return Some((start, start + RUN_MIN + more));
        };
        start += other + 1;
    }
}

/// The next `=` or `:` at or after `from` that a keyword may stand in front of, or that begins
/// `://`.
pub(super) fn next_separator(bytes: &[u8], from: usize) -> Option<usize> {
    let (blocks, tail) = bytes.get(from..)?.as_chunks::<32>();
    for (index, block) in blocks.iter().enumerate() {
        // A comparison of bytes is one instruction for sixteen of them; which of them it was is
        // looked up only then.
        let is_separator = |byte: &u8| u8::from(*byte == b'=') | u8::from(*byte == b':');
        let (words, _) = block.as_chunks::<8>();
        if block.iter().fold(0, |found, byte| found | is_separator(byte)) != 0
            && let Some(at) = separator_of(bytes, words, from + index * 32)
        {
            return Some(at);
        }
    }
    let start = bytes.len() - tail.len();
    let (words, rest) = tail.as_chunks::<8>();
    let of_rest = || (bytes.len() - rest.len()..bytes.len()).find(|&at| counts(bytes, at));
    separator_of(bytes, words, start).or_else(of_rest)
}

fn separator_of(bytes: &[u8], words: &[[u8; 8]], start: usize) -> Option<usize> {
    for (index, word) in words.iter().enumerate() {
        let mut found = separators(*word);
        while found != 0 {
            let at = start + index * 8 + (found.trailing_zeros() / 8) as usize;
            if counts(bytes, at) {
                return Some(at);
            }
            found &= found - 1;
        }
    }
    None
}

/// The high bit of each byte that is `=` or `:`. The lowest set bit is right; higher ones may be
/// false, since a borrow runs upwards: `counts` looks at the byte itself.
fn separators(word: [u8; 8]) -> u64 {
    const ONES: u64 = u64::MAX / 255;
    const HIGH: u64 = ONES * 0x80;
    let word = u64::from_le_bytes(word);
    let (equals, colon) = (word ^ (ONES * u64::from(b'=')), word ^ (ONES * u64::from(b':')));
    (equals.wrapping_sub(ONES) & !equals | colon.wrapping_sub(ONES) & !colon) & HIGH
}

fn counts(bytes: &[u8], at: usize) -> bool {
    let Some(before) = at.checked_sub(1).map(|before| bytes[before]) else { return false };
    if is(before, BEFORE_SEPARATOR) && matches!(bytes[at], b'=' | b':') {
        // Between a name and its separator a quote may stand, or blanks.
        let end = match before {
            b'"' | b'\'' | b' ' => at - 1,
            _ => at,
        };
        let last = end.checked_sub(1).map_or(0, |last| bytes[last]);
        if !is(last, ALPHANUMERIC) || ends_like_one(&bytes[..end]) {
            return is(last, BEFORE_SEPARATOR);
        }
    }
    bytes[at] == b':' && bytes.get(at + 1) == Some(&b'/') && bytes.get(at + 2) == Some(&b'/')
}
