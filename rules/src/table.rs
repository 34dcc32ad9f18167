//! Tables that a configuration names: key → columns, read from CSV or JSON lines.
//!
//! Invariant: a table is immutable; a reload is a new table in a new `Arc`. Every row has a key of
//! its own, and a value or nothing in every column. Next stop: `hosts`, which makes each host's
//! JSON of a row; `transform/steps`, which looks things up.
use std::collections::HashMap;
use std::io::Read;

use serde_json::{Map, Value};

use crate::hash::FastState;

/// Columns of a table: a row has a place for each, so more would take memory by rows and columns.
pub const COLUMNS_MAX: usize = 256;

/// Key → columns.
#[derive(Clone, Debug, Default)]
pub struct Table {
    columns: Vec<String>,
    rows: Vec<Row>,
    by_key: HashMap<Box<str>, u32, FastState>,
}

/// One row.
#[derive(Clone, Debug)]
pub struct Row {
    key: Box<str>,
    cells: Vec<Option<Cell>>,
}

/// One value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cell {
    /// The value as text.
    pub text: Box<str>,
    /// How JSON lines wrote it; text in CSV.
    pub kind: CellKind,
}

/// How JSON lines wrote a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CellKind {
    /// A text.
    Text,
    /// A number.
    Number,
    /// `true` or `false`.
    Bool,
}

/// Why a table cannot be read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TableError {
    /// Line of the table, from 1.
    pub line: u64,
    /// What is wrong.
    pub message: String,
    /// What to write in its place.
    pub help: Option<String>,
}

/// What the keys of a table are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Keys {
    /// Hosts: the first column, or the member, is called `host` or `name`, and no other is.
    Hosts,
    /// Anything: the first column, whatever it is called, or the member `key`.
    Any,
}

impl Row {
    /// The key.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The value of a column by its index in `Table::columns`.
    pub fn cell(&self, column: usize) -> Option<&Cell> {
        self.cells.get(column)?.as_ref()
    }
}

impl Table {
    /// Reads CSV with a header line, whose first column is the key. Empty cells count as absent;
    /// lines that begin with `#` are comments.
    ///
    /// # Errors
    /// The first line that is no row of the table; the table is not usable then.
    pub fn from_csv(text: &str, keys: Keys) -> Result<Table, TableError> {
        let mut reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .trim(csv::Trim::All)
            .comment(Some(b'#'))
            // With a line end after the last row, a row is always the line before the reader's
            // place.
            .from_reader(text.trim_start_matches('\u{feff}').as_bytes().chain(&b"\n"[..]));
        let mut table = Table::default();
        let mut record = csv::StringRecord::new();
        let mut header = true;
        loop {
            let line = reader.position().line();
            match reader.read_record(&mut record) {
                Ok(true) => {}
                Ok(false) if header => {
                    let help = Some(format!("begin with a line such as `{}`", keys.header()));
                    return Err(failed(1, "the table has no header line", help));
                }
                Ok(false) => return Ok(table),
                Err(error) => return Err(failed(line, &error.to_string(), None)),
            }
            let within: usize = record.iter().map(|cell| cell.matches('\n').count()).sum();
            let line = reader.position().line().saturating_sub(1 + within as u64).max(1);
            if header {
                table.set_header(&record, keys, line)?;
                header = false;
            } else {
                table.push_record(&record, keys, line)?;
            }
        }
    }

    /// Reads JSON lines: one object a line; one member is the key, the others are its columns:
    /// texts, numbers and booleans.
    ///
    /// # Errors
    /// The first line that is no such object; the table is not usable then.
    pub fn from_json_lines(text: &str, keys: Keys) -> Result<Table, TableError> {
        let mut table = Table::default();
        for (index, text) in text.trim_start_matches('\u{feff}').lines().enumerate() {
            let line = index as u64 + 1;
            if text.trim().is_empty() {
                continue;
            }
            let members: Map<String, Value> = serde_json::from_str(text).map_err(|error| {
                let message = format!("no JSON object: {error}");
                failed(line, &message, Some(format!("write for example {}", keys.object())))
            })?;
            table.push_object(&members, keys, line)?;
        }
        Ok(table)
    }

    /// The columns besides the key, in order of first appearance.
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// The rows in the order of the table.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// The row of this key.
    pub fn get(&self, key: &str) -> Option<&Row> {
        self.position(key).map(|position| &self.rows[position as usize])
    }

    pub(crate) fn position(&self, key: &str) -> Option<u32> {
        self.by_key.get(key).copied()
    }

    fn set_header(
        &mut self,
        record: &csv::StringRecord,
        keys: Keys,
        line: u64,
    ) -> Result<(), TableError> {
        let first = record.get(0).unwrap_or_default();
        if keys == Keys::Hosts && !matches!(first, "host" | "name") {
            let help = Some("begin the header line with `host`".to_owned());
            let message = format!("the first column is `{first}`, not the host");
            return Err(failed(line, &message, help));
        }
        for column in record.iter().skip(1) {
            keys.check_column(column, line)?;
            if self.columns.iter().any(|known| known == column) {
                let message = format!("the column `{column}` stands twice in the header");
                return Err(failed(line, &message, None));
            }
            self.add_column(column, line)?;
        }
        Ok(())
    }

    fn add_column(&mut self, column: &str, line: u64) -> Result<(), TableError> {
        if self.columns.len() >= COLUMNS_MAX {
            let message = format!("the table has more than {COLUMNS_MAX} columns");
            return Err(failed(line, &message, None));
        }
        self.columns.push(column.to_owned());
        Ok(())
    }

    fn push_record(
        &mut self,
        record: &csv::StringRecord,
        keys: Keys,
        line: u64,
    ) -> Result<(), TableError> {
        let expected = self.columns.len() + 1;
        if record.len() != expected {
            let message = format!("{} columns where the header has {expected}", record.len());
            let help = Some("quote cells that hold a comma".to_owned());
            return Err(failed(line, &message, help));
        }
        let cells = record.iter().skip(1).map(|cell| {
            (!cell.is_empty()).then(|| Cell { text: cell.into(), kind: CellKind::Text })
        });
        self.push(Row { key: record[0].into(), cells: cells.collect() }, keys, line)
    }

    fn push_object(
        &mut self,
        members: &Map<String, Value>,
        keys: Keys,
        line: u64,
    ) -> Result<(), TableError> {
        let member = keys.member(members);
        let Some(Value::String(key)) = members.get(member) else {
            let help = Some(format!("write for example {}", keys.object()));
            return Err(failed(line, &format!("the object has no text `{}`", keys.name()), help));
        };
        let mut cells: Vec<Option<Cell>> = vec![None; self.columns.len()];
        for (column, value) in members.iter().filter(|(column, _)| *column != member) {
            keys.check_column(column, line)?;
            let (text, kind) = match value {
                Value::Null => continue,
                Value::String(text) => (text.clone(), CellKind::Text),
                Value::Bool(_) => (value.to_string(), CellKind::Bool),
                Value::Number(_) => (value.to_string(), CellKind::Number),
                Value::Array(_) | Value::Object(_) => {
                    let message = format!("`{column}` is no text, number or boolean");
                    return Err(failed(line, &message, None));
                }
            };
            let known = self.columns.iter().position(|known| known == column);
            let index = if let Some(index) = known {
                index
            } else {
                self.add_column(column, line)?;
                cells.push(None);
                self.columns.len() - 1
            };
            cells[index] = Some(Cell { text: text.into(), kind });
        }
        // Columns that only other rows have take no memory here.
        cells.truncate(cells.iter().rposition(Option::is_some).map_or(0, |last| last + 1));
        cells.shrink_to_fit();
        self.push(Row { key: key.as_str().into(), cells }, keys, line)
    }

    fn push(&mut self, row: Row, keys: Keys, line: u64) -> Result<(), TableError> {
        if row.key.is_empty() {
            let message = match keys {
                Keys::Hosts => "the host's name is empty",
                Keys::Any => "the key is empty",
            };
            return Err(failed(line, message, None));
        }
        let position = self.rows.len() as u32;
        if self.by_key.insert(row.key.clone(), position).is_some() {
            let message = format!("the {} `{}` stands twice in the table", keys.name(), row.key);
            return Err(failed(line, &message, Some("remove one of the two".to_owned())));
        }
        self.rows.push(row);
        Ok(())
    }
}

impl Keys {
    fn name(self) -> &'static str {
        match self {
            Keys::Hosts => "host",
            Keys::Any => "key",
        }
    }

    fn header(self) -> &'static str {
        match self {
            Keys::Hosts => "host,node,rack",
            Keys::Any => "code,meaning",
        }
    }

    fn object(self) -> &'static str {
        match self {
            Keys::Hosts => r#"{"host":"gpu-07","rack":"r3"}"#,
            Keys::Any => r#"{"key":"79","meaning":"GPU has fallen off the bus"}"#,
        }
    }

    /// The member that holds the key.
    fn member(self, members: &Map<String, Value>) -> &'static str {
        match self {
            Keys::Hosts if members.contains_key("host") => "host",
            Keys::Hosts => "name",
            Keys::Any => "key",
        }
    }

    fn check_column(self, column: &str, line: u64) -> Result<(), TableError> {
        match column {
            "" => Err(failed(line, "a column has no name", None)),
            "name" | "host" if self == Keys::Hosts => {
                let message = format!("the column `{column}` would hide the host's name");
                Err(failed(line, &message, Some("give it another name".to_owned())))
            }
            _ => Ok(()),
        }
    }
}

fn failed(line: u64, message: &str, help: Option<String>) -> TableError {
    TableError { line, message: message.to_owned(), help }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use super::*;

    fn check(text: &str, key: &str, expect: &[Option<(&str, CellKind)>]) {
        let table = if text.starts_with('{') {
            Table::from_json_lines(text, Keys::Any)
        } else {
            Table::from_csv(text, Keys::Any)
        };
        let table = table.unwrap();
        let row = table.get(key).unwrap();
        let cells = (0..table.columns().len()).map(|column| row.cell(column));
        let found: Vec<_> = cells.map(|cell| cell.map(|it| (&*it.text, it.kind))).collect();
        assert_eq!(found, expect, "{key}");
    }

    #[test]
    fn any_key() {
        let csv = "xid,meaning,name\n79,fallen off the bus,\n13,\"a, b\",x\n";
        check(csv, "79", &[Some(("fallen off the bus", CellKind::Text)), None]);
        check(csv, "13", &[Some(("a, b", CellKind::Text)), Some(("x", CellKind::Text))]);
        let json = "{\"key\":\"79\",\"fatal\":true}\n{\"key\":\"13\",\"host\":1.5}\n";
        check(json, "79", &[Some(("true", CellKind::Bool)), None]);
        check(json, "13", &[None, Some(("1.5", CellKind::Number))]);
    }

    #[test]
    fn errors_name_the_line() {
        let csv = |text| Table::from_csv(text, Keys::Any).unwrap_err();
        assert_eq!((csv("").line, csv("").message.as_str()), (1, "the table has no header line"));
        assert_eq!(csv("a,b\nx,1\nx,2\n").message, "the key `x` stands twice in the table");
        assert_eq!(csv("a,b\n,1\n").message, "the key is empty");
        let json = Table::from_json_lines("{\"host\":\"a\"}", Keys::Any).unwrap_err();
        assert_eq!(json.message, "the object has no text `key`");
        let mut many = String::new();
        for row in 0..=COLUMNS_MAX {
            writeln!(many, "{{\"key\":\"{row}\",\"column{row}\":1}}").unwrap();
        }
        let error = Table::from_json_lines(&many, Keys::Any).unwrap_err();
        assert_eq!((error.line, &*error.message), (257, "the table has more than 256 columns"));
    }
}
