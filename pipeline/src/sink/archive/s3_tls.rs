//! Connections to an S3 server: the SDK's own, or, where certificates come from files, which those
//! read once and never show, the same HTTP client that search stores get, behind the SDK's seam.
//!
//! Invariant: both trust the same certificates. Next stop: `s3.rs`, which sends over them.

use aws_sdk_s3::config::SharedHttpClient;
use aws_smithy_http_client::tls;
use aws_smithy_runtime_api::client::http::{
    HttpConnector as SdkConnector, HttpConnectorFuture, SharedHttpConnector, http_client_fn,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_types::body::SdkBody;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use std::time::Duration;

use super::s3::S3SettingsError;
use crate::sink::tls::{TlsFiles, client_config};

/// How long an idle connection is kept.
const IDLE_MAX: Duration = Duration::from_secs(30);

/// What requests go over.
///
/// # Errors
/// A file that cannot be used.
pub(super) fn http_client(
    files: &TlsFiles,
    connect_timeout: Duration,
) -> Result<SharedHttpClient, S3SettingsError> {
    if files.ca.is_none() && files.client.is_none() {
        return Ok(aws_smithy_http_client::Builder::new()
            .tls_provider(tls::Provider::Rustls(tls::rustls_provider::CryptoMode::Ring))
            .build_https());
    }
    let mut http = HttpConnector::new();
    http.set_connect_timeout(Some(connect_timeout));
    http.set_nodelay(true);
    http.enforce_http(false);
    let https = HttpsConnectorBuilder::new()
        .with_tls_config(client_config(files)?)
        .https_or_http()
        .enable_http1()
        .wrap_connector(http);
    let client = Client::builder(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(IDLE_MAX)
        .build(https);
    let connector = SharedHttpConnector::new(Connector(client));
    Ok(http_client_fn(move |_, _| connector.clone()))
}

/// Our HTTP client as one of the SDK's.
#[derive(Debug)]
struct Connector(Client<HttpsConnector<HttpConnector>, SdkBody>);

impl SdkConnector for Connector {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let client = self.0.clone();
        HttpConnectorFuture::new(async move {
            let request = request.try_into_http1x();
            let request = request.map_err(|error| ConnectorError::user(error.into()))?;
            let answer = client.request(request).await;
            let answer = answer.map_err(|error| ConnectorError::io(error.into()))?;
            let answer = HttpResponse::try_from(answer.map(SdkBody::from_body_1_x));
            answer.map_err(|error| ConnectorError::other(error.into(), None))
        })
    }
}
