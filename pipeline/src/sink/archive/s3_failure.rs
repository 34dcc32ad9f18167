//! Turns the SDK's errors into outcomes: what the server answered, or why it did not.
//!
//! Invariant: answers are judged by the table in `s3_outcome.rs` alone; without an answer only TLS
//! and credentials halt, everything else is tried again. Next stop: `s3.rs` hands the outcome on.

use std::error::Error;
use std::fmt::Write;
use std::io;
use std::time::Duration;

use aws_credential_types::provider::error::CredentialsError;
use aws_sdk_s3::config::http::HttpResponse;
use aws_sdk_s3::error::{ProvideErrorMetadata, SdkError};

use super::s3::CREDENTIALS_HELP;
use super::s3_outcome::{Request, Verdict, classify};
use super::store::{Halt, HaltReason, PutOutcome, ReadOutcome, Retry, RetryReason, Unreadable};

/// Longest text of an error kept, in bytes.
const DETAIL_BYTES_MAX: usize = 600;
/// Longest wait that a server may ask for.
const RETRY_AFTER_MAX: Duration = Duration::from_mins(10);
/// Deepest chain of causes followed.
const CAUSES_MAX: usize = 16;

/// An outcome other than success, before it is known whether of a PUT or of a read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Failure {
    Exists,
    TooLarge,
    Unreadable(Unreadable),
    Retry(Retry),
    Halt(Halt),
}

impl Failure {
    /// The connection broke before an answer came.
    pub(super) fn is_broken_connection(&self) -> bool {
        matches!(self, Failure::Retry(retry) if retry.reason == RetryReason::Connection)
    }

    /// The server answered that something stands in the way.
    pub(super) fn is_conflict(&self) -> bool {
        matches!(self, Failure::Retry(retry) if retry.reason == RetryReason::Conflict)
    }

    pub(super) fn into_put(self) -> PutOutcome {
        match self {
            Failure::Exists => PutOutcome::Exists,
            Failure::TooLarge => PutOutcome::TooLarge,
            Failure::Retry(retry) => PutOutcome::Retry(retry),
            Failure::Halt(halt) => PutOutcome::Halt(halt),
            Failure::Unreadable(unreadable) => PutOutcome::Halt(out_of_place(unreadable.detail)),
        }
    }

    pub(super) fn into_read<T>(self) -> ReadOutcome<T> {
        match self {
            Failure::Unreadable(unreadable) => ReadOutcome::Unreadable(unreadable),
            Failure::Retry(retry) => ReadOutcome::Retry(retry),
            Failure::Halt(halt) => ReadOutcome::Halt(halt),
            Failure::Exists | Failure::TooLarge => {
                ReadOutcome::Halt(out_of_place("an answer to a PUT".to_owned()))
            }
        }
    }
}

/// The table gives no such verdict; a later change of it must not drop lines.
fn out_of_place(detail: String) -> Halt {
    Halt { reason: HaltReason::Refused, detail }
}

/// No whole answer came.
pub(super) fn no_answer(reason: RetryReason, detail: String) -> Failure {
    Failure::Retry(Retry { reason, detail, after: None })
}

/// What the SDK's error means; `place` names the server where it did not answer.
pub(super) fn failure_of<E>(
    request: Request,
    place: &str,
    error: &SdkError<E, HttpResponse>,
) -> Failure
where
    E: ProvideErrorMetadata + Error + 'static,
{
    if let Some(response) = error.raw_response() {
        let status = response.status().as_u16();
        let metadata = error.as_service_error().map(ProvideErrorMetadata::meta);
        let code = metadata.and_then(|metadata| metadata.code());
        let message = metadata.and_then(|metadata| metadata.message());
        let after = response.headers().get("retry-after").and_then(retry_after);
        let detail = match (code, message) {
            (None, None) => format!("status {status}, {}", causes(error)),
            (code, message) => {
                format!("status {status} {}: {}", code.unwrap_or("-"), message.unwrap_or("-"))
            }
        };
        return answered(request, status, code, shortened(detail), after);
    }
    let detail = format!("{place}: {}", told(error));
    let halt = |reason| Failure::Halt(Halt { reason, detail: detail.clone() });
    let retry = |reason| Failure::Retry(Retry { reason, detail: detail.clone(), after: None });
    if let Some(error) = find::<CredentialsError>(error) {
        let detail = match error {
            // Whatever it lists was looked into in vain.
            CredentialsError::CredentialsNotLoaded(_) => {
                format!("{place}: no credentials were found; {CREDENTIALS_HELP}")
            }
            error => format!("{place}: {}; {CREDENTIALS_HELP}", told(error)),
        };
        return Failure::Halt(Halt { reason: HaltReason::Credentials, detail });
    }
    match error {
        SdkError::TimeoutError(_) => retry(RetryReason::Timeout),
        SdkError::DispatchFailure(dispatch) if dispatch.is_timeout() => retry(RetryReason::Timeout),
        _ if find::<rustls::Error>(error).is_some() => halt(HaltReason::Tls),
        SdkError::ConstructionFailure(_) => halt(HaltReason::Refused),
        _ => retry(RetryReason::Connection),
    }
}

fn answered(
    request: Request,
    status: u16,
    code: Option<&str>,
    detail: String,
    after: Option<Duration>,
) -> Failure {
    match classify(request, status, code) {
        Verdict::Exists => Failure::Exists,
        Verdict::TooLarge => Failure::TooLarge,
        Verdict::Unreadable(reason) => Failure::Unreadable(Unreadable { reason, detail }),
        Verdict::Retry(reason) => Failure::Retry(Retry { reason, detail, after }),
        Verdict::Halt(reason) => Failure::Halt(Halt { reason, detail }),
        // A success that the SDK could not read.
        Verdict::Done => Failure::Retry(Retry { reason: RetryReason::Answer, detail, after }),
    }
}

/// Seconds of a Retry-After; a date would need a clock.
fn retry_after(value: &str) -> Option<Duration> {
    let seconds = value.trim().parse().ok()?;
    Some(Duration::from_secs(seconds).min(RETRY_AFTER_MAX))
}

/// The first cause of a kind.
fn find<'a, T: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a T> {
    let mut cause = Some(error);
    for _ in 0..CAUSES_MAX {
        let one = cause?;
        if let Some(found) = one.downcast_ref::<T>() {
            return Some(found);
        }
        // An I/O error does not name what it wraps as its source.
        let wrapped = one.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        cause = match wrapped {
            Some(wrapped) => Some(wrapped),
            None => one.source(),
        };
    }
    None
}

/// An error with its causes, at a bounded length.
pub(super) fn told(error: &(dyn Error + 'static)) -> String {
    shortened(causes(error))
}

/// An error with its causes, each said once.
fn causes(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    for _ in 0..CAUSES_MAX {
        let Some(one) = cause else { break };
        let part = one.to_string();
        if !text.ends_with(&part) && write!(text, ": {part}").is_err() {
            break;
        }
        cause = one.source();
    }
    text
}

/// On one line, at most so long: a server's text goes to logs and the page.
fn shortened(mut text: String) -> String {
    text.truncate(text.floor_char_boundary(DETAIL_BYTES_MAX));
    text.replace(char::is_control, " ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use aws_sdk_s3::config::http::HttpResponse;
    use aws_sdk_s3::operation::put_object::PutObjectError;
    use aws_smithy_runtime_api::client::result::ConnectorError;
    use aws_smithy_types::body::SdkBody;
    use aws_smithy_types::error::ErrorMetadata;

    type PutError = SdkError<PutObjectError, HttpResponse>;

    fn answer(status: u16, code: &str, after: Option<&str>) -> PutError {
        let status = status.try_into().unwrap();
        let mut response = HttpResponse::new(status, SdkBody::empty());
        if let Some(after) = after {
            response.headers_mut().insert("retry-after", after.to_owned());
        }
        let metadata = ErrorMetadata::builder().code(code).message("what the server says").build();
        SdkError::service_error(PutObjectError::generic(metadata), response)
    }

    fn io_error(inner: impl Into<Box<dyn Error + Send + Sync>>) -> PutError {
        let error = io::Error::other(inner);
        SdkError::dispatch_failure(ConnectorError::io(Box::new(error)))
    }

    #[test]
    fn an_answer_goes_through_the_table() {
        let expect = Failure::Halt(Halt {
            reason: HaltReason::Forbidden,
            detail: "status 403 AccessDenied: what the server says".to_owned(),
        });
        assert_eq!(failure_of(Request::Put, "s3", &answer(403, "AccessDenied", None)), expect);
        let lost = failure_of(Request::Put, "s3", &answer(412, "PreconditionFailed", None));
        assert_eq!(lost.into_put(), PutOutcome::Exists);
        let large = failure_of(Request::Put, "s3", &answer(400, "EntityTooLarge", None));
        assert_eq!(large.into_put(), PutOutcome::TooLarge);
    }

    #[test]
    fn the_wait_asked_for_is_kept_and_bounded() {
        for (after, expect) in [
            (None, None),
            (Some("7"), Some(7)),
            (Some(" 7 "), Some(7)),
            (Some("99999999"), Some(600)),
            (Some("Fri, 13 Mar 2026 00:00:00 GMT"), None),
            (Some("-1"), None),
        ] {
            let failure = failure_of(Request::Put, "s3", &answer(503, "SlowDown", after));
            let Failure::Retry(retry) = failure else { panic!("{failure:?}") };
            assert_eq!(retry.reason, RetryReason::Throttled);
            assert_eq!(retry.after, expect.map(Duration::from_secs), "{after:?}");
        }
    }

    #[test]
    fn without_an_answer_only_tls_and_credentials_halt() {
        let reason = |error: &PutError| match failure_of(Request::Put, "s3", error) {
            Failure::Retry(retry) => retry.reason.as_str(),
            Failure::Halt(halt) => halt.reason.as_str(),
            other => panic!("{other:?}"),
        };
        assert_eq!(reason(&SdkError::timeout_error("late")), "timeout");
        assert_eq!(reason(&io_error("connection reset")), "connection");
        let untrusted = rustls::Error::InvalidCertificate(rustls::CertificateError::UnknownIssuer);
        assert_eq!(reason(&io_error(untrusted.clone())), "tls");
        assert_eq!(reason(&io_error(io::Error::other(untrusted))), "tls", "wrapped twice");
        assert_eq!(reason(&io_error(CredentialsError::not_loaded("none"))), "credentials");
        assert_eq!(reason(&SdkError::construction_failure("no such host")), "refused");
        let none = io_error(CredentialsError::not_loaded("IMDS this and that"));
        let Failure::Halt(halt) = failure_of(Request::Put, "s3", &none) else { panic!("{none:?}") };
        assert_eq!(halt.detail, format!("s3: no credentials were found; {CREDENTIALS_HELP}"));
    }

    #[test]
    fn a_reason_is_short_and_on_one_line() {
        let failure = failure_of(
            Request::Put,
            "s3",
            &io_error("\u{1b}[31m\n".to_owned() + &"é".repeat(5000)),
        );
        let Failure::Retry(retry) = failure else { panic!("{failure:?}") };
        assert!(retry.detail.len() <= DETAIL_BYTES_MAX + 4 && retry.detail.contains(" [31m é"));
    }
}
