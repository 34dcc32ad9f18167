//! The host table: host → columns, with each host's JSON object ready.
//!
//! Invariant: a table is immutable; a reload is a new table in a new `Arc`. Whatever a table says,
//! an event's `host` is an object with a `name`. Next stop: `labels`, which may read its columns.
use crate::json::write_string;
use crate::selector::Selector;
use crate::table::{CellKind, Keys, Row, Table, TableError};

/// The name of a host that nothing names.
pub const UNKNOWN_HOST: &str = "unknown";

/// How an event's host is found.
#[derive(Clone, Debug, Default)]
pub struct HostRule {
    /// Candidates for the host's name; the first that is present wins.
    pub from: Vec<Selector>,
}

/// What is known about hosts: a table with each host's JSON object ready.
#[derive(Clone, Debug, Default)]
pub struct HostTable {
    table: Table,
    /// By row: the object `{"name":…,…}` as it stands in documents.
    json: Vec<Vec<u8>>,
}

impl HostTable {
    /// Reads CSV with a header line whose first column is `host`. Empty cells count as absent.
    ///
    /// # Errors
    /// The first line that is no row of the table; the table is not usable then.
    pub fn from_csv(text: &str) -> Result<HostTable, TableError> {
        Table::from_csv(text, Keys::Hosts).map(HostTable::new)
    }

    /// Reads JSON lines: one object a line, with the host's name under `host` or `name`; the other
    /// members are its columns: texts, numbers and booleans.
    ///
    /// # Errors
    /// The first line that is no such object; the table is not usable then.
    pub fn from_json_lines(text: &str) -> Result<HostTable, TableError> {
        Table::from_json_lines(text, Keys::Hosts).map(HostTable::new)
    }

    fn new(table: Table) -> HostTable {
        let json = table.rows().iter().map(|row| {
            let mut json = Vec::new();
            write_plain_host(&mut json, row.key());
            json.pop();
            for (index, column) in table.columns().iter().enumerate() {
                let Some(cell) = row.cell(index) else { continue };
                json.push(b',');
                write_string(&mut json, column);
                json.push(b':');
                match cell.kind {
                    CellKind::Text => write_string(&mut json, &cell.text),
                    CellKind::Number | CellKind::Bool => {
                        json.extend_from_slice(cell.text.as_bytes());
                    }
                }
            }
            json.push(b'}');
            json
        });
        HostTable { json: json.collect(), table }
    }

    /// The columns besides the host's name, in order of first appearance.
    pub fn columns(&self) -> &[String] {
        self.table.columns()
    }

    /// Number of hosts.
    pub fn len(&self) -> usize {
        self.json.len()
    }

    /// True when it knows no host.
    pub fn is_empty(&self) -> bool {
        self.json.is_empty()
    }

    /// The hosts' names in the order of the table.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.table.rows().iter().map(Row::key)
    }

    /// The object `{"name":…,…}` of a host as it stands in documents.
    pub fn json_of(&self, name: &str) -> Option<&[u8]> {
        self.position(name).and_then(|position| self.json(position))
    }

    pub(crate) fn position(&self, name: &str) -> Option<u32> {
        self.table.position(name)
    }

    pub(crate) fn json(&self, position: u32) -> Option<&[u8]> {
        self.json.get(position as usize).map(Vec::as_slice)
    }

    /// The text of a host's column, both by their index.
    pub(crate) fn column(&self, position: u32, column: usize) -> Option<&str> {
        Some(&self.table.rows().get(position as usize)?.cell(column)?.text)
    }
}

/// Appends the object of a host that the table does not know.
pub(crate) fn write_plain_host(out: &mut Vec<u8>, name: &str) {
    out.extend_from_slice(br#"{"name":"#);
    write_string(out, name);
    out.push(b'}');
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::Value;

    fn read(text: &str) -> Result<HostTable, TableError> {
        if text.trim_start().starts_with('{') {
            HostTable::from_json_lines(text)
        } else {
            HostTable::from_csv(text)
        }
    }

    fn check(text: &str, host: &str, expect: Option<&str>) {
        let table = read(text).unwrap();
        let json = table.json_of(host).map(|json| String::from_utf8(json.to_vec()).unwrap());
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
        assert_eq!((table.column(0, 1), table.column(1, 1)), (Some("H100, 80G"), None));
        assert_eq!(table.columns(), ["node", "gpu_model", "rack"]);
    }

    #[test]
    fn json_tables() {
        let text = "{\"host\":\"a\",\"gpus\":8}\n\n{\"name\":\"b\",\"spot\":true,\"gpus\":null}\n";
        check(text, "a", Some(r#"{"name":"a","gpus":8}"#));
        check(text, "b", Some(r#"{"name":"b","spot":true}"#));
        let table = read(text).unwrap();
        assert_eq!(table.columns(), ["gpus", "spot"]);
        assert_eq!((table.column(0, 0), table.column(0, 1)), (Some("8"), None));
        assert_eq!(table.column(1, 1), Some("true"));
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
                let Ok(table) = table else { continue };
                for name in table.names() {
                    let json: Value = serde_json::from_slice(table.json_of(name).unwrap()).unwrap();
                    prop_assert_eq!(json["name"].as_str(), Some(name));
                }
            }
        }
    }
}
