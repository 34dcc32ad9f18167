//! An object read back: footer, frames, lines.
//!
//! Invariant: a frame is handed out only when its size and checksum are what the footer says.
//! Next stop: `verify.rs` reads whole chains this way.

use bytes::Bytes;
use memchr::memchr;

use super::footer::{Decoded, Footer, FooterError};
use super::frames::{self, FRAME_RAW_MAX};
use super::object::ObjectError;

/// A whole object in memory.
#[derive(Clone, Debug)]
pub struct ObjectReader {
    bytes: Bytes,
    footer: Footer,
}

impl ObjectReader {
    /// Opens an object's bytes; reads the footer and no frame.
    ///
    /// # Errors
    /// Why the footer cannot be had.
    pub fn open(bytes: Bytes) -> Result<ObjectReader, FooterError> {
        match Footer::decode(&bytes, bytes.len() as u64)? {
            Decoded::Footer(footer) => Ok(ObjectReader { bytes, footer: *footer }),
            Decoded::Longer(_) => Err(FooterError::Damaged("longer than the object".to_owned())),
        }
    }

    /// What the object says of itself.
    pub fn footer(&self) -> &Footer {
        &self.footer
    }

    /// The lines of one frame, each with its newline.
    ///
    /// # Errors
    /// `Damaged` when there is no such frame or it is not as it was written.
    pub fn frame(&self, frame: usize) -> Result<Bytes, ObjectError> {
        let broken = |reason| ObjectError::Damaged { frame, reason };
        let entry = self.footer.frames.get(frame).ok_or(broken("there is no such frame"))?;
        let before = &self.footer.frames[..frame];
        let start: usize = before.iter().map(|one| one.compressed_bytes as usize).sum();
        let stored = (self.bytes.get(start..))
            .and_then(|rest| rest.get(..entry.compressed_bytes as usize))
            .ok_or(broken("it reaches beyond the object"))?;
        let raw = frames::decompress(stored, entry.raw_bytes as usize, FRAME_RAW_MAX)
            .map_err(|error| broken(error.0))?;
        if crc32fast::hash(&raw) != entry.crc32 {
            return Err(broken("its checksum does not fit"));
        }
        Ok(Bytes::from(raw))
    }

    /// All lines in order, without their newlines; one frame is in memory at a time.
    pub fn lines(&self) -> impl Iterator<Item = Result<Bytes, ObjectError>> {
        (0..self.footer.frames.len()).flat_map(|frame| match self.frame(frame) {
            Ok(raw) => Lines::Whole(raw),
            Err(error) => Lines::Broken(Some(error)),
        })
    }
}

/// The lines of one frame, or what is wrong with it.
enum Lines {
    Whole(Bytes),
    Broken(Option<ObjectError>),
}

impl Iterator for Lines {
    type Item = Result<Bytes, ObjectError>;

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Lines::Broken(error) => error.take().map(Err),
            Lines::Whole(raw) => split_line(raw).map(Ok),
        }
    }
}

/// Takes the first line off, without its newline; none when nothing is left.
pub fn split_line(raw: &mut Bytes) -> Option<Bytes> {
    if raw.is_empty() {
        return None;
    }
    let Some(end) = memchr(b'\n', raw) else {
        return Some(std::mem::take(raw));
    };
    let mut line = raw.split_to(end + 1);
    line.truncate(end);
    Some(line)
}
