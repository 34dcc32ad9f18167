//! Asks a halted destination, slowly, whether it takes documents again, with one document that was
//! given up: under its own id it can do no harm, and it fails exactly where the others would.
//!
//! Invariant: a probe ends its halt once, and only on an answer that shows the destination open.
//! Next stop: [`crate::driver`], which reads the partitions again.

use std::sync::Arc;

use super::Shared;
use super::body::Body;
use super::request::REFUSED_ABOVE;
use super::response::read_items;
use super::transport::TransportError;
use crate::backoff::Backoff;
use crate::clock;
use crate::sink::destination::{Halt, WHOLE_SINK};
use crate::sink::outcome::{BulkItemOutcome, BulkRequestOutcome, bulk_item, bulk_request};

/// Longest wait between two probes, in probe intervals.
const INTERVALS_MAX: u32 = 12;

pub(super) async fn run(shared: Arc<Shared>, destination: String, body: Body) {
    let interval = shared.context.retry.probe_interval;
    let mut backoff = Backoff::new(interval, interval * INTERVALS_MAX);
    loop {
        let wait = backoff.next(&shared.context.jitter, None);
        tokio::time::sleep(wait).await;
        let answer = shared.transport.send(body.clone()).await;
        let answer = match answer {
            Ok(answer) => answer,
            Err(TransportError::Tls(detail)) => {
                shared.destinations.halt(
                    &shared.context,
                    &destination,
                    Halt { reason: "tls", detail },
                );
                continue;
            }
            Err(_) => continue,
        };
        let halt = shared.destinations.halt_of(&destination);
        let is_of_refusals = halt.is_some_and(|halt| halt.reason == REFUSED_ABOVE);
        // Without dead letters a refusal is itself what halts.
        let refusal_opens = shared.context.dead_letters.is_some() && !is_of_refusals;
        if is_open(&destination, answer.status, &answer.body, refusal_opens) {
            if is_of_refusals {
                shared.refusals().of(&destination, clock::instant()).forget();
            }
            shared.destinations.cure(&shared.context, &destination).await;
            return;
        }
    }
}

/// Whether an answer shows that the destination takes documents. For the whole sink any answer by
/// item will do: the request got through.
fn is_open(destination: &str, status: u16, body: &[u8], refusal_opens: bool) -> bool {
    match bulk_request(status) {
        BulkRequestOutcome::ReadItems => {}
        BulkRequestOutcome::Refused | BulkRequestOutcome::Split => return refusal_opens,
        BulkRequestOutcome::Retry | BulkRequestOutcome::Halt(_) => return false,
    }
    let Ok(items) = read_items(body, 1) else { return false };
    let error = items[0].error.clone().unwrap_or_default();
    match bulk_item(items[0].status, &error.kind, &error.reason) {
        BulkItemOutcome::Done | BulkItemOutcome::Known => true,
        BulkItemOutcome::Refused => refusal_opens,
        BulkItemOutcome::Retry | BulkItemOutcome::Halt(_) => destination == WHOLE_SINK,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_answer_that_shows_it_open_cures() {
        let item = |status: u16, kind: &str| {
            format!(
                r#"{{"items":[{{"create":{{"status":{status},"error":{{"type":"{kind}"}}}}}}]}}"#
            )
        };
        let blocked = item(403, "cluster_block_exception");
        let table = [
            ("logs", 200, item(201, ""), true),
            ("logs", 200, item(409, "version_conflict_engine_exception"), true),
            ("logs", 200, item(400, "mapper_parsing_exception"), true),
            ("logs", 200, blocked.clone(), false),
            ("logs", 200, item(429, ""), false),
            ("logs", 200, "{}".to_owned(), false),
            ("logs", 401, String::new(), false),
            ("logs", 503, String::new(), false),
            (WHOLE_SINK, 200, blocked, true),
            (WHOLE_SINK, 401, String::new(), false),
        ];
        for (destination, status, body, expected) in table {
            let open = is_open(destination, status, body.as_bytes(), true);
            assert_eq!(open, expected, "{status} {body}");
        }
        let refused = item(400, "mapper_parsing_exception");
        assert!(!is_open("logs", 200, refused.as_bytes(), false));
    }
}
