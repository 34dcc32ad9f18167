//! Waiting for something to become true: polled, with a hard deadline, never a bare sleep.
//!
//! The invariant: a wait that is not fulfilled fails the test and says what was last seen.

use std::fmt::Display;
use std::future::Future;
use std::time::Duration;
use tokio::time::{Instant, MissedTickBehavior, interval};

/// Between two looks. Short enough not to be felt, long enough not to load the machine.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Polls `check` until it answers `Ok` and returns what it answered.
///
/// # Panics
/// When `deadline` has passed, with `what` was waited for and the last `Err`, which should say
/// what is there instead.
pub async fn eventually<T, E, F, Fut>(deadline: Duration, what: &str, mut check: F) -> T
where
    E: Display,
    F: FnMut() -> Fut,
    Fut: Future<Output = Result<T, E>>,
{
    let end = Instant::now() + deadline;
    let mut ticks = interval(POLL_INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut last = String::from("not looked at even once");
    loop {
        ticks.tick().await;
        match tokio::time::timeout_at(end, check()).await {
            Ok(Ok(found)) => return found,
            Ok(Err(seen)) => last = format!("{seen:#}"),
            Err(_elapsed) => {}
        }
        assert!(Instant::now() < end, "not within {deadline:?}: {what}; last seen: {last}");
    }
}

/// Lets a fault last for so long: the time *is* the fault. What is waited for is waited for by
/// [`eventually`].
pub async fn pass(time: Duration) {
    tokio::time::timeout(time, std::future::pending::<()>()).await.ok();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn returns_what_the_check_found() {
        let mut looks = 0;
        let found = eventually(Duration::from_secs(10), "the third look", || {
            looks += 1;
            let look = looks;
            async move { if look < 3 { Err(format!("look {look}")) } else { Ok(look) } }
        });
        assert_eq!(found.await, 3);
    }

    #[tokio::test]
    async fn fails_with_what_was_last_seen() {
        let waiting = tokio::spawn(async {
            let check = || async { Err::<(), _>("2 of 3") };
            eventually(Duration::from_millis(1), "all of them", check).await;
        });
        let panic = waiting.await.unwrap_err().into_panic();
        let text = panic.downcast_ref::<String>().unwrap();
        assert!(text.contains("all of them") && text.contains("2 of 3"), "{text}");
    }
}
