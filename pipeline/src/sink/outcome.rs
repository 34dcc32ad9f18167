//! What an answer means, for every kind of request: the one closed table of the project (printed in
//! `docs/delivery.md`). Pure functions of status and code; S3's columns are in
//! [`crate::sink::archive::s3_outcome`], beside the codes they read.
//!
//! Invariant: every possible answer has exactly one meaning, and none of them is "ignore".

/// What to do with a bulk request, by its HTTP status alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BulkRequestOutcome {
    /// Read the answer item by item.
    ReadItems,
    /// Send the same again, later.
    Retry,
    /// Too large: halve it; one document alone is refused.
    Split,
    /// The store cannot read it: halve it down to the one document, which is refused.
    Refused,
    /// Nothing will get through until somebody acts.
    Halt(&'static str),
}

/// What to do with one item of a bulk request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BulkItemOutcome {
    /// The store has the document now.
    Done,
    /// The store had it already, under our own id.
    Known,
    /// Send it again, later.
    Retry,
    /// The store will never take it: a dead letter.
    Refused,
    /// The destination takes nothing until somebody acts.
    Halt(&'static str),
}

/// The bulk-request column.
pub fn bulk_request(status: u16) -> BulkRequestOutcome {
    match status {
        200..=299 => BulkRequestOutcome::ReadItems,
        408 | 429 | 500..=599 => BulkRequestOutcome::Retry,
        413 => BulkRequestOutcome::Split,
        400 => BulkRequestOutcome::Refused,
        401 => BulkRequestOutcome::Halt("unauthorised"),
        403 => BulkRequestOutcome::Halt("forbidden"),
        404 => BulkRequestOutcome::Halt("not_found"),
        300..=399 => BulkRequestOutcome::Halt("redirected"),
        // 1xx never ends an answer; 405, 406, 415 and the like say that this is no `_bulk`.
        _ => BulkRequestOutcome::Halt("not_a_bulk_endpoint"),
    }
}

/// The bulk-item column. `error_type` and `reason` are the store's own words, empty when it gave
/// none.
pub fn bulk_item(status: u16, error_type: &str, reason: &str) -> BulkItemOutcome {
    // Some conditions of the destination come with a status of the document.
    match error_type {
        "index_closed_exception" => return BulkItemOutcome::Halt("index_closed"),
        "cluster_block_exception" => return BulkItemOutcome::Halt("blocked"),
        "validation_exception" | "illegal_argument_exception" if is_shard_limit(reason) => {
            return BulkItemOutcome::Halt("shard_limit");
        }
        "illegal_argument_exception" if is_no_pipeline(reason) => {
            return BulkItemOutcome::Halt("no_pipeline");
        }
        _ => {}
    }
    match status {
        200..=299 => BulkItemOutcome::Done,
        409 => BulkItemOutcome::Known,
        429 | 500..=599 => BulkItemOutcome::Retry,
        401 => BulkItemOutcome::Halt("unauthorised"),
        403 => BulkItemOutcome::Halt("forbidden"),
        404 => BulkItemOutcome::Halt("not_found"),
        400..=499 => BulkItemOutcome::Refused,
        // No such status belongs to an item: the answer is not one we can read.
        _ => BulkItemOutcome::Retry,
    }
}

/// "this action would add [2] total shards, but this cluster currently has [1000]/[1000] maximum"
fn is_shard_limit(reason: &str) -> bool {
    reason.contains("shards") && reason.contains("maximum")
}

/// "pipeline with id [logs] does not exist"
fn is_no_pipeline(reason: &str) -> bool {
    reason.starts_with("pipeline with id [") && reason.ends_with("] does not exist")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bulk_request_column() {
        use BulkRequestOutcome::{Halt, ReadItems, Refused, Retry, Split};
        let table = [
            (200, ReadItems),
            (408, Retry),
            (429, Retry),
            (500, Retry),
            (503, Retry),
            (413, Split),
            (400, Refused),
            (401, Halt("unauthorised")),
            (403, Halt("forbidden")),
            (404, Halt("not_found")),
            (301, Halt("redirected")),
            (405, Halt("not_a_bulk_endpoint")),
        ];
        for (status, expected) in table {
            assert_eq!(bulk_request(status), expected, "{status}");
        }
    }

    #[test]
    fn bulk_item_column() {
        use BulkItemOutcome::{Done, Halt, Known, Refused, Retry};
        let shard = "this action would add [2] shards, but this cluster currently has \
                     [1000]/[1000] maximum normal shards open";
        let table = [
            (201, "", "", Done),
            (200, "", "", Done),
            (409, "version_conflict_engine_exception", "", Known),
            (429, "rejected_execution_exception", "", Retry),
            (503, "unavailable_shards_exception", "", Retry),
            (400, "mapper_parsing_exception", "failed to parse", Refused),
            (400, "illegal_argument_exception", "limit of total fields", Refused),
            (400, "index_closed_exception", "closed", Halt("index_closed")),
            (400, "validation_exception", shard, Halt("shard_limit")),
            (
                400,
                "illegal_argument_exception",
                "pipeline with id [logs] does not exist",
                Halt("no_pipeline"),
            ),
            (403, "cluster_block_exception", "blocked by", Halt("blocked")),
            (429, "cluster_block_exception", "flood-stage", Halt("blocked")),
            (403, "security_exception", "", Halt("forbidden")),
            (404, "index_not_found_exception", "", Halt("not_found")),
            (401, "", "", Halt("unauthorised")),
            (0, "", "", Retry),
        ];
        for (status, error_type, reason, expected) in table {
            assert_eq!(bulk_item(status, error_type, reason), expected, "{status} {error_type}");
        }
    }

    #[test]
    fn every_status_has_a_meaning() {
        for status in 0..=999 {
            let _ = (bulk_request(status), bulk_item(status, "", ""));
        }
    }
}
