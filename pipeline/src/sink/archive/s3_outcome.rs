//! The one table that says what an S3 server's answer means for us.
//!
//! Invariant: every status and code has exactly one verdict; whatever is not named keeps the lines
//! (retry or halt), never drops them. Next stop: `s3.rs` turns a verdict into a store's outcome.

use super::store::{HaltReason, RetryReason, UnreadableReason};

/// What was asked of the server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Request {
    /// PutObject.
    Put,
    /// GetObject, whole or in part.
    Get,
    /// ListObjectsV2.
    List,
}

/// What its answer means.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It did as asked.
    Done,
    /// The key is taken already: read that object's footer.
    Exists,
    /// The body is too large for the server: split it.
    TooLarge,
    /// The object cannot be had; others can.
    Unreadable(UnreadableReason),
    /// Ask again later.
    Retry(RetryReason),
    /// Asking again is of no use before somebody changes something.
    Halt(HaltReason),
}

/// The verdict on a status and the error code in the body, where there is one.
pub fn classify(request: Request, status: u16, code: Option<&str>) -> Verdict {
    use Verdict::{Done, Exists, Halt, Retry, TooLarge, Unreadable};

    match (request, status, code.unwrap_or("")) {
        (_, 200..=299, _) => Done,
        // Codes that mean something else than their status does.
        (_, 400.., "RequestTimeout") => Retry(RetryReason::Timeout),
        (_, 400.., "BadDigest" | "XAmzContentSHA256Mismatch" | "IncompleteBody") => {
            Retry(RetryReason::Digest)
        }
        (_, 400.., "SlowDown" | "Throttling" | "RequestLimitExceeded") => {
            Retry(RetryReason::Throttled)
        }
        (_, 400.., "ExpiredToken" | "InvalidToken" | "TokenRefreshRequired") => {
            Halt(HaltReason::Credentials)
        }
        (_, 400.., "NoSuchBucket") => Halt(HaltReason::NoBucket),
        (Request::Put, 400.., "EntityTooLarge") | (Request::Put, 413, _) => TooLarge,
        (Request::Get, 400.., "InvalidObjectState") => Unreadable(UnreadableReason::Archived),
        (Request::Get, 404, "" | "NoSuchKey" | "NotFound") => Unreadable(UnreadableReason::Missing),
        // A range of an object without any bytes.
        (Request::Get, 416, _) => Unreadable(UnreadableReason::Damaged),
        (Request::Put, 412, _) => Exists,
        // Of a header of the server's own: OSS and COS, and IBM.
        (Request::Put, 409, "FileAlreadyExists" | "ObjectAlreadyExists") => Exists,
        (_, 300..=399, _) => Halt(HaltReason::Redirected),
        (_, 401, _) => Halt(HaltReason::Credentials),
        (_, 403, _) => Halt(HaltReason::Forbidden),
        (Request::Put | Request::List, 404, "" | "NotFound") => Halt(HaltReason::NoBucket),
        (_, 405 | 501, _) => Halt(HaltReason::Unsupported),
        (_, 408, _) => Retry(RetryReason::Timeout),
        (_, 409, _) => Retry(RetryReason::Conflict),
        (_, 429 | 503, _) => Retry(RetryReason::Throttled),
        (_, 400..=499, _) => Halt(HaltReason::Refused),
        (_, 500..=599, _) => Retry(RetryReason::Server),
        _ => Retry(RetryReason::Answer),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Request::{Get, List, Put};
    use Verdict::{Done, Exists, Halt, Retry, TooLarge, Unreadable};

    fn check(request: Request, status: u16, code: &str, expect: Verdict) {
        let verdict = classify(request, status, (!code.is_empty()).then_some(code));
        assert_eq!(verdict, expect, "{request:?} {status} {code}");
    }

    #[test]
    fn puts() {
        check(Put, 200, "", Done);
        check(Put, 412, "PreconditionFailed", Exists);
        check(Put, 409, "FileAlreadyExists", Exists);
        check(Put, 409, "ObjectAlreadyExists", Exists);
        check(Put, 409, "OperationAborted", Retry(RetryReason::Conflict));
        check(Put, 408, "", Retry(RetryReason::Timeout));
        check(Put, 409, "ConditionalRequestConflict", Retry(RetryReason::Conflict));
        check(Put, 429, "", Retry(RetryReason::Throttled));
        check(Put, 500, "InternalError", Retry(RetryReason::Server));
        check(Put, 503, "SlowDown", Retry(RetryReason::Throttled));
        check(Put, 507, "", Retry(RetryReason::Server));
        check(Put, 400, "RequestTimeout", Retry(RetryReason::Timeout));
        check(Put, 400, "BadDigest", Retry(RetryReason::Digest));
        check(Put, 400, "XAmzContentSHA256Mismatch", Retry(RetryReason::Digest));
        check(Put, 413, "", TooLarge);
        check(Put, 400, "EntityTooLarge", TooLarge);
        check(Put, 400, "InvalidArgument", Halt(HaltReason::Refused));
        check(Put, 400, "", Halt(HaltReason::Refused));
        check(Put, 400, "ExpiredToken", Halt(HaltReason::Credentials));
        check(Put, 401, "", Halt(HaltReason::Credentials));
        check(Put, 403, "SignatureDoesNotMatch", Halt(HaltReason::Forbidden));
        check(Put, 404, "NoSuchBucket", Halt(HaltReason::NoBucket));
        check(Put, 404, "", Halt(HaltReason::NoBucket));
        check(Put, 301, "PermanentRedirect", Halt(HaltReason::Redirected));
        check(Put, 307, "", Halt(HaltReason::Redirected));
        check(Put, 501, "NotImplemented", Halt(HaltReason::Unsupported));
        check(Put, 411, "MissingContentLength", Halt(HaltReason::Refused));
        check(Put, 0, "", Retry(RetryReason::Answer));
        check(Put, 999, "", Retry(RetryReason::Answer));
    }

    #[test]
    fn reads() {
        for request in [Get, List] {
            check(request, 200, "", Done);
            check(request, 206, "", Done);
            check(request, 403, "AccessDenied", Halt(HaltReason::Forbidden));
            check(request, 401, "", Halt(HaltReason::Credentials));
            check(request, 404, "NoSuchBucket", Halt(HaltReason::NoBucket));
            check(request, 408, "", Retry(RetryReason::Timeout));
            check(request, 429, "", Retry(RetryReason::Throttled));
            check(request, 500, "", Retry(RetryReason::Server));
            check(request, 412, "", Halt(HaltReason::Refused));
            check(request, 301, "", Halt(HaltReason::Redirected));
        }
        check(Get, 404, "NoSuchKey", Unreadable(UnreadableReason::Missing));
        check(Get, 404, "", Unreadable(UnreadableReason::Missing));
        check(Get, 404, "XAdminUserNotFound", Halt(HaltReason::Refused));
        check(List, 404, "", Halt(HaltReason::NoBucket));
        check(Get, 403, "InvalidObjectState", Unreadable(UnreadableReason::Archived));
        check(Get, 416, "InvalidRange", Unreadable(UnreadableReason::Damaged));
    }

    #[test]
    fn no_status_claims_more_than_it_says() {
        for request in [Put, Get, List] {
            for status in (0..200).chain(300..1000) {
                let verdict = classify(request, status, None);
                assert_ne!(verdict, Done, "{request:?} {status}");
                let exists = verdict == Exists;
                assert_eq!(exists, request == Put && status == 412, "{request:?} {status}");
            }
        }
    }
}
