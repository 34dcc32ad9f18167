//! Dead letters in a bucket: each write is one zstd object of JSON lines, or several where letters
//! are long.
//!
//! Invariant: a letter is done when the PUT of its object is; no two writes use one name, so that
//! nothing is overwritten, and a letter whose answer was lost may be there twice. Next stop:
//! `redrive` reads the objects.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use chrono::DateTime;

use super::letter::Letter;
use super::{DeadLetterTarget, LetterOutcome, Writing};
use crate::clock;
use crate::sink::archive::store::{ObjectStore, PutOutcome};

/// Bytes of letters in one object, before compression; one letter may be longer.
const OBJECT_BYTES: usize = 16 << 20;
/// How long a letter waits for others: a PUT for each would be slow and dear.
const LINGER: Duration = Duration::from_millis(300);
/// zstd level.
const LEVEL: i32 = 3;

/// Letters below a prefix of a bucket.
pub struct StoredLetters {
    store: Arc<dyn ObjectStore>,
    prefix: String,
    nonce: u64,
    next: AtomicU64,
}

impl StoredLetters {
    /// Letters go below `prefix`; `nonce` is this writer's alone.
    pub fn new(store: Arc<dyn ObjectStore>, prefix: String, nonce: u64) -> StoredLetters {
        StoredLetters { store, prefix, nonce, next: AtomicU64::new(1) }
    }

    fn key(&self) -> String {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let today = DateTime::from_timestamp_millis(clock::now_ms()).unwrap_or_default();
        let day = today.format("%Y-%m-%d");
        format!("{}{day}/{:016x}-{number:010}.jsonl.zst", self.prefix, self.nonce)
    }

    async fn put(&self, letters: &[Letter]) -> LetterOutcome {
        let mut text = Vec::new();
        for letter in letters {
            text.extend_from_slice(&letter.value);
            text.push(b'\n');
        }
        let object = match zstd::bulk::compress(&text, LEVEL) {
            Ok(object) => object,
            Err(error) => return LetterOutcome::Retry(error.to_string()),
        };
        match self.store.put_any(&self.key(), Bytes::from(object)).await {
            PutOutcome::Done => LetterOutcome::Done,
            // Nobody else has the name: the object is ours.
            PutOutcome::Exists => LetterOutcome::Retry("the name is taken".to_owned()),
            PutOutcome::Retry(retry) => LetterOutcome::Retry(retry.to_string()),
            PutOutcome::TooLarge => LetterOutcome::TooLarge(text.len() / 2),
            PutOutcome::Halt(halt) => LetterOutcome::Halt(halt.to_string()),
        }
    }
}

impl DeadLetterTarget for StoredLetters {
    fn write<'a>(&'a self, letters: &'a [Letter]) -> Writing<'a> {
        Box::pin(async move {
            let mut outcomes = Vec::with_capacity(letters.len());
            for some in split(letters) {
                let outcome = self.put(some).await;
                if some.len() > 1 && matches!(outcome, LetterOutcome::TooLarge(_)) {
                    for letter in some {
                        outcomes.push(self.put(std::slice::from_ref(letter)).await);
                    }
                } else {
                    outcomes.extend(vec![outcome; some.len()]);
                }
            }
            outcomes
        })
    }

    fn linger(&self) -> Duration {
        LINGER
    }
}

/// The letters of each object.
fn split(letters: &[Letter]) -> Vec<&[Letter]> {
    let mut objects = Vec::new();
    let (mut first, mut bytes) = (0, 0);
    for (number, letter) in letters.iter().enumerate() {
        if number > first && bytes + letter.value.len() > OBJECT_BYTES {
            objects.push(&letters[first..number]);
            (first, bytes) = (number, 0);
        }
        bytes += letter.value.len() + 1;
    }
    if first < letters.len() {
        objects.push(&letters[first..]);
    }
    objects
}

#[cfg(test)]
mod tests {
    use super::*;

    fn letter(bytes: usize) -> Letter {
        Letter { key: Vec::new(), value: vec![b'x'; bytes] }
    }

    #[test]
    fn long_letters_are_parted_and_none_is_left_out() {
        let check = |sizes: &[usize], expect: &[usize]| {
            let letters: Vec<Letter> = sizes.iter().map(|size| letter(*size)).collect();
            let objects: Vec<usize> = split(&letters).iter().map(|it| it.len()).collect();
            assert_eq!(objects, expect, "{sizes:?}");
        };
        check(&[], &[]);
        check(&[10; 256], &[256]);
        check(&[OBJECT_BYTES + 5, 10, OBJECT_BYTES, 7, 7], &[1, 1, 1, 2]);
    }
}
