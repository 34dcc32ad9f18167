//! What stores can be told, each setting against a real one: data streams, operations, routing,
//! ingest pipelines, compression and addresses of OpenSearch; encryption and names of S3.
//!
//! The invariant: a test says what a store holds from asking it, never from riverhog. Next stop:
//! `bed.rs`.

mod archive;
mod bed;
mod search;
