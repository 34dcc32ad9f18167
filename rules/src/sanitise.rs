//! Makes values of log data fit to stand in an index name or an object key.
//!
//! Invariant: nothing that a log line says can leave its path segment, name a parent folder, hide
//! in control characters, or make a name that a store refuses for its letters or length. Next stop:
//! `template`, which calls this while it renders.

/// Where a template's text goes, and so what may stand in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TargetKind {
    /// An index of a search store.
    Index,
    /// A bucket, or the prefix of an object key or file path.
    Path,
    /// A value that goes with a document: its routing, the name of its pipeline.
    Text,
}

/// Longest path segment that holds log data, in bytes.
pub(crate) const SEGMENT_BYTES_MAX: usize = 128;
/// Longest value of [`TargetKind::Text`], in bytes; stores index routing as one term.
pub(crate) const TEXT_BYTES_MAX: usize = 512;
/// Longest index name, in bytes; stores refuse 256 and add suffixes of their own.
pub(crate) const INDEX_BYTES_MAX: usize = 200;

/// Appends one value to a path. It holds no `/` afterwards, so it stays within its segment.
pub(crate) fn push_path_value(out: &mut Vec<u8>, value: &str) {
    push_mapped(out, value, SEGMENT_BYTES_MAX, |letter| {
        if letter == '/' || letter == '\\' || is_hidden(letter) { '_' } else { letter }
    });
}

/// Repairs the segment from `start` to the end of `out`, which holds log data.
pub(crate) fn finish_segment(out: &mut Vec<u8>, start: usize) {
    truncate(out, start + SEGMENT_BYTES_MAX);
    match &out[start..] {
        b"" => out.push(b'_'),
        b"." => out[start] = b'_',
        b".." => out[start..].fill(b'_'),
        _ => {}
    }
}

/// Appends one value of at most `max` bytes to an index name.
pub(crate) fn push_index_value(out: &mut Vec<u8>, value: &str, max: usize) {
    let start = out.len();
    for letter in value.chars() {
        let before = out.len();
        push_index_letter(out, letter);
        if out.len() - start > max {
            out.truncate(before);
            return;
        }
    }
}

/// Appends text of the template itself to an index name.
pub(crate) fn push_index_literal(out: &mut Vec<u8>, text: &str) {
    for letter in text.chars() {
        push_index_letter(out, letter);
    }
}

/// Repairs the whole index name from `start` to the end of `out`.
pub(crate) fn finish_index(out: &mut Vec<u8>, start: usize) {
    let leading = out[start..].iter().take_while(|byte| b"-_+".contains(byte)).count();
    out.drain(start..start + leading);
    truncate(out, start + INDEX_BYTES_MAX);
    if matches!(&out[start..], b"" | b"." | b"..") {
        out.truncate(start);
        out.extend_from_slice(b"unnamed");
    }
}

/// Repairs ASCII text that was written straight into an index name.
pub(crate) fn fix_index_ascii(text: &mut [u8]) {
    for byte in text {
        let forbidden = is_forbidden(char::from(*byte));
        *byte = if forbidden { b'-' } else { byte.to_ascii_lowercase() };
    }
}

fn push_index_letter(out: &mut Vec<u8>, letter: char) {
    if is_forbidden(letter) || is_hidden(letter) || letter.is_whitespace() {
        out.push(b'-');
    } else {
        for lower in letter.to_lowercase() {
            push_char(out, lower);
        }
    }
}

fn is_forbidden(letter: char) -> bool {
    matches!(letter, '\\' | '/' | '*' | '?' | '"' | '<' | '>' | '|' | ' ' | ',' | '#' | ':')
}

fn push_mapped(out: &mut Vec<u8>, value: &str, max: usize, map: impl Fn(char) -> char) {
    let start = out.len();
    for letter in value.chars() {
        let letter = map(letter);
        if out.len() - start + letter.len_utf8() > max {
            return;
        }
        push_char(out, letter);
    }
}

fn push_char(out: &mut Vec<u8>, letter: char) {
    if letter.is_ascii() {
        out.push(letter as u8);
    } else {
        out.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
    }
}

/// Cuts at or below `length`, at a character boundary.
pub(crate) fn truncate(out: &mut Vec<u8>, mut length: usize) {
    if out.len() > length {
        while out[length] & 0xC0 == 0x80 {
            length -= 1;
        }
        out.truncate(length);
    }
}

/// Control characters, and those that turn or hide text where it is shown.
fn is_hidden(letter: char) -> bool {
    letter.is_control()
        || matches!(letter,
            '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_path(value: &str, expect: &str) {
        let mut out = b"a/".to_vec();
        push_path_value(&mut out, value);
        finish_segment(&mut out, 2);
        assert_eq!(String::from_utf8(out).unwrap(), format!("a/{expect}"), "{value:?}");
    }

    fn check_index(value: &str, expect: &str) {
        let mut out = b"before ".to_vec();
        push_index_value(&mut out, value, 180);
        finish_index(&mut out, 7);
        assert_eq!(String::from_utf8(out).unwrap(), format!("before {expect}"), "{value:?}");
    }

    #[test]
    fn path_segments() {
        check_path("train-7b", "train-7b");
        check_path("训练", "训练");
        check_path("", "_");
        check_path(".", "_");
        check_path("..", "__");
        check_path("...", "...");
        check_path("../../etc/passwd", ".._.._etc_passwd");
        check_path("a\0b\nc\u{85}d\u{202e}e\\f", "a_b_c_d_e_f");
        check_path(&"训".repeat(100), &"训".repeat(42));
    }

    #[test]
    fn index_names() {
        check_index("MS-Swift", "ms-swift");
        check_index("a/b*c?d\"e<f>g|h i,j#k:l\\m", "a-b-c-d-e-f-g-h-i-j-k-l-m");
        check_index("-_+x", "x");
        check_index("__", "unnamed");
        check_index("..", "unnamed");
        check_index("a\0b\u{3000}c", "a-b-c");
        check_index("ÄÉ训", "äé训");
        check_index(&"训".repeat(100), &"训".repeat(60));
    }
}
