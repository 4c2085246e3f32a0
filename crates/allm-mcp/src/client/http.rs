//! Servers that are reached by streamable HTTP.

mod answer;
mod body;
mod connect;
mod exchange;
#[cfg(feature = "oauth")]
mod login;

use std::collections::HashMap;
use std::error::Error as StdError;
use std::sync::Arc;

use http::{HeaderName, HeaderValue, Uri};
use rmcp::transport::common::client_side_sse::ExponentialBackoff;
use rmcp::transport::streamable_http_client::{
    StreamableHttpClientTransport, StreamableHttpClientTransportConfig, StreamableHttpError,
};

use super::callbacks::Callbacks;
use super::end::End;
use super::link::Link;
use super::settings::{Address, McpServer};
use crate::error::{McpError, McpErrorKind};
pub(crate) use exchange::HttpClient;

/// How often a stream that broke off is taken up again.
const RESUMES: usize = 5;
/// How long to wait at most before it is.
const LONGEST_PAUSE: std::time::Duration = std::time::Duration::from_secs(10);

/// Headers that the protocol uses itself.
const OWN: [&str; 6] = [
    "accept",
    "authorization",
    "content-type",
    "last-event-id",
    "mcp-protocol-version",
    "mcp-session-id",
];

/// What can be found wrong with an address before anything is sent.
pub(super) fn check(address: &Address) -> Result<(), String> {
    let uri: Uri = address
        .url
        .parse()
        .map_err(|_| "the URL cannot be read".to_owned())?;
    let host = uri.host().unwrap_or_default();
    let is_plain = match uri.scheme_str() {
        Some("https") => false,
        Some("http") => true,
        _ => return Err("the URL does not begin with https:// or http://".to_owned()),
    };
    if host.is_empty() {
        return Err("the URL has no host".to_owned());
    }
    if uri
        .authority()
        .is_some_and(|authority| authority.as_str().contains('@'))
    {
        return Err("the URL has credentials in it; use `bearer` or `header`".to_owned());
    }
    let has_secret = address.bearer.is_some() || !address.headers.is_empty();
    #[cfg(feature = "oauth")]
    let has_secret = has_secret || address.login.is_some();
    if is_plain && has_secret && !connect::is_loopback(host) {
        return Err("credentials are not sent over plain http:// to another machine".to_owned());
    }
    if let Some(bearer) = &address.bearer
        && HeaderValue::from_str(bearer).is_err()
    {
        return Err("the bearer token has characters that a header cannot have".to_owned());
    }
    headers(address).map(|_| ())
}

fn headers(address: &Address) -> Result<HashMap<HeaderName, HeaderValue>, String> {
    let mut headers = HashMap::new();
    for (name, value) in &address.headers {
        let header: HeaderName = name
            .parse()
            .map_err(|_| format!("{name:?} is no name of a header"))?;
        if OWN.contains(&header.as_str()) {
            return Err(format!(
                "the header {header} is set by the protocol; for a token use `bearer`"
            ));
        }
        let mut value = HeaderValue::from_str(value)
            .map_err(|_| format!("the value of the header {header} cannot be sent"))?;
        value.set_sensitive(true);
        headers.insert(header, value);
    }
    Ok(headers)
}

/// Reaches a server, and greets it.
pub(super) async fn open(
    server: &McpServer,
    address: &Address,
    callbacks: Callbacks,
    end: End,
) -> Result<Link, McpError> {
    let wrong = |message: String| server.error(McpErrorKind::InvalidSettings, message);
    let mut config = StreamableHttpClientTransportConfig::with_uri(address.url.as_str())
        .custom_headers(headers(address).map_err(wrong)?)
        .max_sse_event_size(server.max_message)
        // A server that has forgotten us may be another one: its tools are looked at first.
        .reinit_on_expired_session(false);
    let mut backoff = ExponentialBackoff::default();
    backoff.max_times = Some(RESUMES);
    backoff.max_delay = Some(LONGEST_PAUSE);
    config.retry_config = Arc::new(backoff);
    config.auth_header = address.bearer.clone();
    let client = HttpClient::new(server.max_message);
    let client = client.map_err(|message| server.error(McpErrorKind::Start, message))?;
    #[cfg(feature = "oauth")]
    if let Some(login) = &address.login {
        let manager = login.manager(&address.url).await?;
        let client = rmcp::transport::AuthClient::new(client, manager);
        let transport = StreamableHttpClientTransport::with_client(client, config);
        return Link::greet(server, transport, callbacks, end).await;
    }
    let transport = StreamableHttpClientTransport::with_client(client, config);
    Link::greet(server, transport, callbacks, end).await
}

/// Whether a server refused a request because it has forgotten us. It did nothing then.
pub(super) fn has_forgotten(error: &(dyn StdError + 'static)) -> bool {
    type Failed = StreamableHttpError<exchange::BodyError>;
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(Failed::SessionExpired) = error.downcast_ref() {
            return true;
        }
        next = error.source();
    }
    false
}
