//! Fetches a page.

use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, LOCATION, USER_AGENT};
use http::{Request, Response, Uri};
use http_body_util::{BodyExt as _, Empty, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper_rustls::HttpsConnectorBuilder;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::dns::Name;
use hyper_util::rt::TokioExecutor;
use tower_service::Service;

use super::address::is_private;
use super::allow::{Allowed, Way};

/// How many times a page may point at another.
const MAX_REDIRECTS: usize = 5;

/// How much of the page of a failure is told, in bytes.
const MAX_COMPLAINT: usize = 500;

/// The text of a page.
pub(super) async fn text(url: &str, allowed: &Allowed, limit: usize) -> Result<String, String> {
    let mut url = read(url)?;
    let first = url.clone();
    for _ in 0..=MAX_REDIRECTS {
        let way = allowed.way(&url);
        if way == Way::No {
            let host = url.authority().map(ToString::to_string).unwrap_or_default();
            return Err(format!("`{host}` is not allowed; allowed: {allowed}"));
        }
        let response = ask(&url, way).await?;
        let Some(next) = redirected(&response, &url)? else {
            return page(response, limit).await;
        };
        // Where a person agreed to a host, it was this one.
        if allowed.is_empty() && next.authority() != first.authority() {
            return Err(format!("the page has moved to {next}; ask for that"));
        }
        url = next;
    }
    Err(format!(
        "the page has moved more than {MAX_REDIRECTS} times"
    ))
}

fn read(url: &str) -> Result<Uri, String> {
    // What stands behind # is never sent.
    let sent = url.trim().split('#').next().unwrap_or_default();
    let lower = sent.to_ascii_lowercase();
    if !lower.starts_with("http://") && !lower.starts_with("https://") {
        return Err(format!("`{url}` does not begin with https:// or http://"));
    }
    let read: Uri = sent
        .parse()
        .map_err(|error| format!("`{url}` is no URL: {error}"))?;
    if read.host().is_none_or(str::is_empty) {
        return Err(format!("`{url}` names no host"));
    }
    let authority = read.authority().map_or("", http::uri::Authority::as_str);
    match authority.contains('@') {
        true => Err("a URL with a name and a password in it is not asked for".to_owned()),
        false => Ok(read),
    }
}

/// Where the page has moved to, if it has.
fn redirected(response: &Response<Incoming>, from: &Uri) -> Result<Option<Uri>, String> {
    if !matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
        return Ok(None);
    }
    let to = response
        .headers()
        .get(LOCATION)
        .and_then(|to| to.to_str().ok());
    let to = to.ok_or("the page has moved, and it is not said where")?;
    let scheme = from.scheme_str().unwrap_or("https");
    let authority = from.authority().map_or("", http::uri::Authority::as_str);
    let whole = match to {
        _ if to.contains("://") => to.to_owned(),
        _ if to.starts_with("//") => format!("{scheme}:{to}"),
        _ if to.starts_with('/') => format!("{scheme}://{authority}{to}"),
        _ => {
            let folder = from
                .path()
                .rsplit_once('/')
                .map_or("", |(folder, _)| folder);
            format!("{scheme}://{authority}{folder}/{to}")
        }
    };
    read(&whole).map(Some)
}

async fn ask(url: &Uri, way: Way) -> Result<Response<Incoming>, String> {
    let host = url.host().unwrap_or_default();
    // An address is not looked up, so nobody would look at it.
    let address: Result<IpAddr, _> = host.trim_matches(['[', ']']).parse();
    if way == Way::Public && address.is_ok_and(is_private) {
        return Err(not_public(host));
    }
    let mut http = HttpConnector::new_with_resolver(Resolver(way));
    http.enforce_http(false);
    let connector = HttpsConnectorBuilder::new()
        .with_native_roots()
        .map_err(|_| "this machine has no certificates to check servers by".to_owned())?
        .https_or_http()
        .enable_http1()
        .wrap_connector(http);
    let client: Client<_, Empty<Bytes>> = Client::builder(TokioExecutor::new()).build(connector);
    let request = Request::get(url.clone())
        .header(USER_AGENT, concat!("allm/", env!("CARGO_PKG_VERSION")))
        .header(
            ACCEPT,
            "text/*, application/json, application/xml;q=0.9, */*;q=0.5",
        )
        .body(Empty::new())
        .map_err(|error| format!("`{url}` cannot be asked for: {error}"))?;
    let answer = client.request(request).await;
    answer.map_err(|error| format!("`{host}` cannot be reached: {}", innermost(&error)))
}

fn not_public(host: &str) -> String {
    format!("`{host}` is not on the public network; it must be allowed by its name")
}

/// The last of the errors is the one that says what happened.
fn innermost(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(source) => innermost(source),
        None => error.to_string(),
    }
}

async fn page(response: Response<Incoming>, limit: usize) -> Result<String, String> {
    let status = response.status();
    let kind = response.headers().get(CONTENT_TYPE);
    let kind = kind
        .and_then(|kind| kind.to_str().ok())
        .unwrap_or("text/plain")
        .to_owned();
    let read = Limited::new(response.into_body(), limit).collect().await;
    let read = read.map_err(|error| match error.is::<LengthLimitError>() {
        true => format!("the page has more than the {limit} bytes that may be read"),
        false => format!("the page broke off: {}", innermost(&*error)),
    });
    if !status.is_success() {
        let said = read.map(|body| body.to_bytes()).unwrap_or_default();
        let said = String::from_utf8_lossy(&said);
        let said: String = said.trim().chars().take(MAX_COMPLAINT).collect();
        let reason = status.canonical_reason().unwrap_or_default();
        let status = format!("the server answered {} {reason}", status.as_u16());
        return Err(match said.is_empty() {
            true => status.trim_end().to_owned(),
            false => format!("{}: {said}", status.trim_end()),
        });
    }
    let body = read?.to_bytes();
    let text = String::from_utf8(body.into())
        .ok()
        .filter(|text| !text.contains('\0'));
    text.ok_or_else(|| format!("the page is not text in UTF-8: {kind}"))
}

/// Looks a host up, and gives no private address where only public ones may be asked. What was looked at is what is
/// connected to, so a name that changes its meaning in between gains nothing.
#[derive(Clone)]
struct Resolver(Way);

type Resolving<T> = Pin<Box<dyn Future<Output = Result<T, std::io::Error>> + Send>>;

impl Service<Name> for Resolver {
    type Response = std::vec::IntoIter<SocketAddr>;
    type Error = std::io::Error;
    type Future = Resolving<Self::Response>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let way = self.0;
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let may = |address: &SocketAddr| way == Way::Named || !is_private(address.ip());
            let found: Vec<SocketAddr> = found.filter(may).collect();
            match found.is_empty() {
                true => Err(std::io::Error::other(not_public(name.as_str()))),
                false => Ok(found.into_iter()),
            }
        })
    }
}
