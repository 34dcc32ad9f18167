//! The `_bulk` endpoint of a store, over HTTP: which address and encoding a request gets, and what
//! its answer says of both.
//!
//! Invariant: what an address or an encoding is to blame for is tried again elsewhere or otherwise,
//! and never halts the sink or refuses a document while another address or encoding is left. An
//! answer that was lost on the way is no loss: the next try finds its documents by their ids. Next
//! stop: [`super::response`].

use std::sync::Arc;

use http::{Method, Uri};
use serde_json::Value;
use tokio::sync::OnceCell;
use tokio::time::Instant;

use super::addresses::{Addresses, Change, Standing};
use super::body::Body;
use super::encoding::{Accepted, Encoding};
use super::http::{HttpClient, HttpSettings, HttpSetupError, endpoint};
use super::transport::{BulkAnswer, BulkTransport, Sending, TransportError};
use crate::backoff::Jitter;
use crate::clock;
use crate::sink::outcome::{BulkRequestOutcome, bulk_request};
use crate::telemetry::metrics::Metrics;

/// A `_bulk` endpoint over HTTP.
pub struct HttpBulk {
    http: HttpClient,
    /// As many as `addresses`.
    places: Vec<Place>,
    addresses: Addresses,
    sink: Arc<str>,
    metrics: Metrics,
}

/// One address.
struct Place {
    uri: Uri,
    /// Where it says what it is.
    base: Uri,
    /// It was asked, before zstd is sent to it.
    asked: OnceCell<()>,
    /// How it is named in messages and metrics.
    shown: String,
    accepted: Accepted,
}

impl HttpBulk {
    /// The endpoint with these settings, whose addresses are watched for a sink.
    ///
    /// # Errors
    /// Settings of no use.
    pub fn new(
        settings: &HttpSettings,
        sink: &Arc<str>,
        metrics: &Metrics,
        jitter: Arc<Jitter>,
    ) -> Result<HttpBulk, HttpSetupError> {
        let http = HttpClient::new(settings)?;
        // The server gives up before we do, so that no orphaned request is still at work when the
        // same documents come again.
        let server_seconds = (settings.timeout.as_secs() * 9 / 10).max(1);
        let query = format!(
            "timeout={server_seconds}s&filter_path=errors,error,status,items.*.status,items.*.error"
        );
        let place = |(url, shown): (&String, &String)| {
            let uri = endpoint(url, "_bulk", &query)?;
            // A query may hold a token.
            let shown = shown.split('?').next().unwrap_or_default().to_owned();
            let (path, own) = url.split_once('?').unwrap_or((url, ""));
            let path = path.trim_end_matches('/');
            let base = endpoint(path.strip_suffix("/_bulk").unwrap_or(path), "", own)?;
            let (asked, accepted) = (OnceCell::new(), Accepted::new(settings.encoding));
            Ok(Place { uri, base, asked, shown, accepted })
        };
        let places = settings.urls.iter().zip(&settings.urls_shown).map(place);
        let places: Vec<Place> = places.collect::<Result<_, HttpSetupError>>()?;
        for place in &places {
            metrics.sink_address_up(sink, &place.shown, true);
        }
        let addresses = Addresses::new(places.len(), settings.timeout, jitter, clock::instant());
        Ok(HttpBulk { http, places, addresses, sink: Arc::clone(sink), metrics: metrics.clone() })
    }

    /// Sends to one address, in the encoding that it takes.
    async fn post(&self, place: &Place, body: &Body) -> Result<BulkAnswer, TransportError> {
        if place.accepted.get() == Encoding::Zstd {
            place.asked.get_or_try_init(|| self.ask(place)).await?;
        }
        let wanted = place.accepted.get();
        let first = self.post_encoded(place, body, wanted).await;
        let Some(mut encoding) = wanted.simpler().filter(|_| place.accepted.may_be_refused(&first))
        else {
            if matches!(&first, Ok(answer) if is_taken(answer.status)) {
                place.accepted.got_through(wanted);
            }
            return first;
        };
        loop {
            let answer = self.post_encoded(place, body, encoding).await;
            if matches!(&answer, Ok(answer) if is_taken(answer.status)) {
                if place.accepted.got_through_simpler(encoding, first.is_ok()) {
                    let refusal = match first {
                        Ok(answer) => format!("status {}", answer.status),
                        Err(error) => error.to_string(),
                    };
                    self.tell_refused(place, wanted, encoding, &refusal);
                }
                return answer;
            }
            match encoding.simpler().filter(|_| place.accepted.may_be_refused(&answer)) {
                Some(simpler) => encoding = simpler,
                None => return answer,
            }
        }
    }

    /// Asks an address what it is before zstd is sent to it: OpenSearch 2.19 takes a body in zstd
    /// for a fatal error of its own, whoever sends it.
    async fn ask(&self, place: &Place) -> Result<(), TransportError> {
        let (base, none) = (place.base.clone(), Encoding::None);
        let sent = self.http.send(Method::GET, base, "application/json", none, Body::default());
        let answer = sent.await.map_err(|error| error.at(&place.shown))?;
        let said = serde_json::from_slice::<Value>(&answer.body).unwrap_or_default();
        let distribution = said["version"]["distribution"].as_str().unwrap_or_default();
        let refusal = match answer.status {
            200..=299 if distribution == "opensearch" => "OpenSearch must not be sent zstd".into(),
            200..=299 => return Ok(()),
            // It may say so later.
            status @ (408 | 429 | 500..=599) => {
                let why = format!("it does not say yet what it is: status {status}");
                return Err(TransportError::Retry(why));
            }
            status => format!("it does not say what it is: status {status}"),
        };
        if place.accepted.got_through_simpler(Encoding::Gzip, true) {
            self.tell_refused(place, Encoding::Zstd, Encoding::Gzip, &refusal);
        }
        Ok(())
    }

    fn tell_refused(&self, place: &Place, wanted: Encoding, instead: Encoding, refusal: &str) {
        tracing::warn!(
            sink = &*self.sink, address = %place.shown, compression = wanted.as_str(),
            instead = instead.as_str(), refusal,
            "the store does not take this compression: another is used from now on"
        );
    }

    async fn post_encoded(
        &self,
        place: &Place,
        body: &Body,
        encoding: Encoding,
    ) -> Result<BulkAnswer, TransportError> {
        let (body, content) = (encoding.apply(body), "application/x-ndjson");
        let sent = self.http.send(Method::POST, place.uri.clone(), content, encoding, body);
        sent.await.map_err(|error| error.at(&place.shown))
    }

    /// Learns about an address from its answer. While another one is left, what only this one is to
    /// blame for is a reason to try again.
    fn judge(
        &self,
        (at, sent): (usize, Instant),
        answer: Result<BulkAnswer, TransportError>,
    ) -> Result<BulkAnswer, TransportError> {
        let shown = &self.places[at].shown;
        let (standing, why) = standing(&answer, shown);
        let change = self.addresses.report(at, standing, sent, clock::instant());
        if change != Change::None {
            self.metrics.sink_address_up(&self.sink, shown, change == Change::CameBack);
        }
        // Of a single one everything is said where its requests are retried or halted.
        if self.places.len() > 1 {
            self.tell(change, standing, &why, shown);
        }
        if standing == Standing::Refusing && !self.addresses.all_refuse() {
            return Err(TransportError::Retry(format!("{why}; another address is tried")));
        }
        answer
    }

    fn tell(&self, change: Change, standing: Standing, why: &str, shown: &str) {
        let sink = &*self.sink;
        match change {
            Change::None => {}
            Change::CameBack => tracing::info!(sink, address = shown, "address works again"),
            Change::WentDown(wait) if standing == Standing::Refusing => tracing::error!(
                sink,
                address = shown,
                wait_ms = wait.as_millis() as u64,
                reason = why,
                "address refuses us and is set aside"
            ),
            Change::WentDown(wait) => tracing::warn!(
                sink,
                address = shown,
                wait_ms = wait.as_millis() as u64,
                reason = why,
                "address is set aside"
            ),
        }
    }
}

impl BulkTransport for HttpBulk {
    fn send(&self, body: Body) -> Sending<'_> {
        Box::pin(async move {
            let sent = clock::instant();
            let at = self.addresses.choose(sent);
            let answer = self.post(&self.places[at], &body).await;
            self.judge((at, sent), answer)
        })
    }
}

/// The body was read, whatever became of its documents.
fn is_taken(status: u16) -> bool {
    bulk_request(status) == BulkRequestOutcome::ReadItems
}

/// What an answer says of its address, in words too.
fn standing(answer: &Result<BulkAnswer, TransportError>, shown: &str) -> (Standing, String) {
    match answer {
        Err(error @ TransportError::Tls(_)) => (Standing::Refusing, error.to_string()),
        Err(error) => (Standing::Down, error.to_string()),
        Ok(answer) => match (answer.status, bulk_request(answer.status)) {
            (status @ 502..=504, _) => (Standing::Down, format!("{shown}: status {status}")),
            (status, BulkRequestOutcome::Halt(word)) => {
                (Standing::Refusing, format!("{shown}: status {status}, {word}"))
            }
            _ => (Standing::Up, String::new()),
        },
    }
}

#[cfg(test)]
mod tests;
