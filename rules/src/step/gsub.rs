//! Replacing what a regular expression matches.
//!
//! Invariant: matching takes linear time, and a result has a bound, so that no expression and no
//! line can take a partition down. Next stop: `transform/steps/apply`.
use regex::Regex;

use super::Target;
use crate::expression::{self, ExpressionError};

/// A replacement.
#[derive(Debug)]
pub struct Gsub {
    /// What is changed.
    pub field: Target,
    regex: Regex,
    with: Vec<Part>,
    /// `with` refers to groups.
    has_groups: bool,
}

/// A stretch of what takes the place of a match.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Part {
    Literal(String),
    Group(usize),
}

impl Gsub {
    /// Compiles a replacement. In `with`, `\1` and `\k<name>` are groups, `\0` is the whole match
    /// and `\\` a backslash, as Ruby and Logstash write them.
    ///
    /// # Errors
    /// When the expression does not compile, or `with` names a group that it does not have.
    pub fn compile(field: Target, regex: &str, with: &str) -> Result<Gsub, ExpressionError> {
        let compiled = expression::compile(regex)?;
        let with = read(&compiled, with).map_err(|(message, help)| ExpressionError {
            span: 0..regex.len(),
            message,
            help: Some(help.to_owned()),
        })?;
        let has_groups = with.iter().any(|part| matches!(part, Part::Group(_)));
        Ok(Gsub { field, regex: compiled, with, has_groups })
    }

    /// Appends the text with everything replaced. False, with nothing appended, when nothing
    /// matches; `Err` when the result would have more than `bytes_max` bytes.
    pub(crate) fn write(&self, text: &str, bytes_max: usize, out: &mut String) -> Result<bool, ()> {
        let start = out.len();
        let (mut end, mut is_changed) = (0, false);
        if self.has_groups {
            for found in self.regex.captures_iter(text) {
                let whole = found.get_match();
                out.push_str(&text[end..whole.start()]);
                for part in &self.with {
                    out.push_str(match part {
                        Part::Literal(text) => text,
                        Part::Group(group) => found.get(*group).map_or("", |it| it.as_str()),
                    });
                }
                (end, is_changed) = (whole.end(), true);
                check(out, start, bytes_max)?;
            }
        } else {
            for found in self.regex.find_iter(text) {
                out.push_str(&text[end..found.start()]);
                for part in &self.with {
                    if let Part::Literal(text) = part {
                        out.push_str(text);
                    }
                }
                (end, is_changed) = (found.end(), true);
                check(out, start, bytes_max)?;
            }
        }
        if is_changed {
            out.push_str(&text[end..]);
            check(out, start, bytes_max)?;
        }
        Ok(is_changed)
    }
}

/// Reads what takes the place of a match.
fn read(regex: &Regex, with: &str) -> Result<Vec<Part>, (String, &'static str)> {
    let mut parts = Vec::new();
    let mut literal = String::new();
    let mut rest = with;
    while let Some(at) = rest.find('\\') {
        literal.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix('\\') {
            literal.push('\\');
            rest = after;
            continue;
        }
        let (group, after) = group(regex, rest)?;
        if !literal.is_empty() {
            parts.push(Part::Literal(std::mem::take(&mut literal)));
        }
        parts.push(Part::Group(group));
        rest = after;
    }
    literal.push_str(rest);
    if !literal.is_empty() {
        parts.push(Part::Literal(literal));
    }
    Ok(parts)
}

/// The group that stands behind a backslash, and what follows it.
fn group<'a>(regex: &Regex, text: &'a str) -> Result<(usize, &'a str), (String, &'static str)> {
    let help = "write `\\1`, `\\k<name>` or `\\\\` for a backslash";
    let digit = text.chars().next().and_then(|letter| letter.to_digit(10));
    if let Some(number) = digit.map(|digit| digit as usize) {
        if number >= regex.captures_len() {
            return Err((format!("`with`: there is no group `{number}`"), help));
        }
        return Ok((number, &text[1..]));
    }
    let Some((name, after)) = text.strip_prefix("k<").and_then(|text| text.split_once('>')) else {
        return Err(("`with`: a backslash without a group behind it".to_owned(), help));
    };
    match regex.capture_names().position(|known| known == Some(name)) {
        Some(number) => Ok((number, after)),
        None => Err((format!("`with`: there is no group `{name}`"), help)),
    }
}

fn check(out: &mut String, start: usize, bytes_max: usize) -> Result<(), ()> {
    if out.len() - start > bytes_max {
        out.truncate(start);
        return Err(());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(regex: &str, with: &str, text: &str, expect: Option<&str>) {
        let gsub = Gsub::compile(Target::Content, regex, with).unwrap();
        let mut out = "before".to_owned();
        let changed = gsub.write(text, 1000, &mut out).unwrap();
        assert_eq!(changed.then(|| &out["before".len()..]), expect, "{regex} on {text}");
        assert!(changed || out == "before");
    }

    #[test]
    fn everything_that_matches_is_replaced() {
        check(r"\x1b\[[0-9;]*m", "", "\u{1b}[31mred\u{1b}[0m", Some("red"));
        check(r"(\w+)=(\d+)", r"\2=\1", "a=1 b=2", Some("1=a 2=b"));
        check(r"(?<key>\w)=\d", r"\k<key>\\\0", "a=1", Some(r"a\a=1"));
        check("x", "$1", "axb", Some("a$1b"));
        check("x", "y", "ab", None);
        check("^", "> ", "line", Some("> line"));
        check("显存", "memory ", "显存不足", Some("memory 不足"));
        check(".+", "", "all of it", Some(""));
    }

    #[test]
    fn a_result_has_a_bound() {
        let gsub = Gsub::compile(Target::Content, "", "0123456789").unwrap();
        let mut out = String::new();
        assert_eq!(gsub.write(&"x".repeat(1000), 5000, &mut out), Err(()));
        assert_eq!(out, "");
    }

    #[test]
    fn errors_name_their_place() {
        let error = |regex, with| Gsub::compile(Target::Content, regex, with).unwrap_err();
        assert_eq!(error("a(b", "").span, 1..2);
        assert_eq!(error("a", r"\1").message, "`with`: there is no group `1`");
        assert_eq!(error("a", r"\k<b>").message, "`with`: there is no group `b`");
        let message = "`with`: a backslash without a group behind it";
        assert_eq!(error("a", r"\x").message, message);
        let large = error(r"(\w{1000}){1000}", "").message;
        assert_eq!(large, "the compiled expression is too large");
    }
}
