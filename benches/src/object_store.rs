//! A store that speaks as much S3 as the archive sink asks for, keeps objects in memory, and counts
//! the lines in them once the run is over: every frame decompressed and checked, every event id
//! read from its document.
//!
//! The invariant: an object is created once; what is there is never replaced. Next stop:
//! `tally.rs`.

use anyhow::{Context as _, Result, bail};
use bytes::Bytes;
use http::header::{CONTENT_RANGE, ETAG, IF_NONE_MATCH, RANGE};
use http::{HeaderValue, Method, StatusCode};
use memchr::memmem;
use riverhog::sink::archive::reader::ObjectReader;
use riverhog::sink::archive::store::PROBE_KEY;
use std::collections::{BTreeMap, BTreeSet};

use crate::http::{Answer, Store, answer, serve};
use crate::tally::{Args, Tally};

/// Most keys in a page of a list.
const PAGE_KEYS: usize = 1000;

struct ObjectStore {
    /// By bucket and key, with a slash between them.
    objects: BTreeMap<String, Bytes>,
    ends: Vec<u64>,
    tally: Tally,
}

pub(crate) fn run(args: Args) -> Result<()> {
    let tally = Tally::new(args.ends.clone());
    serve(ObjectStore { objects: BTreeMap::new(), ends: args.ends, tally })
}

impl Store for ObjectStore {
    fn answer(&mut self, head: &http::request::Parts, body: Bytes) -> Answer {
        let path = percent_decoded(head.uri.path().trim_start_matches('/'));
        let query = head.uri.query().unwrap_or("");
        match head.method {
            Method::GET if path == "tally" => {
                answer(StatusCode::OK, self.tally.to_json().to_string())
            }
            Method::GET if path == "count" => match self.count() {
                Ok(()) => answer(StatusCode::OK, self.tally.to_json().to_string()),
                Err(error) => answer(StatusCode::INTERNAL_SERVER_ERROR, format!("{error:#}")),
            },
            Method::GET if !path.trim_end_matches('/').contains('/') => {
                answer(StatusCode::OK, self.list(path.trim_end_matches('/'), query))
            }
            Method::GET => self.get(&path, head.headers.get(RANGE)),
            Method::PUT => self.put(path, head, &body),
            _ => error(StatusCode::NOT_IMPLEMENTED, "NotImplemented"),
        }
    }
}

impl ObjectStore {
    fn put(&mut self, path: String, head: &http::request::Parts, body: &Bytes) -> Answer {
        if head.headers.get("content-encoding").is_some_and(|it| it == "aws-chunked") {
            return error(StatusCode::NOT_IMPLEMENTED, "NotImplemented");
        }
        let only_new = head.headers.get(IF_NONE_MATCH).is_some_and(|value| value == "*");
        if only_new && self.objects.contains_key(&path) {
            return error(StatusCode::PRECONDITION_FAILED, "PreconditionFailed");
        }
        if !path.ends_with(PROBE_KEY) {
            self.tally.touch(body.len());
        }
        // Its own copy: the body may be a slice of a larger buffer.
        self.objects.insert(path, Bytes::copy_from_slice(body));
        let mut done = answer(StatusCode::OK, "");
        done.headers_mut().insert(ETAG, HeaderValue::from_static("\"0\""));
        done
    }

    fn get(&self, path: &str, range: Option<&HeaderValue>) -> Answer {
        let Some(object) = self.objects.get(path) else {
            return error(StatusCode::NOT_FOUND, "NoSuchKey");
        };
        let suffix = range.and_then(|range| range.to_str().ok()?.strip_prefix("bytes=-"));
        let Some(wanted) = suffix.and_then(|suffix| suffix.parse::<usize>().ok()) else {
            return answer(StatusCode::OK, object.clone());
        };
        let start = object.len().saturating_sub(wanted);
        let mut partial = answer(StatusCode::PARTIAL_CONTENT, object.slice(start..));
        let text = format!("bytes {start}-{}/{}", object.len().saturating_sub(1), object.len());
        if let Ok(value) = HeaderValue::from_str(&text) {
            partial.headers_mut().insert(CONTENT_RANGE, value);
        }
        partial
    }

    /// `ListObjectsV2` with prefix, delimiter, start-after and continuation, which is a key.
    fn list(&self, bucket: &str, query: &str) -> String {
        let prefix = parameter(query, "prefix").unwrap_or_default();
        let delimiter = parameter(query, "delimiter").filter(|it| !it.is_empty());
        let after = parameter(query, "continuation-token")
            .or_else(|| parameter(query, "start-after"))
            .unwrap_or_default();
        let whole = format!("{bucket}/{prefix}");
        let (mut contents, mut folders) = (String::new(), BTreeSet::new());
        let (mut count, mut next) = (0, None);
        let mut last = String::new();
        for (path, object) in self.objects.range(whole.clone()..) {
            let Some(rest) = path.strip_prefix(&whole) else { break };
            let key = &path[bucket.len() + 1..];
            if key <= after.as_str() {
                continue;
            }
            if count == PAGE_KEYS {
                next = Some(last);
                break;
            }
            let slash = delimiter.as_deref().and_then(|delimiter| rest.find(delimiter));
            if let Some(slash) = slash {
                folders.insert(format!("{prefix}{}", &rest[..=slash]));
                continue;
            }
            count += 1;
            key.clone_into(&mut last);
            // Keys of the load need no escapes.
            let size = object.len();
            contents.extend([format!("<Contents><Key>{key}</Key><Size>{size}</Size></Contents>")]);
        }
        for folder in folders {
            contents.extend(["<CommonPrefixes><Prefix>", &folder, "</Prefix></CommonPrefixes>"]);
        }
        let truncated = next.is_some();
        let next = next.map_or(String::new(), |next| {
            format!("<NextContinuationToken>{next}</NextContinuationToken>")
        });
        format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?><ListBucketResult><Name>{bucket}</Name>\
             <Prefix>{prefix}</Prefix><IsTruncated>{truncated}</IsTruncated>\
             <KeyCount>{count}</KeyCount>{next}{contents}</ListBucketResult>"
        )
    }

    /// Reads every object and counts anew.
    fn count(&mut self) -> Result<()> {
        let mut tally = Tally::new(self.ends.clone());
        let before = memmem::Finder::new(br#""event_id":""#);
        for (path, object) in &self.objects {
            if path.ends_with(PROBE_KEY) {
                continue;
            }
            let reader = ObjectReader::open(object.clone()).context(path.clone())?;
            let mut lines = 0;
            for line in reader.lines() {
                let line = line.with_context(|| path.clone())?;
                let id = before.find(&line).map(|at| &line[at + before.needle().len()..]);
                let id = id.and_then(|id| id.split(|byte| *byte == b'"').next());
                tally.add(id.unwrap_or(b""));
                lines += 1;
            }
            if lines != reader.footer().lines {
                bail!("{path} holds {lines} lines, its footer says {}", reader.footer().lines);
            }
        }
        tally.requests = self.tally.requests;
        tally.bytes = self.tally.bytes;
        self.tally = tally;
        Ok(())
    }
}

fn error(status: StatusCode, code: &str) -> Answer {
    answer(status, format!("<Error><Code>{code}</Code><Message>{code}</Message></Error>"))
}

fn parameter(query: &str, name: &str) -> Option<String> {
    let mut pairs = query.split('&').map(|pair| pair.split_once('=').unwrap_or((pair, "")));
    pairs.find(|(key, _)| *key == name).map(|(_, value)| percent_decoded(value))
}

fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let digits = after.get(..2).and_then(|two| std::str::from_utf8(two).ok());
        let escaped = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        if let Some(byte) = escaped.filter(|_| *first == b'%') {
            bytes.push(byte);
            rest = &after[2..];
        } else {
            bytes.push(*first);
            rest = after;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn store(keys: &[&str]) -> ObjectStore {
        let objects = keys.iter().map(|key| ((*key).to_owned(), Bytes::from_static(b"0123456789")));
        ObjectStore { objects: objects.collect(), ends: vec![1], tally: Tally::new(vec![1]) }
    }

    #[test]
    fn a_list_keeps_to_its_prefix_and_folder() {
        let store = store(&["b/a/1", "b/a/2", "b/a/x/3", "b/c/4", "other/a/5"]);
        let listed = store.list("b", "list-type=2&prefix=a%2F&delimiter=%2F&start-after=a%2F1");
        assert!(listed.contains("<Key>a/2</Key><Size>10</Size>"), "{listed}");
        assert!(listed.contains("<Prefix>a/x/</Prefix>"), "{listed}");
        assert_eq!(listed.matches("<Key>").count(), 1, "{listed}");
    }

    #[test]
    fn the_end_of_an_object_can_be_read_alone() {
        let store = store(&["b/a"]);
        let partial = store.get("b/a", Some(&HeaderValue::from_static("bytes=-4")));
        assert_eq!(partial.status(), StatusCode::PARTIAL_CONTENT);
        assert_eq!(partial.headers()[CONTENT_RANGE], "bytes 6-9/10");
        assert_eq!(store.get("b/c", None).status(), StatusCode::NOT_FOUND);
    }

    #[test]
    fn nothing_is_replaced() {
        let mut store = store(&["b/a"]);
        let request = http::Request::put("/b/a").header("if-none-match", "*").body(());
        let (head, ()) = request.unwrap().into_parts();
        assert_eq!(store.answer(&head, Bytes::new()).status(), StatusCode::PRECONDITION_FAILED);
        assert_eq!(store.objects["b/a"].len(), 10);
    }
}
