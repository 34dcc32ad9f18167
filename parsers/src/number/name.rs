//! Names in snake case of keys as they are printed: `lm loss`, `GradNorm`, `memory(GiB)`.
//!
//! Invariant: a name has letters in lower case, digits, and single underscores between words; what
//! has none of the first two has no name. Next on the trip: [`super::number`].

/// Keys are put together in a buffer of this size; longer ones take a slower way.
const KEY_BYTES: usize = 96;

/// True for a name as [`push_name`] writes those of ASCII: small letters and digits, parted by
/// single underscores.
pub fn is_name(name: &str) -> bool {
    let mut before = b'_';
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'0'..=b'9' => {}
            b'_' if before != b'_' => {}
            _ => return false,
        }
        before = byte;
    }
    before != b'_'
}

/// Appends the name of a printed key, and of a unit behind it. Nothing is appended where neither
/// has a letter or a digit.
pub fn push_name(out: &mut String, printed: &str, unit: &str) {
    let unit = if unit == "%" { "percent" } else { unit };
    if printed.len() + unit.len() < KEY_BYTES && printed.is_ascii() && unit.is_ascii() {
        push_ascii(out, printed, unit);
        return;
    }
    let start = out.len();
    snake(out, start, printed);
    if !unit.is_empty() {
        if out.len() > start && !out.ends_with('_') {
            out.push('_');
        }
        snake(out, start, unit);
    }
    while out.len() > start && out.ends_with('_') {
        out.pop();
    }
}

/// The last word of a printed key.
pub(crate) fn last_word(printed: &str) -> &str {
    printed.trim_end().rsplit([' ', '_', '-', '/', '.']).next().unwrap_or_default()
}

/// True for the name of what is counted: `global_step`, `max_steps`, `train/epoch`.
pub fn is_count(printed: &str) -> bool {
    const WORDS: [&str; 14] = [
        "step",
        "steps",
        "iter",
        "iters",
        "iteration",
        "iterations",
        "epoch",
        "epochs",
        "batch",
        "batches",
        "sample",
        "samples",
        "token",
        "tokens",
    ];
    WORDS.iter().any(|word| last_word(printed).eq_ignore_ascii_case(word))
}

/// Letters in lower case and digits; 0 for every other byte.
static LOWER: [u8; 256] = {
    let mut lower = [0; 256];
    let mut byte = 0;
    while byte < 128 {
        if (byte as u8).is_ascii_alphanumeric() {
            lower[byte] = (byte as u8).to_ascii_lowercase();
        }
        byte += 1;
    }
    lower
};

/// As [`push_name`], of bytes: nearly all keys are ASCII.
fn push_ascii(buffer: &mut String, printed: &str, unit: &str) {
    // Each byte gives at most itself and an underscore before it.
    let (mut name, mut length) = ([0; 2 * KEY_BYTES], 0);
    for word in [printed, unit] {
        let bytes = word.as_bytes();
        let (mut parted, mut after_lower) = (true, false);
        for (index, byte) in bytes.iter().enumerate() {
            let lower = LOWER[usize::from(*byte)];
            if lower == 0 {
                (parted, after_lower) = (true, false);
                continue;
            }
            let is_upper = lower != *byte;
            let is_word =
                is_upper && after_lower && bytes.get(index + 1).is_some_and(u8::is_ascii_lowercase);
            if (parted || is_word) && length > 0 {
                name[length] = b'_';
                length += 1;
            }
            name[length] = lower;
            length += 1;
            (parted, after_lower) = (false, !is_upper);
        }
    }
    buffer.push_str(std::str::from_utf8(&name[..length]).unwrap_or_default());
}

/// Appends a key: words in lower case, parted by single underscores. A capital begins a word where
/// small letters stand on both sides of it: `GradNorm` has two words, `GiB` one.
fn snake(buffer: &mut String, start: usize, printed: &str) {
    let mut after_lower = false;
    let mut letters = printed.chars().peekable();
    while let Some(letter) = letters.next() {
        if !letter.is_alphanumeric() {
            if buffer.len() > start && !buffer.ends_with('_') {
                buffer.push('_');
            }
            after_lower = false;
            continue;
        }
        let before_lower = letters.peek().is_some_and(|next| next.is_lowercase());
        if letter.is_uppercase() && after_lower && before_lower {
            buffer.push('_');
        }
        after_lower = letter.is_lowercase() || letter.is_ascii_digit();
        buffer.extend(letter.to_lowercase());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(printed: &str, unit: &str, expect: &str) {
        let mut out = "before".to_owned();
        push_name(&mut out, printed, unit);
        assert_eq!(out.strip_prefix("before"), Some(expect), "{printed:?}");
    }

    #[test]
    fn names() {
        check("lm loss", "", "lm_loss");
        check("GradNorm", "", "grad_norm");
        check("memory(GiB)", "", "memory_gib");
        check("elapsed time per iteration (ms)", "", "elapsed_time_per_iteration_ms");
        check("train_speed(s/it)", "", "train_speed_s_it");
        check("utilization.gpu [%]", "", "utilization_gpu");
        check("mfu", "%", "mfu_percent");
        check("损失", "ms", "损失_ms");
        check("--", "", "");
    }

    proptest! {
        #[test]
        fn any_key_gives_a_name(printed in "\\PC{0,120}", unit in "[a-zA-Z/%]{0,4}") {
            let mut out = String::new();
            push_name(&mut out, &printed, &unit);
            prop_assert!(!out.contains("__") && !out.ends_with('_'), "{out}");
        }
    }
}
