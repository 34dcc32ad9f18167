//! How a line of the corpus must be read, and the comparison with a document.
//!
//! The invariant: a difference names the field, what was wanted and what is there.

use super::calendar::{NANOS_PER_MILLI, day, rfc3339};
use serde_json::Value;

/// Hosts that stand in the hosts table: `gpu-00` to `gpu-07`.
pub(super) const KNOWN_HOSTS: u64 = 8;

/// What a line must become.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expect {
    /// The line's number.
    pub rid: u64,
    /// The line itself.
    pub line: String,
    /// Does the pattern take it?
    pub parsed: bool,
    /// The event's time: the line's own, else its record's.
    pub time_ns: i64,
    /// The record's time.
    pub record_time_ms: i64,
    /// `trace` to `fatal`; `None` for a line without one.
    pub level: Option<&'static str>,
    /// As the line names it.
    pub component: Option<&'static str>,
    /// What follows the component; the whole line when it was not parsed.
    pub content: String,
    /// The label, by header or default.
    pub task: &'static str,
    /// The label, by header or default.
    pub role: &'static str,
    /// The label, by header or default.
    pub project: &'static str,
    /// The host's name: the header, else the record's key.
    pub host: String,
    /// The line's place in its record.
    pub index: u64,
    /// The record's partition.
    pub partition: i32,
}

pub(super) fn host_name(host: u64) -> String {
    if host < KNOWN_HOSTS { format!("gpu-{host:02}") } else { "gpu-99".to_owned() }
}

/// The columns `node`, `gpu_model` and `rack` of a known host.
pub(super) fn host_columns(host: u64) -> (String, &'static str, String) {
    let model = if host.is_multiple_of(2) { "H800" } else { "A100-80G" };
    (format!("node-{host}"), model, format!("r{}", host / 4))
}

impl Expect {
    /// Does the route to the search store take it: `project == "nlp" and level >= "warn"`?
    pub fn is_searched(&self) -> bool {
        self.project == "nlp" && matches!(self.level, Some("warn" | "error" | "fatal"))
    }

    /// Its index: `stem` and the day, as `stem-{timestamp:%Y.%m.%d}` gives.
    pub fn index_of(&self, stem: &str) -> String {
        format!("{stem}-{}", day(self.time_ns, '.'))
    }

    /// Its prefix: `{task}/{timestamp:%Y-%m-%d}/{role}/`.
    pub fn prefix(&self) -> String {
        format!("{}/{}/{}/", self.task, day(self.time_ns, '-'), self.role)
    }

    /// Compares every field of a document that follows from the line.
    pub fn check(&self, document: &Value) -> Result<(), String> {
        let received = self.record_time_ms * NANOS_PER_MILLI;
        let source = if self.parsed { "line" } else { "record" };
        let text = |value: &str| Some(value.to_owned());
        let wanted = [
            ("/@timestamp", text(&rfc3339(self.time_ns))),
            ("/timestamp_source", text(source)),
            ("/received", text(&rfc3339(received))),
            ("/level", self.level.map(str::to_owned)),
            ("/component", self.component.map(str::to_owned)),
            ("/content", text(&self.content)),
            ("/labels/task", text(self.task)),
            ("/labels/role", text(self.role)),
            ("/labels/project", text(self.project)),
            ("/host/name", text(&self.host)),
            ("/host/rack", self.known_host().map(|host| host_columns(host).2)),
            ("/host/gpu_model", self.known_host().map(|host| host_columns(host).1.to_owned())),
            // Left out where `content` is the whole line.
            ("/message", self.parsed.then(|| self.line.clone())),
        ];
        for (pointer, wanted) in wanted {
            let found = document.pointer(pointer);
            if found.map(Value::as_str) != wanted.as_deref().map(Some) {
                return Err(format!("rid {}: {pointer}: {found:?}, not {wanted:?}", self.rid));
            }
        }
        self.check_numbers(document)
    }

    fn check_numbers(&self, document: &Value) -> Result<(), String> {
        let tags = document["tags"].as_array().map(Vec::as_slice).unwrap_or_default();
        let unparsed = tags.iter().any(|tag| tag == "_unparsed");
        let wanted = [
            ("v", document["v"] == 1),
            ("tags", unparsed != self.parsed),
            ("origin.index", document["origin"]["index"] == self.index),
            ("origin.partition", document["origin"]["partition"] == self.partition),
        ];
        match wanted.into_iter().find(|(_, holds)| !holds) {
            Some((field, _)) => Err(format!("rid {}: {field} is wrong in {document}", self.rid)),
            None => Ok(()),
        }
    }

    fn known_host(&self) -> Option<u64> {
        (0..KNOWN_HOSTS).find(|host| host_name(*host) == self.host)
    }
}

#[cfg(test)]
mod tests {
    use crate::corpus::{Corpus, Expect};
    use serde_json::{Value, json};

    fn document(expect: &Expect) -> Value {
        json!({
            "@timestamp": super::rfc3339(expect.time_ns), "timestamp_source": "record",
            "received": super::rfc3339(expect.record_time_ms * 1_000_000),
            "content": expect.content,
            "host": { "name": expect.host, "rack": "r0", "gpu_model": "H800" },
            "labels": { "task": expect.task, "role": expect.role, "project": expect.project },
            "tags": ["_unparsed"],
            "origin": { "index": expect.index, "partition": expect.partition }, "v": 1,
        })
    }

    #[test]
    fn a_difference_is_named() {
        let corpus = Corpus { seed: 1, lines: 2_000, partitions: 4 };
        let mut lines = corpus.expected().into_iter();
        let expect = lines.find(|e| !e.parsed && e.host == "gpu-02").unwrap();
        let good = document(&expect);
        assert_eq!(expect.check(&good), Ok(()));
        for (pointer, wrong) in [
            ("/@timestamp", json!("2026-03-12T02:23:45.000000001Z")),
            ("/labels/task", json!("other")),
            ("/host/rack", json!("r9")),
            ("/tags", json!([])),
            ("/origin/index", json!(77)),
            ("/v", json!(2)),
        ] {
            let mut bad = good.clone();
            *bad.pointer_mut(pointer).unwrap() = wrong;
            assert!(expect.check(&bad).is_err(), "{pointer}");
        }
        let mut more = good.clone();
        more["level"] = json!("info");
        assert!(expect.check(&more).unwrap_err().contains("/level"));
    }
}
