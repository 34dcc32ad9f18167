//! What is to be redacted in a text: the prefilter's places, confirmed, sorted and without overlap.
//!
//! Invariant: findings are sorted, apart from each other, and begin and end at characters; the work
//! for a text is linear in its length. Next stop: `replace`.
use super::assignment::{argument, assignment};
use super::kind::Kind;
use super::prefilter::{next_run, next_separator};
use super::text::Text;
use super::{Redact, personal, token};

/// One value to be redacted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Finding {
    /// The value.
    pub(super) start: usize,
    pub(super) end: usize,
    /// Where that begins which goes with the value when it is taken away.
    pub(super) whole_start: usize,
    /// A `Kind`, or behind them one of the patterns.
    pub(super) kind: u16,
}

impl Finding {
    pub(super) fn plain(start: usize, end: usize, kind: Kind) -> Finding {
        Finding { start, end, whole_start: start, kind: kind as u16 }
    }
}

impl Redact {
    /// Fills `found` with what is to be redacted, and gives the number of bytes looked at besides
    /// the walks over the whole text.
    pub(super) fn find(&self, text: &str, found: &mut Vec<Finding>) -> u64 {
        found.clear();
        let mut reading = Text::new(text);
        if self.secrets {
            self.find_secrets(&mut reading, found);
        }
        if self.on_request {
            personal::find(self, &mut reading, found);
        }
        if found.len() > 1 {
            join(found);
        }
        reading.steps
    }

    fn find_secrets(&self, text: &mut Text<'_>, found: &mut Vec<Finding>) {
        let bytes = text.bytes;
        let mut from = 0;
        while let Some(at) = next_separator(bytes, from) {
            from = at + 1;
            let finding = if bytes[at] == b':' && bytes[from..].starts_with(b"//") {
                token::url_password(text, at)
            } else {
                assignment(text, at)
            };
            if let Some(finding) = finding {
                from = finding.end.max(from);
                found.push(finding);
            }
        }
        let mut from = 0;
        let mut any_run = false;
        while let Some((start, end)) = next_run(bytes, from) {
            from = end;
            any_run = true;
            if let Some(finding) = token::of_run(text, start, end).or_else(|| argument(text, start))
            {
                from = finding.end.max(end);
                found.push(finding);
            }
        }
        if any_run {
            // A key of a few hundred characters in base64 has such runs.
            token::private_keys(&self.begin, text, found);
        }
    }

    /// Adds what patterns of one's own find. They are asked once: they may match what was put in
    /// the place of a value.
    pub(super) fn find_patterns(&self, text: &str, found: &mut Vec<Finding>) {
        if self.patterns.is_empty() {
            return;
        }
        for (index, pattern) in self.patterns.iter().enumerate() {
            let kind = (Kind::ALL.len() + index) as u16;
            for (count, place) in pattern.regex.find_iter(text).enumerate() {
                let whole = place.range();
                // A pattern can look at all of the rest for each match. Where it has so many, the
                // rest goes as a whole.
                let end = if count < MATCHES_MAX { whole.end } else { text.len() };
                if whole.start < end {
                    found.push(Finding { start: whole.start, end, whole_start: whole.start, kind });
                }
                if count == MATCHES_MAX {
                    break;
                }
            }
        }
        join(found);
    }
}

/// Matches of one pattern in one text.
const MATCHES_MAX: usize = 256;

/// Sorts, and makes one of those that overlap.
fn join(found: &mut Vec<Finding>) {
    found.sort_unstable_by_key(|finding| (finding.start, finding.kind));
    found.dedup_by(|next, kept| {
        let overlaps = next.start < kept.end;
        if overlaps {
            kept.end = kept.end.max(next.end);
            kept.whole_start = kept.whole_start.min(next.whole_start);
            kept.kind = kept.kind.min(next.kind);
        }
        overlaps
    });
    // What goes with a value cannot reach into the value before it.
    let mut before = 0;
    for finding in found {
        finding.whole_start = finding.whole_start.max(before);
        before = finding.end;
    }
}
