//! Which byte of a TOML string's value came from which byte of the file. Invariant: exact for
//! literal strings and for plain runs of basic strings; an escape, or something interpolated, is
//! one stretch that cannot be divided. Next: `interpolate.rs`.

use std::ops::Range;

/// The stretches of one value, by rising offset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PositionMap {
    // Invariant: never empty; sorted by `at`; the first is at 0.
    stretches: Vec<Stretch>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Stretch {
    /// First byte in the value.
    at: usize,
    /// Bytes in the file.
    source: Range<usize>,
    /// Byte by byte the same in both.
    exact: bool,
}

impl PositionMap {
    /// Everything leads to one place.
    pub(crate) fn whole(source: Range<usize>) -> Self {
        Self { stretches: vec![Stretch { at: 0, source, exact: false }] }
    }

    /// The map of a TOML string: `raw` is its source with quotes, `start` where that begins in the
    /// file, `value` what the parser made of it. Best effort: what does not add up leads to the
    /// whole string.
    pub(crate) fn of_literal(raw: &str, start: usize, value: &str) -> Self {
        let whole = || Self::whole(start..start + raw.len());
        let Some((quote, body)) = body(raw) else { return whole() };
        let stretches = if quote == '\'' {
            vec![Stretch { at: 0, source: body.clone(), exact: true }]
        } else {
            basic_stretches(raw, body.clone())
        };
        let (length, mut stretches) = (decoded_length(&stretches, &body), stretches);
        if length != value.len() || stretches.is_empty() {
            return whole();
        }
        for stretch in &mut stretches {
            stretch.source = start + stretch.source.start..start + stretch.source.end;
        }
        Self { stretches }
    }

    /// Where these bytes of the value stand in the file.
    pub(crate) fn source_of(&self, range: Range<usize>) -> Range<usize> {
        let first = self.stretch_at(range.start);
        let start = first.start_of(range.start);
        if range.end <= range.start {
            return start..start;
        }
        let last = self.stretch_at(range.end - 1);
        start..last.end_of(range.end).max(start)
    }

    fn stretch_at(&self, at: usize) -> &Stretch {
        let after = self.stretches.partition_point(|stretch| stretch.at <= at);
        &self.stretches[after.saturating_sub(1)]
    }
}

impl Stretch {
    fn start_of(&self, at: usize) -> usize {
        if self.exact { self.advanced(at) } else { self.source.start }
    }

    fn end_of(&self, end: usize) -> usize {
        if self.exact { self.advanced(end) } else { self.source.end }
    }

    fn advanced(&self, at: usize) -> usize {
        self.source.start.saturating_add(at - self.at).min(self.source.end)
    }
}

/// Builds the map of a value that is put together from parts of another.
pub(crate) struct MapBuilder<'a> {
    from: &'a PositionMap,
    stretches: Vec<Stretch>,
    length: usize,
}

impl<'a> MapBuilder<'a> {
    pub(crate) fn new(from: &'a PositionMap) -> Self {
        Self { from, stretches: Vec::new(), length: 0 }
    }

    /// These bytes of the old value were copied.
    pub(crate) fn copied(&mut self, range: Range<usize>) {
        let mut at = range.start;
        while at < range.end {
            let index = self.from.stretches.partition_point(|it| it.at <= at).saturating_sub(1);
            let stretch = &self.from.stretches[index];
            let next = self.from.stretches.get(index + 1).map_or(usize::MAX, |it| it.at);
            let end = next.min(range.end);
            let source = if stretch.exact {
                stretch.start_of(at)..stretch.end_of(end)
            } else {
                stretch.source.clone()
            };
            self.stretches.push(Stretch { at: self.length, source, exact: stretch.exact });
            self.length += end - at;
            at = end;
        }
    }

    /// `length` new bytes stand for these bytes of the old value.
    pub(crate) fn replaced(&mut self, range: Range<usize>, length: usize) {
        if length > 0 {
            let source = self.from.source_of(range);
            self.stretches.push(Stretch { at: self.length, source, exact: false });
            self.length += length;
        }
    }

    pub(crate) fn finish(self) -> PositionMap {
        if self.stretches.is_empty() {
            let all = self.from.source_of(0..usize::MAX);
            return PositionMap::whole(all);
        }
        PositionMap { stretches: self.stretches }
    }
}

/// The quote and the bytes between the quotes.
fn body(raw: &str) -> Option<(char, Range<usize>)> {
    let quote = raw.chars().next().filter(|it| matches!(it, '"' | '\''))?;
    let triple: String = [quote; 3].iter().collect();
    let (mut start, width) =
        if raw.starts_with(&triple) && raw.len() >= 6 { (3, 3) } else { (1, 1) };
    if raw.len() < start + width || !raw.ends_with(quote) {
        return None;
    }
    let end = raw.len() - width;
    if width == 3 {
        let rest = &raw[start..end];
        // TOML drops a newline right after the opening quotes.
        start += if rest.starts_with("\r\n") { 2 } else { usize::from(rest.starts_with('\n')) };
    }
    Some((quote, start..end))
}

fn basic_stretches(raw: &str, body: Range<usize>) -> Vec<Stretch> {
    let mut stretches = Vec::new();
    let (mut at, mut position) = (0, body.start);
    while position < body.end {
        let rest = &raw[position..body.end];
        let run = rest.find('\\').unwrap_or(rest.len());
        if run > 0 {
            stretches.push(Stretch { at, source: position..position + run, exact: true });
            at += run;
            position += run;
            continue;
        }
        let (taken, given) = escape(rest);
        if given > 0 {
            stretches.push(Stretch { at, source: position..position + taken, exact: false });
        }
        at += given;
        position += taken;
    }
    stretches.push(Stretch { at, source: body.end..body.end, exact: false });
    stretches
}

/// Bytes an escape takes in the file and gives in the value.
fn escape(rest: &str) -> (usize, usize) {
    let Some(kind) = rest[1..].chars().next() else { return (1, 0) };
    let digits = match kind {
        'x' => 2,
        'u' => 4,
        'U' => 8,
        ' ' | '\t' | '\r' | '\n' => {
            // A backslash at the end of a line takes all white space after it.
            let blank =
                rest[1..].len() - rest[1..].trim_start_matches([' ', '\t', '\r', '\n']).len();
            return (1 + blank, 0);
        }
        other => return (1 + other.len_utf8(), 1),
    };
    let hex = rest.get(2..2 + digits).unwrap_or("");
    let given =
        u32::from_str_radix(hex, 16).ok().and_then(char::from_u32).map_or(0, char::len_utf8);
    ((2 + digits).min(rest.len()), given)
}

fn decoded_length(stretches: &[Stretch], body: &Range<usize>) -> usize {
    match stretches.last() {
        Some(last) if last.exact => last.at + body.len(),
        Some(last) => last.at,
        None => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Finds `needle` in the value of the string `raw` and expects its source to be `expect`.
    fn check(raw: &str, needle: &str, expect: &str) {
        let text = format!("key = {raw}\n");
        let table = toml::de::DeTable::parse(&text).expect("valid TOML").into_inner();
        let (_, value) = table.iter().next().expect("one key");
        let decoded = value.get_ref().as_str().expect("a string");
        let map = PositionMap::of_literal(&text[value.span()], value.span().start, decoded);
        let at = decoded.find(needle).expect("needle in the value");
        assert_eq!(&text[map.source_of(at..at + needle.len())], expect, "{raw}");
    }

    #[test]
    fn literal_strings_are_exact() {
        check("'%{WORD:a} b'", "%{WORD:a}", "%{WORD:a}");
        check("'''\none 'two' three'''", "'two'", "'two'");
        check("'''\r\none\r\ntwo'''", "two", "two");
    }

    #[test]
    fn basic_strings_are_exact_between_escapes() {
        check(r#""a\tb\\c é d""#, "d", "d");
        check(r#""a\tb""#, "\t", r"\t");
        check(r#""\u00e9x\U0001F600y\x41z""#, "y", "y");
        check("\"\"\"\nfirst \\\n   second \"q\" \"\"\"", "second", "second");
    }

    #[test]
    fn what_does_not_add_up_leads_to_the_whole() {
        let map = PositionMap::of_literal("\"abc\"", 10, "something else");
        assert_eq!(map.source_of(3..5), 10..15);
        assert_eq!(PositionMap::of_literal("", 4, "").source_of(0..9), 4..4);
    }

    #[test]
    fn a_rebuilt_value_still_leads_back() {
        let from = PositionMap::of_literal("'ab${X}cd'", 0, "ab${X}cd");
        let mut builder = MapBuilder::new(&from);
        builder.copied(0..2);
        builder.replaced(2..6, 10);
        builder.copied(6..8);
        let map = builder.finish();
        assert_eq!(map.source_of(0..2), 1..3);
        assert_eq!(map.source_of(4..6), 3..7);
        assert_eq!(map.source_of(12..14), 7..9);
    }
}
