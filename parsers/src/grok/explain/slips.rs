//! Slips of the pen in a pattern's references: what Logstash passes over in silence.
//!
//! Invariant: a pattern means what it means in Logstash, slips or none; a slip is told and changes
//! nothing. Next on the trip: `grok --explain` and `check` print them.

use std::ops::Range;

use super::super::reference::{Opening, Reference};
use super::super::types::FieldType;
use super::lint::{FINDINGS_MAX, Finding, FindingKind};

/// What is hardly meant in the references of a pattern, or of a definition of one.
pub fn slips(pattern: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut from = 0;
    while let Some(found) = pattern[from..].find("%{")
        && findings.len() < FINDINGS_MAX
    {
        let start = from + found;
        from = start + 2;
        let next = pattern[from..].find("%{").map_or(pattern.len(), |next| from + next);
        match Opening::read(pattern, start) {
            Ok(Opening::NoName) => findings.push(Finding {
                kind: FindingKind::Unclosed,
                span: start..start + 2,
                message: "`%{` without a name behind it stands for itself".to_owned(),
                help: r"write `%{NAME:field}`, or `%\{` where it is meant",
            }),
            Ok(Opening::Unclosed) => findings.push(unclosed(start..next, "and stands for itself")),
            Ok(Opening::Reference(reference)) => {
                let junk = &pattern[reference.junk.clone()];
                if junk.contains("%{") {
                    findings.push(unclosed(start..next, "and swallows what follows"));
                } else {
                    from = reference.range.end;
                    findings.extend(ignored(&reference, junk));
                    findings.extend(unknown_type(&reference));
                }
            }
            // It does not compile, which is said elsewhere.
            Err(_) => {}
        }
    }
    findings.extend(typed_groups(pattern));
    findings.truncate(FINDINGS_MAX);
    findings
}

/// `(?<step:int>…)`: of two parts of a group's name the second is the field.
fn typed_groups(pattern: &str) -> impl Iterator<Item = Finding> {
    pattern.match_indices("(?<").filter_map(|(at, open)| {
        let start = at + open.len();
        let name = &pattern[start..start + pattern[start..].find('>')?];
        let (_, kind) = name.split_once(':')?;
        // What begins so is a look-behind.
        let is_typed = !name.starts_with(['=', '!']) && FieldType::parse(kind).is_some();
        is_typed.then(|| Finding {
            kind: FindingKind::UnknownType,
            span: start..start + name.len(),
            message: format!("a group has no type: its field is named `{kind}`"),
            help: "define a pattern for it, and write `%{NAME:field:type}`",
        })
    })
}

fn unclosed(span: Range<usize>, consequence: &str) -> Finding {
    Finding {
        kind: FindingKind::Unclosed,
        span,
        message: format!("`%{{` is never closed {consequence}"),
        help: r"close it with `}`, or write `%\{` where it is meant",
    }
}

/// `%{INT :n}`: what does not read as a field's name stops the reading, up to the brace.
fn ignored(reference: &Reference, junk: &str) -> Option<Finding> {
    if junk.is_empty() {
        return None;
    }
    let consequence = match &reference.subname {
        None => format!(", so that `{}` is no field", reference.name),
        Some(_) => String::new(),
    };
    Some(Finding {
        kind: FindingKind::Ignored,
        span: reference.junk.clone(),
        message: format!("`{junk}` is not looked at{consequence}"),
        help: "write `%{NAME:field}`: names are ASCII letters, digits and `_`, those of fields \
               also `@`, `.`, `-` and `[…]`",
    })
}

fn unknown_type(reference: &Reference) -> Option<Finding> {
    let subname = reference.subname.as_ref()?.trim_end_matches(':');
    let (_, kind) = subname.split_once(':')?;
    let rest = kind.split_once(':');
    if rest.is_none() && FieldType::parse(kind).is_some() {
        return None;
    }
    let end = reference.junk.start.min(reference.range.end - 1);
    let message = match rest {
        None => format!("`{kind}` is no type: the field stays a text"),
        Some((first, _)) => format!("`{first}` is taken for the type, and what follows it is lost"),
    };
    // An inline definition stands between the type and the brace.
    let start = match &reference.definition {
        Some(_) => reference.range.start,
        None => end - kind.len(),
    };
    Some(Finding {
        kind: FindingKind::UnknownType,
        span: start..end,
        message,
        help: "types are `int`, `float`, `long`, `double`, `boolean` and `string`",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(pattern: &str, expect: &[(&str, &str)]) {
        let found = slips(pattern);
        let found: Vec<(&str, &str)> =
            found.iter().map(|it| (it.kind.as_str(), &pattern[it.span.clone()])).collect();
        assert_eq!(found, expect, "{pattern:?}");
    }

    #[test]
    fn what_is_passed_over_in_silence() {
        check("%{INT:n:int} %{WORD} %{A:[b][c]:boolean} %{X:y=a{2}}", &[]);
        check("%{INT", &[("unclosed", "%{INT")]);
        check("%{INT:n %{WORD:w}", &[("unclosed", "%{INT:n ")]);
        check("%{WORD:a} %{WORD:b %{INT", &[("unclosed", "%{WORD:b "), ("unclosed", "%{INT")]);
        check("%{ INT:n}", &[("unclosed", "%{")]);
        check("%{INT :n}", &[("ignored", " :n")]);
        check("%{INT:n }", &[("ignored", " ")]);
        check("%{INT:}", &[("ignored", ":")]);
        check("%{INT:数}", &[("ignored", ":数")]);
        check("%{MY-INT:n}", &[("ignored", "-INT:n")]);
        check("%{INT:n:bool} x", &[("unknown_type", "bool")]);
        check("%{INT:n:int:x}", &[("unknown_type", "int:x")]);
        check("%{N:n:bool=[0-9]+}", &[("unknown_type", "%{N:n:bool=[0-9]+")]);
        check("100%{", &[("unclosed", "%{")]);
        check("(?<n:int>[0-9]+)(?<=a)(?<!b:int>)", &[("unknown_type", "n:int")]);
        check("(?<X:n:int>[0-9]+) (?<n>a:int>) (?<n", &[]);
    }

    #[test]
    fn words_say_what_follows_from_it() {
        let message = |pattern: &str| slips(pattern).remove(0).message;
        assert_eq!(message("%{INT :n}"), "` :n` is not looked at, so that `INT` is no field");
        assert_eq!(message("%{INT:n:bool}"), "`bool` is no type: the field stays a text");
        assert_eq!(message("%{A %{B:b}"), "`%{` is never closed and swallows what follows");
    }
}
