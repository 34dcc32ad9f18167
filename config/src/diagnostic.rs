//! What is wrong with a configuration, where, and how to cure it. Invariant: every diagnostic has a
//! cure, and its place never lies outside its file's text. Next stop: `render.rs`.

use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// One file of a configuration as it was read.
#[derive(Debug)]
pub struct SourceFile {
    /// The path as the user would type it.
    pub name: String,
    /// The whole text.
    pub text: String,
    /// Position among the files of one configuration; diagnostics are sorted by it.
    pub order: usize,
    /// Where its lines begin; found when the first place is asked for its line.
    lines: OnceLock<Vec<usize>>,
}

impl SourceFile {
    /// A file as it was read.
    pub fn new(name: String, text: String, order: usize) -> Self {
        Self { name, text, order, lines: OnceLock::new() }
    }

    /// Number of the line that holds a byte, from 0, and where that line begins.
    fn line_at(&self, at: usize) -> (usize, usize) {
        let lines = self.lines.get_or_init(|| {
            let ends = self.text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
            std::iter::once(0).chain(ends.map(|(at, _)| at + 1)).collect()
        });
        let index = lines.partition_point(|start| *start <= at).saturating_sub(1);
        (index, lines[index])
    }
}

impl PartialEq for SourceFile {
    fn eq(&self, other: &Self) -> bool {
        (self.order, &self.name, &self.text) == (other.order, &other.name, &other.text)
    }
}

impl Eq for SourceFile {}

/// A stretch of a file.
#[derive(Clone, PartialEq, Eq)]
pub struct Place {
    file: Arc<SourceFile>,
    // Invariant: within the text and on character boundaries.
    span: Range<usize>,
}

impl Place {
    /// A stretch of bytes; what lies outside the text or inside a character is moved to fit.
    pub fn new(file: &Arc<SourceFile>, span: Range<usize>) -> Self {
        let start = file.text.floor_char_boundary(span.start);
        let end = file.text.ceil_char_boundary(span.end.min(file.text.len())).max(start);
        Self { file: Arc::clone(file), span: start..end }
    }

    /// The file.
    pub fn file(&self) -> &Arc<SourceFile> {
        &self.file
    }

    /// The bytes of the file's text.
    pub fn span(&self) -> Range<usize> {
        self.span.clone()
    }

    /// Line, from 1.
    pub fn line(&self) -> usize {
        self.file.line_at(self.span.start).0 + 1
    }

    /// Column in characters, from 1.
    pub fn column(&self) -> usize {
        let line_start = self.file.line_at(self.span.start).1;
        self.file.text[line_start..self.span.start].chars().count() + 1
    }
}

impl fmt::Debug for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}:{}", self.file.name, self.line(), self.column())
    }
}

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// The configuration cannot be used.
    Error,
    /// It can, but is hardly what was meant.
    Warning,
}

/// One problem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// What is wrong: lower case, no full stop, with the setting's name and value.
    pub message: String,
    /// Where; absent only when a whole file cannot be read.
    pub place: Option<Place>,
    /// Other places that have to do with it, each with its part in it.
    pub related: Vec<(Place, String)>,
    /// The cure.
    pub help: String,
}

impl Diagnostic {
    /// A problem that keeps the configuration from being used.
    pub fn error(place: &Place, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self {
            severity: Severity::Error,
            message: message.into(),
            place: Some(place.clone()),
            related: Vec::new(),
            help: help.into(),
        }
    }

    /// A problem that does not.
    pub fn warning(place: &Place, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(place, message, help) }
    }

    /// A file that could not be read at all.
    pub fn unreadable(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self {
            severity: Severity::Error,
            message: message.into(),
            place: None,
            related: Vec::new(),
            help: help.into(),
        }
    }

    /// Adds another place that has to do with it.
    pub fn with_related(mut self, place: &Place, label: impl Into<String>) -> Self {
        self.related.push((place.clone(), label.into()));
        self
    }

    /// One object for `--format json`.
    pub fn to_json(&self) -> serde_json::Value {
        let severity = match self.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        let related: Vec<_> = self
            .related
            .iter()
            .map(|(place, label)| {
                let mut related = place_json(Some(place));
                related["label"] = label.as_str().into();
                related
            })
            .collect();
        let mut json = place_json(self.place.as_ref());
        json["severity"] = severity.into();
        json["message"] = self.message.as_str().into();
        json["help"] = self.help.as_str().into();
        json["related"] = related.into();
        json
    }

    fn sort_key(&self) -> (usize, usize, usize, Severity) {
        let (order, start, end) = match &self.place {
            Some(place) => (place.file.order, place.span.start, place.span.end),
            None => (usize::MAX, 0, 0),
        };
        (order, start, end, self.severity)
    }
}

fn place_json(place: Option<&Place>) -> serde_json::Value {
    match place {
        Some(place) => serde_json::json!({
            "file": place.file.name,
            "line": place.line(),
            "column": place.column(),
        }),
        None => serde_json::json!({}),
    }
}

/// How much a configuration declares, for the last line of `check`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// `[sources.NAME]`.
    pub sources: usize,
    /// `[[parse]]`.
    pub parsers: usize,
    /// `[[route]]`.
    pub routes: usize,
    /// `[sinks.NAME]`.
    pub sinks: usize,
}

/// All problems of a configuration that cannot be used, sorted by place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// At least one of them an error.
    pub diagnostics: Vec<Diagnostic>,
    /// What was declared, as far as it could be read.
    pub counts: Counts,
}

impl Report {
    /// Sorts the problems by file and position.
    pub fn new(mut diagnostics: Vec<Diagnostic>, counts: Counts) -> Self {
        sort(&mut diagnostics);
        Self { diagnostics, counts }
    }

    /// Problems of one severity.
    pub fn count(&self, severity: Severity) -> usize {
        self.diagnostics.iter().filter(|problem| problem.severity == severity).count()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.render(false))
    }
}

impl std::error::Error for Report {}

/// Sorts by file, position and severity, and drops what is said twice.
pub(crate) fn sort(diagnostics: &mut Vec<Diagnostic>) {
    diagnostics.sort_by_key(Diagnostic::sort_key);
    diagnostics.dedup();
}

/// Puts what was found while reading and while checking together, without what only follows from
/// a reference that could not be resolved or from a line that is no TOML.
pub(crate) fn consequences_removed(
    reading: Vec<Diagnostic>,
    mut checking: Vec<Diagnostic>,
    broken_lines: &BTreeSet<(usize, usize)>,
) -> Vec<Diagnostic> {
    let mut causes: Vec<(usize, usize, usize)> = reading
        .iter()
        .filter_map(|it| it.place.as_ref())
        .map(|cause| (cause.file.order, cause.span.start, cause.span.end))
        .collect();
    causes.sort_unstable();
    checking.retain(|problem| {
        let Some(place) = &problem.place else { return true };
        let order = place.file.order;
        let first = causes.partition_point(|cause| *cause < (order, place.span.start, 0));
        let inside = |cause: &&(usize, usize, usize)| cause.1 <= place.span.end && cause.0 == order;
        let follows =
            causes[first..].iter().take_while(inside).any(|cause| cause.2 <= place.span.end);
        !follows && !broken_lines.contains(&(place.file.order, place.line()))
    });
    checking.extend(reading);
    checking
}

/// Masks secrets in the texts that would be printed with the problems. On lines that are no TOML,
/// whatever follows a word that speaks of a secret is masked.
pub(crate) fn hide(
    problems: &mut [Diagnostic],
    secrets: &[Place],
    broken_lines: &BTreeSet<(usize, usize)>,
) {
    let places = problems
        .iter_mut()
        .flat_map(|it| it.place.iter_mut().chain(it.related.iter_mut().map(|it| &mut it.0)));
    let mut masked: Vec<Arc<SourceFile>> = Vec::new();
    for place in places {
        let known = masked.iter().find(|it| it.order == place.file.order);
        let file = if let Some(file) = known {
            Arc::clone(file)
        } else {
            let file = Arc::new(mask(&place.file, secrets, broken_lines));
            masked.push(Arc::clone(&file));
            file
        };
        // The mask keeps lengths, but not the boundaries of long characters inside a secret.
        *place = Place::new(&file, place.span.clone());
    }
}

fn mask(
    file: &SourceFile,
    secrets: &[Place],
    broken_lines: &BTreeSet<(usize, usize)>,
) -> SourceFile {
    let mut bytes = file.text.clone().into_bytes();
    let mut cover = |span: Range<usize>| {
        for byte in &mut bytes[span] {
            if !matches!(byte, b'\n' | b'\r' | b' ' | b'"' | b'\'') {
                *byte = b'*';
            }
        }
    };
    for secret in secrets.iter().filter(|it| it.file.order == file.order) {
        cover(secret.span());
    }
    let mut start = 0;
    for (index, line) in file.text.split_inclusive('\n').enumerate() {
        if broken_lines.contains(&(file.order, index + 1)) {
            let speaks = SECRET_WORDS.iter().filter_map(|word| line.find(word)).min();
            if let Some(value) = speaks.and_then(|at| line[at..].find('=').map(|it| at + it + 1)) {
                cover(start + value..start + line.len());
            }
        }
        start += line.len();
    }
    // Only whole characters are covered, so this cannot fail; better nothing than a secret.
    let text = String::from_utf8(bytes).unwrap_or_default();
    SourceFile::new(file.name.clone(), text, file.order)
}

/// Words in the names of settings that hold secrets.
const SECRET_WORDS: [&str; 7] =
    ["password", "secret", "api_key", "bearer", "access_key", "token", "user"];

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> Arc<SourceFile> {
        Arc::new(SourceFile::new("a.toml".to_owned(), text.to_owned(), 0))
    }

    #[test]
    fn a_place_is_counted_in_characters_and_kept_inside_the_text() {
        let file = file("a = 1\n名 = \"é\"\n");
        assert_eq!(format!("{:?}", Place::new(&file, 12..15)), "a.toml:2:5");
        assert_eq!(Place::new(&file, 7..8).span(), 6..9);
        assert_eq!(Place::new(&file, 900..1000).span(), 17..17);
    }

    #[test]
    fn problems_are_sorted_and_said_once() {
        let file = file("abc");
        let at = |start| Diagnostic::error(&Place::new(&file, start..start + 1), "m", "h");
        let report = Report::new(vec![at(2), at(0), at(2)], Counts::default());
        assert_eq!(report.diagnostics, [at(0), at(2)]);
        assert_eq!(report.count(Severity::Error), 2);
        assert_eq!(report.diagnostics[1].to_json()["column"], 3);
    }
}
