//! How bodies are compressed, and what a store makes of it. Not every store takes every encoding,
//! and some say so as they would of a bad document, or by hanging up; so a refusal is believed only
//! once the same body has been refused in a simpler encoding too.
//!
//! Invariant: an encoding that a store does not take never makes a dead letter; it is warned of
//! once and not used again. Next stop: [`super::http`].

use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use super::body::Body;
use super::transport::{BulkAnswer, TransportError};

/// An encoding of bodies, the simplest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Encoding {
    /// As they are.
    None,
    /// gzip.
    Gzip,
    /// zstd.
    Zstd,
}

/// Bodies that were lost with their connection before one got through, after which the encoding is
/// given up: one may be chance.
const LOST_MAX: u8 = 2;

impl Encoding {
    /// As a header names it; none for bodies as they are.
    pub fn header(self) -> Option<&'static str> {
        match self {
            Encoding::None => None,
            Encoding::Gzip => Some("gzip"),
            Encoding::Zstd => Some("zstd"),
        }
    }

    /// The word of the configuration.
    pub fn as_str(self) -> &'static str {
        self.header().unwrap_or("none")
    }

    pub(super) fn simpler(self) -> Option<Encoding> {
        match self {
            Encoding::None => None,
            Encoding::Gzip => Some(Encoding::None),
            Encoding::Zstd => Some(Encoding::Gzip),
        }
    }

    pub(super) fn apply(self, body: &Body) -> Body {
        match self {
            Encoding::None => body.clone(),
            Encoding::Gzip => body.gzip(),
            Encoding::Zstd => body.zstd(),
        }
    }
}

/// What is known of the encoding that one address takes.
#[derive(Debug)]
pub(super) struct Accepted {
    /// `Encoding` as a number: it only ever gets simpler.
    now: AtomicU8,
    /// A body got through.
    is_proven: AtomicBool,
    lost: AtomicU8,
}

impl Accepted {
    pub(super) fn new(wanted: Encoding) -> Accepted {
        Accepted {
            now: AtomicU8::new(wanted as u8),
            is_proven: AtomicBool::new(false),
            lost: AtomicU8::new(0),
        }
    }

    pub(super) fn get(&self) -> Encoding {
        match self.now.load(Ordering::Relaxed) {
            0 => Encoding::None,
            1 => Encoding::Gzip,
            _ => Encoding::Zstd,
        }
    }

    /// Whether it may be the encoding that was refused: then the same is to be sent in a simpler
    /// one.
    pub(super) fn may_be_refused(&self, answer: &Result<BulkAnswer, TransportError>) -> bool {
        match answer {
            Ok(answer) => matches!(answer.status, 400 | 406 | 415),
            Err(TransportError::Closed(_)) => !self.is_proven.load(Ordering::Relaxed),
            Err(_) => false,
        }
    }

    /// Notes that a body got through in this encoding.
    pub(super) fn got_through(&self, encoding: Encoding) {
        if encoding == self.get() {
            self.is_proven.store(true, Ordering::Relaxed);
        }
    }

    /// Notes that a body got through in `simpler` right after it did not in the encoding in use,
    /// which was answered or not. True when that one is given up by this.
    pub(super) fn got_through_simpler(&self, simpler: Encoding, was_answered: bool) -> bool {
        if !was_answered && self.lost.fetch_add(1, Ordering::Relaxed) + 1 < LOST_MAX {
            return false;
        }
        self.now.fetch_min(simpler as u8, Ordering::Relaxed) > simpler as u8
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;

    fn answer(status: u16) -> BulkAnswer {
        BulkAnswer { status, retry_after: None, body: Bytes::new() }
    }

    #[test]
    fn what_may_be_a_refusal_of_the_encoding() {
        let accepted = Accepted::new(Encoding::Zstd);
        for (status, may_be) in [(400, true), (406, true), (415, true), (413, false), (429, false)]
        {
            assert_eq!(accepted.may_be_refused(&Ok(answer(status))), may_be, "{status}");
        }
        let closed = Err(TransportError::Closed("reset".to_owned()));
        assert!(accepted.may_be_refused(&closed));
        assert!(!accepted.may_be_refused(&Err(TransportError::Timeout("late".to_owned()))));
        accepted.got_through(Encoding::Zstd);
        assert!(!accepted.may_be_refused(&closed), "it was taken before: the network's fault");
    }

    #[test]
    fn an_encoding_is_given_up_once_and_for_good() {
        let accepted = Accepted::new(Encoding::Zstd);
        assert!(accepted.got_through_simpler(Encoding::Gzip, true));
        assert!(!accepted.got_through_simpler(Encoding::Gzip, true), "one warning");
        assert_eq!(accepted.get(), Encoding::Gzip);
        assert!(accepted.got_through_simpler(Encoding::None, true));
        assert!(!accepted.got_through_simpler(Encoding::Gzip, true));
        assert_eq!(accepted.get(), Encoding::None);
    }

    #[test]
    fn one_lost_connection_is_chance() {
        let accepted = Accepted::new(Encoding::Zstd);
        assert!(!accepted.got_through_simpler(Encoding::Gzip, false));
        assert_eq!(accepted.get(), Encoding::Zstd);
        assert!(accepted.got_through_simpler(Encoding::Gzip, false));
        assert_eq!(accepted.get(), Encoding::Gzip);
    }
}
