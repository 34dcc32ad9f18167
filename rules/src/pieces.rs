//! Pieces of lines: container runtimes cut long lines, and may do so inside of a character. Their
//! bytes are put together again, stream by stream, before anything looks at them as text.
//!
//! Invariant: a piece is in exactly one line; what becomes of it depends on the pieces of its
//! partition in their order and on record times alone. The number of open lines, their pieces and
//! their bytes have bounds; the oldest piece that is held is known. Next stop: `transform/pieces`,
//! which takes a complete line on its way.
use crate::join::{OPEN_BYTES_MAX, OPEN_MAX, OwnedRecord};
use crate::transform::Record;

/// Pieces that a line has at most, where no `[join]` says so.
pub(crate) const PIECES_MAX: usize = 1000;

/// A line that was put together.
#[derive(Clone, Debug)]
pub struct Assembled {
    /// What the first piece's record says.
    pub(crate) record: OwnedRecord,
    /// Offset and index of each piece; at least one, in ascending order.
    pub(crate) pieces: Vec<(i64, u32)>,
    /// The bytes of all pieces, one behind the other.
    pub(crate) bytes: Vec<u8>,
    /// Where each piece ends in `bytes`.
    pub(crate) ends: Vec<usize>,
    /// Record time of the last piece.
    pub(crate) last_time_ms: i64,
}

/// What a line put together has at most.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) pieces_max: usize,
    pub(crate) bytes_max: usize,
    pub(crate) gap_ms: i64,
}

/// A piece.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PieceOf<'a> {
    /// Tells the streams of the partition apart.
    pub(crate) stream: u64,
    pub(crate) index: u32,
    pub(crate) bytes: &'a [u8],
    /// Its line ends with it.
    pub(crate) is_last: bool,
}

#[derive(Clone, Debug)]
struct Open {
    stream: u64,
    line: Assembled,
    /// What it takes in memory, about.
    bytes: usize,
}

/// The open lines of one partition, the oldest first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Assembler {
    open: Vec<Open>,
    bytes: usize,
    /// Record time of the oldest last piece.
    oldest_ms: i64,
}

impl Assembler {
    /// True when no piece is held.
    pub(crate) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// True when a line of this stream is open.
    pub(crate) fn has(&self, stream: u64) -> bool {
        self.open.iter().any(|open| open.stream == stream)
    }

    /// Offset of the oldest piece that is held.
    pub(crate) fn open_from(&self) -> Option<i64> {
        self.open.iter().map(|open| open.line.record.offset).min()
    }

    /// A record of this time comes next: lines whose next piece has not come in time end.
    pub(crate) fn advance(&mut self, gap_ms: i64, time_ms: i64, out: &mut Vec<Assembled>) {
        if self.open.is_empty() || time_ms.saturating_sub(self.oldest_ms) <= gap_ms {
            return;
        }
        let mut index = 0;
        while index < self.open.len() {
            if time_ms.saturating_sub(self.open[index].line.last_time_ms) > gap_ms {
                self.close(index, out);
            } else {
                index += 1;
            }
        }
        self.find_oldest();
    }

    /// A piece, in the order of the partition. Lines that are complete are appended to `out`. False
    /// when it is no piece of any line: it ends one that is not open, or is too long.
    pub(crate) fn push(
        &mut self,
        limits: Limits,
        (record, piece): (&Record<'_>, PieceOf<'_>),
        out: &mut Vec<Assembled>,
    ) -> bool {
        let length = piece.bytes.len();
        let mut place = self.open.iter().position(|open| open.stream == piece.stream);
        if let Some(index) = place
            && self.open[index].line.bytes.len() + length > limits.bytes_max
        {
            self.close(index, out);
            place = None;
        }
        let index = match place {
            Some(index) => index,
            None if piece.is_last || length > limits.bytes_max => {
                self.find_oldest();
                return false;
            }
            None => {
                let record = OwnedRecord::of(record);
                let (stream, bytes) = (piece.stream, record.bytes());
                self.bytes += bytes;
                self.open.push(Open { stream, line: Assembled::new(record), bytes });
                self.open.len() - 1
            }
        };
        let open = &mut self.open[index];
        open.line.push((record, piece));
        let more = length + size_of::<((i64, u32), usize)>();
        open.bytes += more;
        self.bytes += more;
        if piece.is_last || open.line.pieces.len() >= limits.pieces_max {
            self.close(index, out);
        }
        // The oldest go, never a younger one for what they hold: reading may begin behind them.
        while self.open.len() > OPEN_MAX || (self.bytes > OPEN_BYTES_MAX && self.open.len() > 1) {
            self.close(0, out);
        }
        self.find_oldest();
        true
    }

    /// Ends every line: the partition was read to its end, and waited.
    pub(crate) fn close_all(&mut self, out: &mut Vec<Assembled>) {
        out.extend(self.open.drain(..).map(|open| open.line));
        self.bytes = 0;
    }

    fn close(&mut self, index: usize, out: &mut Vec<Assembled>) {
        let open = self.open.remove(index);
        self.bytes -= open.bytes;
        out.push(open.line);
    }

    fn find_oldest(&mut self) {
        let times = self.open.iter().map(|open| open.line.last_time_ms);
        self.oldest_ms = times.min().unwrap_or(i64::MAX);
    }
}

impl Assembled {
    fn new(record: OwnedRecord) -> Assembled {
        let last_time_ms = record.time_ms;
        let (pieces, bytes, ends) = (Vec::new(), Vec::new(), Vec::new());
        Assembled { record, pieces, bytes, ends, last_time_ms }
    }

    fn push(&mut self, (record, piece): (&Record<'_>, PieceOf<'_>)) {
        self.pieces.push((record.offset, piece.index));
        self.bytes.extend_from_slice(piece.bytes);
        self.ends.push(self.bytes.len());
        self.last_time_ms = record.time_ms;
    }
}
