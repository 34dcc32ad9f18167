//! Faults of single documents of a `_bulk` request, as a store has them that is short of threads or
//! cannot map a value: some are refused, the others are stored.
//!
//! The invariant: only what is not refused reaches the store, and the answer holds one item
//! for each
//! document, in order.

use anyhow::{Context as _, Result};
use bytes::Bytes;
use serde_json::{Value, json};

use crate::corpus::{Dice, rid_of};

/// Which documents of a request are refused, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Items {
    /// The status of a refused item: 429, 400 and so on.
    pub status: u16,
    /// Which are refused.
    pub pick: Pick,
}

/// Which documents of a request are refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pick {
    /// So many of 100, by the dice of the seed, again at each try.
    Percent(u64, u64),
    /// Always the lines of the corpus whose number divided by this leaves 1.
    Every(u64),
}

/// A request taken apart.
pub(super) struct Sifted {
    /// What goes on to the store; empty when nothing is left.
    pub(super) rest: Bytes,
    /// For each document the item of its refusal, or `None` where the store answers.
    refusals: Vec<Option<Value>>,
}

impl Items {
    /// Takes the refused documents out; `number` tells requests apart.
    pub(super) fn sift(self, body: &[u8], number: u64) -> Sifted {
        let mut dice =
            Dice::new(if let Pick::Percent(_, seed) = self.pick { seed } else { 0 }, number);
        let mut lines = body.split_inclusive(|byte| *byte == b'\n');
        let (mut rest, mut refusals) = (Vec::with_capacity(body.len()), Vec::new());
        while let (Some(action), Some(document)) = (lines.next(), lines.next()) {
            if self.refuses(document, &mut dice) {
                refusals.push(Some(self.refusal(action)));
            } else {
                rest.extend_from_slice(action);
                rest.extend_from_slice(document);
                refusals.push(None);
            }
        }
        Sifted { rest: rest.into(), refusals }
    }

    fn refuses(self, document: &[u8], dice: &mut Dice) -> bool {
        match self.pick {
            Pick::Percent(share, _) => dice.percent(share),
            Pick::Every(count) => {
                let rid = rid_of(&String::from_utf8_lossy(document));
                rid.is_some_and(|rid| rid % count == 1)
            }
        }
    }

    fn refusal(self, action: &[u8]) -> Value {
        let action: Value = serde_json::from_slice(action).unwrap_or_default();
        let (name, target) = action
            .as_object()
            .and_then(|action| action.iter().next())
            .map_or(("create", Value::Null), |(name, target)| (name.as_str(), target.clone()));
        let kind = if self.status == 429 {
            "es_rejected_execution_exception"
        } else {
            "mapper_parsing_exception"
        };
        let error = json!({ "type": kind, "reason": "by the proxy" });
        let item = json!({
            "_index": target["_index"], "_id": target["_id"],
            "status": self.status, "error": error,
        });
        Value::from_iter([(name.to_owned(), item)])
    }
}

impl Sifted {
    /// Is there a refused document?
    pub(super) fn has_refusals(&self) -> bool {
        self.refusals.iter().any(Option::is_some)
    }

    /// The answer to the whole request; `stored` is the store's to the rest, where it was asked.
    pub(super) fn answer(self, stored: Option<&[u8]>) -> Result<Bytes> {
        let mut answer = match stored {
            Some(body) => serde_json::from_slice(body).context("the store's answer")?,
            None => json!({ "took": 0, "items": [] }),
        };
        let items = answer["items"].as_array_mut().map(std::mem::take).unwrap_or_default();
        let mut items = items.into_iter();
        let all: Vec<Value> = self
            .refusals
            .into_iter()
            .filter_map(|refusal| refusal.or_else(|| items.next()))
            .collect();
        answer["errors"] = true.into();
        answer["items"] = all.into();
        Ok(answer.to_string().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BODY: &[u8] =
        b"{\"create\":{\"_index\":\"i\",\"_id\":\"a\"}}\n{\"content\":\"rid=0000000001\"}\n\
        {\"create\":{\"_index\":\"i\",\"_id\":\"b\"}}\n{\"content\":\"rid=0000000002\"}\n";

    #[test]
    fn what_is_refused_is_answered_in_its_place() {
        let sifted = Items { status: 400, pick: Pick::Every(1_000) }.sift(BODY, 1);
        assert!(sifted.has_refusals());
        assert!(sifted.rest.starts_with(b"{\"create\":{\"_index\":\"i\",\"_id\":\"b\"}}"));
        let stored = br#"{"took":3,"errors":false,"items":[{"create":{"_id":"b","status":201}}]}"#;
        let answer: Value = serde_json::from_slice(&sifted.answer(Some(stored)).unwrap()).unwrap();
        assert_eq!(answer["errors"], true);
        assert_eq!(answer["items"][0]["create"]["status"], 400);
        assert_eq!(answer["items"][0]["create"]["_id"], "a");
        assert_eq!(answer["items"][1]["create"]["status"], 201);
    }

    #[test]
    fn a_share_is_refused_by_chance() {
        let body = BODY.repeat(500);
        let items = Items { status: 429, pick: Pick::Percent(20, 7) };
        let refused = |number| items.sift(&body, number).refusals;
        let count = refused(1).iter().flatten().count();
        assert!((120..280).contains(&count), "{count} of 1000");
        assert_ne!(refused(1), refused(2));
        assert_eq!(refused(2), refused(2));
        let whole = Items { status: 429, pick: Pick::Percent(100, 7) }.sift(BODY, 1);
        assert!(whole.rest.is_empty());
        let answer: Value = serde_json::from_slice(&whole.answer(None).unwrap()).unwrap();
        assert_eq!(answer["items"].as_array().unwrap().len(), 2);
    }
}
