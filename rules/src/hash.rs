//! The one hash of the per-line path, several times faster than the standard library's.
//!
//! Invariant: only places in tables depend on it, never an id or a decision, so its seed may differ
//! from process to process and log data cannot aim at it.
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::OnceLock;

use twox_hash::XxHash3_64;

/// Hash of a text.
pub(crate) fn hash_bytes(bytes: &[u8]) -> u64 {
    XxHash3_64::oneshot_with_seed(seed(), bytes)
}

fn seed() -> u64 {
    static SEED: OnceLock<u64> = OnceLock::new();
    *SEED.get_or_init(|| RandomState::new().hash_one(0_u8))
}

/// For `HashMap`s with text as key.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct FastState;

impl BuildHasher for FastState {
    type Hasher = FastHasher;

    fn build_hasher(&self) -> FastHasher {
        FastHasher(seed())
    }
}

pub(crate) struct FastHasher(u64);

impl Hasher for FastHasher {
    fn write(&mut self, bytes: &[u8]) {
        self.0 = XxHash3_64::oneshot_with_seed(self.0, bytes);
    }

    /// The terminator that `str` adds; alone it needs no mixing.
    fn write_u8(&mut self, byte: u8) {
        self.0 = self.0.rotate_left(8) ^ u64::from(byte);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
