//! absl, glog, TensorFlow and JAX: `I0515 10:23:45.123456 140000000000000 train.py:610] …`; before
//! absl is set up the time is `0000 00:00:` and seconds since the epoch.
//!
//! Invariant: a glog header of any source file that no other format claims. Next on the trip:
//! [`super::glog`].

use super::glog;
use super::line::Line;
use crate::formats::writer::{Read, Writer};

/// Reads a line.
pub(super) fn read(writer: &mut Writer<'_>, line: &Line<'_>) -> Read {
    let header = glog::header(line)?;
    glog::write(writer, &header, "thread")
}
