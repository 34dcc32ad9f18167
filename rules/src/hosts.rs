//! The host table: host → columns, read from CSV or JSON lines, with each host's JSON object ready.
//!
//! Invariant: a table is immutable; a reload is a new table in a new `Arc`. Whatever a table says,
//! an event's `host` is an object with a `name`. Next stop: `labels`, which may read its columns.
use std::collections::HashMap;
use std::io::Read;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::hash::FastState;
use crate::json::write_string;
use crate::selector::Selector;

/// The name of a host that nothing names.
pub const UNKNOWN_HOST: &str = "unknown";

/// How an event's host is found.
#[derive(Clone, Debug, Default)]
pub struct HostRule {
    /// Candidates for the host's name; the first that is present wins.
    pub from: Vec<Selector>,
    /// What is known about hosts.
    pub table: Option<Arc<HostTable>>,
}

/// What is known about hosts.
#[derive(Clone, Debug, Default)]
pub struct HostTable {
    columns: Vec<String>,
    hosts: Vec<Host>,
    by_name: HashMap<Box<str>, u32, FastState>,
}

/// One host of the table.
#[derive(Clone, Debug)]
pub struct Host {
    name: Box<str>,
    values: Vec<Option<Box<str>>>,
    json: Vec<u8>,
}

/// Why a table cannot be read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HostTableError {
    /// Line of the table, from 1.
    pub line: u64,
    /// What is wrong.
    pub message: String,
    /// What to write in its place.
    pub help: Option<String>,
}

impl Host {
    /// The host's name, as lines name it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The text of a column by its index in `HostTable::columns`.
    pub fn column(&self, index: usize) -> Option<&str> {
        self.values.get(index)?.as_deref()
    }

    /// The object `{"name":…,…}` as it stands in documents.
    pub fn json(&self) -> &[u8] {
        &self.json
    }
}

impl HostTable {
    /// Reads CSV with a header line whose first column is `host`. Empty cells count as absent.
    ///
    /// # Errors
    /// The first line that is no row of the table; the table is not usable then.
    pub fn from_csv(text: &str) -> Result<HostTable, HostTableError> {
        let mut reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .trim(csv::Trim::All)
            .comment(Some(b'#'))
            // With a line end after the last row, a row is always the line before the reader's
            // place.
            .from_reader(text.trim_start_matches('\u{feff}').as_bytes().chain(&b"\n"[..]));
        let mut table = HostTable::default();
        let mut record = csv::StringRecord::new();
        let mut header = true;
        loop {
            let line = reader.position().line();
            match reader.read_record(&mut record) {
                Ok(true) => {}
                Ok(false) if header => {
                    let help = Some("begin with a line such as `host,node,rack`".to_owned());
                    return Err(failed(1, "the table has no header line", help));
                }
                Ok(false) => return Ok(table),
                Err(error) => return Err(failed(line, &error.to_string(), None)),
            }
            let within: usize = record.iter().map(|cell| cell.matches('\n').count()).sum();
            let line = reader.position().line().saturating_sub(1 + within as u64).max(1);
            if header {
                table.set_header(&record, line)?;
                header = false;
            } else {
                table.push_record(&record, line)?;
            }
        }
    }

    /// Reads JSON lines: one object a line, with the host's name under `host` or `name`; the other
    /// members are its columns: texts, numbers and booleans.
    ///
    /// # Errors
    /// The first line that is no such object; the table is not usable then.
    pub fn from_json_lines(text: &str) -> Result<HostTable, HostTableError> {
        let mut table = HostTable::default();
        for (index, text) in text.trim_start_matches('\u{feff}').lines().enumerate() {
            let line = index as u64 + 1;
            if text.trim().is_empty() {
                continue;
            }
            let members: Map<String, Value> = serde_json::from_str(text).map_err(|error| {
                let message = format!("no JSON object: {error}");
                let help = r#"write for example {"host":"gpu-07","rack":"r3"}"#.to_owned();
                failed(line, &message, Some(help))
            })?;
            table.push_object(&members, line)?;
        }
        Ok(table)
    }

    /// The columns besides the host's name, in order of first appearance.
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// Number of hosts.
    pub fn len(&self) -> usize {
        self.hosts.len()
    }

    /// True when it knows no host.
    pub fn is_empty(&self) -> bool {
        self.hosts.is_empty()
    }

    /// The hosts in the order of the table.
    pub fn hosts(&self) -> &[Host] {
        &self.hosts
    }

    /// The host of this name.
    pub fn get(&self, name: &str) -> Option<&Host> {
        self.position(name).map(|position| &self.hosts[position as usize])
    }

    pub(crate) fn position(&self, name: &str) -> Option<u32> {
        self.by_name.get(name).copied()
    }

    fn set_header(&mut self, record: &csv::StringRecord, line: u64) -> Result<(), HostTableError> {
        let first = record.get(0).unwrap_or_default();
        if !matches!(first, "host" | "name") {
            let help = Some("begin the header line with `host`".to_owned());
            let message = format!("the first column is `{first}`, not the host");
            return Err(failed(line, &message, help));
        }
        for column in record.iter().skip(1) {
            check_column(column, line)?;
            if self.columns.iter().any(|known| known == column) {
                let message = format!("the column `{column}` stands twice in the header");
                return Err(failed(line, &message, None));
            }
            self.columns.push(column.to_owned());
        }
        Ok(())
    }

    fn push_record(&mut self, record: &csv::StringRecord, line: u64) -> Result<(), HostTableError> {
        let expected = self.columns.len() + 1;
        if record.len() != expected {
            let message = format!("{} columns where the header has {expected}", record.len());
            let help = Some("quote cells that hold a comma".to_owned());
            return Err(failed(line, &message, help));
        }
        let values = record.iter().skip(1).map(|cell| (!cell.is_empty()).then(|| cell.into()));
        let values: Vec<Option<Box<str>>> = values.collect();
        let mut json = begin_json(&record[0]);
        for (column, value) in self.columns.iter().zip(&values) {
            if let Some(value) = value {
                push_member(&mut json, column);
                write_string(&mut json, value);
            }
        }
        json.push(b'}');
        self.push(Host { name: record[0].into(), values, json }, line)
    }

    fn push_object(
        &mut self,
        members: &Map<String, Value>,
        line: u64,
    ) -> Result<(), HostTableError> {
        let name_key = if members.contains_key("host") { "host" } else { "name" };
        let Some(Value::String(name)) = members.get(name_key) else {
            let help = Some("name the host with the member `host`".to_owned());
            return Err(failed(line, "the object has no text `host`", help));
        };
        let mut values: Vec<Option<Box<str>>> = vec![None; self.columns.len()];
        let mut json = begin_json(name);
        for (column, value) in members.iter().filter(|(key, _)| *key != name_key) {
            check_column(column, line)?;
            let text = match value {
                Value::Null => continue,
                Value::String(text) => text.clone(),
                Value::Bool(_) | Value::Number(_) => value.to_string(),
                Value::Array(_) | Value::Object(_) => {
                    let message = format!("`{column}` is no text, number or boolean");
                    return Err(failed(line, &message, None));
                }
            };
            push_member(&mut json, column);
            match value {
                Value::String(text) => write_string(&mut json, text),
                _ => json.extend_from_slice(text.as_bytes()),
            }
            let known = self.columns.iter().position(|known| known == column);
            let index = known.unwrap_or_else(|| {
                self.columns.push(column.clone());
                values.push(None);
                self.columns.len() - 1
            });
            values[index] = Some(text.into());
        }
        json.push(b'}');
        self.push(Host { name: name.as_str().into(), values, json }, line)
    }

    fn push(&mut self, host: Host, line: u64) -> Result<(), HostTableError> {
        if host.name.is_empty() {
            return Err(failed(line, "the host's name is empty", None));
        }
        let position = self.hosts.len() as u32;
        if self.by_name.insert(host.name.clone(), position).is_some() {
            let message = format!("the host `{}` stands twice in the table", host.name);
            return Err(failed(line, &message, Some("remove one of the two".to_owned())));
        }
        self.hosts.push(host);
        Ok(())
    }
}

/// Appends the object of a host that the table does not know.
pub(crate) fn write_plain_host(out: &mut Vec<u8>, name: &str) {
    out.extend_from_slice(br#"{"name":"#);
    write_string(out, name);
    out.push(b'}');
}

fn begin_json(name: &str) -> Vec<u8> {
    let mut json = Vec::new();
    write_plain_host(&mut json, name);
    json.pop();
    json
}

fn push_member(json: &mut Vec<u8>, column: &str) {
    json.push(b',');
    write_string(json, column);
    json.push(b':');
}

fn check_column(column: &str, line: u64) -> Result<(), HostTableError> {
    match column {
        "" => Err(failed(line, "a column has no name", None)),
        "name" | "host" => {
            let message = format!("the column `{column}` would hide the host's name");
            Err(failed(line, &message, Some("give it another name".to_owned())))
        }
        _ => Ok(()),
    }
}

fn failed(line: u64, message: &str, help: Option<String>) -> HostTableError {
    HostTableError { line, message: message.to_owned(), help }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> Result<HostTable, HostTableError> {
        if text.trim_start().starts_with('{') {
            HostTable::from_json_lines(text)
        } else {
            HostTable::from_csv(text)
        }
    }

    fn check(text: &str, host: &str, expect: Option<&str>) {
        let table = read(text).unwrap();
        let json = table.get(host).map(|host| String::from_utf8(host.json().to_vec()).unwrap());
        assert_eq!(json.as_deref(), expect, "{host}");
    }

    fn check_error(text: &str, line: u64, message: &str) {
        let error = read(text).unwrap_err();
        assert_eq!((error.line, error.message.as_str()), (line, message));
    }

    const CSV: &str =
        "host,node,gpu_model,rack\n# spare\ngpu-07, n7 ,\"H100, 80G\",r3\ngpu-08,n8,,\n";

    #[test]
    fn csv_tables() {
        let expect = r#"{"name":"gpu-07","node":"n7","gpu_model":"H100, 80G","rack":"r3"}"#;
        check(CSV, "gpu-07", Some(expect));
        check(CSV, "gpu-08", Some(r#"{"name":"gpu-08","node":"n8"}"#));
        check(CSV, "gpu-09", None);
        let table = read(CSV).unwrap();
        assert_eq!(table.get("gpu-07").unwrap().column(1), Some("H100, 80G"));
        assert_eq!(table.get("gpu-08").unwrap().column(1), None);
        assert_eq!(table.columns(), ["node", "gpu_model", "rack"]);
    }

    #[test]
    fn json_tables() {
        let text = "{\"host\":\"a\",\"gpus\":8}\n\n{\"name\":\"b\",\"spot\":true,\"gpus\":null}\n";
        check(text, "a", Some(r#"{"name":"a","gpus":8}"#));
        check(text, "b", Some(r#"{"name":"b","spot":true}"#));
        let table = read(text).unwrap();
        assert_eq!(table.columns(), ["gpus", "spot"]);
        assert_eq!((table.hosts()[0].column(0), table.hosts()[0].column(1)), (Some("8"), None));
        assert_eq!(table.hosts()[1].column(1), Some("true"));
    }

    #[test]
    fn errors_name_the_line() {
        check_error("", 1, "the table has no header line");
        check_error("node,rack\n", 1, "the first column is `node`, not the host");
        check_error("host,node\na,b\nc,d,e\n", 3, "3 columns where the header has 2");
        check_error("host,node\na,b\n\na,d\n", 4, "the host `a` stands twice in the table");
        check_error("host,node\n,b\n", 2, "the host's name is empty");
        check_error("host,a,a\n", 1, "the column `a` stands twice in the header");
        check_error("host,name\n", 1, "the column `name` would hide the host's name");
        check_error("{\"host\":\"a\"}\n{\"node\":1}\n", 2, "the object has no text `host`");
        check_error("{\"host\":\"a\",\"x\":[1]}", 1, "`x` is no text, number or boolean");
    }

    proptest! {
        #[test]
        fn any_text_is_a_table_or_an_error(text in "(host,a\n)?[,\"a\n{}:#\\PC]{0,40}") {
            for table in [HostTable::from_csv(&text), HostTable::from_json_lines(&text)] {
                for host in table.iter().flat_map(HostTable::hosts) {
                    let json: Value = serde_json::from_slice(host.json()).unwrap();
                    prop_assert_eq!(json["name"].as_str(), Some(host.name()));
                }
            }
        }
    }
}
