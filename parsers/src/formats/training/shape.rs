//! The first bytes of a line, and which formats they leave: a few table look-ups in place of
//! trying one format after the other.
//!
//! Invariant: a format's line always fits one of its shapes; the tables only leave out formats that
//! cannot match. Next on the trip: [`super::table`].
//!
//! A shape is the beginning of a line: `9` any digit, `A` an upper case letter, `a` a lower case
//! letter, `L` a letter of glog's, `w` a letter or digit of any kind, `?` any byte, everything else
//! itself (a backslash before it takes its meaning away). `@` is a time of [`super::stamp`], `[@`
//! one behind a bracket; what follows is then the line behind the time.

use super::line::Line;

/// Bytes of a line without a time that are looked at.
const PLAIN: usize = 6;
/// Bytes behind a time that are looked at.
const STAMPED: usize = 3;

/// Sets of formats as bits, by place and byte; the byte 0 stands for the end of the line.
pub(super) struct Shapes {
    plain: [[u64; 256]; PLAIN],
    stamped: [[u64; 256]; STAMPED],
    /// By: no time, a bare time, a time behind a bracket.
    kinds: [u64; 3],
}

impl Shapes {
    /// Makes the tables of the formats' shapes.
    pub(super) const fn new<const N: usize>(rows: &[&[&str]; N]) -> Shapes {
        assert!(N <= 64, "a set of formats is 64 bits");
        let mut shapes =
            Shapes { plain: [[0; 256]; PLAIN], stamped: [[0; 256]; STAMPED], kinds: [0; 3] };
        let mut row = 0;
        while row < N {
            let mut index = 0;
            while index < rows[row].len() {
                shapes.add(rows[row][index].as_bytes(), 1 << row);
                index += 1;
            }
            row += 1;
        }
        shapes
    }

    const fn add(&mut self, shape: &[u8], bit: u64) {
        let (kind, mut at) = match shape {
            [b'@', ..] => (1, 1),
            [b'[', b'@', ..] => (2, 2),
            _ => (0, 0),
        };
        self.kinds[kind] |= bit;
        let places = if kind == 0 { PLAIN } else { STAMPED };
        let mut place = 0;
        while place < places {
            let class = if at < shape.len() { shape[at] } else { b'?' };
            let is_literal = class == b'\\' && at + 1 < shape.len();
            let class = if is_literal { shape[at + 1] } else { class };
            at += if is_literal { 2 } else { 1 };
            let table = if kind == 0 { &mut self.plain[place] } else { &mut self.stamped[place] };
            let mut byte = 0;
            while byte < 256 {
                if (is_literal && byte == class as usize)
                    || (!is_literal && is_in(byte as u8, class))
                {
                    table[byte] |= bit;
                }
                byte += 1;
            }
            place += 1;
        }
    }

    /// The formats that a line may be of.
    #[inline]
    pub(super) fn of(&self, line: &Line<'_>) -> u64 {
        let (bytes, tables, kind) = match line.stamp {
            None => (line.text.as_bytes(), &self.plain[..], 0),
            Some(_) if line.is_bracketed => (line.rest.as_bytes(), &self.stamped[..], 2),
            Some(_) => (line.rest.as_bytes(), &self.stamped[..], 1),
        };
        let mut left = self.kinds[kind];
        for (place, table) in tables.iter().enumerate() {
            left &= table[usize::from(bytes.get(place).copied().unwrap_or(0))];
        }
        left
    }
}

const fn is_in(byte: u8, class: u8) -> bool {
    match class {
        b'?' => true,
        b'9' => byte.is_ascii_digit(),
        b'A' => byte.is_ascii_uppercase(),
        b'a' => byte.is_ascii_lowercase(),
        b'L' => matches!(byte, b'V' | b'D' | b'I' | b'W' | b'E' | b'F' | b'C'),
        b'w' => byte.is_ascii_alphanumeric() || byte >= 0x80,
        _ => byte == class,
    }
}
