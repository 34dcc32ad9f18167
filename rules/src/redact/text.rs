//! Reading the bytes of a line, with every byte that is looked at counted.
//!
//! Invariant: no detector reads a text but through here, so `steps` bounds the work that a hostile
//! line can cause. Next stop: `prefilter`.

/// Bits of `CLASSES`.
pub(super) const WORD: u8 = 1;
/// The last letter of a keyword in front of its separator, or what may stand between the two.
pub(super) const BEFORE_SEPARATOR: u8 = 2;
/// What credentials consist of in headers.
pub(super) const CREDENTIAL: u8 = 4;
/// What ends a value without quotes.
pub(super) const END: u8 = 8;
/// Letters and digits.
pub(super) const ALPHANUMERIC: u8 = 16;
/// What names consist of.
pub(super) const NAME: u8 = 32;
/// What ends the part of an address in front of its path.
pub(super) const AUTHORITY_END: u8 = 64;
/// A quote, or what escapes one.
pub(super) const QUOTE: u8 = 128;

static CLASSES: [u8; 256] = classes();

const fn classes() -> [u8; 256] {
    let mut classes = [0; 256];
    let mut index = 0;
    while index < 256 {
        let byte = index as u8;
        let mut class = 0;
        if byte.is_ascii_alphanumeric() {
            class |= WORD | CREDENTIAL | ALPHANUMERIC | NAME;
        }
        match byte {
            b'-' | b'_' => class |= WORD | CREDENTIAL | NAME,
            b'.' => class |= CREDENTIAL | NAME,
            b'~' | b'+' | b'/' | b'=' => class |= CREDENTIAL,
            b'd' | b'e' | b'g' | b'n' | b't' | b'y' | b'D' | b'E' | b'G' | b'N' | b'T' | b'Y' => {
                class |= BEFORE_SEPARATOR;
            }
            _ => {}
        }
        if matches!(byte, b' ' | b'\t' | b'"' | b'\'' | b'\\' | b'`') {
            class |= BEFORE_SEPARATOR;
        }
        if matches!(byte, b'"' | b'\'' | b'\\' | b'`') {
            class |= QUOTE;
        }
        if byte <= b' ' || byte == 0x7f || class & QUOTE != 0 {
            class |= END | AUTHORITY_END;
        }
        if matches!(byte, b',' | b';' | b'&' | b')' | b'}' | b']' | b'<' | b'>' | b'|') {
            class |= END;
        }
        if matches!(byte, b'/' | b'?' | b'#' | b'<' | b'>') {
            class |= AUTHORITY_END;
        }
        classes[index] = class;
        index += 1;
    }
    classes
}

/// True when a byte is of one of these classes.
pub(super) fn is(byte: u8, class: u8) -> bool {
    CLASSES[usize::from(byte)] & class != 0
}

/// A line as detectors read it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Text<'a> {
    pub(super) bytes: &'a [u8],
    /// Bytes that detectors have looked at, beside one linear walk or two.
    pub(super) steps: u64,
}

impl<'a> Text<'a> {
    pub(super) fn new(text: &'a str) -> Text<'a> {
        Text { bytes: text.as_bytes(), steps: 0 }
    }

    /// Where the run of bytes of a class that begins at `start` ends, at most `max` bytes on.
    pub(super) fn run_end(&mut self, start: usize, class: u8, max: usize) -> usize {
        let rest = self.slice(start, start.saturating_add(max));
        let length = rest.iter().position(|byte| !is(*byte, class)).unwrap_or(rest.len());
        self.steps += length as u64 + 1;
        start + length
    }

    /// Where a run of bytes that are of no such class ends, at most `max` bytes on.
    pub(super) fn end_before(&mut self, start: usize, class: u8, max: usize) -> usize {
        let rest = self.slice(start, start.saturating_add(max));
        let length = rest.iter().position(|byte| is(*byte, class)).unwrap_or(rest.len());
        self.steps += length as u64 + 1;
        start + length
    }

    /// Where the run of bytes of a class that ends at `end` begins, at most `max` bytes back.
    pub(super) fn run_start(&mut self, end: usize, class: u8, max: usize) -> usize {
        let before = self.slice(end.saturating_sub(max), end);
        let length = before.iter().rev().position(|byte| !is(*byte, class));
        let length = length.unwrap_or(before.len());
        self.steps += length as u64 + 1;
        end - length
    }

    /// As `run_end`, for blanks and tabs.
    pub(super) fn skip_blanks(&mut self, start: usize) -> usize {
        let rest = self.slice(start, start.saturating_add(BLANKS_MAX));
        let length = rest.iter().position(|byte| !matches!(byte, b' ' | b'\t'));
        self.steps += 1;
        start + length.unwrap_or(rest.len())
    }

    /// As `run_start`, for blanks and tabs.
    pub(super) fn skip_blanks_back(&mut self, end: usize) -> usize {
        let before = self.slice(end.saturating_sub(BLANKS_MAX), end);
        let length = before.iter().rev().position(|byte| !matches!(byte, b' ' | b'\t'));
        self.steps += 1;
        end - length.unwrap_or(before.len())
    }

    /// Bytes at the start of a run of letters that are the end of an escape: `n` behind a
    /// backslash, `u0026` behind one, `35m` of a colour. What comes behind them is a word of its
    /// own.
    pub(super) fn escape_at(&self, start: usize) -> usize {
        let run = self.slice(start, start + 8);
        let digits = |of: usize| {
            run.get(1..=of).is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
        };
        match (self.before(start), run.first()) {
            (Some(b'\\'), Some(b'n' | b'r' | b't' | b'b' | b'f')) => 1,
            (Some(b'\\'), Some(b'u')) if digits(4) => 5,
            (Some(b'\\'), Some(b'x')) if digits(2) => 3,
            (Some(b'[' | b';'), _) => {
                let number = run.iter().take_while(|byte| byte.is_ascii_digit()).count();
                if run.get(number) == Some(&b'm') { number + 1 } else { 0 }
            }
            _ => 0,
        }
    }

    pub(super) fn get(&self, at: usize) -> Option<u8> {
        self.bytes.get(at).copied()
    }

    pub(super) fn before(&self, at: usize) -> Option<u8> {
        self.bytes.get(at.checked_sub(1)?).copied()
    }

    /// The bytes of a range, as far as they are there.
    pub(super) fn slice(&self, start: usize, end: usize) -> &'a [u8] {
        let end = end.min(self.bytes.len());
        self.bytes.get(start..end).unwrap_or_default()
    }
}

/// Aligned tables put some blanks between a name, its separator and its value.
const BLANKS_MAX: usize = 24;
