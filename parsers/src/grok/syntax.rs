//! `%{NAME:field:type}`: a grok pattern becomes one regular expression, as Logstash expands it.
//!
//! What it is for: expansion is textual, so that everything Logstash's patterns rely on holds
//! (inline flags that reach into definitions, junk before the closing brace, definitions inside a
//! reference); beside the text stands where in the pattern each byte came from. Invariant:
//! expansion ends, after a bounded number of references and within a bounded size. Next on the
//! trip: [`super::regex`] parses the text.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::OnceLock;

use pcre2::bytes::Regex;

use super::stock;
use super::types::GrokError;
use super::{GrokOptions, PatternSet};
use crate::suggest;

/// As many references does Logstash expand before it calls a pattern recursive.
const EXPANSIONS_MAX: usize = 10_000;
/// Bytes of a pattern and of one definition.
const PATTERN_BYTES_MAX: usize = 64 * 1024;
/// Bytes of an expanded pattern; the largest stock pattern has some ten thousand.
const EXPANDED_BYTES_MAX: usize = 256 * 1024;

/// The names that a pattern may refer to.
pub(super) struct Definitions {
    set: PatternSet,
    custom: HashMap<String, String>,
}

/// A regular expression in Ruby's syntax, and where it came from.
pub(super) struct Expanded {
    pub(super) text: String,
    origins: Vec<(u32, u32)>,
}

impl Definitions {
    /// The stock patterns with the options' own definitions over them.
    pub(super) fn new(options: &GrokOptions) -> Result<Definitions, GrokError> {
        let mut definitions = Definitions { set: options.set, custom: HashMap::new() };
        for (name, regex) in &options.definitions {
            definitions.add(name, regex, 0..0)?;
        }
        Ok(definitions)
    }

    fn add(&mut self, name: &str, regex: &str, span: Range<usize>) -> Result<(), GrokError> {
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
        Ok(())
    }

    fn get(&self, name: &str) -> Option<&str> {
        match self.custom.get(name) {
            Some(regex) => Some(regex),
            None => stock::definition(self.set, name),
        }
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
                span: pattern_span,
                message: format!("more than {EXPANSIONS_MAX} references in one pattern"),
                help: Some(format!("does `{}` refer to itself?", reference.name)),
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
                span: pattern_span,
                message: format!("the expanded pattern is longer than {EXPANDED_BYTES_MAX} bytes"),
                help: Some(format!("does `{}` refer to itself?", reference.name)),
            });
        }
        from = reference.range.start;
        origins.splice(reference.range.clone(), std::iter::repeat_n(span, expanded.len()));
        text.replace_range(reference.range, &expanded);
    }
    Ok(Expanded { text, origins })
}

/// One `%{…}`.
struct Reference {
    range: Range<usize>,
    name: String,
    subname: Option<String>,
    definition: Option<String>,
}

impl Reference {
    /// The first reference at or after a position. `%{` that does not read as one stays as it is.
    fn find(
        text: &str,
        mut from: usize,
        origins: &[(u32, u32)],
    ) -> Result<Option<Reference>, GrokError> {
        let bytes = text.as_bytes();
        while let Some(found) = text[from..].find("%{") {
            let start = from + found;
            from = start + 2;
            let name = run(bytes, from, is_name_byte);
            if name.is_empty() {
                continue;
            }
            let mut at = name.end;
            let mut subname = None;
            if bytes.get(at) == Some(&b':') {
                let range = run(bytes, at + 1, is_subname_byte);
                if !range.is_empty() {
                    at = range.end;
                    subname = Some(text[range].to_owned());
                }
            }
            // Every reference ends in the brace: without one there is none from here on.
            let Some(brace) = memchr::memchr(b'}', &bytes[at..]) else { return Ok(None) };
            let mut end = at + brace + 1;
            let mut definition = None;
            if bytes.get(at) == Some(&b'=')
                && let Some((range, after)) = inline_definition(text, at, start, origins)?
            {
                definition = Some(text[range].to_owned());
                end = after;
            }
            let name = text[name].to_owned();
            return Ok(Some(Reference { range: start..end, name, subname, definition }));
        }
        Ok(None)
    }
}

fn run(bytes: &[u8], from: usize, accept: fn(u8) -> bool) -> Range<usize> {
    let length = bytes[from..].iter().take_while(|byte| accept(**byte)).count();
    from..from + length
}

/// Logstash's `[A-z0-9]`, with the six characters that lie between Z and a.
fn is_name_byte(byte: u8) -> bool {
    matches!(byte, b'A'..=b'z' | b'0'..=b'9')
}

fn is_subname_byte(byte: u8) -> bool {
    is_name_byte(byte) || matches!(byte, b'@' | b':' | b'.' | b'-')
}

/// The definition after `=`, and the end of the reference. How far it reaches where braces and
/// backslashes mix is Logstash's rule and no simpler one: after a backslash it takes what it can.
fn inline_definition(
    text: &str,
    equals: usize,
    start: usize,
    origins: &[(u32, u32)],
) -> Result<Option<(Range<usize>, usize)>, GrokError> {
    const RULE: &str = concat!(
        r"(*LIMIT_MATCH=100000)(*LF)\G=((?:(?:[^{}\\]+|\\.+)+|",
        r"(?<curly>\{(?:(?>[^{}]+|(?>\\[{}])+)|(?&curly))*\})+)+)[^}]*\}",
    );
    static REGEX: OnceLock<Regex> = OnceLock::new();
    let regex = REGEX.get_or_init(|| Regex::new(RULE).expect("the rule is constant"));
    let mut locations = regex.capture_locations();
    match regex.captures_read_at(&mut locations, text.as_bytes(), equals) {
        Ok(None) => Ok(None),
        Ok(Some(whole)) => {
            let (start, end) = locations.get(1).expect("the group takes part in every match");
            Ok(Some((start..end, whole.end())))
        }
        Err(_) => Err(GrokError {
            span: origins[start].0 as usize..origins[equals].1 as usize,
            message: "an inline definition with too many braces to be taken apart".to_owned(),
            help: Some("define it by name".to_owned()),
        }),
    }
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
        let defined = [("LOOP", "a%{LOOP}"), ("DEEP", "%{NOTHING}")];
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
        let help = Some("does `LOOP` refer to itself?");
        check_error("x%{LOOP:x}", 1..10, "more than 10000 references in one pattern", help);
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
