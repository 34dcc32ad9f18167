//! Lines of the kernel's ring buffer count seconds since the machine was started: with a hint when
//! that was, they have a time of their own.
//!
//! Invariant: a hint that cannot be read, or that would put a line into the future, gives no time
//! and a tag; nothing but a parser's field `uptime` is read. Next stop: `redacting`.
use riverhog_parsers::envelope::parse_stamp;

use super::bind::Bound;
use super::record::HostState;
use super::times::text_of;
use super::view::View;
use crate::value::Value;

const SECOND_NS: i64 = 1_000_000_000;

/// Gives the line a time, if it counts from a start that is known. `skew_ns`: how far ahead of the
/// record's a time may be.
pub(super) fn set_time(view: &mut View<'_>, bound: &Bound, skew_ns: i64, host: &HostState) {
    if !view.parsed.rule.is_some_and(|rule| rule.has_uptime) {
        return;
    }
    let Some(uptime_ns) = text_of(&view.parsed, "uptime").and_then(uptime_ns) else { return };
    let asked = View { host, ..*view };
    let hints = bound.boot.iter().filter_map(|slot| match asked.value(*slot, 0)? {
        Value::Text(text) if !text.is_empty() => Some(parse_stamp(text)),
        Value::Int(seconds) => Some(seconds.checked_mul(SECOND_NS)),
        _ => None,
    });
    let mut is_hinted = false;
    let boot_ns = hints.inspect(|_| is_hinted = true).flatten().next();
    let time_ns = boot_ns.and_then(|boot_ns| boot_ns.checked_add(uptime_ns));
    let latest_ns = view.received_ns.saturating_add(skew_ns);
    view.parsed.time_ns = time_ns.filter(|time_ns| *time_ns <= latest_ns);
    view.parsed.tags.time_failure |= is_hinted && view.parsed.time_ns.is_none();
}

/// Nanoseconds of seconds with a fraction, or without.
fn uptime_ns(text: &str) -> Option<i64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let is_number = |it: &str| it.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !is_number(whole) || !is_number(fraction) {
        return None;
    }
    let digits = fraction.bytes().chain(std::iter::repeat(b'0')).take(9);
    let below = digits.fold(0, |ns, digit| ns * 10 + i64::from(digit - b'0'));
    whole.parse::<i64>().ok()?.checked_mul(SECOND_NS)?.checked_add(below)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expect: Option<i64>) {
        assert_eq!(uptime_ns(text), expect, "{text:?}");
    }

    #[test]
    fn seconds_since_the_start() {
        check("12345.678901", Some(12_345_678_901_000));
        check("0.000000", Some(0));
        check("7", Some(7_000_000_000));
        check("7.", Some(7_000_000_000));
        check("1.12345678901", Some(1_123_456_789));
        for text in ["", ".5", "-1.0", "1.x", "1e3", "99999999999999999999", "9999999999999"] {
            check(text, None);
        }
    }
}
