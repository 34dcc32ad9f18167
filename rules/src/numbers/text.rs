//! A number in a text: `'2.104'`, `1,234`, `61.75GiB`, `41.69 %`, `11.5K`, `100/1000`, `28m 51s`.
//!
//! Invariant: the whole text is a number with what belongs to it, or it is none. Next stop:
//! `found`.
use riverhog_parsers::fields::FieldKind;
use riverhog_parsers::number::{Number, number, power};

/// Longer texts are no numbers.
const TEXT_BYTES_MAX: usize = 64;
const UNIT_BYTES_MAX: usize = 12;

/// What a text says.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Read<'t> {
    /// A number alone.
    Number(f64),
    /// A number and its unit.
    Unit(f64, &'t str),
    /// One of so many.
    Share(f64, f64),
}

/// Reads a text.
pub(crate) fn read(text: &str) -> Option<Read<'_>> {
    if text.len() > TEXT_BYTES_MAX {
        return None;
    }
    let around = |it: char| it.is_whitespace() || matches!(it, '\'' | '"' | '[' | ']');
    let text = text.trim_matches(around);
    let (found, rest) = number(text)?;
    let value = value_of(&found)?;
    let rest = rest.trim_start();
    if rest.is_empty() {
        return Some(Read::Number(value));
    }
    if let Some(total) = rest.strip_prefix('/') {
        let (total, "") = number(total.trim_start())? else { return None };
        return Some(Read::Share(value, value_of(&total)?));
    }
    if let Some(power) = power(rest) {
        return Some(Read::Number(value * 10_f64.powi(i32::from(power))));
    }
    let is_unit = |it: char| it.is_alphabetic() || matches!(it, '%' | '/');
    (rest.len() <= UNIT_BYTES_MAX && rest.chars().all(is_unit)).then_some(Read::Unit(value, rest))
}

/// The value of a printed number; not finite where it says so or is too large.
pub(super) fn value_of(number: &Number<'_>) -> Option<f64> {
    if number.kind == FieldKind::Text {
        return Some(f64::NAN);
    }
    if !number.has_commas {
        return number.text.parse().ok();
    }
    let (mut digits, mut length) = ([0; TEXT_BYTES_MAX], 0);
    for byte in number.text.bytes().filter(|byte| *byte != b',') {
        *digits.get_mut(length)? = byte;
        length += 1;
    }
    std::str::from_utf8(&digits[..length]).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: &str) {
        let found = read(text).map_or_else(|| "none".to_owned(), |found| format!("{found:?}"));
        assert_eq!(found, expect, "{text:?}");
    }

    #[test]
    fn texts() {
        check("2.104", "Number(2.104)");
        check("'2.104'", "Number(2.104)");
        check("[6e-05]", "Number(6e-5)");
        check("8,123.5", "Number(8123.5)");
        check("+7", "Number(7.0)");
        check("nan", "Number(NaN)");
        check("-Infinity", "Number(NaN)");
        check("1e999", "Number(inf)");
        check("11.5K", "Number(11500.0)");
        check("85.8 G", "Number(85800000000.0)");
        check("61.75GiB", "Unit(61.75, \"GiB\")");
        check("68 %", "Unit(68.0, \"%\")");
        check("100/1000", "Share(100.0, 1000.0)");
        for text in ["", "x", "1.2.3", "1:02", "2024-05-15", "12 of 13", "1/2/3", "0x7f"] {
            check(text, "none");
        }
        check(&"1".repeat(100), "none");
    }
}
