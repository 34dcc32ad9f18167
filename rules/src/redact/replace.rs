//! Writes what is left of a text, and says where each of its places is then.
//!
//! Invariant: everything outside of findings is copied as it is, and a place inside of one becomes
//! all of what was put there: no part of a value can be captured. Next stop: `transform`.
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use super::assignment::REDACTED;
use super::find::Finding;
use super::kind::Kind;
use super::{Action, Redact};

/// A text that has been redacted.
#[derive(Clone, Debug, Default)]
pub struct Redacted {
    text: String,
    before: String,
    pub(super) found: Vec<Finding>,
    kinds: Vec<u16>,
    /// What was replaced, round by round: what stands around a value may be one without it.
    rounds: Vec<Vec<Place>>,
    rounds_used: usize,
}

#[derive(Clone, Copy, Debug)]
struct Place {
    start: usize,
    end: usize,
    new_start: usize,
    new_end: usize,
}

/// Two are enough for all that is known; what an adversary might nest deeper stays as it is then.
const ROUNDS_MAX: usize = 4;

impl Redacted {
    /// What is left of the text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The kinds of the values that were redacted, as indices into `Redact::kinds`.
    pub fn kinds(&self) -> impl Iterator<Item = usize> {
        self.kinds.iter().map(|kind| usize::from(*kind))
    }

    /// Where a stretch of the old text is in the new one, and whether a value reached into it.
    pub fn place(&self, start: usize, end: usize) -> (usize, usize, bool) {
        let rounds = &self.rounds[..self.rounds_used];
        rounds.iter().fold((start, end, false), |(start, end, touched), places| {
            let index = places.partition_point(|place| place.end <= start);
            let reached = places.get(index).is_some_and(|place| place.start < end);
            let new_start = place_of(places, start, true);
            let new_end = place_of(places, end, false);
            (new_start, new_end.max(new_start), touched || reached)
        })
    }

    /// Redacts what was found in the text, and what is found then.
    pub(super) fn write(&mut self, redact: &Redact, text: &str) {
        self.kinds.clear();
        self.rounds_used = 0;
        self.write_round(redact, text);
        while self.rounds_used < ROUNDS_MAX {
            redact.find(&self.text, &mut self.found);
            if self.found.is_empty() {
                return;
            }
            let before = std::mem::take(&mut self.text);
            self.text = std::mem::take(&mut self.before);
            self.write_round(redact, &before);
            self.before = before;
        }
    }

    fn write_round(&mut self, redact: &Redact, text: &str) {
        self.rounds_used += 1;
        if self.rounds.len() < self.rounds_used {
            self.rounds.push(Vec::new());
        }
        let places = &mut self.rounds[self.rounds_used - 1];
        places.clear();
        self.text.clear();
        let mut from = 0;
        for finding in &self.found {
            let action = redact.actions[usize::from(finding.kind)];
            let start = match action {
                Action::Remove => finding.whole_start.max(from),
                _ => finding.start,
            };
            self.text.push_str(&text[from..start]);
            let new_start = self.text.len();
            if action != Action::Remove {
                self.text.push_str(MASK);
                self.text.push_str(redact.kind(finding.kind));
                if action == Action::Hash {
                    self.text.push('#');
                    redact.push_hash(&mut self.text, &text[finding.start..finding.end]);
                }
                self.text.push(']');
            }
            let new_end = self.text.len();
            places.push(Place { start, end: finding.end, new_start, new_end });
            self.kinds.push(finding.kind);
            from = finding.end;
        }
        self.text.push_str(&text[from..]);
    }
}

/// Where a byte of the text before a round is after it.
fn place_of(places: &[Place], at: usize, is_start: bool) -> usize {
    let index = places.partition_point(|place| place.start < at);
    let Some(place) = index.checked_sub(1).map(|index| places[index]) else { return at };
    match at < place.end {
        true if is_start => place.new_start,
        true => place.new_end,
        false => place.new_end + (at - place.end),
    }
}

/// `REDACTED` as text.
const MASK: &str = "[redacted:";
const _: () = assert!(MASK.len() == REDACTED.len());

impl Redact {
    fn push_hash(&self, out: &mut String, value: &str) {
        push_hex(out, keyed_hash(self.salt.as_bytes(), value.as_bytes()));
    }

    pub(super) fn kind(&self, kind: u16) -> &str {
        let index = usize::from(kind);
        match Kind::ALL.get(index) {
            Some(kind) => kind.as_str(),
            None => &self.patterns[index - Kind::ALL.len()].name,
        }
    }
}

/// The first 48 bits of HMAC-SHA256 (RFC 2104): who does not know the salt cannot try values out.
/// In hexadecimal they are shorter than the prefilter's runs, and so no value themselves.
fn keyed_hash(salt: &[u8], value: &[u8]) -> u64 {
    let mut mac = Hmac::<Sha256>::new_from_slice(salt).expect("HMAC takes keys of any length");
    mac.update(value);
    let digest = mac.finalize().into_bytes();
    u64::from_be_bytes(*digest.first_chunk().expect("a SHA-256 has 32 bytes")) >> 16
}

/// What of a salt may be known to others: equal salts give equal texts.
pub fn salt_mark(salt: &str) -> String {
    let mut mark = String::new();
    push_hex(&mut mark, keyed_hash(salt.as_bytes(), b"riverhog: mark of a salt"));
    mark
}

fn push_hex(out: &mut String, hash: u64) {
    use std::fmt::Write;
    write!(out, "{hash:012x}").expect("writing to a String cannot fail");
}
