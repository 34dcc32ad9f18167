//! JSON by its tokens, without a tree of it.
//!
//! Invariant: nothing here recurses, copies or looks at a byte twice for the same token; what is no
//! JSON is `None`. Next on the trip: [`super::flat`] reads an object with it.

use super::text::{ESCAPED, QUOTED, Span, Text};
use crate::formats::number_end;

/// Objects and arrays inside each other; a value with more is none.
const DEPTH_MAX: u32 = 127;

/// A place in a value.
#[derive(Clone, Copy)]
pub(super) struct Scan<'t> {
    pub(super) bytes: &'t [u8],
    pub(super) at: usize,
}

impl Scan<'_> {
    #[inline]
    pub(super) fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    #[inline]
    pub(super) fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    #[inline]
    pub(super) fn space(&mut self) {
        self.at = skip_space(self.bytes, self.at);
    }

    #[inline]
    pub(super) fn string(&mut self) -> Option<Text> {
        let text = string_at(self.bytes, self.at)?;
        self.at = text.place().end + 1;
        Some(text)
    }

    /// A key and its colon, up to the value.
    #[inline]
    pub(super) fn key(&mut self) -> Option<Text> {
        self.space();
        let key = self.string()?;
        self.space();
        if !self.take(b':') {
            return None;
        }
        self.space();
        Some(key)
    }

    /// A number, `true`, `false` or `null`.
    pub(super) fn bare(&mut self) -> Option<Text> {
        let start = self.at;
        let rest = &self.bytes[start..];
        let word = [&b"true"[..], b"false", b"null"].into_iter().find(|it| rest.starts_with(it));
        match word {
            Some(word) => self.at += word.len(),
            None => self.at = number_end(self.bytes, start)?,
        }
        Text::new(start, self.at, 0)
    }

    /// Any value with all that is in it.
    pub(super) fn value(&mut self) -> Option<Span> {
        let start = self.at;
        // A bit for each open container: 1 for an object.
        let (mut objects, mut depth): (u128, u32) = (0, 0);
        loop {
            self.space();
            match self.peek()? {
                open @ (b'{' | b'[') => {
                    self.at += 1;
                    self.space();
                    let close = if open == b'{' { b'}' } else { b']' };
                    if !self.take(close) {
                        depth += 1;
                        objects = objects << 1 | u128::from(open == b'{');
                        if depth > DEPTH_MAX || (open == b'{' && self.key().is_none()) {
                            return None;
                        }
                        continue;
                    }
                }
                b'"' => drop(self.string()?),
                _ => drop(self.bare()?),
            }
            // Behind a value: as many ends as there are, then the next one.
            loop {
                if depth == 0 {
                    return Some(Span { start, end: self.at });
                }
                self.space();
                let is_object = objects & 1 == 1;
                if self.take(b',') {
                    if is_object {
                        self.key()?;
                    }
                    break;
                }
                if !self.take(if is_object { b'}' } else { b']' }) {
                    return None;
                }
                depth -= 1;
                objects >>= 1;
            }
        }
    }
}

/// The four digits of `\u1234`.
pub(super) fn hex(raw: &[u8], at: usize) -> Option<u32> {
    let digits = raw.get(at..at + 6)?.strip_prefix(b"\\u")?;
    digits.iter().try_fold(0, |value, digit| Some(value << 4 | char::from(*digit).to_digit(16)?))
}

/// The string whose opening quote stands there.
#[inline]
pub(super) fn string_at(bytes: &[u8], at: usize) -> Option<Text> {
    if bytes.get(at) != Some(&b'"') {
        return None;
    }
    let start = at + 1;
    let end = plain_end(bytes, start);
    match bytes.get(end)? {
        b'"' => Text::new(start, end, QUOTED),
        b'\\' => escaped_end(bytes, end).and_then(|end| Text::new(start, end, QUOTED | ESCAPED)),
        _ => None,
    }
}

/// Where the closing quote of a string stands, from its first escape on.
fn escaped_end(bytes: &[u8], mut at: usize) -> Option<usize> {
    loop {
        match bytes.get(at)? {
            b'"' => return Some(at),
            b'\\' => {
                at += match bytes.get(at + 1)? {
                    b'u' => hex(bytes, at).map(|_| 6)?,
                    b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => 2,
                    _ => return None,
                };
            }
            _ => return None,
        }
        at = plain_end(bytes, at);
    }
}

/// The first place from here on that is no space.
#[inline]
pub(super) fn skip_space(bytes: &[u8], mut at: usize) -> usize {
    while matches!(bytes.get(at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
        at += 1;
    }
    at
}

/// Where the next quote, backslash or control character stands; eight bytes at a time.
#[inline]
fn plain_end(bytes: &[u8], mut at: usize) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    while let Some(eight) = bytes.get(at..).and_then(<[u8]>::first_chunk::<8>) {
        let word = u64::from_le_bytes(*eight);
        // A byte that is less than what is taken off borrows, and shows it in its high bit; above
        // the first such byte the answer means nothing. With one bit turned over, a quote stands
        // next to the control characters, and one subtraction finds both.
        let controls_and_quotes = (word ^ (ONES * 2)).wrapping_sub(ONES * 0x21);
        let slashes = (word ^ (ONES * u64::from(b'\\'))).wrapping_sub(ONES);
        let found = (controls_and_quotes | slashes) & !word & HIGH;
        if found != 0 {
            return at + (found.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    while bytes.get(at).is_some_and(|byte| !matches!(byte, b'"' | b'\\' | ..0x20)) {
        at += 1;
    }
    at
}

/// See [`super::text::Source::members`].
pub(super) struct Members<'t> {
    scan: Scan<'t>,
}

impl<'t> Members<'t> {
    /// From behind the bracket that opens it.
    pub(super) fn new(scan: Scan<'t>) -> Members<'t> {
        Members { scan }
    }
}

impl Iterator for Members<'_> {
    type Item = (Text, Span);

    fn next(&mut self) -> Option<(Text, Span)> {
        self.scan.space();
        self.scan.take(b',');
        let key = self.scan.key()?;
        Some((key, self.scan.value()?))
    }
}

/// See [`super::text::Source::elements`].
pub(super) struct Elements<'t> {
    scan: Scan<'t>,
}

impl<'t> Elements<'t> {
    /// From behind the bracket that opens it.
    pub(super) fn new(scan: Scan<'t>) -> Elements<'t> {
        Elements { scan }
    }
}

impl Iterator for Elements<'_> {
    type Item = Span;

    fn next(&mut self) -> Option<Span> {
        self.scan.space();
        self.scan.take(b',');
        self.scan.space();
        if self.scan.peek() == Some(b']') { None } else { self.scan.value() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::envelope::text::Source;
    use proptest::prelude::*;

    fn is_value(bytes: &[u8]) -> bool {
        let mut scan = Scan { bytes, at: 0 };
        let found = scan.value().is_some();
        scan.space();
        found && scan.at == bytes.len()
    }

    #[track_caller]
    fn check(text: &str) {
        let expect = match serde_json::from_str::<serde_json::Value>(text) {
            Ok(_) => true,
            Err(error) => {
                // Half a pair of surrogates is let through here, and no number is out of range:
                // nothing can be compared then.
                let error = error.to_string();
                if ["out of range", "surrogate", "hex escape"].iter().any(|it| error.contains(it)) {
                    return;
                }
                false
            }
        };
        assert_eq!(is_value(text.as_bytes()), expect, "{text:?}");
    }

    #[test]
    fn what_is_json() {
        let good = [
            "1",
            "-0.5e+3",
            "null",
            "[]",
            "{}",
            " { } ",
            "[1,[2,{\"a\":[]}],\"x\"]",
            "\"\\u0000\"",
            "{\"a\":{\"b\":1},\"c\":true}",
            "\"\\ud83d\\ude00 训练 long enough for words\"",
        ];
        let bad = [
            "",
            "01",
            "1.",
            "[1,]",
            "{\"a\":1,}",
            "{,}",
            "[,]",
            "{\"a\"}",
            "{'a':1}",
            "nul",
            "[1 2]",
            "\"a\tb\"",
            "\"\\x\"",
            "\"\\u12g4\"",
            "[}",
            "{\"a\":1]",
            "\"open",
            "{\"a\":1} x",
            "nan",
        ];
        for text in good.iter().chain(&bad) {
            check(text);
        }
        assert!(is_value(b"\"\\ud83d\"") && is_value(b"1e999"));
        for depth in [127, 128] {
            let deep = format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
            assert_eq!(is_value(deep.as_bytes()), depth == 127);
        }
    }

    proptest! {
        #[test]
        fn bent_json_is_json_as_serde_json_has_it(
            text in "[\\[\\]{},:\"\\\\utn0-9a-e. -]{0,24}",
            plain in "[ -~训]{0,30}",
        ) {
            check(&text);
            let quoted = serde_json::to_string(&plain).unwrap();
            let source = Source::new(quoted.as_bytes());
            let found = source.string(Span { start: 0, end: quoted.len() }).unwrap();
            prop_assert_eq!(source.to_string(found), plain);
        }
    }
}
