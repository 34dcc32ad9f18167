//! Values of metrics as JSON: floats, or `null` for what is not finite.
//!
//! Invariant: a value has a fraction or an exponent, so that a store never takes it for a whole
//! number. A number that is printed as JSON writes it is copied as it stands. Next stop: `found`.
use crate::json::write_float;

/// Writes a printed number times a factor; false where it is not finite.
pub(super) fn write_number(out: &mut Vec<u8>, text: &str, factor: f64) -> bool {
    // Nothing is multiplied by one.
    if factor.to_bits() == 1_f64.to_bits()
        && let Some(is_whole) = as_json(text.as_bytes())
    {
        out.extend_from_slice(text.as_bytes());
        if is_whole {
            out.extend_from_slice(b".0");
        }
        return true;
    }
    let number: f64 = text.parse().unwrap_or(f64::NAN);
    write_value(out, scaled(number, factor))
}

/// A number in another unit. A thousandth has no exact float, a thousand has.
pub(super) fn scaled(number: f64, factor: f64) -> f64 {
    if factor < 1.0 { number / (1.0 / factor).round() } else { number * factor }
}

pub(super) fn write_value(out: &mut Vec<u8>, value: f64) -> bool {
    write_float(out, value);
    value.is_finite()
}

/// Whether a text is a finite number as JSON writes it, and if so whether it is a whole one. What
/// is longer than usual is not looked at.
fn as_json(text: &[u8]) -> Option<bool> {
    let digits = |text: &[u8]| text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let text = text.strip_prefix(b"-").unwrap_or(text);
    let whole = digits(text);
    if whole == 0 || whole > 17 || (text[0] == b'0' && whole > 1) {
        return None;
    }
    let mut rest = &text[whole..];
    let is_whole = rest.is_empty();
    if let [b'.', fraction @ ..] = rest {
        let count = digits(fraction);
        if count == 0 || count > 20 {
            return None;
        }
        rest = &fraction[count..];
    }
    if let [b'e' | b'E', exponent @ ..] = rest {
        let exponent = match exponent {
            [b'+' | b'-', exponent @ ..] => exponent,
            exponent => exponent,
        };
        // Two digits of an exponent stay finite.
        let count = digits(exponent);
        if count == 0 || count > 2 {
            return None;
        }
        rest = &exponent[count..];
    }
    rest.is_empty().then_some(is_whole)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(text: &str, factor: f64, expect: &str) {
        let mut out = Vec::new();
        let is_finite = write_number(&mut out, text, factor);
        assert_eq!(std::str::from_utf8(&out), Ok(expect), "{text}");
        assert_eq!(is_finite, expect != "null", "{text}");
    }

    #[test]
    fn numbers_are_written() {
        check("8", 1.0, "8.0");
        check("-0", 1.0, "-0.0");
        check("2.104512E+00", 1.0, "2.104512E+00");
        check("0.870", 1.0, "0.870");
        check("1e5", 1.0, "1e5");
        check("007", 1.0, "7.0");
        check("+2.5", 1.0, "2.5");
        check("5.", 1.0, "5.0");
        check("1e300", 1.0, "1e300");
        check("1e999", 1.0, "null");
        check("1500", 1e-3, "1.5");
        check("76015.3", 1e-3, "76.0153");
        check("10837", 1.0 / 1024.0, "10.5830078125");
        check("9223372036854775807", 1.0, "9.223372036854776e18");
        check("x", 1.0, "null");
    }

    proptest! {
        /// Whatever is copied is what a reader of numbers makes of it.
        #[test]
        fn what_is_written_is_the_number(
            text in "-?[0-9]{1,20}(\\.[0-9]{1,22})?([eE][-+]?[0-9]{1,3})?",
        ) {
            let mut out = Vec::new();
            let is_finite = write_number(&mut out, &text, 1.0);
            prop_assert!(serde_json::from_slice::<Option<f64>>(&out).is_ok());
            let back: Option<f64> = std::str::from_utf8(&out).unwrap().parse().ok();
            let number: f64 = text.parse().unwrap();
            prop_assert_eq!(back, is_finite.then_some(number));
            let is_float = out.iter().any(|byte| matches!(byte, b'.' | b'e' | b'E'));
            prop_assert!(is_float || !is_finite);
        }
    }
}
