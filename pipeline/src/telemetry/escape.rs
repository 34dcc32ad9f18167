//! Control characters made visible. Log data is written by jobs, stores and whoever can send to a
//! topic; on a terminal a control character of theirs could move the cursor, hide text, or reorder
//! what is read.
//!
//! Invariant: what [`escape_control`] returns holds no C0 or C1 control, no DEL, no bidirectional
//! control and no line separator. Next stop: whoever writes to a terminal, above all
//! [`super::log`].

use std::borrow::Cow;
use std::fmt::Write;

/// `text` with each dangerous character written out: `\n`, `\r`, `\t`, `\x1b`, `\u{202e}`.
/// Backslashes stay as they are, so the result is for reading, not for parsing back.
pub fn escape_control(text: &str) -> Cow<'_, str> {
    escape_with(text, |escaped, character| match character {
        '\n' => escaped.push_str("\\n"),
        '\r' => escaped.push_str("\\r"),
        '\t' => escaped.push_str("\\t"),
        _ if u32::from(character) < 0x100 => {
            write!(escaped, "\\x{:02x}", u32::from(character)).expect("a string takes any text");
        }
        _ => {
            write!(escaped, "\\u{{{:x}}}", u32::from(character)).expect("a string takes any text");
        }
    })
}

/// JSON text with the dangerous characters that JSON allows raw (DEL, C1, bidirectional controls,
/// line separators) as `\uXXXX`: the same value to a parser.
pub fn escape_json(json: &str) -> Cow<'_, str> {
    escape_with(json, |escaped, character| {
        // Every dangerous character is below U+10000: one escape names it.
        write!(escaped, "\\u{:04x}", u32::from(character)).expect("a string takes any text");
    })
}

fn escape_with(text: &str, mut escape: impl FnMut(&mut String, char)) -> Cow<'_, str> {
    let Some(first) = text.find(is_dangerous) else {
        return Cow::Borrowed(text);
    };
    let mut escaped = String::with_capacity(text.len() + 16);
    escaped.push_str(&text[..first]);
    for character in text[first..].chars() {
        if is_dangerous(character) {
            escape(&mut escaped, character);
        } else {
            escaped.push(character);
        }
    }
    Cow::Owned(escaped)
}

fn is_dangerous(character: char) -> bool {
    // `is_control` is C0, DEL and C1. The rest: Arabic letter mark, left-to-right and right-to-left
    // marks, line and paragraph separators, embeddings and overrides, isolates.
    character.is_control()
        || matches!(
            character,
            '\u{61c}'
                | '\u{200e}'
                | '\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2066}'..='\u{2069}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expect: &str) {
        assert_eq!(escape_control(text), expect, "{text:?}");
    }

    #[test]
    fn plain_text_is_borrowed() {
        for text in ["", "loss=0.31 ok", "训练 任务 🐗", r"C:\logs\x1b", "नमस्ते"]
        {
            check(text, text);
            assert!(matches!(escape_control(text), Cow::Borrowed(_)), "{text:?}");
        }
    }

    #[test]
    fn controls_are_written_out() {
        check("a\x1b[2Jb", "a\\x1b[2Jb");
        check("one\ntwo\r\tthree\n", "one\\ntwo\\r\\tthree\\n");
        check("\0\x07\x7f", "\\x00\\x07\\x7f");
        // C1: CSI as one character, which some terminals obey.
        check("\u{9b}31m", "\\x9b31m");
        check("a\u{202e}gpj.exe", "a\\u{202e}gpj.exe");
        check(
            "\u{2066}x\u{2069}\u{200f}\u{61c}\u{2028}",
            "\\u{2066}x\\u{2069}\\u{200f}\\u{61c}\\u{2028}",
        );
        check("é\x1b中", "é\\x1b中");
    }

    #[test]
    fn every_dangerous_character_goes_and_no_other() {
        for character in '\0'..=char::MAX {
            let text = String::from(character);
            let escaped = escape_control(&text);
            assert_eq!(escaped == text, !is_dangerous(character), "{character:?}");
            assert!(!escaped.contains(is_dangerous), "{character:?}");
        }
    }

    #[test]
    fn json_means_the_same_afterwards() {
        let value = "\u{9b}31m \u{202e} \x7f \x1b 中 \u{2029}";
        let json = serde_json::to_string(value).unwrap();
        let escaped = escape_json(&json);
        assert!(!escaped.contains(is_dangerous), "{escaped}");
        assert_eq!(serde_json::from_str::<String>(&escaped).unwrap(), value);
    }
}
