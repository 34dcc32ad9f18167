//! The files of tables: of hosts, and of what steps look up. Invariant: a table is taken whole or
//! not at all, and a problem names both the line of the table and the setting that asked for it.
//! Next: `fingerprint.rs`.

use crate::diagnostic::{Diagnostic, Place, SourceFile};
use crate::fingerprint;
use crate::settings::Secret;
use riverhog_rules::table::Keys;
use riverhog_rules::{HostTable, Table, TableError};
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

/// Some hundred thousand hosts.
const TABLE_MAX_BYTES: u64 = 64 << 20;

/// Why a table cannot be used; not yet at a place.
pub(crate) struct TableProblem {
    message: String,
    help: String,
    /// The line of the table.
    line: Option<Place>,
}

impl TableProblem {
    /// The problem at the setting that names the table.
    pub(crate) fn at(self, setting: &Place) -> Diagnostic {
        let problem = Diagnostic::error(setting, self.message, self.help);
        match self.line {
            Some(line) => problem.with_related(&line, "this line"),
            None => problem,
        }
    }

    /// The problem at the line of the table, where there is no setting to show.
    pub(crate) fn alone(self) -> Diagnostic {
        match self.line {
            Some(line) => Diagnostic::error(&line, self.message, self.help),
            None => Diagnostic::unreadable(self.message, self.help),
        }
    }
}

/// Reads the table of hosts; also gives the hash of its text. `name` is what snippets call the
/// file, with what messages call it.
pub(crate) fn read_hosts(
    path: &Path,
    name: &Secret<String>,
) -> Result<(HostTable, u64), TableProblem> {
    let parsers =
        (HostTable::from_csv as fn(&str) -> _, HostTable::from_json_lines as fn(&str) -> _);
    read(path, ("host table", name), parsers)
}

/// Reads a table that steps look things up in, as [`read_hosts`] does.
pub(crate) fn read_lookup(
    path: &Path,
    name: &Secret<String>,
) -> Result<(Table, u64), TableProblem> {
    let csv = |text: &str| Table::from_csv(text, Keys::Any);
    let json_lines = |text: &str| Table::from_json_lines(text, Keys::Any);
    read(path, ("table", name), (csv, json_lines))
}

fn read<T>(
    path: &Path,
    (what, name): (&str, &Secret<String>),
    (csv, json_lines): (
        impl Fn(&str) -> Result<T, TableError>,
        impl Fn(&str) -> Result<T, TableError>,
    ),
) -> Result<(T, u64), TableProblem> {
    let text = read_text(path).map_err(|error| TableProblem {
        message: format!("the {what} `{name}` cannot be read: {error}"),
        help: "a relative path starts at the folder of this file".to_owned(),
        line: None,
    })?;
    let extension = path.extension().map(|it| it.to_string_lossy().to_lowercase());
    let table = match extension.as_deref() {
        Some("jsonl" | "ndjson" | "json") => json_lines(&text),
        _ => csv(&text),
    };
    let hash = fingerprint::hash(text.as_bytes());
    table.map(|table| (table, hash)).map_err(|error| problem(error, (what, name), text))
}

fn read_text(path: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    std::fs::File::open(path)?.take(TABLE_MAX_BYTES + 1).read_to_string(&mut text)?;
    if text.len() as u64 > TABLE_MAX_BYTES {
        return Err(std::io::Error::other("it is larger than 64MiB"));
    }
    Ok(text)
}

fn problem(error: TableError, (what, name): (&str, &Secret<String>), text: String) -> TableProblem {
    let start: usize = text
        .split_inclusive('\n')
        .take(usize::try_from(error.line).unwrap_or(usize::MAX).saturating_sub(1))
        .map(str::len)
        .sum();
    let length = text[start..].lines().next().map_or(0, str::len);
    let file = SourceFile::new(name.reveal().clone(), text, usize::MAX - 1);
    TableProblem {
        message: format!("the {what} `{name}`, line {}: {}", error.line, error.message),
        help: error.help.unwrap_or_else(|| "correct the line in the table".to_owned()),
        line: Some(Place::new(&Arc::new(file), start..start + length)),
    }
}
