//! The body of a `_bulk` request, in pieces: what is encoded already is pointed at and not copied.
//!
//! Invariant: its length is known before it is sent. Next stop: [`super::http`], which sends it.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::io::Write;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use hyper::body::{Frame, SizeHint};

/// A request's body, in pieces; cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Body {
    pieces: VecDeque<Bytes>,
    bytes: usize,
}

impl Body {
    /// Bytes that are not sent yet.
    pub fn len(&self) -> usize {
        self.bytes
    }

    /// Whether all of it is sent.
    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// Number of pieces that are not sent yet.
    pub fn pieces(&self) -> usize {
        self.pieces.len()
    }

    /// The whole body in one piece.
    pub fn to_bytes(&self) -> Bytes {
        match self.pieces.len() {
            1 => self.pieces[0].clone(),
            _ => self.pieces.iter().fold(Vec::with_capacity(self.bytes), join).into(),
        }
    }

    /// The body compressed; level 1, since a log store's network is rarely the narrowest place.
    pub(super) fn gzip(&self) -> Body {
        let mut encoder = GzEncoder::new(Vec::with_capacity(self.bytes / 6), Compression::fast());
        let written = self.pieces.iter().try_for_each(|piece| encoder.write_all(piece));
        // Writing to a vector cannot fail.
        let compressed = written.and_then(|()| encoder.finish()).unwrap_or_default();
        Body::from(Bytes::from(compressed))
    }

    /// The body compressed by zstd, at its fastest usual level.
    pub(super) fn zstd(&self) -> Body {
        let compressed = zstd::stream::Encoder::new(Vec::with_capacity(self.bytes / 6), 1)
            .and_then(|mut encoder| {
                encoder.set_pledged_src_size(Some(self.bytes as u64))?;
                self.pieces.iter().try_for_each(|piece| encoder.write_all(piece))?;
                encoder.finish()
            });
        // Writing to a vector cannot fail, and the size is the true one.
        Body::from(Bytes::from(compressed.unwrap_or_default()))
    }

    /// Appends a piece.
    pub(super) fn push(&mut self, piece: Bytes) {
        self.bytes += piece.len();
        if !piece.is_empty() {
            self.pieces.push_back(piece);
        }
    }
}

fn join(mut all: Vec<u8>, piece: &Bytes) -> Vec<u8> {
    all.extend_from_slice(piece);
    all
}

impl From<Bytes> for Body {
    fn from(piece: Bytes) -> Body {
        let mut body = Body::default();
        body.push(piece);
        body
    }
}

impl hyper::body::Body for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let piece = self.pieces.pop_front();
        self.bytes -= piece.as_ref().map_or(0, Bytes::len);
        Poll::Ready(piece.map(|piece| Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.bytes == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.bytes as u64)
    }
}
