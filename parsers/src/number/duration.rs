//! Durations, as bars and trainers print them: `28:51`, `1 day, 2:03:04`, `28m 51s`, `95ms`.
//!
//! Invariant: the whole text is a duration or none of it is. Next on the trip: [`super::number`].

use super::number;

/// No duration has more parts.
const PARTS_MAX: usize = 8;

/// Seconds of a duration.
pub fn duration(text: &str) -> Option<f64> {
    let text = text.trim();
    let first = text.as_bytes().first()?;
    if !first.is_ascii_digit() {
        return None;
    }
    if !text.contains(':') {
        return units(text).map(|(seconds, _)| seconds).filter(|seconds| seconds.is_finite());
    }
    // `1 day, 2:03:04` and `2d 3:04:05`
    let (days, clock) = match text.rsplit_once(' ') {
        Some((days, clock)) => (units(days.trim_end_matches([',', ' ']))?, clock),
        None => ((0.0, 0), text),
    };
    (days.1 <= 1).then(|| clock_seconds(clock).map(|seconds| days.0 + seconds))?
}

/// `mm:ss` and `h:mm:ss`, with a fraction or without.
fn clock_seconds(text: &str) -> Option<f64> {
    let (mut seconds, mut parts) = (0.0, 0);
    for part in text.split(':') {
        let is_part = part.len() <= 16
            && part.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
            && part.starts_with(|it: char| it.is_ascii_digit());
        parts += 1;
        if !is_part || parts > 3 {
            return None;
        }
        seconds = seconds * 60.0 + part.parse::<f64>().ok()?;
    }
    (parts > 1).then_some(seconds)
}

/// `28m 51s`, `3h02m`, `1 day`: seconds, and how many parts there were.
fn units(text: &str) -> Option<(f64, usize)> {
    let (mut seconds, mut parts, mut rest) = (0.0, 0, text);
    while !rest.is_empty() {
        let (found, after) = number(rest)?;
        let after = after.trim_start_matches(' ');
        let length = after.bytes().take_while(u8::is_ascii_alphabetic).count();
        let each = match &after[..length] {
            "d" | "day" | "days" => 86_400.0,
            "h" | "hr" | "hrs" | "hour" | "hours" => 3600.0,
            "m" | "min" | "mins" | "minute" | "minutes" => 60.0,
            "s" | "sec" | "secs" | "second" | "seconds" => 1.0,
            "ms" => 1e-3,
            "us" => 1e-6,
            _ => return None,
        };
        parts += 1;
        if found.has_commas || parts > PARTS_MAX {
            return None;
        }
        seconds += found.text.parse::<f64>().ok()? * each;
        rest = after[length..].trim_start_matches([' ', ',']);
    }
    (parts > 0).then_some((seconds, parts))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(text: &str, expect: Option<f64>) {
        assert_eq!(duration(text), expect, "{text:?}");
    }

    #[test]
    fn durations() {
        check("28:51", Some(1731.0));
        check("1:02:03", Some(3723.0));
        check("0:03:12.5", Some(192.5));
        check("1 day, 2:03:04", Some(93_784.0));
        check("2 days, 0:00:01", Some(172_801.0));
        check("94:39:17", Some(340_757.0));
        check("28m 51s", Some(1731.0));
        check("1d 2h 3m 4s", Some(93_784.0));
        check("3h02m", Some(10_920.0));
        check("95ms", Some(0.095));
        check("7.99s", Some(7.99));
        for text in ["", "?", "28", "1:2:3:4", "a:b", "1 2:03", "5x", "1:", ":1", "-1:00", "1s x"] {
            check(text, None);
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in "[0-9:., dhms]{0,20}|\\PC{0,12}") {
            prop_assert!(duration(&text).is_none_or(f64::is_finite));
        }
    }
}
