//! `%{NAME:field:type}`: a grok pattern becomes one regular expression, as Logstash expands it.
//!
//! What it is for: expansion is textual, so that everything Logstash's patterns rely on holds
//! (inline flags that reach into definitions, junk before the closing brace, definitions inside a
//! reference); beside the text stands where in the pattern each byte came from. Invariant:
//! expansion ends, after a bounded number of references and within a bounded size. Next on the
//! trip: [`super::reference`] reads each reference, [`super::regex`] parses the text.

use std::collections::HashMap;
use std::ops::Range;

use super::reference::{Reference, name_at};
use super::stock;
use super::types::GrokError;
use super::{GrokOptions, PatternSet};
use crate::suggest;

/// As many references does Logstash expand before it calls a pattern recursive.
const EXPANSIONS_MAX: usize = 10_000;
/// Bytes of a pattern and of one definition.
const PATTERN_BYTES_MAX: usize = 64 * 1024;
/// Names that a search for a definition's way back to itself looks at.
const SEARCHED_MAX: usize = 200;
/// Bytes of an expanded pattern; the largest stock pattern has some ten thousand.
const EXPANDED_BYTES_MAX: usize = 256 * 1024;

/// The names that a pattern may refer to.
pub(super) struct Definitions {
    set: PatternSet,
    custom: HashMap<String, String>,
    /// Definitions added, a later one of the same name included.
    additions: usize,
}

/// A regular expression in Ruby's syntax, and where it came from.
pub(super) struct Expanded {
    pub(super) text: String,
    origins: Vec<(u32, u32)>,
}

impl Definitions {
    /// The stock patterns alone.
    pub(super) fn stock(set: PatternSet) -> Definitions {
        Definitions { set, custom: HashMap::new(), additions: 0 }
    }

    /// The stock patterns with the options' own definitions over them.
    pub(super) fn new(options: &GrokOptions) -> Result<Definitions, GrokError> {
        let mut definitions = Definitions::stock(options.set);
        for (name, regex) in &options.definitions {
            definitions.add(name, regex, 0..0)?;
        }
        Ok(definitions)
    }

    /// How many definitions have been added.
    pub(super) fn additions(&self) -> usize {
        self.additions
    }

    /// Adds a definition; one of the same name goes. `span` is what a fault points at.
    pub(super) fn add(
        &mut self,
        name: &str,
        regex: &str,
        span: Range<usize>,
    ) -> Result<(), GrokError> {
        if regex.len() > PATTERN_BYTES_MAX {
            let message =
                format!("the definition of `{name}` is longer than {PATTERN_BYTES_MAX} bytes");
            return Err(GrokError { span, message, help: None });
        }
        if ends_a_line_in_white_space(regex) {
            return Err(GrokError {
                span,
                message: format!("the definition of `{name}` ends in white space"),
                help: Some(
                    "Logstash refuses it too; write `[ ]` for a space at the end".to_owned(),
                ),
            });
        }
        self.custom.insert(name.to_owned(), regex.to_owned());
        self.additions += 1;
        Ok(())
    }

    fn get(&self, name: &str) -> Option<&str> {
        match self.custom.get(name) {
            Some(regex) => Some(regex),
            None => stock::definition(self.set, name),
        }
    }

    /// What to do where the expansion of a reference reaches a limit: a definition that refers to
    /// itself, directly or through others, has no end; any other pattern is only too large.
    fn help(&self, reference: &str) -> String {
        let outermost: Vec<&str> = referred(reference).collect();
        let mut reached = outermost.clone();
        reached.extend(outermost.iter().flat_map(|name| self.reached(name)));
        let endless = reached.into_iter().find(|name| self.reached(name).contains(name));
        match endless {
            Some(name) => format!("`{name}` refers to itself"),
            None => "make several patterns of it".to_owned(),
        }
    }

    /// The names that a definition refers to, directly or through others.
    fn reached<'d>(&'d self, name: &str) -> Vec<&'d str> {
        let mut found: Vec<&str> = Vec::new();
        let mut next = Some(name);
        let mut index = 0;
        while let Some(name) = next {
            for inner in self.get(name).into_iter().flat_map(referred) {
                if !found.contains(&inner) && found.len() < SEARCHED_MAX {
                    found.push(inner);
                }
            }
            next = found.get(index).copied();
            index += 1;
        }
        found
    }

    fn unknown(&self, name: &str, span: Range<usize>) -> GrokError {
        let mut known: Vec<&str> = self.custom.keys().map(String::as_str).collect();
        for name in stock::names(self.set) {
            known.push(name);
        }
        let close = suggest::closest(name, known.into_iter());
        GrokError {
            span,
            message: format!("pattern `{name}` is not defined"),
            help: close.map(|close| format!("did you mean `{close}`?")),
        }
    }
}

/// The names that a definition refers to.
fn referred(definition: &str) -> impl Iterator<Item = &str> {
    definition.match_indices("%{").map(|(at, _)| name_at(definition, at))
}

/// Ruby's `\s$`: a line of the text that ends in white space, the text's own end included.
fn ends_a_line_in_white_space(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.iter().enumerate().any(|(at, byte)| {
        matches!(byte, b' ' | b'\t'..=b'\r') && matches!(bytes.get(at + 1), None | Some(b'\n'))
    })
}

impl Expanded {
    /// The bytes of the pattern that a range of the expanded text came from.
    pub(super) fn origin(&self, range: Range<usize>) -> Range<usize> {
        let Some(last) = self.origins.len().checked_sub(1) else { return 0..0 };
        let first = self.origins[range.start.min(last)];
        let end = self.origins[range.end.saturating_sub(1).clamp(range.start.min(last), last)];
        let (start, end) = (first.0.min(end.0), first.1.max(end.1));
        start as usize..end as usize
    }
}

/// Expands every reference of a pattern.
pub(super) fn expand(
    pattern: &str,
    definitions: &mut Definitions,
    named_captures_only: bool,
) -> Result<Expanded, GrokError> {
    if pattern.len() > PATTERN_BYTES_MAX {
        let message = format!("the pattern is longer than {PATTERN_BYTES_MAX} bytes");
        return Err(GrokError { span: 0..pattern.len(), message, help: None });
    }
    let mut text = pattern.to_owned();
    let mut origins: Vec<(u32, u32)> = (0..pattern.len() as u32).map(|at| (at, at + 1)).collect();
    let mut from = 0;
    let mut expansions = 0;
    while let Some(reference) = Reference::find(&text, from, &origins)? {
        let span = (origins[reference.range.start].0, origins[reference.range.end - 1].1);
        let pattern_span = span.0.min(span.1) as usize..span.1 as usize;
        expansions += 1;
        if expansions >= EXPANSIONS_MAX {
            return Err(GrokError {
                span: pattern_span.clone(),
                message: format!("more than {EXPANSIONS_MAX} references in one pattern"),
                help: Some(definitions.help(&pattern[pattern_span])),
            });
        }
        if let Some(definition) = &reference.definition {
            definitions.add(&reference.name, definition, pattern_span.clone())?;
        }
        let Some(regex) = definitions.get(&reference.name) else {
            return Err(definitions.unknown(&reference.name, pattern_span));
        };
        let expanded = match (&reference.subname, named_captures_only) {
            (None, true) => format!("(?:{regex})"),
            (None, false) => format!("(?<{}>{regex})", reference.name),
            (Some(subname), _) => format!("(?<{}:{subname}>{regex})", reference.name),
        };
        if text.len() + expanded.len() > EXPANDED_BYTES_MAX {
            return Err(GrokError {
                span: pattern_span.clone(),
                message: format!("the expanded pattern is longer than {EXPANDED_BYTES_MAX} bytes"),
                help: Some(definitions.help(&pattern[pattern_span])),
            });
        }
        from = reference.range.start;
        origins.splice(reference.range.clone(), std::iter::repeat_n(span, expanded.len()));
        text.replace_range(reference.range, &expanded);
    }
    Ok(Expanded { text, origins })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expand_with(pattern: &str, defined: &[(&str, &str)]) -> Result<Expanded, GrokError> {
        let options = GrokOptions {
            definitions: defined
                .iter()
                .map(|(name, regex)| ((*name).into(), (*regex).into()))
                .collect(),
            ..GrokOptions::default()
        };
        expand(pattern, &mut Definitions::new(&options)?, true)
    }

    #[track_caller]
    fn check(pattern: &str, expect: &str) {
        let defined = [("A", "a|b"), ("B", "%{A:x}c"), ("A^B", "z+")];
        assert_eq!(expand_with(pattern, &defined).unwrap().text, expect, "{pattern:?}");
    }

    #[test]
    fn references() {
        check("%{A}", "(?:a|b)");
        check("<%{A:f}>", "<(?<A:f>a|b)>");
        check("%{A:f:int}", "(?<A:f:int>a|b)");
        check("%{A:[a][b]}", "(?<A:[a][b]>a|b)");
        check("%{A:a b}", "(?<A:a>a|b)");
        check("%{A-X:a}", "(?:a|b)");
        check("%{A:}", "(?:a|b)");
        check("%{A:名}", "(?:a|b)");
        check("%{B:y}", "(?<B:y>(?<A:x>a|b)c)");
        check("%{A^B:v}", "(?<A^B:v>z+)");
        check("%{ A:x}", "%{ A:x}");
        check("%{A:x", "%{A:x");
        check("%{}", "%{}");
        check(r"\%{A}", r"\(?:a|b)");
    }

    #[test]
    fn inline_definitions() {
        check("%{N:f=[0-9]+}", "(?<N:f>[0-9]+)");
        check("%{N=[0-9]{2}}%{N}", "(?:[0-9]{2})(?:[0-9]{2})");
        check("%{A}%{A=x}%{A}", "(?:a|b)(?:x)(?:x)");
        check("%{N:f=a{2}{3}b}", "(?<N:f>a{2}{3}b)");
    }

    #[test]
    fn named_captures_only_false_captures_bare_references() {
        let mut definitions = Definitions::new(&GrokOptions::default()).unwrap();
        let expanded = expand("%{INT}", &mut definitions, false).unwrap();
        assert_eq!(expanded.text, "(?<INT>(?:[+-]?(?:[0-9]+)))");
    }

    #[track_caller]
    fn check_error(pattern: &str, span: Range<usize>, message: &str, help: Option<&str>) {
        let defined = [
            ("LOOP", "a%{LOOP}"),
            ("DEEP", "%{NOTHING}"),
            ("PING", "%{PONG}"),
            ("PONG", "%{PING}"),
            ("ONE", "1"),
            ("WRAP", "%{ONE}%{LOOP}"),
        ];
        let error = expand_with(pattern, &defined).err().unwrap();
        assert_eq!((error.span, &*error.message, error.help.as_deref()), (span, message, help));
    }

    #[test]
    fn errors_point_into_the_pattern() {
        check_error(
            "x %{WROD:y} z",
            2..11,
            "pattern `WROD` is not defined",
            Some("did you mean `WORD`?"),
        );
        check_error("x %{DEEP}", 2..9, "pattern `NOTHING` is not defined", None);
        let help = Some("`LOOP` refers to itself");
        let limit = "more than 10000 references in one pattern";
        check_error("x%{LOOP:x}", 1..10, limit, help);
        check_error("x%{PING}", 1..8, limit, Some("`PING` refers to itself"));
        check_error("%{WRAP}", 0..7, limit, Some("`LOOP` refers to itself"));
        let many = "%{ONE}".repeat(10_000);
        check_error(&many, 59_994..60_000, limit, Some("make several patterns of it"));
        let message = "the definition of `N` ends in white space";
        let help = Some("Logstash refuses it too; write `[ ]` for a space at the end");
        check_error("%{N:x=a }", 0..9, message, help);
    }

    #[test]
    fn sizes_are_bounded() {
        let double = ("D".to_owned(), "%{D}%{D}".to_owned());
        let options = GrokOptions { definitions: vec![double], ..GrokOptions::default() };
        let mut definitions = Definitions::new(&options).unwrap();
        assert!(expand("%{D}", &mut definitions, true).is_err());
        assert!(expand(&"x".repeat(PATTERN_BYTES_MAX + 1), &mut definitions, true).is_err());
        let many = "%{GREEDYDATA}".repeat(PATTERN_BYTES_MAX / 13);
        assert!(expand(&many, &mut definitions, true).is_ok());
    }

    #[test]
    fn white_space_at_a_line_end() {
        for (text, expect) in [
            ("a", false),
            ("a ", true),
            ("a \nb", true),
            ("a b", false),
            ("", false),
            ("a\n", true),
        ] {
            assert_eq!(ends_a_line_in_white_space(text), expect, "{text:?}");
        }
    }
}
