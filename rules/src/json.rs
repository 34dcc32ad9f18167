//! Writes JSON scalars straight into a byte buffer: the innermost part of encoding an event.
//!
//! Invariant: what is written is always valid JSON and says exactly what was given, control
//! characters included. Next stop: `encode`.
use crate::digits::write_signed;

/// Appends `text` as a JSON string with its quotes. Allocates only when `out` must grow.
pub fn write_string(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    write_escaped(out, text);
    out.push(b'"');
}

/// Appends `text` as the inside of a JSON string, without the quotes.
pub fn write_escaped(out: &mut Vec<u8>, text: &str) {
    let mut rest = text.as_bytes();
    while let Some(position) = find_special(rest) {
        out.extend_from_slice(&rest[..position]);
        write_special(out, rest[position]);
        rest = &rest[position + 1..];
    }
    out.extend_from_slice(rest);
}

/// Appends a whole number.
pub fn write_int(out: &mut Vec<u8>, number: i64) {
    write_signed(out, number);
}

/// Appends a finite number; JSON knows no other, so the rest becomes `null`.
pub fn write_float(out: &mut Vec<u8>, number: f64) {
    use std::io::Write;
    if number.is_finite() {
        // `{:?}` keeps `1e300` short and writes a fraction for whole numbers: valid JSON both.
        write!(out, "{number:?}").expect("writing to a Vec cannot fail");
    } else {
        out.extend_from_slice(b"null");
    }
}

/// Position of the first byte that must be escaped: below 0x20, `"` or `\`.
///
/// Eight bytes at a time: most log text holds none, and one test per byte would be the most
/// expensive part of encoding.
fn find_special(bytes: &[u8]) -> Option<usize> {
    let (blocks, tail) = bytes.as_chunks::<32>();
    for (index, block) in blocks.iter().enumerate() {
        // One branch for four words; which word it was is looked up only then.
        let (words, _) = block.as_chunks::<8>();
        let masks = words.iter().map(|word| special_mask(u64::from_le_bytes(*word)));
        if masks.fold(0, |found, mask| found | mask) != 0 {
            return find_special_word(block).map(|position| index * 32 + position);
        }
    }
    find_special_word(tail).map(|position| blocks.len() * 32 + position)
}

fn find_special_word(bytes: &[u8]) -> Option<usize> {
    let (words, tail) = bytes.as_chunks::<8>();
    for (index, word) in words.iter().enumerate() {
        let found = special_mask(u64::from_le_bytes(*word));
        if found != 0 {
            return Some(index * 8 + (found.trailing_zeros() / 8) as usize);
        }
    }
    let start = words.len() * 8;
    tail.iter().position(|&byte| is_special(byte)).map(|position| start + position)
}

/// The high bit of each byte that must be escaped. The lowest set bit is always right; higher ones
/// may be false, since a borrow runs upwards.
fn special_mask(word: u64) -> u64 {
    const ONES: u64 = u64::MAX / 255;
    const HIGH: u64 = ONES * 0x80;
    let below_space = word.wrapping_sub(ONES * 0x20) & !word;
    let quote = word ^ (ONES * u64::from(b'"'));
    let quote = quote.wrapping_sub(ONES) & !quote;
    let backslash = word ^ (ONES * u64::from(b'\\'));
    let backslash = backslash.wrapping_sub(ONES) & !backslash;
    (below_space | quote | backslash) & HIGH
}

fn is_special(byte: u8) -> bool {
    byte < 0x20 || byte == b'"' || byte == b'\\'
}

#[cold]
fn write_special(out: &mut Vec<u8>, byte: u8) {
    let short = match byte {
        b'"' => b'"',
        b'\\' => b'\\',
        b'\n' => b'n',
        b'\r' => b'r',
        b'\t' => b't',
        0x08 => b'b',
        0x0c => b'f',
        _ => {
            const HEX: &[u8; 16] = b"0123456789abcdef";
            out.extend_from_slice(b"\\u00");
            out.extend_from_slice(&[HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]);
            return;
        }
    };
    out.extend_from_slice(&[b'\\', short]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(text: &str, expect: &str) {
        let mut out = Vec::new();
        write_string(&mut out, text);
        assert_eq!(String::from_utf8(out).unwrap(), expect);
    }

    fn check_float(number: f64, expect: &str) {
        let mut out = Vec::new();
        write_float(&mut out, number);
        assert_eq!(String::from_utf8(out).unwrap(), expect);
    }

    #[test]
    fn strings_are_escaped() {
        check("", r#""""#);
        check("plain text of more than eight bytes", r#""plain text of more than eight bytes""#);
        check("a\"b\\c\nd\re\tf\u{8}g\u{c}h", r#""a\"b\\c\nd\re\tf\bg\fh""#);
        check("\u{0}\u{1b}[31m\u{1f} \u{7f}", "\"\\u0000\\u001b[31m\\u001f \u{7f}\"");
        check("训练 loss é \u{2028}", "\"训练 loss é \u{2028}\"");
    }

    #[test]
    fn floats_are_numbers() {
        check_float(1.0, "1.0");
        check_float(-0.25, "-0.25");
        check_float(1e300, "1e300");
        check_float(6e-5, "6e-5");
        check_float(f64::NAN, "null");
        check_float(f64::INFINITY, "null");
    }

    #[test]
    fn every_byte_is_found_at_every_place() {
        for byte in 0..=127_u8 {
            for place in 0..80 {
                let mut text = vec![b'a'; 80];
                text[place] = byte;
                let expect = is_special(byte).then_some(place);
                assert_eq!(find_special(&text), expect, "byte {byte} at {place}");
            }
        }
    }

    proptest! {
        #[test]
        fn strings_read_back(text in any::<String>()) {
            let mut out = Vec::new();
            write_string(&mut out, &text);
            prop_assert_eq!(serde_json::from_slice::<String>(&out).unwrap(), text);
        }

        #[test]
        fn floats_read_back(number in any::<f64>()) {
            let mut out = Vec::new();
            write_float(&mut out, number);
            let back: Option<f64> = serde_json::from_slice(&out).unwrap();
            prop_assert_eq!(back.is_some(), number.is_finite());
        }
    }
}
