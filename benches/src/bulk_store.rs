//! A store that speaks `_bulk` and does nothing but count: `create` of a new id is 201, of one it
//! has seen 409, in the words and with the fields that OpenSearch would use.
//!
//! The invariant: every action line of every request is in the tally. Next stop: `tally.rs`.

use anyhow::Result;
use bytes::Bytes;
use http::StatusCode;
use memchr::memchr;
use memchr::memmem;

use crate::http::{Answer, Store, answer, serve};
use crate::tally::{Args, Seen, Tally};

const CREATED: &[u8] = br#"{"create":{"status":201}}"#;
const EXISTS: &[u8] = concat!(
    r#"{"create":{"status":409,"error":{"type":"version_conflict_engine_exception","#,
    r#""reason":"document already exists"}}}"#
)
.as_bytes();
const REFUSED: &[u8] = concat!(
    r#"{"create":{"status":400,"error":{"type":"illegal_argument_exception","#,
    r#""reason":"not an id of the load"}}}"#
)
.as_bytes();

struct BulkStore {
    tally: Tally,
    id: memmem::Finder<'static>,
}

pub(crate) fn run(args: Args) -> Result<()> {
    serve(BulkStore { tally: Tally::new(args.ends), id: memmem::Finder::new(br#""_id":""#) })
}

impl Store for BulkStore {
    fn answer(&mut self, head: &http::request::Parts, body: Bytes) -> Answer {
        match head.uri.path() {
            "/_bulk" => answer(StatusCode::OK, self.take(&body)),
            "/tally" => answer(StatusCode::OK, self.tally.to_json().to_string()),
            _ => answer(StatusCode::NOT_FOUND, "{}"),
        }
    }
}

impl BulkStore {
    /// Counts the items of a body and makes the answer.
    fn take(&mut self, body: &[u8]) -> Vec<u8> {
        let mut items = Vec::with_capacity(body.len() / 16);
        let (mut rest, mut errors) = (body, false);
        while let Some((action, after)) = cut_line(rest) {
            // The document: it is not looked at.
            rest = cut_line(after).map_or(&b""[..], |(_, after)| after);
            let item = match self.tally.add(self.id_of(action)) {
                Seen::New => CREATED,
                Seen::Repeated => EXISTS,
                Seen::Foreign => REFUSED,
            };
            errors |= item != CREATED;
            items.extend_from_slice(item);
            items.push(b',');
        }
        items.pop();
        self.tally.touch(body.len());
        let mut answer = format!("{{\"errors\":{errors},\"items\":[").into_bytes();
        answer.append(&mut items);
        answer.extend_from_slice(b"]}");
        answer
    }

    /// The id in an action line, which riverhog writes without escapes.
    fn id_of<'a>(&self, action: &'a [u8]) -> &'a [u8] {
        let Some(before) = self.id.find(action) else { return b"" };
        let id = &action[before + self.id.needle().len()..];
        memchr(b'"', id).map_or(b"", |end| &id[..end])
    }
}

fn cut_line(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = memchr(b'\n', text)?;
    Some((&text[..end], &text[end + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_answered_in_order() {
        let id = memmem::Finder::new(br#""_id":""#);
        let mut store = BulkStore { tally: Tally::new(vec![10]), id };
        let item = |id: &str| {
            format!(
                "{{\"create\":{{\"_index\":\"a\",\"_id\":\"{id}\"}}}}\n{{\"event_id\":\"x\"}}\n"
            )
        };
        let body = item("l-t-0-1-k-0") + &item("l-t-0-1-k-0") + &item("l-t-0-11-k-0");
        let answer: serde_json::Value =
            serde_json::from_slice(&store.take(body.as_bytes())).unwrap();
        assert_eq!(answer["errors"], true);
        let statuses: Vec<_> = answer["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|item| item["create"]["status"].as_u64().unwrap())
            .collect();
        assert_eq!(statuses, [201, 409, 400]);
    }
}
