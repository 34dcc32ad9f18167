//! The grammar of JSON, one token at a time.
//!
//! Invariant: a scanner only moves forward, and stands behind a token once it was taken. Next on
//! the trip: [`super::Json`].

use crate::formats::escape;
use crate::grok::Reason;

/// Where the number that begins at a place ends (RFC 8259, 6); `None` where there is none.
#[inline]
pub(crate) fn number_end(bytes: &[u8], at: usize) -> Option<usize> {
    let has = |at: usize, wanted: &[u8]| bytes.get(at).is_some_and(|byte| wanted.contains(byte));
    let digits = |from: usize| {
        let count = bytes.get(from..)?.iter().take_while(|byte| byte.is_ascii_digit()).count();
        (count > 0).then_some(from + count)
    };
    let start = at + usize::from(has(at, b"-"));
    let mut end = if has(start, b"0") { start + 1 } else { digits(start)? };
    if has(end, b".") {
        end = digits(end + 1)?;
    }
    if has(end, b"eE") {
        end = digits(end + 1 + usize::from(has(end + 1, b"+-")))?;
    }
    Some(end)
}

/// A place in a text.
pub(super) struct Scanner<'t> {
    pub(super) bytes: &'t [u8],
    pub(super) at: usize,
}

impl Scanner<'_> {
    pub(super) fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    pub(super) fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    pub(super) fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    /// Takes the brace of an object that has members.
    pub(super) fn opens_members(&mut self) -> bool {
        if self.peek() != Some(b'{') {
            return false;
        }
        let mut ahead = Scanner { bytes: self.bytes, at: self.at + 1 };
        ahead.skip_space();
        if ahead.peek() == Some(b'}') {
            return false;
        }
        self.at = ahead.at;
        true
    }

    /// A string: the place between its quotes, and whether it has escapes.
    pub(super) fn string(&mut self) -> Result<((usize, usize), bool), Reason> {
        if !self.take(b'"') {
            return Err(Reason::Invalid);
        }
        let start = self.at;
        let (end, escaped) = escape::scan(self.bytes, start, true).map_err(|_| Reason::Invalid)?;
        self.at = end + 1;
        Ok(((start, end), escaped))
    }

    pub(super) fn word(&mut self, word: &[u8]) -> Result<(), Reason> {
        if !self.bytes[self.at..].starts_with(word) {
            return Err(Reason::Invalid);
        }
        self.at += word.len();
        Ok(())
    }

    pub(super) fn number(&mut self) -> Result<(), Reason> {
        self.at = number_end(self.bytes, self.at).ok_or(Reason::Invalid)?;
        Ok(())
    }

    /// An array or an object with all that is in it, at most so deep.
    pub(super) fn container(&mut self, depth_max: usize) -> Result<(), Reason> {
        // A bit for each open container: 1 for an object. Depths are far below 64.
        let mut objects: u64 = 0;
        let mut depth = 0;
        let mut expects_value = true;
        loop {
            self.skip_space();
            if expects_value {
                match self.peek() {
                    Some(open @ (b'[' | b'{')) => {
                        self.at += 1;
                        depth += 1;
                        if depth > depth_max {
                            return Err(Reason::Limit);
                        }
                        objects = objects << 1 | u64::from(open == b'{');
                        self.skip_space();
                        let close = if open == b'{' { b'}' } else { b']' };
                        if self.peek() != Some(close) {
                            self.key(objects)?;
                            continue;
                        }
                    }
                    Some(b'"') => drop(self.string()?),
                    Some(b't') => self.word(b"true")?,
                    Some(b'f') => self.word(b"false")?,
                    Some(b'n') => self.word(b"null")?,
                    _ => self.number()?,
                }
                expects_value = false;
                if depth == 0 {
                    return Ok(());
                }
                continue;
            }
            let close = if objects & 1 == 1 { b'}' } else { b']' };
            if self.take(close) {
                depth -= 1;
                objects >>= 1;
                if depth == 0 {
                    return Ok(());
                }
            } else if self.take(b',') {
                self.skip_space();
                self.key(objects)?;
                expects_value = true;
            } else {
                return Err(Reason::Invalid);
            }
        }
    }

    /// Inside an object, the key and its colon.
    fn key(&mut self, objects: u64) -> Result<(), Reason> {
        if objects & 1 == 0 {
            return Ok(());
        }
        self.string()?;
        self.skip_space();
        if self.take(b':') { Ok(()) } else { Err(Reason::Invalid) }
    }
}
