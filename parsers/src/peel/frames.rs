//! Frames of progress bars: what a terminal would show of a line that returns to its beginning
//! again and again.
//!
//! Invariant: what is left is an end of the line, or an end of one of its frames; a log line that
//! another thread wrote behind a frame is not lost with it. Source of the form of a bar: `tqdm`.
//! Next: `prefix`.

/// A bar begins within so many bytes: its description stands in front of it.
const DESCRIPTION_BYTES_MAX: usize = 512;

/// The last frame that shows anything, and of it what stands behind a bar, if a log line does.
pub(super) fn last(text: &str) -> &str {
    if memchr::memchr(b'\r', text.as_bytes()).is_none() {
        return text;
    }
    let mut frames = text.rsplit('\r').filter(|frame| !frame.trim().is_empty());
    let Some(frame) = frames.next() else { return text };
    match behind_bar(frame) {
        // Most often a bar is all that there is.
        Some(behind) if has_header(behind) => behind,
        _ => frame,
    }
}

/// What stands behind `NN%|███ | n/total [elapsed<left, rate]`.
fn behind_bar(frame: &str) -> Option<&str> {
    let limit = frame.floor_char_boundary(DESCRIPTION_BYTES_MAX);
    let percent = frame[..limit].find("%|")?;
    let rest = &frame[percent + 2..];
    let times = rest.find(" [")?;
    let bar = &rest[times + 2..];
    let end = bar.find(']')?;
    let (inside, behind) = (&bar[..end], &bar[end + 1..]);
    (inside.contains('<') && !behind.trim().is_empty()).then_some(behind.trim_start())
}

/// True for what begins as log lines do: with a bracket, a digit or a capital letter.
fn has_header(text: &str) -> bool {
    text.starts_with(|letter: char| letter == '[' || letter == '(' || letter.is_ascii_digit())
        || text.starts_with(|letter: char| letter.is_ascii_uppercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: &str) {
        assert_eq!(last(text), expect, "{text:?}");
    }

    #[test]
    fn frames() {
        check("plain", "plain");
        check(
            "\rTrain:   0%|   | 0/3 [00:00<?, ?it/s]\rTrain:  33%|█  | 1/3 [00:01<00:02,  1.0s/it]",
            "Train:  33%|█  | 1/3 [00:01<00:02,  1.0s/it]",
        );
        check("50%\r\r  \r", "50%");
        check("\r", "\r");
        check("a\rb", "b");
    }

    #[test]
    fn a_line_behind_a_bar_is_split_off() {
        let bar = "\rEpoch 0:   6%|▋         | 320/5001 [6:28:43<94:39:17,  1.37it/s, loss=2.6]";
        check(&format!("{bar}[E ProcessGroupNCCL.cpp:458] x"), "[E ProcessGroupNCCL.cpp:458] x");
        check(&format!("{bar} INFO next"), "INFO next");
        check(bar, &bar[1..]);
        check(&format!("{bar} done"), &format!("{} done", &bar[1..]));
    }
}
