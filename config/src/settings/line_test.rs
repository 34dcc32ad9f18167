//! `[[tests]]`: a line and what must become of it. Run by `riverhog test`. Next: `lib.rs`.

use crate::Place;

/// One test of the file.
#[derive(Debug, Clone, PartialEq)]
pub struct LineTest {
    /// Its name; the line itself, shortened, where the file gives none.
    pub name: String,
    /// The raw line, without a newline.
    pub line: String,
    /// The record's key.
    pub key: Option<String>,
    /// The record's headers.
    pub headers: Vec<(String, String)>,
    /// What must hold of the event, in the order of the file.
    pub expect: Vec<Expectation>,
    /// Names of the sinks the event must reach, no more and no fewer; not tested when absent.
    pub sinks: Option<Vec<String>>,
    /// Where the test stands.
    pub place: Place,
}

/// One value that an event must have.
#[derive(Debug, Clone, PartialEq)]
pub struct Expectation {
    /// A name as conditions use it: `level`, `content`, `task`, `fields.x`, `host.rack`, `tags`.
    pub name: String,
    /// The value: a string, a number, a boolean, or an array of these (for `tags`).
    pub value: serde_json::Value,
    /// Where it stands.
    pub place: Place,
}
