//! `${NAME}`, `${NAME:-default}`, `${file:PATH}` and `$$` inside string values. Invariant: done
//! after parsing, so a value can never add keys or change a span; what came from outside is
//! remembered as unprintable. Next: `files.rs`.

use super::strings::MapBuilder;
use super::{PositionMap, Text};
use crate::diagnostic::{Diagnostic, Place};
use crate::env::Env;
use std::ops::Range;
use std::path::Path;

/// Resolves the references in a string; problems are added to `problems`, and what could not be
/// resolved becomes empty.
pub(super) fn resolve(
    value: String,
    place: Place,
    map: PositionMap,
    surroundings: (&dyn Env, &Path),
    problems: &mut Vec<Diagnostic>,
) -> Text {
    if !value.contains('$') {
        return Text { value, place, written: None, unresolved: false, map };
    }
    let mut out = String::with_capacity(value.len());
    let mut builder = MapBuilder::new(&map);
    let (mut outside, mut unresolved) = (false, false);
    let mut position = 0;
    while position < value.len() {
        let rest = &value[position..];
        let run = rest.find('$').unwrap_or(rest.len());
        out.push_str(&rest[..run]);
        builder.copied(position..position + run);
        position += run;
        let rest = &value[position..];
        if rest.starts_with("$$") {
            out.push('$');
            builder.replaced(position..position + 2, 1);
            position += 2;
        } else if rest.starts_with("${") {
            let length = rest.find('}').map_or(rest.len(), |at| at + 1);
            let range = position..position + length;
            match reference(rest, length).and_then(|it| it.look_up(surroundings)) {
                Ok(found) => {
                    out.push_str(&found);
                    builder.replaced(range.clone(), found.len());
                }
                Err((message, help)) => {
                    let at = Place::new(place.file(), map.source_of(range.clone()));
                    problems.push(Diagnostic::error(&at, message, help));
                    unresolved = true;
                }
            }
            outside = true;
            position = range.end;
        } else if !rest.is_empty() {
            // A lone dollar sign, such as the end of a regular expression, stands for itself.
            out.push('$');
            builder.copied(position..position + 1);
            position += 1;
        }
    }
    let map = builder.finish();
    Text { value: out, place, written: outside.then_some(value), unresolved, map }
}

/// What a `${…}` asks for.
#[derive(Debug, PartialEq)]
enum Reference<'a> {
    Variable { name: &'a str, default: Option<&'a str> },
    File { path: &'a str },
}

type Problem = (String, String);

fn reference(text: &str, length: usize) -> Result<Reference<'_>, Problem> {
    let escape = "write `$$` where a dollar sign is meant";
    let Some(inside) = text[..length].strip_prefix("${").and_then(|it| it.strip_suffix('}')) else {
        return Err(("`${` is never closed".to_owned(), format!("add `}}`, or {escape}")));
    };
    if let Some(path) = inside.strip_prefix("file:") {
        return match path.trim() {
            "" => Err(("`${file:}` names no file".to_owned(), "write `${file:PATH}`".to_owned())),
            path => Ok(Reference::File { path }),
        };
    }
    let (name, default) = match inside.split_once(":-") {
        Some((name, default)) => (name, Some(default)),
        None => (inside, None),
    };
    let valid: Range<usize> = 1..129;
    if !valid.contains(&name.len())
        || name.starts_with(|it: char| it.is_ascii_digit())
        || !name.chars().all(|it| it.is_ascii_alphanumeric() || it == '_')
    {
        return Err((
            format!("`{name}` cannot be the name of an environment variable"),
            format!("write `${{NAME}}`, `${{NAME:-default}}` or `${{file:PATH}}`, or {escape}"),
        ));
    }
    Ok(Reference::Variable { name, default })
}

impl Reference<'_> {
    fn look_up(&self, (env, folder): (&dyn Env, &Path)) -> Result<String, Problem> {
        match *self {
            Self::Variable { name, default } => match (env.var(name), default) {
                (Some(value), Some(default)) if value.is_empty() => Ok(default.to_owned()),
                (Some(value), _) => Ok(value),
                (None, Some(default)) => Ok(default.to_owned()),
                (None, None) => Err((
                    format!("the environment variable `{name}` is not set"),
                    format!("set it, or give a default: `${{{name}:-…}}`"),
                )),
            },
            Self::File { path } => match env.read_secret(&folder.join(path)) {
                // Editors and `kubectl create secret` end files with a newline.
                Ok(text) => Ok(text.trim_end_matches(['\n', '\r']).to_owned()),
                Err(error) => Err((
                    format!("the file `{path}` cannot be read: {error}"),
                    "a relative path starts at the folder of this configuration file".to_owned(),
                )),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::SourceFile;
    use std::sync::Arc;

    struct Fixed;

    impl Env for Fixed {
        fn var(&self, name: &str) -> Option<String> {
            match name {
                "HOST" => Some("kafka-1".to_owned()),
                "EMPTY" => Some(String::new()),
                _ => None,
            }
        }

        fn read_secret(&self, path: &Path) -> std::io::Result<String> {
            match path.to_str() {
                Some("/etc/riverhog/secret") => Ok("s3cret\r\n".to_owned()),
                _ => Err(std::io::ErrorKind::NotFound.into()),
            }
        }
    }

    fn resolved(value: &str) -> (Text, Vec<Diagnostic>) {
        let text = format!("'{value}'");
        let file = Arc::new(SourceFile::new("t".to_owned(), text, 0));
        let place = Place::new(&file, 0..value.len() + 2);
        let map = PositionMap::of_literal(&file.text, 0, value);
        let mut problems = Vec::new();
        let surroundings: (&dyn Env, &Path) = (&Fixed, Path::new("/etc/riverhog"));
        let text = resolve(value.to_owned(), place, map, surroundings, &mut problems);
        (text, problems)
    }

    fn check(value: &str, expect: &str) {
        let (text, problems) = resolved(value);
        assert_eq!((text.value.as_str(), problems), (expect, vec![]), "{value}");
    }

    #[test]
    fn references_are_resolved_and_dollars_kept() {
        check("${HOST}:9092", "kafka-1:9092");
        check("${MISSING:-local}:${EMPTY:-1}${EMPTY}", "local:1");
        check("${file:secret}", "s3cret");
        check("^a$|$b$$ $${HOST}", "^a$|$b$ ${HOST}");
        check("%{WORD:a}", "%{WORD:a}");
    }

    #[test]
    fn what_came_from_outside_is_not_shown() {
        let (text, _) = resolved("${HOST}:9092");
        assert!(text.is_secret());
        assert_eq!(text.shown(), "${HOST}:9092");
        assert!(!resolved("a$$b").0.is_secret());
    }

    #[test]
    fn positions_survive() {
        let (text, _) = resolved("${HOST}-{oops}");
        let at = text.value.find("{oops}").expect("kept");
        assert_eq!(text.place_of(at..at + 6).span(), 9..15);
    }

    #[test]
    fn every_bad_reference_is_a_problem_at_its_place() {
        for (value, message, span) in [
            ("a ${NOPE}", "the environment variable `NOPE` is not set", 3..10),
            ("${HOST", "`${` is never closed", 1..7),
            ("${}", "`` cannot be the name of an environment variable", 1..4),
            ("${1A}", "`1A` cannot be the name of an environment variable", 1..6),
            ("${file:}", "`${file:}` names no file", 1..9),
        ] {
            let (_, problems) = resolved(value);
            assert_eq!(problems.len(), 1, "{value}");
            assert_eq!(problems[0].message, message);
            assert_eq!(problems[0].place.as_ref().map(Place::span), Some(span), "{value}");
        }
    }
}
