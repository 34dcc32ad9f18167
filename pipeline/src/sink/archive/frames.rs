//! zstd frames: the shared compressor, bounded reading, skippable frames and the seek table.
//!
//! Invariant: nothing here allocates more than its caller allows, whatever the bytes say. The
//! format is zstd's own (RFC 8878) with the seek table of zstd's seekable format, so ordinary
//! tools read an object. Next stop: `object.rs` lays frames out, `footer.rs` goes between them and
//! the seek table.

use zstd_safe::{CCtx, CParameter};

use super::tail::{RawTail, SpareChunks};

/// Raw size at which an open object finishes a frame, in bytes.
pub const FRAME_RAW_TARGET: usize = 1024 * 1024;
/// Raw size no frame may exceed, in bytes: a frame holds at least one whole document.
pub const FRAME_RAW_MAX: usize = 64 * 1024 * 1024;

/// First bytes of a frame that holds data.
const ZSTD_MAGIC: [u8; 4] = 0xFD2F_B528_u32.to_le_bytes();
/// Magic of the skippable frame that holds the seek table.
pub const SEEK_TABLE_FRAME: u32 = 0x184D_2A5E;
/// Last four bytes of a seek table.
const SEEK_TABLE_MAGIC: u32 = 0x8F92_EAB1;
/// Number of frames, descriptor, magic.
const SEEK_FOOTER_BYTES: usize = 9;
/// Magic and length before the content of a skippable frame.
pub const SKIPPABLE_HEADER_BYTES: usize = 8;
/// Longest seek table: an object's every event in a frame of its own.
const SEEK_TABLE_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Compressed and raw size of a frame.
const SEEK_ENTRY_BYTES: usize = 8;

/// zstd refused to compress or to decompress.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("zstd: {0}")]
pub struct FrameError(pub(super) &'static str);

impl FrameError {
    fn of(code: zstd_safe::ErrorCode) -> FrameError {
        FrameError(zstd_safe::get_error_name(code))
    }
}

/// A zstd compressor that many open objects take turns with.
pub struct FrameCompressor {
    context: CCtx<'static>,
    /// A frame's documents in one piece.
    raw: Vec<u8>,
    /// Room for the worst case of one frame, so that no open object has to keep it.
    scratch: Vec<u8>,
    /// What tails are made of.
    pub(super) spare: SpareChunks,
}

impl std::fmt::Debug for FrameCompressor {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("FrameCompressor").finish_non_exhaustive()
    }
}

impl FrameCompressor {
    /// A compressor of the given zstd level (1 fast, 19 small).
    ///
    /// # Errors
    /// When zstd has no memory for it.
    pub fn new(level: i32) -> Result<FrameCompressor, FrameError> {
        let mut context = CCtx::try_create().ok_or(FrameError("no memory for a compressor"))?;
        context.set_parameter(CParameter::CompressionLevel(level)).map_err(FrameError::of)?;
        context.set_parameter(CParameter::ChecksumFlag(true)).map_err(FrameError::of)?;
        let (raw, scratch, spare) = (Vec::new(), Vec::new(), SpareChunks::default());
        Ok(FrameCompressor { context, raw, scratch, spare })
    }

    /// Appends `raw` to `out` as one frame and returns the frame's length in bytes.
    ///
    /// # Errors
    /// When zstd refuses; `out` is as it was.
    pub fn compress(&mut self, raw: &[u8], out: &mut Vec<u8>) -> Result<usize, FrameError> {
        self.scratch.clear();
        self.scratch.reserve(zstd_safe::compress_bound(raw.len()));
        let length = self.context.compress2(&mut self.scratch, raw).map_err(FrameError::of)?;
        append(out, &self.scratch);
        // One huge document must not make the compressor huge for good.
        self.scratch.shrink_to(zstd_safe::compress_bound(FRAME_RAW_TARGET));
        Ok(length)
    }

    /// Appends a tail to `out` as one frame; returns the frame's length in bytes and the CRC-32 of
    /// what it holds.
    ///
    /// # Errors
    /// When zstd refuses; `out` is as it was.
    pub fn compress_tail(
        &mut self,
        tail: &RawTail,
        out: &mut Vec<u8>,
    ) -> Result<(usize, u32), FrameError> {
        let mut raw = std::mem::take(&mut self.raw);
        raw.clear();
        tail.write_to(&mut raw);
        let compressed = self.compress(&raw, out).map(|length| (length, crc32fast::hash(&raw)));
        raw.shrink_to(FRAME_RAW_TARGET);
        self.raw = raw;
        compressed
    }

    /// Bytes the compressor holds.
    pub fn memory_bytes(&self) -> usize {
        let buffers = self.raw.capacity() + self.scratch.capacity();
        self.context.sizeof() + buffers + self.spare.memory_bytes()
    }
}

/// Appends with spare room of a quarter at most: an open object is counted by its capacity, and
/// doubling would make half of it air.
pub fn append(out: &mut Vec<u8>, bytes: &[u8]) {
    if out.capacity() - out.len() < bytes.len() {
        out.reserve_exact(bytes.len().max(out.len() / 4));
    }
    out.extend_from_slice(bytes);
}

/// The content of exactly one zstd frame, which must be `raw_bytes` long.
///
/// # Errors
/// When `frame` is not one whole frame of that size, or `raw_bytes` exceeds `raw_max`.
pub fn decompress(frame: &[u8], raw_bytes: usize, raw_max: usize) -> Result<Vec<u8>, FrameError> {
    if raw_bytes > raw_max {
        return Err(FrameError("a frame larger than the limit"));
    }
    if !frame.starts_with(&ZSTD_MAGIC) {
        return Err(FrameError("not a frame"));
    }
    let length = zstd_safe::find_frame_compressed_size(frame).map_err(FrameError::of)?;
    if length != frame.len() {
        return Err(FrameError("a frame of another length"));
    }
    let mut raw = Vec::with_capacity(raw_bytes);
    let written = zstd_safe::decompress(&mut raw, frame).map_err(FrameError::of)?;
    if written != raw_bytes {
        return Err(FrameError("a frame of another raw size"));
    }
    Ok(raw)
}

/// Raw size a frame announces, if it does.
pub fn announced_raw_bytes(frame: &[u8]) -> Option<u64> {
    zstd_safe::get_frame_content_size(frame).ok().flatten()
}

/// Appends the head of a skippable frame with `content_bytes` of content to follow.
pub fn write_skippable_header(out: &mut Vec<u8>, magic: u32, content_bytes: u32) {
    out.extend_from_slice(&magic.to_le_bytes());
    out.extend_from_slice(&content_bytes.to_le_bytes());
}

/// Appends the seek table for frames of the given (compressed, raw) sizes.
///
/// Entries carry no checksum: each frame has zstd's own, and the footer a CRC.
pub fn write_seek_table(
    out: &mut Vec<u8>,
    frames: impl ExactSizeIterator<Item = (u32, u32)>,
) -> Result<(), FrameError> {
    let count = frames.len();
    let content = u32::try_from(count * SEEK_ENTRY_BYTES + SEEK_FOOTER_BYTES)
        .map_err(|_| FrameError("too many frames for a seek table"))?;
    write_skippable_header(out, SEEK_TABLE_FRAME, content);
    for (compressed, raw) in frames {
        out.extend_from_slice(&compressed.to_le_bytes());
        out.extend_from_slice(&raw.to_le_bytes());
    }
    out.extend_from_slice(&(count as u32).to_le_bytes());
    out.push(0);
    out.extend_from_slice(&SEEK_TABLE_MAGIC.to_le_bytes());
    Ok(())
}

/// Length in bytes of the seek table frame that `tail` ends in, its header included; none when it
/// ends in anything that `write_seek_table` does not write. The table itself may begin before
/// `tail` does.
pub fn seek_table_bytes(tail: &[u8]) -> Option<usize> {
    let (rest, magic) = tail.split_last_chunk::<4>()?;
    let (descriptor, rest) = rest.split_last()?;
    let (_, count) = rest.split_last_chunk::<4>()?;
    // Other descriptors are right too, but this program writes none of them.
    if u32::from_le_bytes(*magic) != SEEK_TABLE_MAGIC || *descriptor != 0 {
        return None;
    }
    let entries = (u32::from_le_bytes(*count) as usize).checked_mul(SEEK_ENTRY_BYTES)?;
    let table = entries.checked_add(SEEK_FOOTER_BYTES + SKIPPABLE_HEADER_BYTES)?;
    (table <= SEEK_TABLE_BYTES_MAX).then_some(table)
}

/// The (compressed, raw) sizes of a whole seek table frame; none when it is malformed.
pub fn read_seek_table(table: &[u8]) -> Option<Vec<(u32, u32)>> {
    if seek_table_bytes(table)? != table.len() {
        return None;
    }
    let (header, content) = table.split_at_checked(SKIPPABLE_HEADER_BYTES)?;
    let mut expected = Vec::with_capacity(SKIPPABLE_HEADER_BYTES);
    write_skippable_header(&mut expected, SEEK_TABLE_FRAME, content.len() as u32);
    if header != expected {
        return None;
    }
    let (entries, _) = content.split_at_checked(content.len() - SEEK_FOOTER_BYTES)?;
    let word = |bytes: &[u8]| bytes.first_chunk::<4>().map(|word| u32::from_le_bytes(*word));
    let entries = entries.chunks_exact(SEEK_ENTRY_BYTES);
    entries.map(|one| Some((word(one)?, word(&one[4..])?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_comes_back() {
        let mut compressor = FrameCompressor::new(1).unwrap();
        let mut out = b"before".to_vec();
        let raw = b"one line\n".repeat(1000);
        let length = compressor.compress(&raw, &mut out).unwrap();
        assert_eq!(&out[..6], b"before");
        assert_eq!(out.len(), 6 + length);
        assert_eq!(announced_raw_bytes(&out[6..]), Some(9000));
        assert_eq!(decompress(&out[6..], 9000, 9000).unwrap(), raw);
    }

    #[test]
    fn a_frame_of_another_size_is_refused() {
        let mut compressor = FrameCompressor::new(1).unwrap();
        let mut frame = Vec::new();
        compressor.compress(&[7; 5000], &mut frame).unwrap();
        for (bytes, raw, max) in [
            (&frame[..], 4999, 1 << 20),
            (&frame[..], 5001, 1 << 20),
            (&frame[..], 5000, 4999),
            (&frame[..frame.len() - 1], 5000, 1 << 20),
            (&[&frame[..], b"x"].concat(), 5000, 1 << 20),
            (b"", 0, 1 << 20),
            (b"plain text", 10, 1 << 20),
        ] {
            assert!(decompress(bytes, raw, max).is_err(), "{raw} of {max}");
        }
    }

    #[test]
    fn a_seek_table_comes_back() {
        let frames = [(10, 100), (20, 200), (u32::MAX, 0)];
        let mut table = Vec::new();
        write_seek_table(&mut table, frames.into_iter()).unwrap();
        assert_eq!(seek_table_bytes(&table), Some(table.len()));
        assert_eq!(seek_table_bytes(&table[20..]), Some(table.len()), "from its end alone");
        assert_eq!(read_seek_table(&table).as_deref(), Some(&frames[..]));
        for damaged in 0..8 {
            let mut bytes = table.clone();
            bytes[damaged] ^= 1;
            assert_eq!(read_seek_table(&bytes), None, "byte {damaged}");
        }
        assert_eq!(seek_table_bytes(b"short"), None);
        let count = table.len() - SEEK_FOOTER_BYTES;
        table[count..count + 4].fill(0xff);
        assert_eq!(seek_table_bytes(&table), None, "four thousand million frames");
    }
}
