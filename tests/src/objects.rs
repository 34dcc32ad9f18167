//! What a test asks of the S3 server: buckets, listings, objects, and the events in them.
//!
//! The invariant: it reads objects as anybody's zstd would, by no code of riverhog's.

use anyhow::{Context as _, Result, ensure};
use aws_sdk_s3::config::{BehaviorVersion, Credentials, Region, RequestChecksumCalculation};
use aws_sdk_s3::primitives::ByteStream;
use serde_json::Value;
use std::io::Read as _;

/// More than any object of a test unpacks to.
const UNPACKED_BYTES_MAX: u64 = 1 << 30;

/// One bucket of an S3 server.
#[derive(Clone, Debug)]
pub struct ObjectStore {
    client: aws_sdk_s3::Client,
    bucket: String,
}

/// An object of a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    /// Its whole key.
    pub key: String,
    /// Its size as stored.
    pub bytes: u64,
}

impl ObjectStore {
    /// A client for one bucket, which need not exist; see `create_bucket`.
    pub fn new(endpoint: &str, key: &str, secret: &str, bucket: &str) -> Self {
        let config = aws_sdk_s3::Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .endpoint_url(endpoint)
            .region(Region::new("us-east-1"))
            .credentials_provider(Credentials::new(key, secret, None, None, "riverhog-tests"))
            .force_path_style(true)
            .request_checksum_calculation(RequestChecksumCalculation::WhenRequired)
            .http_client(aws_smithy_http_client::Builder::new().build_http())
            .build();
        Self { client: aws_sdk_s3::Client::from_conf(config), bucket: bucket.to_owned() }
    }

    /// The name of the bucket.
    pub fn bucket(&self) -> &str {
        &self.bucket
    }

    /// Makes the bucket.
    pub async fn create_bucket(&self) -> Result<()> {
        let sent = self.client.create_bucket().bucket(&self.bucket).send().await;
        sent.map(drop).with_context(|| format!("making bucket {}", self.bucket))
    }

    /// The objects whose keys begin with `prefix`, by key.
    pub async fn list(&self, prefix: &str) -> Result<Vec<Object>> {
        let doing = || format!("listing {}/{prefix}", self.bucket);
        let request = self.client.list_objects_v2().bucket(&self.bucket).prefix(prefix);
        let mut pages = request.into_paginator().send();
        let mut objects = Vec::new();
        while let Some(page) = pages.next().await {
            for object in page.with_context(doing)?.contents() {
                let bytes = object.size().unwrap_or_default().try_into().with_context(doing)?;
                objects.push(Object { key: object.key().unwrap_or_default().to_owned(), bytes });
            }
        }
        Ok(objects)
    }

    /// An object, whole and as stored.
    pub async fn read(&self, key: &str) -> Result<Vec<u8>> {
        let doing = || format!("reading {}/{key}", self.bucket);
        let sent = self.client.get_object().bucket(&self.bucket).key(key).send().await;
        let body = sent.with_context(doing)?.body.collect().await.with_context(doing)?;
        Ok(body.to_vec())
    }

    /// Writes an object over whatever is there.
    pub async fn write(&self, key: &str, body: Vec<u8>) -> Result<()> {
        let request = self.client.put_object().bucket(&self.bucket).key(key);
        let sent = request.body(ByteStream::from(body)).send().await;
        sent.map(drop).with_context(|| format!("writing {}/{key}", self.bucket))
    }

    /// Deletes an object.
    pub async fn delete(&self, key: &str) -> Result<()> {
        let sent = self.client.delete_object().bucket(&self.bucket).key(key).send().await;
        sent.map(drop).with_context(|| format!("deleting {}/{key}", self.bucket))
    }

    /// The lines of an object of a chain, each a JSON document, in order.
    pub async fn events_of(&self, key: &str) -> Result<Vec<Value>> {
        events_in(&self.read(key).await?).with_context(|| format!("object {key}"))
    }

    /// The events of all chains below `prefix`, each with the key of its object.
    pub async fn events(&self, prefix: &str) -> Result<Vec<(String, Value)>> {
        let mut events = Vec::new();
        let objects = self.list(prefix).await?;
        for object in objects.into_iter().filter(|object| object.key.ends_with(".jsonl.zst")) {
            for event in self.events_of(&object.key).await? {
                events.push((object.key.clone(), event));
            }
        }
        Ok(events)
    }
}

/// The lines of an object of a chain by its bytes as stored.
pub fn events_in(stored: &[u8]) -> Result<Vec<Value>> {
    parse_lines(&unpack(stored)?)
}

fn unpack(stored: &[u8]) -> Result<Vec<u8>> {
    let mut raw = Vec::new();
    let decoder = zstd::Decoder::new(stored).context("opening the frames")?;
    decoder.take(UNPACKED_BYTES_MAX).read_to_end(&mut raw).context("unpacking the frames")?;
    ensure!((raw.len() as u64) < UNPACKED_BYTES_MAX, "unpacks to {} bytes or more", raw.len());
    Ok(raw)
}

fn parse_lines(raw: &[u8]) -> Result<Vec<Value>> {
    ensure!(raw.is_empty() || raw.ends_with(b"\n"), "the last line has no end");
    let lines = raw.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines.map(|line| serde_json::from_slice(line).context("a line is not JSON")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_frames_and_passes_over_a_footer() {
        let mut stored = zstd::encode_all(&b"{\"a\":1}\n"[..], 1).unwrap();
        stored.extend(zstd::encode_all(&b"{\"a\":2}\n"[..], 1).unwrap());
        stored.extend([0x5e, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3]);
        let events = parse_lines(&unpack(&stored).unwrap()).unwrap();
        assert_eq!(events, [serde_json::json!({"a": 1}), serde_json::json!({"a": 2})]);
    }

    #[test]
    fn refuses_half_a_line() {
        assert!(parse_lines(b"{\"a\":1}").is_err());
        assert!(parse_lines(b"{\"a\":1}\n{\"a\n").is_err());
    }
}
