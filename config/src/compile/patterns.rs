//! `patterns` and `pattern_files` of a `[[parse]]`: what its expressions may refer to. Invariant: a
//! definition that is wrong is reported where it stands, in the configuration or in the file, and
//! the text of every file bears on the fingerprint. Next: `parse.rs`, whose expressions refer to
//! them.

use super::{Compiler, Inside};
use crate::diagnostic::{Diagnostic, Place, SourceFile};
use crate::document::Text;
use crate::fingerprint;
use crate::pattern_files::{self, PatternFile};
use crate::sections::ParseDraft;
use riverhog_parsers::grok::{GrokError, GrokOptions, check_definitions, slips};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// Files of patterns stand behind the configuration's own and before the host table.
const ORDER_FIRST: usize = usize::MAX / 2;

/// Where a definition stands.
enum Origin<'a> {
    /// Its text in the configuration.
    Inline(&'a Text),
    /// The place of its expression, and the setting that names the file.
    File(Place, &'a Text),
}

/// The options that a rule's expressions are compiled with; none where a definition is wrong.
/// Inline definitions come last: they win.
pub(super) fn options(compiler: &Compiler<'_>, draft: &ParseDraft) -> Option<GrokOptions> {
    let mut definitions: Vec<(String, String)> = Vec::new();
    let mut origins = Vec::new();
    let mut fine = true;
    for (index, (path, text)) in draft.pattern_files.iter().enumerate() {
        match read(compiler, path, text) {
            Some(files) => {
                for file in files {
                    let order = compiler.next_file(ORDER_FIRST);
                    let note = format!("{}.pattern_files[{index}].text", draft.path);
                    let hash = fingerprint::hash(file.text.as_bytes());
                    compiler.context.note(note, format!("{hash:016x}"));
                    for (definition, place) in of_file(compiler, &file, order, text) {
                        definitions.push(definition);
                        origins.push(Origin::File(place, text));
                    }
                }
            }
            None => fine = false,
        }
    }
    for (name, place, text) in &draft.patterns {
        let allowed = |it: char| it.is_ascii_alphanumeric() || it == '_';
        if name.is_empty() || !name.chars().all(allowed) {
            let message = format!("`{name}` cannot be the name of a pattern");
            compiler.context.error(place, message, "use letters, digits and `_`");
            fine = false;
        }
        definitions.push((name.clone(), text.value.clone()));
        origins.push(Origin::Inline(text));
    }
    let options = GrokOptions {
        set: draft.set,
        definitions,
        named_captures_only: true,
        keep_empty_captures: draft.keep_empty_captures,
        target: draft.target.as_ref().map(|it| it.value.clone()).unwrap_or_default(),
    };
    for (definition, origin) in options.definitions.iter().zip(&origins) {
        warn_of_definition(compiler, draft, definition, origin);
    }
    for (index, error) in check_definitions(&options) {
        report(compiler, draft, &options.definitions[index].0, &origins[index], error);
        fine = false;
    }
    fine.then_some(options)
}

fn read(compiler: &Compiler<'_>, path: &Path, text: &Text) -> Option<Vec<PatternFile>> {
    match pattern_files::read_pattern_files(path) {
        Ok(files) => {
            if files.iter().all(|file| file.definitions().next().is_none()) {
                let message = format!("`{}` holds no pattern", text.shown());
                let help = "write a name and a regular expression on a line: `STEP step [0-9]+`";
                compiler.context.warn(&text.place, message, help);
            }
            Some(files)
        }
        Err(message) => {
            let message = if text.is_secret() {
                format!("`{}` cannot be read", text.shown())
            } else {
                message
            };
            let help = "a relative path starts at the folder of this file";
            compiler.context.error(&text.place, message, help);
            None
        }
    }
}

/// The definitions of a file with their places. Lines that Logstash passes over are passed over
/// with a warning.
fn of_file(
    compiler: &Compiler<'_>,
    file: &PatternFile,
    order: usize,
    setting: &Text,
) -> Vec<((String, String), Place)> {
    let name =
        if setting.is_secret() { setting.shown().into() } else { file.path.to_string_lossy() };
    let source = Arc::new(SourceFile::new(name.into_owned(), file.text.clone(), order));
    let mut found = Vec::new();
    for line in file.lines() {
        let warning = if line.regex.is_empty() {
            let message = format!("the line of the pattern `{}` has no expression", line.name);
            Some((message, "it is left out, as in Logstash; give it one or take it out"))
        } else if line.can_be_named() {
            None
        } else {
            let message = format!("`{}` cannot be the name of a pattern", line.name);
            Some((message, "no `%{NAME}` can refer to it; use letters, digits and `_`"))
        };
        if let Some((message, help)) = warning {
            let problem =
                Diagnostic::warning(&Place::new(&source, line.name_span.clone()), message, help);
            compiler.context.report(problem.with_related(&setting.place, "named here"));
            continue;
        }
        let definition = (line.name.to_owned(), line.regex.to_owned());
        found.push((definition, Place::new(&source, line.regex_span)));
    }
    found
}

/// Slips of the references of a string: grok passes over them in silence.
pub(super) fn warn(compiler: &Compiler<'_>, name: &str, text: &Text) {
    for slip in slips(&text.value) {
        let message = if text.is_secret() {
            "a reference that is hardly what was meant; it holds values from outside".to_owned()
        } else {
            slip.message
        };
        let place = text.place_of(slip.span);
        compiler.context.warn(&place, format!("`{name}`: {message}"), slip.help);
    }
}

fn warn_of_definition(
    compiler: &Compiler<'_>,
    draft: &ParseDraft,
    (name, regex): &(String, String),
    origin: &Origin<'_>,
) {
    match origin {
        Origin::Inline(text) => warn(compiler, &format!("{}.patterns.{name}", draft.path), text),
        Origin::File(place, setting) => {
            for slip in slips(regex) {
                let message = format!("the pattern `{name}`: {}", slip.message);
                let problem = Diagnostic::warning(&inside(place, slip.span), message, slip.help);
                compiler.context.report(problem.with_related(&setting.place, "named here"));
            }
        }
    }
}

/// A stretch of a definition of a file.
fn inside(place: &Place, span: Range<usize>) -> Place {
    let start = place.span().start;
    Place::new(place.file(), start + span.start..start + span.end)
}

fn report(
    compiler: &Compiler<'_>,
    draft: &ParseDraft,
    name: &str,
    origin: &Origin<'_>,
    error: GrokError,
) {
    let fallback = "a field is `%{PATTERN:name}`; escape what is meant literally with `\\`";
    match origin {
        Origin::Inline(text) => {
            let inside = Inside { span: error.span, message: error.message, help: error.help };
            let path = format!("{}.patterns.{name}", draft.path);
            compiler.report(&path, text, inside, fallback);
        }
        Origin::File(place, setting) => {
            let message = format!("the pattern `{name}`: {}", error.message);
            let help = error.help.unwrap_or_else(|| fallback.to_owned());
            let problem = Diagnostic::error(&inside(place, error.span), message, help);
            compiler.context.report(problem.with_related(&setting.place, "named here"));
        }
    }
}
