//! The words of grok's answers: field types, captures, outcomes, and Ruby's reading of numbers.
//!
//! Invariant: an answer says where in the line a field stands, never a copy of it. Next on the
//! trip: `rules` makes event fields of the captures.

use std::fmt;
use std::ops::Range;

use crate::fields::{FieldValue, to_finite};

/// How a field's text is meant.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum FieldType {
    /// As it stands.
    #[default]
    Text,
    /// `:int`: read with [`to_int`].
    Int,
    /// `:float`: read with [`to_float`].
    Float,
    /// `:long`: a whole number of 64 bits and nothing else; any other text stays a text.
    Long,
    /// `:double`: a finite decimal number and nothing else; any other text stays a text.
    Double,
    /// `:boolean`: `true` or `false` in any case; any other text stays a text.
    Boolean,
}

impl FieldType {
    /// The types that a pattern may name. Every other word leaves a text, as in Logstash.
    pub const WORDS: [(&'static str, FieldType); 6] = [
        ("int", FieldType::Int),
        ("float", FieldType::Float),
        ("long", FieldType::Long),
        ("double", FieldType::Double),
        ("boolean", FieldType::Boolean),
        ("string", FieldType::Text),
    ];

    /// Reads the name of a type.
    pub fn parse(word: &str) -> Option<FieldType> {
        FieldType::WORDS.iter().find(|(known, _)| *known == word).map(|(_, kind)| *kind)
    }

    /// The word for a type in output.
    pub fn as_str(self) -> &'static str {
        match self {
            FieldType::Text => "text",
            FieldType::Int => "int",
            FieldType::Float => "float",
            FieldType::Long => "long",
            FieldType::Double => "double",
            FieldType::Boolean => "boolean",
        }
    }

    /// What a captured text is: a text where it is nothing of this type, or a number beyond 64
    /// bits.
    pub fn value(self, text: &str) -> FieldValue<'_> {
        let converted = match self {
            FieldType::Text => None,
            FieldType::Int => to_int(text).map(FieldValue::Int),
            FieldType::Float => {
                Some(to_float(text)).filter(|it| it.is_finite()).map(FieldValue::Float)
            }
            FieldType::Long => text.parse().ok().map(FieldValue::Int),
            FieldType::Double => to_finite(text).map(FieldValue::Float),
            FieldType::Boolean if text.eq_ignore_ascii_case("true") => Some(FieldValue::Bool(true)),
            FieldType::Boolean if text.eq_ignore_ascii_case("false") => {
                Some(FieldValue::Bool(false))
            }
            FieldType::Boolean => None,
        };
        converted.unwrap_or(FieldValue::Text(text))
    }
}

/// One field that a pattern may deliver.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GrokField {
    /// The dotted name: `log_time`, and `a.b` for a pattern's `[a][b]`.
    pub name: String,
    /// The steps of the name: one for `log_time` (and for a plain name with a dot in it), two for
    /// `[a][b]`.
    pub path: Vec<String>,
    /// How its text is meant. A pattern that names one field with two types has two entries of that
    /// name.
    pub kind: FieldType,
}

/// Where in the text a field was found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Capture {
    /// Index into `Grok::fields`.
    pub field: u16,
    /// First byte.
    pub start: u32,
    /// Byte after the last.
    pub end: u32,
}

impl Capture {
    /// True for a group that took no part in the match; such captures are delivered only with
    /// `keep_empty_captures`.
    pub fn is_absent(&self) -> bool {
        self.start == u32::MAX
    }

    /// The captured part of the text that was matched; empty when absent.
    pub fn text<'t>(&self, text: &'t str) -> &'t str {
        text.get(self.start as usize..self.end as usize).unwrap_or("")
    }
}

/// What a parser says to a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// The line has the pattern's shape; the captures are out.
    Matched,
    /// It has not, or that could not be found out.
    Unmatched(Reason),
}

/// Why a line is unmatched.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Reason {
    /// The line has not the pattern's or the format's shape.
    NoMatch,
    /// A limit of steps, depth or fields was reached: whether the line has the shape is not known.
    Limit,
    /// The engine refused to look at this text.
    Engine,
    /// The line begins as the format does and then breaks its syntax.
    Invalid,
}

impl Reason {
    /// All reasons, for metrics that start at zero.
    pub const ALL: [Reason; 4] = [Reason::NoMatch, Reason::Limit, Reason::Engine, Reason::Invalid];

    /// The word used as a metric label.
    pub fn as_str(self) -> &'static str {
        match self {
            Reason::NoMatch => "no_match",
            Reason::Limit => "limit",
            Reason::Engine => "engine",
            Reason::Invalid => "invalid",
        }
    }
}

/// Why a pattern cannot be compiled.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GrokError {
    /// Bytes of the pattern given. A fault inside a definition points at the outermost reference to
    /// it.
    pub span: Range<usize>,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
}

impl fmt::Display for GrokError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for GrokError {}

/// An integer as Ruby's `to_i` reads it: white space, a sign, then digits that single underscores
/// may part, up to the first other character; 0 when there are none. `None` where the value is
/// beyond i64: Ruby's integers have no bound, ours do.
pub fn to_int(text: &str) -> Option<i64> {
    let (negative, digits) = sign(text);
    let mut value: i64 = 0;
    for digit in Digits::new(digits) {
        let step = i64::from(digit - b'0');
        value = value.checked_mul(10)?;
        value = if negative { value.checked_sub(step)? } else { value.checked_add(step)? };
    }
    Some(value)
}

/// A number as Ruby's `to_f` reads it: like [`to_int`], with a fraction and an exponent where
/// digits follow; 0.0 when there are none. Never NaN; beyond f64's range it is infinite, as in
/// Ruby.
pub fn to_float(text: &str) -> f64 {
    let (negative, rest) = sign(text);
    let mut number = String::with_capacity(rest.len().min(64));
    if negative {
        number.push('-');
    }
    let mut digits = Digits::new(rest);
    number.extend(digits.by_ref().map(char::from));
    let mut rest = digits.rest();
    // `.5` is a number for Ruby, `5.` is 5.
    if let Some(fraction) = rest.strip_prefix(b".") {
        let mut digits = Digits::new(fraction);
        let length = number.len();
        number.push_str("0.");
        if number.len() > length + 2 || !number[..length].is_empty() {
            number.truncate(length);
            number.push('.');
        }
        let before = number.len();
        number.extend(digits.by_ref().map(char::from));
        if number.len() == before {
            number.truncate(length);
            rest = b"";
        } else {
            rest = digits.rest();
        }
    }
    if let [b'e' | b'E', exponent @ ..] = rest {
        let (negative, exponent) = match exponent {
            [b'-', digits @ ..] => (true, digits),
            [b'+', digits @ ..] => (false, digits),
            digits => (false, digits),
        };
        let digits: String = Digits::new(exponent).map(char::from).collect();
        if !digits.is_empty() {
            number.push_str(if negative { "e-" } else { "e" });
            number.push_str(&digits);
        }
    }
    number.parse().unwrap_or(if negative { -0.0 } else { 0.0 })
}

fn sign(text: &str) -> (bool, &[u8]) {
    match text.trim_start_matches([' ', '\t', '\n', '\x0b', '\x0c', '\r']).as_bytes() {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        rest => (false, rest),
    }
}

/// Digits at the start of some bytes, over single underscores between two digits.
struct Digits<'a> {
    rest: &'a [u8],
    any: bool,
}

impl<'a> Digits<'a> {
    fn new(rest: &'a [u8]) -> Digits<'a> {
        Digits { rest, any: false }
    }

    fn rest(self) -> &'a [u8] {
        self.rest
    }
}

impl Iterator for Digits<'_> {
    type Item = u8;

    fn next(&mut self) -> Option<u8> {
        let (digit, rest) = match self.rest {
            [digit @ b'0'..=b'9', rest @ ..] => (*digit, rest),
            [b'_', digit @ b'0'..=b'9', rest @ ..] if self.any => (*digit, rest),
            _ => return None,
        };
        self.rest = rest;
        self.any = true;
        Some(digit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(text: &str, int: Option<i64>, float: f64) {
        assert_eq!(to_int(text), int, "{text:?}");
        assert_eq!(to_float(text).to_bits(), float.to_bits(), "{text:?}: {}", to_float(text));
    }

    #[test]
    fn numbers_as_ruby_reads_them() {
        check("42", Some(42), 42.0);
        check(" \t+42 ", Some(42), 42.0);
        check("-7", Some(-7), -7.0);
        check("27.9", Some(27), 27.9);
        check("12abc", Some(12), 12.0);
        check("abc", Some(0), 0.0);
        check("", Some(0), 0.0);
        check("-", Some(0), -0.0);
        check("- 1", Some(0), -0.0);
        check("1_000", Some(1000), 1000.0);
        check("1__000", Some(1), 1.0);
        check("_1", Some(0), 0.0);
        check("1_", Some(1), 1.0);
        check("0x1F", Some(0), 0.0);
        check("007", Some(7), 7.0);
        check("1e3", Some(1), 1000.0);
        check("1E-2x", Some(1), 0.01);
        check("1e+2", Some(1), 100.0);
        check("1e", Some(1), 1.0);
        check(".5", Some(0), 0.5);
        check("-.5", Some(0), -0.5);
        check("5.", Some(5), 5.0);
        check("5.e3", Some(5), 5.0);
        check("1.2.3", Some(1), 1.2);
        check("1,234.5", Some(1), 1.0);
        check("1.5_5", Some(1), 1.55);
        check("1._5", Some(1), 1.0);
        check("nan", Some(0), 0.0);
        check("inf", Some(0), 0.0);
        check("-0.0", Some(0), -0.0);
        check("１２", Some(0), 0.0);
        check("9223372036854775807", Some(i64::MAX), 9.223_372_036_854_776e18);
        check("-9223372036854775808", Some(i64::MIN), -9.223_372_036_854_776e18);
        check("9223372036854775808", None, 9.223_372_036_854_776e18);
        check("1e999", Some(1), f64::INFINITY);
    }

    #[test]
    fn strict_types_take_a_value_or_leave_a_text() {
        let check = |kind: &str, text: &str, expect: FieldValue<'_>| {
            assert_eq!(FieldType::parse(kind).unwrap().value(text), expect, "{kind} {text:?}");
        };
        check("long", "42", FieldValue::Int(42));
        check("long", "-7", FieldValue::Int(-7));
        for text in ["12abc", "27.9", "", " 42", "9223372036854775808", "0x1F"] {
            check("long", text, FieldValue::Text(text));
        }
        check("double", "6e-05", FieldValue::Float(6e-05));
        check("double", "27", FieldValue::Float(27.0));
        for text in ["nan", "inf", "1,5", "1e999", "", "5 "] {
            check("double", text, FieldValue::Text(text));
        }
        check("boolean", "True", FieldValue::Bool(true));
        check("boolean", "false", FieldValue::Bool(false));
        for text in ["yes", "1", ""] {
            check("boolean", text, FieldValue::Text(text));
        }
        check("int", "12abc", FieldValue::Int(12));
        check("float", "1e999", FieldValue::Text("1e999"));
        check("string", "42", FieldValue::Text("42"));
        assert_eq!(FieldType::parse("bool"), None);
    }

    proptest! {
        #[test]
        fn what_is_printed_is_read(int in any::<i64>(), float in proptest::num::f64::NORMAL) {
            prop_assert_eq!(to_int(&int.to_string()), Some(int));
            prop_assert_eq!(to_float(&float.to_string()).to_bits(), float.to_bits());
            prop_assert_eq!(to_float(&format!("{float:e}x")).to_bits(), float.to_bits());
        }

        #[test]
        fn no_text_panics(text in "[-+._0-9eE xA训]{0,20}") {
            prop_assert!(!to_float(&text).is_nan());
            let _int = to_int(&text);
        }
    }
}
