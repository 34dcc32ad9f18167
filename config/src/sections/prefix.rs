//! `prefix` of an archive sink. Invariant: one that gets through gives keys that every store takes,
//! as far as its fixed parts go; what log data adds is made fit while a line is written. Next:
//! `rules.rs`.

use super::sinks::template;
use crate::document::Text;
use crate::pieces::{Piece, pieces};
use crate::reader::Reader;

/// A name in a folder is no longer than this on any file system in use.
const SEGMENT_MAX_BYTES: usize = 255;

/// First segment of the object by which exclusive creation is proven.
const PROBE_SEGMENT: &str = "_riverhog";

/// How files in the making begin in a folder.
const TEMPORARY_START: &str = ".riverhog-";

type Problem = (String, String);

/// Reads `prefix`, and reports what no key may begin with.
pub(super) fn prefix(reader: &Reader<'_>) -> Text {
    let prefix = template(reader, "prefix");
    if let Some((problem, help)) = shape(&prefix).or_else(|| segments(&prefix.value)) {
        let message = format!("`{}` {problem}", reader.name_of("prefix"));
        reader.context.error(&prefix.place, message, help);
    }
    prefix
}

fn shape(prefix: &Text) -> Option<Problem> {
    let value = &prefix.value;
    let (problem, help) = if value.is_empty() {
        return None;
    } else if value.starts_with('/') {
        ("begins with `/`", format!("write `{}`", prefix.shown().trim_start_matches('/')))
    } else if !value.ends_with('/') {
        ("does not end with `/`", format!("write `{}/`", prefix.shown()))
    } else if value.split('/').any(|segment| matches!(segment, "." | "..")) {
        ("holds `.` or `..`", "take it out".to_owned())
    } else if value.contains("//") {
        ("holds `//`", "keep one `/`".to_owned())
    } else if value.contains(char::is_control) {
        ("holds a control character", "take it out; a `\\` in a \"…\" string begins one".to_owned())
    } else {
        return None;
    };
    Some((problem.to_owned(), help))
}

fn segments(value: &str) -> Option<Problem> {
    let pieces = pieces(value);
    for (index, segment) in pieces.split(|it| *it == Piece::Letter('/')).enumerate() {
        let fixed: String = segment.iter().copied().filter_map(letter).collect();
        let is_whole = !segment.contains(&Piece::Value);
        if index == 0 && is_whole && fixed == PROBE_SEGMENT {
            let problem = format!("begins with `{PROBE_SEGMENT}/`, where the probe object lies");
            return Some((problem, "choose another folder".to_owned()));
        }
        let starts: String = segment.iter().copied().map_while(letter).collect();
        if starts.starts_with(TEMPORARY_START) {
            let problem = format!("holds `{TEMPORARY_START}…`, as files in the making are named");
            return Some((problem, "choose another name".to_owned()));
        }
        if fixed.len() > SEGMENT_MAX_BYTES {
            let length = fixed.len();
            let problem = format!("holds a segment of {length} bytes, over {SEGMENT_MAX_BYTES}");
            return Some((problem, "shorten it, or divide it with `/`".to_owned()));
        }
    }
    None
}

fn letter(piece: Piece) -> Option<char> {
    match piece {
        Piece::Letter(letter) => Some(letter),
        Piece::Value => None,
    }
}
