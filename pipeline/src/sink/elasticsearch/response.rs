//! Reads a `_bulk` answer: one result per item, in the order sent.
//!
//! Invariant: an answer that is not JSON, or has another number of items than were sent, is no
//! answer ([`Unreadable`]): the whole request is sent again, which ids make safe. Next stop:
//! [`super::request`].

use serde::Deserialize;
use serde_json::Value;

/// The answer cannot be trusted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// Not the JSON of a `_bulk` answer.
    #[error("not a _bulk answer: {0}")]
    Malformed(String),
    /// Another number of items.
    #[error("{answered} items answered of {sent} sent")]
    Count {
        /// Items in the answer.
        answered: usize,
        /// Items in the request.
        sent: usize,
    },
}

/// One item's result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ItemResult {
    /// HTTP status; 0 when the item has none.
    pub status: u16,
    /// The error, when there is one.
    pub error: Option<ItemError>,
}

/// The store's words about one item.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ItemError {
    /// Its class, such as `mapper_parsing_exception`.
    pub kind: String,
    /// The reason with its whole chain of causes: `reason: caused by kind: reason …`.
    pub reason: String,
}

/// Most characters of a reason that are kept, chain included.
const REASON_MAX: usize = 2000;
/// Most causes that are followed.
const CAUSES_MAX: usize = 8;

#[derive(Deserialize)]
struct Answer {
    items: Vec<Item>,
}

#[derive(Deserialize)]
struct Item {
    #[serde(alias = "index", alias = "update", alias = "delete")]
    create: Action,
}

#[derive(Deserialize)]
struct Action {
    #[serde(default)]
    status: u16,
    #[serde(default)]
    error: Option<Value>,
}

/// Reads the answer to a request of `sent` items.
pub fn read_items(body: &[u8], sent: usize) -> Result<Vec<ItemResult>, Unreadable> {
    if let Some(results) = read_all_done(body, sent) {
        return Ok(results);
    }
    let answer: Answer =
        serde_json::from_slice(body).map_err(|error| Unreadable::Malformed(error.to_string()))?;
    if answer.items.len() != sent {
        return Err(Unreadable::Count { answered: answer.items.len(), sent });
    }
    let result = |item: Item| ItemResult {
        status: item.create.status,
        error: item.create.error.as_ref().map(ItemError::read),
    };
    Ok(answer.items.into_iter().map(result).collect())
}

/// The answer nearly every request gets, read without a JSON parser: exactly
/// `{"errors":false,"items":[{"create":{"status":201}},…]}`, or the same of `index`. Anything else
/// is for the parser.
fn read_all_done(body: &[u8], sent: usize) -> Option<Vec<ItemResult>> {
    const CREATED: &[u8] = br#"{"create":{"status":201}}"#;
    const INDEXED: &[u8] = br#"{"index":{"status":201}}"#;
    let mut rest = body.strip_prefix(br#"{"errors":false,"items":["#)?;
    let item = if rest.starts_with(INDEXED) { INDEXED } else { CREATED };
    for number in 0..sent {
        rest = if number == 0 { rest } else { rest.strip_prefix(b",")? };
        rest = rest.strip_prefix(item)?;
    }
    let is_end = rest.trim_ascii_end() == b"]}";
    is_end.then(|| vec![ItemResult { status: 201, error: None }; sent])
}

/// The reason in the body of a failed request, for the log.
pub fn request_error(body: &[u8]) -> String {
    let read = serde_json::from_slice::<Value>(body).ok();
    let error = read.as_ref().and_then(|value| value.get("error")).map(ItemError::read);
    match error {
        Some(error) if error.kind.is_empty() => error.reason,
        Some(error) => format!("{}: {}", error.kind, error.reason),
        None => clip(&String::from_utf8_lossy(&body[..body.len().min(REASON_MAX)])),
    }
}

impl ItemError {
    fn read(value: &Value) -> ItemError {
        // Old servers answer with a bare string.
        if let Some(text) = value.as_str() {
            return ItemError { kind: String::new(), reason: clip(text) };
        }
        let word =
            |value: &Value, key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
        let kind = word(value, "type").unwrap_or_default();
        let mut reason = word(value, "reason").unwrap_or_default();
        let mut cause = value.get("caused_by");
        for _ in 0..CAUSES_MAX {
            let Some(next) = cause else { break };
            let next_kind = word(next, "type").unwrap_or_default();
            let next_reason = word(next, "reason").unwrap_or_default();
            reason.push_str("; caused by ");
            reason.push_str(&next_kind);
            reason.push_str(": ");
            reason.push_str(&next_reason);
            cause = next.get("caused_by");
        }
        ItemError { kind, reason: clip(&reason) }
    }
}

fn clip(text: &str) -> String {
    text.chars().take(REASON_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn items_come_in_order_with_the_whole_chain() {
        let body = br#"{"took":3,"errors":true,"items":[{"create":{"status":201}},
            {"create":{"_index":"a","status":400,"error":{"type":"mapper_parsing_exception",
            "reason":"failed to parse field [rank]","caused_by":{"type":"number_format_exception",
            "reason":"For input string: \"x\""}}}},{"index":{"status":429}}]}"#;
        let items = read_items(body, 3).unwrap();
        assert_eq!(items.iter().map(|item| item.status).collect::<Vec<_>>(), [201, 400, 429]);
        let error = items[1].error.as_ref().unwrap();
        assert_eq!(error.kind, "mapper_parsing_exception");
        assert_eq!(
            error.reason,
            "failed to parse field [rank]; caused by number_format_exception: \
             For input string: \"x\""
        );
    }

    #[test]
    fn the_usual_answer_is_read_without_a_parser_and_to_the_same_end() {
        let usual = |items: usize| {
            let items = vec![r#"{"create":{"status":201}}"#; items].join(",");
            format!(r#"{{"errors":false,"items":[{items}]}}"#)
        };
        assert_eq!(read_all_done(usual(3).as_bytes(), 3).map(|all| all.len()), Some(3));
        let indexed = usual(3).replace("create", "index");
        assert_eq!(read_all_done(indexed.as_bytes(), 3).map(|all| all.len()), Some(3));
        let mixed = usual(2).replacen("create", "index", 1);
        assert_eq!(read_all_done(mixed.as_bytes(), 2), None);
        assert_eq!(read_items(mixed.as_bytes(), 2).map(|all| all.len()), Ok(2));
        for (body, sent) in [(usual(2), 3), (usual(3), 2), (usual(1) + "x", 1)] {
            assert_eq!(read_all_done(body.as_bytes(), sent), None);
            assert!(read_items(body.as_bytes(), sent).is_err(), "{body}");
        }
    }

    #[test]
    fn short_and_broken_answers_are_no_answers() {
        let short = br#"{"items":[{"create":{"status":201}}]}"#;
        assert_eq!(read_items(short, 2), Err(Unreadable::Count { answered: 1, sent: 2 }));
        for body in [&b""[..], b"{", b"[]", b"{}", b"<html>", br#"{"items":[{}]}"#] {
            let read = read_items(body, 1);
            assert!(matches!(read, Err(Unreadable::Malformed(_))), "{read:?}");
        }
    }

    #[test]
    fn a_failed_request_says_why() {
        let body =
            br#"{"error":{"type":"security_exception","reason":"no permissions"},"status":403}"#;
        assert_eq!(request_error(body), "security_exception: no permissions");
        assert_eq!(request_error(b"Bad Gateway"), "Bad Gateway");
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_panic(body in prop::collection::vec(any::<u8>(), 0..300)) {
            let read = read_items(&body, 1);
            prop_assert!(read.is_err() || read.is_ok_and(|items| items.len() == 1));
            request_error(&body);
        }
    }
}
