//! What Kubernetes components write, among the formats of training: a glog header with a Go file.
//!
//! Invariant: a line is klog's when its source file is one of Go. Next on the trip:
//! [`super::glog`]; the format by itself is `formats/klog.rs`.

use super::glog;
use super::line::Line;
use crate::formats::writer::{Read, Writer};
use crate::grok::Reason;

/// Reads a line.
pub(super) fn read(writer: &mut Writer<'_>, line: &Line<'_>) -> Read {
    let header = glog::header(line)?;
    let is_go = header.file.strip_suffix(".go").is_some();
    if is_go { glog::write(writer, &header, "thread") } else { Err(Reason::NoMatch) }
}
