//! The raw tail of an open object: documents that are not compressed yet, in chunks of one size.
//!
//! Invariant: a tail takes no more memory than its bytes and one chunk, and its chunks are used
//! again: hundreds of tails that grew by doubling would be half air, and each of their pages new.
//! Next stop: `object.rs`, which makes a frame of it.

/// Bytes of a chunk.
const CHUNK_BYTES: usize = 8 << 10;

/// Chunks kept for later: those of two frames.
const SPARE_MAX: usize = 256;

/// Chunks that no tail uses now.
#[derive(Debug, Default)]
pub struct SpareChunks {
    chunks: Vec<Vec<u8>>,
}

/// Bytes in chunks.
#[derive(Debug, Default)]
pub struct RawTail {
    // Invariant: each has the capacity of a chunk, and all but the last are full.
    chunks: Vec<Vec<u8>>,
    bytes: usize,
}

impl SpareChunks {
    /// Heap bytes held.
    pub fn memory_bytes(&self) -> usize {
        self.chunks.len() * CHUNK_BYTES
    }

    fn take(&mut self) -> Vec<u8> {
        self.chunks.pop().unwrap_or_else(|| Vec::with_capacity(CHUNK_BYTES))
    }

    fn give_back(&mut self, chunks: Vec<Vec<u8>>) {
        let room = SPARE_MAX.saturating_sub(self.chunks.len());
        self.chunks.extend(chunks.into_iter().take(room).map(|mut chunk| {
            chunk.clear();
            chunk
        }));
    }
}

impl RawTail {
    /// Bytes in it.
    pub fn len(&self) -> usize {
        self.bytes
    }

    /// Whether it holds nothing.
    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// Heap bytes held.
    pub fn memory_bytes(&self) -> usize {
        self.chunks.len() * CHUNK_BYTES
    }

    /// Appends bytes.
    pub fn push(&mut self, mut bytes: &[u8], spare: &mut SpareChunks) {
        self.bytes += bytes.len();
        while !bytes.is_empty() {
            if self.chunks.last().is_none_or(|last| last.len() == CHUNK_BYTES) {
                self.chunks.push(spare.take());
            }
            let last = self.chunks.last_mut().expect("one was just pushed");
            let (now, later) = bytes.split_at(bytes.len().min(CHUNK_BYTES - last.len()));
            last.extend_from_slice(now);
            bytes = later;
        }
    }

    /// Appends all of it to `out`.
    pub fn write_to(&self, out: &mut Vec<u8>) {
        out.reserve(self.bytes);
        self.chunks.iter().for_each(|chunk| out.extend_from_slice(chunk));
    }

    /// Empties it.
    pub fn clear(&mut self, spare: &mut SpareChunks) {
        self.bytes = 0;
        spare.give_back(std::mem::take(&mut self.chunks));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_pushed_comes_back_whole_and_chunks_are_used_again() {
        let mut spare = SpareChunks::default();
        let mut tail = RawTail::default();
        for round in 0..3 {
            let mut expected = Vec::new();
            for length in [0, 1, 700, CHUNK_BYTES - 701, CHUNK_BYTES, 3 * CHUNK_BYTES + 5, 9] {
                let bytes: Vec<u8> = (0..length).map(|at| (at * 7 + round) as u8).collect();
                tail.push(&bytes, &mut spare);
                expected.extend_from_slice(&bytes);
            }
            let mut out = Vec::new();
            tail.write_to(&mut out);
            assert!(out == expected && tail.len() == expected.len());
            assert_eq!(tail.memory_bytes(), expected.len().div_ceil(CHUNK_BYTES) * CHUNK_BYTES);
            assert_eq!(spare.memory_bytes(), 0);
            let held = tail.memory_bytes();
            tail.clear(&mut spare);
            assert!(tail.is_empty() && tail.memory_bytes() == 0);
            assert_eq!(spare.memory_bytes(), held);
        }
    }

    #[test]
    fn spare_chunks_are_bounded() {
        let mut spare = SpareChunks::default();
        let mut tail = RawTail::default();
        tail.push(&vec![1; 5 * SPARE_MAX * CHUNK_BYTES], &mut spare);
        tail.clear(&mut spare);
        assert_eq!(spare.memory_bytes(), SPARE_MAX * CHUNK_BYTES);
    }
}
