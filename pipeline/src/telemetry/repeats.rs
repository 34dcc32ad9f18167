//! Storms of equal messages made into counts: a message that comes more than [`WRITTEN_MAX`] times
//! within [`WINDOW`] is written that often, and how often it came beyond that is told when the
//! window ends.
//!
//! Invariant: no message is swallowed without being counted, and what is remembered is bounded by
//! [`KEYS_MAX`] and the number of places in the program that log. Time comes in as an argument.
//! Next stop: [`super::log`], which writes.

use std::collections::HashMap;
use std::time::Duration;

use tokio::time::Instant;
use tracing::Level;

/// Times that a message is written within one window.
pub const WRITTEN_MAX: u64 = 5;

/// Length of a window. It begins with a message that finds none open.
pub const WINDOW: Duration = Duration::from_secs(10);

/// Most keys that tell sinks and destinations apart; beyond, messages of one place count together.
pub const KEYS_MAX: usize = 1_024;

/// What makes two messages the same one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Key {
    /// The place in the program: the name of `tracing`'s metadata, with file and line.
    pub place: &'static str,
    /// The module it is in.
    pub target: &'static str,
    /// How serious it is.
    pub level: Level,
    /// The field `sink`, empty when there is none.
    pub sink: String,
    /// The field `destination`, empty when there is none.
    pub destination: String,
}

/// What becomes of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// It is written.
    Written,
    /// It is the first of its window that is counted instead: from now on [`Repeats::next_end`]
    /// knows of it.
    FirstCounted,
    /// It is counted too.
    Counted,
}

/// A message that was not written each time, at the end of its window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repeated {
    /// Which.
    pub key: Key,
    /// The words of the last one that was not written.
    pub message: String,
    /// How many were not written; at least 1.
    pub count: u64,
}

/// The open windows.
#[derive(Debug, Default)]
pub struct Repeats {
    windows: HashMap<Key, Window>,
    /// When the first of the windows ends; `None` while there is none.
    first_end: Option<Instant>,
}

#[derive(Debug)]
struct Window {
    end: Instant,
    seen: u64,
    /// Of the last message that was not written.
    message: String,
}

impl Repeats {
    /// Whether a message is written. Windows that have ended must have been taken by
    /// [`Repeats::ended`] at the same `now`.
    pub fn admit(&mut self, now: Instant, key: Key, message: &str) -> Admission {
        let key = self.bounded(key);
        let window = self.windows.entry(key).or_insert_with(|| {
            let end = now + WINDOW;
            self.first_end.get_or_insert(end);
            Window { end, seen: 0, message: String::new() }
        });
        window.seen += 1;
        if window.seen <= WRITTEN_MAX {
            return Admission::Written;
        }
        message.clone_into(&mut window.message);
        if window.seen == WRITTEN_MAX + 1 { Admission::FirstCounted } else { Admission::Counted }
    }

    /// Takes the windows that have ended, and returns those with messages that were not written.
    pub fn ended(&mut self, now: Instant) -> Vec<Repeated> {
        if self.first_end.is_none_or(|end| now < end) {
            return Vec::new();
        }
        self.take(|window| window.end <= now)
    }

    /// Takes all windows: the process ends.
    pub fn all(&mut self) -> Vec<Repeated> {
        self.take(|_| true)
    }

    /// When [`Repeats::ended`] is to be called next for a count to be told in time; `None` while
    /// every message was written.
    pub fn next_end(&self) -> Option<Instant> {
        let untold = self.windows.values().filter(|window| window.seen > WRITTEN_MAX);
        untold.map(|window| window.end).min()
    }

    fn take(&mut self, has_ended: impl Fn(&Window) -> bool) -> Vec<Repeated> {
        let ended = self.windows.extract_if(|_, window| has_ended(window));
        let mut repeated: Vec<Repeated> = ended
            .filter(|(_, window)| window.seen > WRITTEN_MAX)
            .map(|(key, window)| {
                let Window { seen, message, .. } = window;
                Repeated { key, message, count: seen - WRITTEN_MAX }
            })
            .collect();
        repeated.sort_by(|one, other| {
            let order = |repeated: &Repeated| (repeated.key.place, repeated.key.sink.clone());
            order(one).cmp(&order(other))
        });
        self.first_end = self.windows.values().map(|window| window.end).min();
        repeated
    }

    /// `key`, or what it shares with all of its place when there are too many.
    fn bounded(&self, key: Key) -> Key {
        if self.windows.len() < KEYS_MAX || self.windows.contains_key(&key) {
            return key;
        }
        Key { sink: String::new(), destination: String::new(), ..key }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(place: &'static str, sink: &str) -> Key {
        Key {
            place,
            target: "riverhog::sink",
            level: Level::WARN,
            sink: sink.to_owned(),
            destination: String::new(),
        }
    }

    fn seconds(start: Instant, seconds: u64) -> Instant {
        start + Duration::from_secs(seconds)
    }

    fn is_written(repeats: &mut Repeats, now: Instant, key: &Key) -> bool {
        repeats.admit(now, key.clone(), "slow") == Admission::Written
    }

    /// How many of `count` messages are written at `now`.
    fn check(repeats: &mut Repeats, now: Instant, key: &Key, count: usize, expect: usize) {
        let written = (0..count).filter(|_| is_written(repeats, now, key)).count();
        assert_eq!(written, expect, "{key:?}");
    }

    #[test]
    fn a_storm_is_written_five_times_and_counted() {
        let (mut repeats, start) = (Repeats::default(), crate::clock::instant());
        let slow = key("sink.rs:7", "search");
        check(&mut repeats, start, &slow, 3, 3);
        assert_eq!(repeats.next_end(), None);
        check(&mut repeats, seconds(start, 9), &slow, 2, 2);
        let mut admit = || repeats.admit(seconds(start, 9), slow.clone(), "slow");
        assert_eq!(admit(), Admission::FirstCounted);
        assert_eq!(admit(), Admission::Counted);
        check(&mut repeats, seconds(start, 9), &slow, 6, 0);
        assert_eq!(repeats.next_end(), Some(seconds(start, 10)));
        assert_eq!(repeats.ended(seconds(start, 9)), []);
        let repeated = Repeated { key: slow.clone(), message: "slow".to_owned(), count: 8 };
        assert_eq!(repeats.ended(seconds(start, 10)), [repeated]);
        assert_eq!(repeats.ended(seconds(start, 10)), []);
        assert_eq!(repeats.next_end(), None);
        // A new window: written again.
        check(&mut repeats, seconds(start, 10), &slow, 7, 5);
        assert_eq!(repeats.all().len(), 1);
    }

    #[test]
    fn a_message_now_and_then_is_always_written() {
        let (mut repeats, start) = (Repeats::default(), crate::clock::instant());
        for second in 0..100 {
            let now = seconds(start, 2 * second);
            assert_eq!(repeats.ended(now), []);
            check(&mut repeats, now, &key("sink.rs:7", "search"), 1, 1);
        }
    }

    #[test]
    fn places_levels_sinks_and_destinations_are_told_apart() {
        let (mut repeats, start) = (Repeats::default(), crate::clock::instant());
        let one = key("sink.rs:7", "search");
        let error = Key { level: Level::ERROR, ..one.clone() };
        let index = Key { destination: "logs-nlp".to_owned(), ..one.clone() };
        for key in [one, error, index, key("sink.rs:7", "archive"), key("sink.rs:9", "search")] {
            check(&mut repeats, start, &key, 9, 5);
        }
        assert_eq!(repeats.ended(seconds(start, 10)).len(), 5);
    }

    #[test]
    fn windows_end_one_by_one() {
        let (mut repeats, start) = (Repeats::default(), crate::clock::instant());
        let (early, late) = (key("sink.rs:7", "search"), key("sink.rs:9", "search"));
        check(&mut repeats, start, &early, 6, 5);
        check(&mut repeats, seconds(start, 4), &late, 7, 5);
        let counts = |repeated: Vec<Repeated>| -> Vec<u64> {
            repeated.iter().map(|repeated| repeated.count).collect()
        };
        assert_eq!(counts(repeats.ended(seconds(start, 11))), [1]);
        assert_eq!(repeats.next_end(), Some(seconds(start, 14)));
        assert_eq!(counts(repeats.ended(seconds(start, 14))), [2]);
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let (mut repeats, start) = (Repeats::default(), crate::clock::instant());
        let count = 3 * KEYS_MAX;
        for number in 0..count {
            let written = is_written(&mut repeats, start, &key("sink.rs:7", &number.to_string()));
            assert_eq!(written, number < KEYS_MAX + WRITTEN_MAX as usize, "{number}");
        }
        assert_eq!(repeats.windows.len(), KEYS_MAX + 1);
        let repeated = repeats.ended(seconds(start, 10));
        assert_eq!(repeated.len(), 1);
        assert_eq!(repeated[0].count, (count - KEYS_MAX) as u64 - WRITTEN_MAX);
        assert_eq!(repeated[0].key.sink, "");
        assert!(repeats.windows.is_empty());
    }
}
