//! Definitions of patterns that users bring: the lines of their files, and what is wrong with them.
//!
//! What it is for: a fault in a definition is best told where the definition stands, and not at the
//! pattern that refers to it. Invariant: a line is read as Logstash reads it, and no line is lost:
//! what Logstash passes over comes out without an expression. Next on the trip: [`super::syntax`],
//! which looks definitions up.

use std::ops::Range;

use super::regex::SyntaxError;
use super::syntax::{Definitions, expand};
use super::types::GrokError;
use super::{GrokOptions, field, regex};

/// One line of a file of patterns that is neither empty nor a comment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PatternLine<'t> {
    /// What `%{NAME}` refers to it by.
    pub name: &'t str,
    /// The regular expression, without white space around it; empty where the line has none.
    pub regex: &'t str,
    /// Bytes of the file that the name takes.
    pub name_span: Range<usize>,
    /// Bytes of the file that the regular expression takes.
    pub regex_span: Range<usize>,
}

impl PatternLine<'_> {
    /// Whether a reference can name it: letters, digits and `_`.
    pub fn can_be_named(&self) -> bool {
        self.name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    }
}

/// The lines of a file of patterns: `NAME regex`, with `#` before comments.
pub fn pattern_lines(text: &str) -> impl Iterator<Item = PatternLine<'_>> {
    let mut end = 0;
    text.split_inclusive('\n').filter_map(move |line| {
        let start = end;
        end += line.len();
        pattern_line(line, start)
    })
}

fn pattern_line(line: &str, start: usize) -> Option<PatternLine<'_>> {
    // Some editors write a byte order mark at the start of a file.
    let bare = line.trim_start_matches(|it: char| it.is_whitespace() || it == '\u{feff}');
    let trimmed = bare.trim_end();
    if trimmed.is_empty() || trimmed.starts_with('#') {
        return None;
    }
    let at = start + line.len() - bare.len();
    let (name, rest) = match trimmed.find(char::is_whitespace) {
        Some(space) => trimmed.split_at(space),
        None => (trimmed, ""),
    };
    let regex = rest.trim_start();
    let regex_end = at + trimmed.len();
    Some(PatternLine {
        name,
        regex,
        name_span: at..at + name.len(),
        regex_span: regex_end - regex.len()..regex_end,
    })
}

/// What is wrong with the options' definitions by themselves: the index of each, and a fault whose
/// bytes are those of its regular expression. A definition without a fault may still be too large
/// for a pattern that refers to it.
pub fn check_definitions(options: &GrokOptions) -> Vec<(usize, GrokError)> {
    let mut faults = Vec::new();
    let mut known = known(options, &mut faults);
    for (index, (_, regex)) in options.definitions.iter().enumerate() {
        let additions = known.additions();
        if let Err(error) = check(regex, &mut known, options) {
            faults.push((index, error));
        }
        // What an expression defines inside itself holds for that expression alone.
        if known.additions() != additions {
            known = self::known(options, &mut Vec::new());
        }
    }
    faults.sort_by_key(|(index, _)| *index);
    faults.dedup_by_key(|(index, _)| *index);
    faults
}

/// The definitions that can be looked up.
fn known(options: &GrokOptions, faults: &mut Vec<(usize, GrokError)>) -> Definitions {
    let mut known = Definitions::stock(options.set);
    for (index, (name, regex)) in options.definitions.iter().enumerate() {
        if let Err(error) = known.add(name, regex, 0..regex.len()) {
            faults.push((index, error));
        }
    }
    known
}

fn check(regex: &str, known: &mut Definitions, options: &GrokOptions) -> Result<(), GrokError> {
    let expanded = expand(regex, known, options.named_captures_only)?;
    let fault = |error: SyntaxError| GrokError {
        span: expanded.origin(error.span),
        message: error.message,
        help: error.help.map(str::to_owned),
    };
    let tree = regex::parse(&expanded.text).map_err(fault)?;
    field::assign(&tree, &[]).map_err(fault)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: &[(&str, &str)]) {
        let lines: Vec<PatternLine<'_>> = pattern_lines(text).collect();
        let found: Vec<(&str, &str)> = lines.iter().map(|line| (line.name, line.regex)).collect();
        assert_eq!(found, expect, "{text:?}");
        for line in lines {
            assert_eq!((&text[line.name_span], &text[line.regex_span]), (line.name, line.regex));
        }
    }

    #[test]
    fn lines_of_a_file() {
        check("STEP step [0-9]+\n", &[("STEP", "step [0-9]+")]);
        check("# words\n\n  # more\n STEP\tx \r\nB  y z", &[("STEP", "x"), ("B", "y z")]);
        check("\u{feff}A a\nB b", &[("A", "a"), ("B", "b")]);
        check("ALONE\n训 x", &[("ALONE", ""), ("训", "x")]);
        check("", &[]);
        let names: Vec<bool> =
            pattern_lines("A_1 x\nA-1 x\n训 x").map(|line| line.can_be_named()).collect();
        assert_eq!(names, [true, false, false]);
    }

    #[test]
    fn faults_stand_in_the_definition() {
        let definitions = [
            ("FINE", "%{LATER:x}"),
            ("LATER", "%{INLINE=[0-9]+}b"),
            ("OPEN", "a("),
            ("UNKNOWN", "x %{WROD}"),
            ("SPACE", "a "),
            ("LOCAL", "%{INLINE}"),
        ];
        let options = GrokOptions {
            definitions: definitions.map(|(name, it)| (name.into(), it.into())).to_vec(),
            ..GrokOptions::default()
        };
        let found: Vec<(usize, &str)> = check_definitions(&options)
            .into_iter()
            .map(|(index, error)| (index, &definitions[index].1[error.span]))
            .collect();
        assert_eq!(found, [(2, "("), (3, "%{WROD}"), (4, "a "), (5, "%{INLINE}")]);
    }
}
