//! Reads one file, or every `*.toml` of a folder in the order of names, into one tree. Invariant: a
//! name stands in one place only, whichever file that is in; syntax errors are all reported, and
//! what could still be read is kept. Next: `declare/`.

use super::{Entry, Node, PositionMap, Table, Text, Value, interpolate};
use crate::diagnostic::{Diagnostic, Place, SourceFile};
use crate::env::Env;
use std::collections::BTreeSet;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use toml::de::{DeTable, DeValue};

/// A configuration is written by hand; anything larger is a mistake.
const FILE_MAX_BYTES: u64 = 4 << 20;

/// Problems that are told with the place they contradict.
const RELATED_MAX: usize = 100;

/// Files of one folder.
const FILES_MAX: usize = 1000;

/// Everything that was read.
pub(crate) struct Document {
    pub(crate) root: Table,
    /// Relative paths start here.
    pub(crate) folder: PathBuf,
    pub(crate) files: Vec<Arc<SourceFile>>,
    /// Where the TOML itself is broken: file and line.
    pub(crate) broken_lines: BTreeSet<(usize, usize)>,
}

/// Reads a file or a folder. What cannot be read is a problem, never a panic.
pub(crate) fn read(path: &Path, env: &dyn Env, problems: &mut Vec<Diagnostic>) -> Document {
    let is_folder = path.is_dir();
    let folder = if is_folder { path } else { path.parent().unwrap_or(Path::new("")) };
    let mut document = Document {
        root: Table::default(),
        folder: folder.to_owned(),
        files: Vec::new(),
        broken_lines: BTreeSet::new(),
    };
    let paths = if is_folder { list(path, problems) } else { vec![path.to_owned()] };
    for path in &paths {
        let Some(file) = read_file(path, document.files.len(), problems) else { continue };
        document.files.push(Arc::clone(&file));
        let tables = parse(&file, (env, folder), &mut document.broken_lines, problems);
        merge(&mut document.root, tables, problems);
    }
    document
}

fn list(folder: &Path, problems: &mut Vec<Diagnostic>) -> Vec<PathBuf> {
    let name = folder.display();
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) => {
            let message = format!("the folder `{name}` cannot be listed: {error}");
            problems.push(Diagnostic::unreadable(message, "make it readable for this user"));
            return Vec::new();
        }
    };
    let mut paths: Vec<PathBuf> = entries
        .filter_map(Result::ok)
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|it| it == "toml") && path.is_file())
        .filter(|path| path.file_name().is_none_or(|it| it.as_encoded_bytes()[0] != b'.'))
        .collect();
    paths.sort();
    if paths.is_empty() {
        let message = format!("the folder `{name}` holds no *.toml file");
        problems.push(Diagnostic::unreadable(message, "name a file, or a folder of *.toml files"));
    }
    if paths.len() > FILES_MAX {
        let message = format!("the folder `{name}` holds {} *.toml files", paths.len());
        let help = format!("keep to {FILES_MAX}; is this the folder you meant?");
        problems.push(Diagnostic::unreadable(message, help));
        paths.clear();
    }
    paths
}

fn read_file(path: &Path, order: usize, problems: &mut Vec<Diagnostic>) -> Option<Arc<SourceFile>> {
    let name = path.to_string_lossy().into_owned();
    let mut bytes = Vec::new();
    let read = std::fs::File::open(path)
        .and_then(|file| file.take(FILE_MAX_BYTES + 1).read_to_end(&mut bytes));
    if let Err(error) = read {
        let message = format!("the file `{name}` cannot be read: {error}");
        let help = "name a configuration file, or a folder of *.toml files";
        problems.push(Diagnostic::unreadable(message, help));
        return None;
    }
    if bytes.len() as u64 > FILE_MAX_BYTES {
        let message = format!("the file `{name}` is larger than 4MiB");
        problems.push(Diagnostic::unreadable(message, "is this a configuration file?"));
        return None;
    }
    match String::from_utf8(bytes) {
        Ok(text) => Some(Arc::new(SourceFile::new(name, text, order))),
        Err(error) => {
            let valid = error.utf8_error().valid_up_to();
            let text = String::from_utf8_lossy(error.as_bytes()).into_owned();
            let file = Arc::new(SourceFile::new(name, text, order));
            let place = Place::new(&file, valid..valid + '\u{fffd}'.len_utf8());
            let help = "save the file as UTF-8";
            problems.push(Diagnostic::error(&place, "this byte is not valid UTF-8", help));
            None
        }
    }
}

fn parse(
    file: &Arc<SourceFile>,
    surroundings: (&dyn Env, &Path),
    broken_lines: &mut BTreeSet<(usize, usize)>,
    problems: &mut Vec<Diagnostic>,
) -> Table {
    let (root, errors) = DeTable::parse_recoverable(&file.text);
    let mut found: Vec<Diagnostic> = Vec::new();
    let table = Converter { file, surroundings, problems }.table(root.into_inner());
    for error in errors {
        let end = file.text.len();
        let place = Place::new(file, error.span().unwrap_or(end..end));
        broken_lines.insert((file.order, place.line()));
        // What stands earlier is looked for among all keys: not for more than anyone reads.
        let known = if found.len() < RELATED_MAX { &table } else { &Table::default() };
        found.push(syntax_problem(&place, error.message(), known));
    }
    problems.append(&mut found);
    table
}

/// A syntax error in words that say what to do about it.
fn syntax_problem(place: &Place, message: &str, root: &Table) -> Diagnostic {
    let at = &place.file().text[place.span()];
    if message.starts_with("duplicate key") {
        let help = "keep one of the two; a table may stand in the file only once";
        let problem = Diagnostic::error(place, format!("`{at}` is given twice"), help);
        let mut earlier = Vec::new();
        collect_keys(root, at.trim_matches(['"', '\'']), place, &mut earlier);
        return match earlier[..] {
            [first] => problem.with_related(first, "first here"),
            _ => problem,
        };
    }
    if message.contains("recursion depth") {
        let help = "take brackets out: no setting is nested more than a few levels deep";
        return Diagnostic::error(place, "this is nested too deep", help);
    }
    if message.starts_with("string values must be quoted") {
        return if at.trim().is_empty() {
            Diagnostic::error(place, "a value is missing", "write it, a string in quotes")
        } else {
            Diagnostic::error(place, "a string must be quoted", "put quotes around it")
        };
    }
    Diagnostic::error(place, message, syntax_help(message))
}

/// Keys of this name that stand before a place.
fn collect_keys<'a>(table: &'a Table, key: &str, before: &Place, out: &mut Vec<&'a Place>) {
    for entry in &table.entries {
        if entry.key == key && entry.key_place.span().start < before.span().start {
            out.push(&entry.key_place);
        }
        let inner: &[Node] = match &entry.node.value {
            Value::Array(nodes) => nodes,
            _ => std::slice::from_ref(&entry.node),
        };
        for node in inner {
            if let Value::Table(table) = &node.value {
                collect_keys(table, key, before, out);
            }
        }
    }
}

/// The cure of a syntax error, by the parser's words for it.
fn syntax_help(message: &str) -> &'static str {
    const CURES: [(&str, &str); 12] = [
        ("missing opening quote", "put quotes around the value"),
        ("invalid basic string", "close the string with `\"`, or write it as '…' to keep `\\`"),
        ("invalid literal string", "close the string with `'`"),
        ("escape", "double the backslash, or write the string as '…'"),
        ("missing escaped value", "double the backslash, or write the string as '…'"),
        ("unicode", "double the backslash, or write the string as '…'"),
        ("unclosed array table", "close the header with `]]`"),
        ("unclosed table", "close the header with `]`"),
        ("unclosed array", "close the array with `]`"),
        ("inline table", "an inline table is `{ key = value, … }`"),
        ("array elements", "put a comma between the elements"),
        ("key", "a setting is written `key = value`, a section `[name]`"),
    ];
    CURES
        .iter()
        .find(|(words, _)| message.contains(words))
        .map_or("strings need quotes, a setting is `key = value`, a section `[name]`", |it| it.1)
}

struct Converter<'a> {
    file: &'a Arc<SourceFile>,
    surroundings: (&'a dyn Env, &'a Path),
    problems: &'a mut Vec<Diagnostic>,
}

impl Converter<'_> {
    // The parser stops at 80 levels, so recursion is bounded.
    fn table(&mut self, table: DeTable<'_>) -> Table {
        let mut entries: Vec<Entry> = table
            .into_iter()
            .map(|(key, value)| Entry {
                key_place: Place::new(self.file, key.span()),
                key: key.into_inner().into_owned(),
                node: self.node(value.span(), value.into_inner()),
            })
            .collect();
        entries.sort_by_key(|entry| entry.key_place.span().start);
        Table { entries }
    }

    fn node(&mut self, span: std::ops::Range<usize>, value: DeValue<'_>) -> Node {
        let place = Place::new(self.file, span);
        let value = match value {
            DeValue::String(text) => Value::Text(self.text(text.into_owned(), &place)),
            DeValue::Integer(number) => Value::Integer(number.to_string()),
            DeValue::Float(number) => Value::Float(number.to_string()),
            DeValue::Boolean(flag) => Value::Flag(flag),
            DeValue::Datetime(time) => Value::Datetime(time.to_string()),
            DeValue::Array(elements) => Value::Array(
                elements
                    .into_iter()
                    .map(|element| self.node(element.span(), element.into_inner()))
                    .collect(),
            ),
            DeValue::Table(table) => Value::Table(self.table(table)),
        };
        Node { place, value }
    }

    fn text(&mut self, value: String, place: &Place) -> Text {
        let span = place.span();
        let map = PositionMap::of_literal(&self.file.text[span.clone()], span.start, &value);
        interpolate::resolve(value, place.clone(), map, self.surroundings, self.problems)
    }
}

/// Adds the tables of one file to those of the files before it.
fn merge(root: &mut Table, added: Table, problems: &mut Vec<Diagnostic>) {
    for entry in added.entries {
        let Some(known) = root.entries.iter_mut().find(|known| known.key == entry.key) else {
            root.entries.push(entry);
            continue;
        };
        let named = matches!(entry.key.as_str(), "sources" | "sinks" | "labels");
        match (&mut known.node.value, entry.node.value) {
            (Value::Table(known), Value::Table(table)) if named => {
                for inner in table.entries {
                    match known.get(&inner.key) {
                        None => known.entries.push(inner),
                        Some(first) => {
                            let name = format!("{}.{}", entry.key, inner.key);
                            problems.push(twice(&name, &inner.key_place, &first.key_place));
                        }
                    }
                }
            }
            (Value::Array(known), Value::Array(elements)) => known.extend(elements),
            _ => problems.push(twice(&entry.key, &entry.key_place, &known.key_place)),
        }
    }
}

fn twice(name: &str, second: &Place, first: &Place) -> Diagnostic {
    let message = format!("`{name}` stands in two files of this folder");
    let help = format!("rename or remove one; the other is in {}", first.file().name);
    Diagnostic::error(second, message, help).with_related(first, "first here")
}
