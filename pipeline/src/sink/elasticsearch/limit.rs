//! How many requests may be in flight: `in_flight` at most, fewer while the store is overloaded.
//!
//! Additive increase, multiplicative decrease: an overload (429, 503, a timeout) halves the limit,
//! answers to full requests that take twice as long as before take a quarter off it, and each round
//! of good answers gives one back. What takes long for good is no overload: the time that answers
//! took before follows, so a store that is steady gets the whole of `in_flight`.
//!
//! Invariant: the limit is at least 1 and at most `in_flight`; requests sent before it last fell do
//! not lower it again. Time is an argument. Next stop: [`super::request`].

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

/// Answers of a round, at least.
const ROUND_MIN: usize = 8;
/// Answers that come faster than this are never slow.
const FAST: Duration = Duration::from_millis(100);
/// How many times as slow as before is overloaded.
const SLOWER: f64 = 2.0;
/// How much of a round's time goes into the time that answers took before.
const FOLLOW: f64 = 0.2;

/// What one try of a request led to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Load {
    /// Answered; its time is that of a full request.
    Full,
    /// Answered; too small to tell how fast the store is.
    Small,
    /// The store asked for less, or did not manage in time.
    Overloaded,
    /// Failed for reasons that say nothing of the store's load.
    Unknown,
}

/// The limit of one sink, and who is in.
#[derive(Debug)]
pub(super) struct Limit {
    max: usize,
    adaptive: bool,
    freed: Notify,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    limit: usize,
    running: usize,
    fell_at: Option<Instant>,
    /// Answers since the limit last changed.
    answered: usize,
    /// How many of them were full, and how long those took together.
    full: (usize, f64),
    /// Seconds that a full request took before.
    before: Option<f64>,
}

/// A request's place; given back on drop.
#[derive(Debug)]
pub(super) struct Place(Arc<Limit>);

impl Limit {
    /// At most `max` (at least 1) in flight; always as many unless `adaptive`.
    pub(super) fn new(max: usize, adaptive: bool) -> Limit {
        let max = max.max(1);
        let state = State {
            limit: max,
            running: 0,
            fell_at: None,
            answered: 0,
            full: (0, 0.0),
            before: None,
        };
        Limit { max, adaptive, freed: Notify::new(), state: Mutex::new(state) }
    }

    /// The present limit.
    pub(super) fn get(&self) -> usize {
        self.state().limit
    }

    /// Waits for a place; one task at a time may wait.
    pub(super) async fn enter(self: &Arc<Limit>) -> Place {
        loop {
            if let Some(place) = self.try_enter() {
                return place;
            }
            // A place that was freed since then has left its notice.
            self.freed.notified().await;
        }
    }

    fn try_enter(self: &Arc<Limit>) -> Option<Place> {
        let mut state = self.state();
        let has_room = state.running < state.limit;
        state.running += usize::from(has_room);
        has_room.then(|| Place(Arc::clone(self)))
    }

    /// Notes a try that was sent at `sent`; the new limit where it changed.
    pub(super) fn note(&self, sent: Instant, load: Load, now: Instant) -> Option<usize> {
        if !self.adaptive {
            return None;
        }
        let mut state = self.state();
        let before = state.limit;
        state.note(self.max, sent, load, now);
        let after = state.limit;
        drop(state);
        if after > before {
            self.freed.notify_one();
        }
        (after != before).then_some(after)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn note(&mut self, max: usize, sent: Instant, load: Load, now: Instant) {
        // It was sent while more were allowed: it tells nothing about now.
        if self.fell_at.is_some_and(|fell_at| sent < fell_at) {
            return;
        }
        match load {
            Load::Unknown => return,
            Load::Overloaded => return self.fall(self.limit / 2, now),
            Load::Small => {}
            Load::Full => {
                self.full.0 += 1;
                self.full.1 += now.saturating_duration_since(sent).as_secs_f64();
            }
        }
        self.answered += 1;
        if self.answered < ROUND_MIN.max(self.limit) {
            return;
        }
        let mean = (self.full.0 >= ROUND_MIN / 2).then(|| self.full.1 / self.full.0 as f64);
        self.answered = 0;
        self.full = (0, 0.0);
        let is_slow = mean.is_some_and(|mean| self.is_slow(mean));
        if let Some(mean) = mean {
            let before = self.before.get_or_insert(mean);
            *before += (mean - *before) * FOLLOW;
        }
        if is_slow {
            self.fall(self.limit - self.limit.div_ceil(4), now);
        } else {
            self.limit = (self.limit + 1).min(max);
        }
    }

    fn is_slow(&self, mean: f64) -> bool {
        mean > FAST.as_secs_f64() && self.before.is_some_and(|before| mean > before * SLOWER)
    }

    fn fall(&mut self, limit: usize, now: Instant) {
        self.limit = limit.max(1);
        self.fell_at = Some(now);
        self.answered = 0;
        self.full = (0, 0.0);
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.running -= 1;
        drop(state);
        self.0.freed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cmp::Reverse;
    use std::collections::BinaryHeap;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    /// A store that works on so many requests at once, each taking so long alone, and says 429 to
    /// any beyond its queue.
    struct Store {
        workers: usize,
        queue: usize,
        alone: Duration,
    }

    /// Keeps the limit's number of requests in flight for so long; answers per second.
    fn run(limit: &Arc<Limit>, store: &Store, start: Instant, length: Duration) -> f64 {
        let (mut now, mut done) = (start, 0_u32);
        // When each ends, when it was sent, and whether it was refused.
        let mut running: BinaryHeap<Reverse<(Instant, Instant, bool)>> = BinaryHeap::new();
        let mut free_at = vec![start; store.workers];
        let mut places = Vec::new();
        while now < start + length {
            while let Some(place) = limit.try_enter() {
                places.push(place);
                let waiting = running.iter().filter(|it| !it.0.2).count();
                if waiting >= store.workers + store.queue {
                    running.push(Reverse((now + MS(5), now, true)));
                    continue;
                }
                let worker = free_at.iter_mut().min().unwrap();
                *worker = (*worker).max(now) + store.alone;
                running.push(Reverse((*worker, now, false)));
            }
            let Reverse((end, sent, refused)) = running.pop().unwrap();
            now = end;
            drop(places.pop());
            limit.note(sent, if refused { Load::Overloaded } else { Load::Full }, now);
            done += u32::from(!refused);
        }
        f64::from(done) / length.as_secs_f64()
    }

    #[test]
    fn a_healthy_store_gets_all_of_it_and_no_less_throughput() {
        for max in [1_usize, 4, 16, 64] {
            // Half as many workers as requests: the others wait in the store's queue.
            let store = Store { workers: max.div_ceil(2), queue: max, alone: MS(200) };
            let (adaptive, fixed) = [true, false].map(|it| Arc::new(Limit::new(max, it))).into();
            let start = Instant::now();
            let length = Duration::from_mins(2);
            let with = run(&adaptive, &store, start, length);
            let without = run(&fixed, &store, start, length);
            assert_eq!(adaptive.get(), max);
            assert!(with >= without * 0.999, "{max}: {with} of {without}");
        }
    }

    #[test]
    fn an_overloaded_store_is_asked_for_less_and_then_for_more_again() {
        let limit = Arc::new(Limit::new(32, true));
        let start = Instant::now();
        let small = Store { workers: 2, queue: 2, alone: MS(50) };
        run(&limit, &small, start, Duration::from_mins(1));
        assert!((2..=6).contains(&limit.get()), "{}", limit.get());
        let large = Store { workers: 32, queue: 32, alone: MS(50) };
        run(&limit, &large, start + Duration::from_mins(1), Duration::from_mins(1));
        assert_eq!(limit.get(), 32);
    }

    #[test]
    fn slow_answers_take_some_off_and_what_stays_slow_is_the_new_measure() {
        let limit = Limit::new(16, true);
        let mut now = Instant::now();
        let mut round = |milliseconds: u64, rounds: usize| {
            let mut least = 16;
            for _ in 0..rounds * 16 {
                let sent = now;
                now += MS(milliseconds);
                limit.note(sent, Load::Full, now);
                least = least.min(limit.get());
            }
            (least, limit.get())
        };
        assert_eq!(round(200, 10), (16, 16));
        let (least, _) = round(1000, 4);
        assert!((4..16).contains(&least), "{least}");
        assert_eq!(round(1000, 60).1, 16, "as slow as ever is not slow");
        assert_eq!(round(60, 60).1, 16);
        // However much slower: what is fast enough is not slow.
        assert_eq!(round(1, 60), (16, 16));
        assert_eq!(round(90, 1), (16, 16));
    }

    #[test]
    fn requests_of_one_flight_lower_it_once_and_it_stays_within_its_bounds() {
        let limit = Limit::new(8, true);
        let start = Instant::now();
        let now = start + MS(100);
        for _ in 0..8 {
            limit.note(start, Load::Overloaded, now);
        }
        assert_eq!(limit.get(), 4);
        for _ in 0..8 {
            limit.note(now, Load::Unknown, now + MS(10));
        }
        assert_eq!(limit.get(), 4, "a refused connection says nothing of load");
        for step in 1..10 {
            limit.note(now + MS(step * 10), Load::Overloaded, now + MS(step * 10));
        }
        assert_eq!(limit.get(), 1);
        let fixed = Limit::new(8, false);
        assert_eq!(fixed.note(start, Load::Overloaded, now), None);
        assert_eq!((fixed.get(), Limit::new(0, true).get()), (8, 1));
    }

    #[test]
    fn small_requests_do_not_make_full_ones_look_slow() {
        let limit = Limit::new(4, true);
        let mut now = Instant::now();
        for (load, milliseconds) in [(Load::Small, 2), (Load::Full, 600)] {
            for _ in 0..100 {
                let sent = now;
                now += MS(milliseconds);
                limit.note(sent, load, now);
                assert_eq!(limit.get(), 4);
            }
        }
    }

    #[tokio::test]
    async fn who_waits_is_let_in_as_a_place_is_freed_or_added() {
        let limit = Arc::new(Limit::new(2, true));
        let (first, second) = (limit.enter().await, limit.enter().await);
        let waiting = tokio::spawn({
            let limit = Arc::clone(&limit);
            async move { limit.enter().await }
        });
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        drop(first);
        let third = waiting.await.unwrap();
        // Two are in and one is allowed: the first that goes makes no room.
        let now = Instant::now();
        limit.note(now, Load::Overloaded, now);
        drop(second);
        assert!(limit.try_enter().is_none());
        drop(third);
        assert!(limit.try_enter().is_some());
    }
}
