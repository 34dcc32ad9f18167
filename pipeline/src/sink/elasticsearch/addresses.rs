//! Which of several addresses the next request goes to. Requests take turns; an address that does
//! not answer, or refuses all of us, is set aside for a growing, jittered while and tried again.
//!
//! Invariant: there is always an address to try: when all are set aside, the one that is due first.
//! Time is an argument. Next stop: [`super::http`], which asks and tells.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::backoff::{Backoff, Jitter};

/// First and longest time that an address is set aside for.
const ASIDE_MIN: Duration = Duration::from_secs(1);
const ASIDE_MAX: Duration = Duration::from_mins(1);

/// What an answer, or none, says of an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// It works.
    Up,
    /// It may work later: no connection, no answer in time, 502, 503, 504.
    Down,
    /// It takes nothing of ours until somebody acts: 401, 403, a certificate nobody trusts.
    Refusing,
}

/// What became of an address by a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    None,
    /// It was in turn and is set aside now.
    WentDown(Duration),
    /// It was set aside and is in turn again.
    CameBack,
}

/// The addresses of one store.
#[derive(Debug)]
pub(super) struct Addresses {
    jitter: Arc<Jitter>,
    /// Longest that a request takes.
    timeout: Duration,
    turns: Mutex<Turns>,
}

#[derive(Debug)]
struct Turns {
    next: usize,
    // Invariant: never empty.
    addresses: Vec<Address>,
}

#[derive(Debug)]
struct Address {
    standing: Standing,
    /// Set aside at that time; of no meaning while it is up.
    since: Instant,
    /// Set aside until then, and while a request tries it; of no meaning while it is up.
    until: Instant,
    backoff: Backoff,
}

impl Addresses {
    /// So many addresses, all of them up; at least one. A request to one ends within `timeout`.
    pub(super) fn new(
        count: usize,
        timeout: Duration,
        jitter: Arc<Jitter>,
        now: Instant,
    ) -> Addresses {
        let address = || Address {
            standing: Standing::Up,
            since: now,
            until: now,
            backoff: Backoff::new(ASIDE_MIN, ASIDE_MAX),
        };
        let addresses = (0..count.max(1)).map(|_| address()).collect();
        Addresses { jitter, timeout, turns: Mutex::new(Turns { next: 0, addresses }) }
    }

    /// The number of the address that the next request goes to.
    pub(super) fn choose(&self, now: Instant) -> usize {
        let mut turns = self.turns();
        let count = turns.addresses.len();
        let first = turns.next;
        let mut in_turn = (0..count).map(|step| (first + step) % count);
        let usable = in_turn.find(|at| {
            let address = &turns.addresses[*at];
            address.standing == Standing::Up || address.until <= now
        });
        let due_first = || (0..count).min_by_key(|at| turns.addresses[*at].until);
        let chosen = usable.or_else(due_first).unwrap_or_default();
        turns.next = (chosen + 1) % count;
        let address = &mut turns.addresses[chosen];
        if address.standing != Standing::Up {
            // One request tries it; the others do not follow before that one knows, or they would
            // all be held up by an address that swallows them.
            address.until = now.max(address.until) + self.timeout;
        }
        chosen
    }

    /// Notes what a request, sent to an address at `sent`, led to.
    pub(super) fn report(
        &self,
        at: usize,
        standing: Standing,
        sent: Instant,
        now: Instant,
    ) -> Change {
        let mut turns = self.turns();
        let Some(address) = turns.addresses.get_mut(at) else { return Change::None };
        let before = std::mem::replace(&mut address.standing, standing);
        match (before, standing) {
            (Standing::Up, Standing::Up) => Change::None,
            (_, Standing::Up) => {
                address.backoff = Backoff::new(ASIDE_MIN, ASIDE_MAX);
                Change::CameBack
            }
            // Requests that were under way together fail together: that is one failure.
            (Standing::Down | Standing::Refusing, _) if sent < address.since => Change::None,
            (before, _) => {
                let wait = address.backoff.next(&self.jitter, None);
                (address.since, address.until) = (now, now + wait);
                if before == Standing::Up { Change::WentDown(wait) } else { Change::None }
            }
        }
    }

    /// Every address refuses us: nothing gets through until somebody acts.
    pub(super) fn all_refuse(&self) -> bool {
        self.turns().addresses.iter().all(|address| address.standing == Standing::Refusing)
    }

    fn turns(&self) -> MutexGuard<'_, Turns> {
        self.turns.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMEOUT: Duration = Duration::from_secs(30);

    fn addresses(count: usize) -> (Addresses, Instant) {
        let now = Instant::now();
        (Addresses::new(count, TIMEOUT, Arc::new(Jitter::new(3)), now), now)
    }

    fn chosen(addresses: &Addresses, now: Instant, times: usize) -> Vec<usize> {
        (0..times).map(|_| addresses.choose(now)).collect()
    }

    #[test]
    fn requests_take_turns_and_pass_over_what_is_set_aside() {
        let (addresses, now) = addresses(3);
        assert_eq!(chosen(&addresses, now, 6), [0, 1, 2, 0, 1, 2]);
        let Change::WentDown(wait) = addresses.report(1, Standing::Down, now, now) else {
            panic!()
        };
        assert!(wait >= ASIDE_MIN / 2 && wait <= ASIDE_MIN, "{wait:?}");
        assert_eq!(chosen(&addresses, now, 4), [0, 2, 0, 2]);
        // Due again: one request tries it, and the others do not follow.
        let later = now + wait;
        let tried = chosen(&addresses, later, 6);
        assert_eq!(tried.iter().filter(|at| **at == 1).count(), 1, "{tried:?}");
        let meanwhile = chosen(&addresses, later + TIMEOUT / 2, 6);
        assert!(!meanwhile.contains(&1), "it may swallow what it is sent: {meanwhile:?}");
        let again = chosen(&addresses, later + TIMEOUT, 6);
        assert_eq!(again.iter().filter(|at| **at == 1).count(), 1, "the one that tried is gone");
        assert_eq!(addresses.report(1, Standing::Up, later, later), Change::CameBack);
        assert_eq!(addresses.report(1, Standing::Up, later, later), Change::None);
        let again = chosen(&addresses, later, 6);
        assert_eq!(again.iter().filter(|at| **at == 1).count(), 2, "{again:?}");
    }

    #[test]
    fn waits_grow_and_end_and_a_failure_of_many_requests_is_one() {
        let (addresses, mut now) = addresses(2);
        let mut waits = Vec::new();
        for _ in 0..12 {
            let sent = now;
            now += Duration::from_millis(10);
            addresses.report(0, Standing::Down, sent, now);
            let until = addresses.turns().addresses[0].until;
            // The others that were under way.
            addresses.report(0, Standing::Down, sent, now + Duration::from_millis(1));
            assert_eq!(addresses.turns().addresses[0].until, until);
            waits.push(until - now);
            now = until;
        }
        assert!(waits.iter().all(|wait| *wait <= ASIDE_MAX), "{waits:?}");
        assert!(waits[11] >= ASIDE_MAX / 2 && waits[0] <= ASIDE_MIN, "{waits:?}");
        addresses.report(0, Standing::Up, now, now);
        let Change::WentDown(wait) = addresses.report(0, Standing::Down, now, now) else {
            panic!()
        };
        assert!(wait <= ASIDE_MIN, "it starts anew");
    }

    #[test]
    fn when_all_are_set_aside_each_is_tried_as_it_falls_due() {
        let (addresses, now) = addresses(3);
        for at in [2, 0, 1] {
            addresses.report(at, Standing::Down, now, now);
        }
        let due = |at: usize| addresses.turns().addresses[at].until;
        let mut order = [0, 1, 2];
        order.sort_by_key(|at| due(*at));
        assert_eq!(chosen(&addresses, now, 3), order, "the one due first, then the others");
        assert!(!addresses.all_refuse());
    }

    #[test]
    fn one_that_refuses_is_not_in_turn_and_all_that_refuse_are_told() {
        let (addresses, now) = addresses(2);
        let change = addresses.report(0, Standing::Refusing, now, now);
        assert!(matches!(change, Change::WentDown(_)));
        assert!(!addresses.all_refuse());
        assert_eq!(chosen(&addresses, now, 3), [1, 1, 1]);
        addresses.report(1, Standing::Refusing, now, now);
        assert!(addresses.all_refuse());
        addresses.report(1, Standing::Down, now + ASIDE_MAX, now + ASIDE_MAX);
        assert!(!addresses.all_refuse(), "a node that restarts is no refusal");
    }

    #[test]
    fn a_single_address_is_always_chosen() {
        let (addresses, now) = addresses(1);
        addresses.report(0, Standing::Down, now, now);
        assert_eq!(chosen(&addresses, now, 3), [0, 0, 0]);
    }
}
