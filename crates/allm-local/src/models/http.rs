//! Getting something over HTTP: certificates checked, redirects followed, through the proxy that the environment names.

use std::error::Error as StdError;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::header::{ACCEPT_ENCODING, AUTHORIZATION, LOCATION, USER_AGENT};
use http::{HeaderName, HeaderValue, Request, Response, Uri};
use http_body_util::{BodyExt as _, Empty};
use hyper::body::Incoming;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::proxy::matcher::Matcher;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tower_service::Service;

use super::address::Address;
use crate::error::{ModelError, ModelErrorKind};

type BoxError = Box<dyn StdError + Send + Sync>;
type HttpClient = Client<HttpsConnector<Way>, Empty<Bytes>>;

/// How long nothing may come.
const PATIENCE: Duration = Duration::from_secs(30);
/// How many redirects in a row are followed.
const REDIRECTS: usize = 8;
/// The longest page that is read whole.
const LONGEST_PAGE: usize = 32 << 20;

/// An answer, and the address that gave it.
pub(super) struct Got {
    pub(super) from: Address,
    pub(super) response: Response<Incoming>,
}

impl Got {
    /// The next piece of the body.
    pub(super) async fn piece(&mut self) -> Result<Option<Bytes>, ModelError> {
        loop {
            let frame = timeout(PATIENCE, self.response.body_mut().frame()).await;
            let frame = frame.map_err(|_| broken(&self.from, "nothing came any more"))?;
            match frame {
                None => return Ok(None),
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        return Ok(Some(data));
                    }
                }
                Some(Err(error)) => {
                    return Err(broken(&self.from, "the connection broke").because(error));
                }
            }
        }
    }

    /// The whole body.
    pub(super) async fn page(mut self) -> Result<(Address, Vec<u8>), ModelError> {
        let mut body = Vec::new();
        while let Some(piece) = self.piece().await? {
            body.extend_from_slice(&piece);
            if body.len() > LONGEST_PAGE {
                return Err(broken(&self.from, "the page does not end"));
            }
        }
        Ok((self.from, body))
    }

    /// What the server says of the length of the body.
    pub(super) fn length(&self) -> Option<u64> {
        let length = self.response.headers().get(http::header::CONTENT_LENGTH)?;
        length.to_str().ok()?.parse().ok()
    }
}

/// Asks for what is at an address; redirects are followed, and any answer but success is an error.
pub(super) async fn get(
    address: &Address,
    headers: &[(HeaderName, HeaderValue)],
) -> Result<Got, ModelError> {
    let client = client()?;
    let mut from = address.clone();
    for _ in 0..=REDIRECTS {
        let mut request = Request::get(from.uri.clone())
            .header(
                USER_AGENT,
                concat!("allm-local/", env!("CARGO_PKG_VERSION")),
            )
            .header(ACCEPT_ENCODING, "identity");
        if let Some(user) = &from.user {
            request = request.header(AUTHORIZATION, format!("Basic {}", STANDARD.encode(user)));
        }
        for (name, value) in headers {
            request = request.header(name, value);
        }
        let request = request
            .body(Empty::new())
            .map_err(|error| broken(&from, "the request cannot be made").because(error))?;
        let response = timeout(PATIENCE, client.request(request))
            .await
            .map_err(|_| broken(&from, "there was no answer"))?
            .map_err(|error| broken(&from, "there is no connection").because(root(&error)))?;
        let status = response.status();
        if status.is_redirection() {
            let location = response
                .headers()
                .get(LOCATION)
                .and_then(|link| link.to_str().ok());
            let location = location.ok_or_else(|| broken(&from, "a redirect leads nowhere"))?;
            from = from.join(location)?;
            continue;
        }
        if status.is_success() {
            return Ok(Got { from, response });
        }
        // Without the query: there may be a key in it.
        let (host, status, path) = (from.host(), status.as_u16(), from.uri.path());
        let message = format!("{host} answered with status {status} for {path}");
        return Err(match status {
            404 | 410 => {
                let message = format!("{message}: look at the address");
                ModelError::new(ModelErrorKind::NotFound, message)
            }
            _ => ModelError::new(ModelErrorKind::Network, message),
        });
    }
    Err(broken(&from, "redirects lead on and on"))
}

fn broken(address: &Address, what: &str) -> ModelError {
    ModelError::new(
        ModelErrorKind::Network,
        format!("{}: {what}", address.host()),
    )
}

/// What an error came from, which says more than the error.
fn root(error: &dyn StdError) -> String {
    let mut deepest = error;
    while let Some(source) = deepest.source() {
        deepest = source;
    }
    deepest.to_string()
}

fn client() -> Result<HttpClient, ModelError> {
    static CONNECTOR: OnceLock<HttpsConnector<Way>> = OnceLock::new();
    let connector = match CONNECTOR.get() {
        Some(known) => known.clone(),
        None => {
            let made = connector()?;
            CONNECTOR.get_or_init(|| made).clone()
        }
    };
    // One for each download: connections belong to the runtime that made them.
    Ok(Client::builder(TokioExecutor::new()).build(connector))
}

fn connector() -> Result<HttpsConnector<Way>, ModelError> {
    let mut http = HttpConnector::new();
    http.enforce_http(false);
    let way = Way {
        http,
        proxies: Arc::new(Matcher::from_env()),
    };
    let builder = HttpsConnectorBuilder::new()
        .with_native_roots()
        .map_err(|error| {
            let message = "the system has no certificates to check servers by";
            ModelError::new(ModelErrorKind::Network, message).because(error)
        })?;
    Ok(builder.https_or_http().enable_http1().wrap_connector(way))
}

/// The way to a host: straight, or through a tunnel of a proxy.
#[derive(Clone)]
struct Way {
    http: HttpConnector,
    proxies: Arc<Matcher>,
}

impl Service<Uri> for Way {
    type Response = TokioIo<TcpStream>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, to: Uri) -> Self::Future {
        let mut http = self.http.clone();
        let Some(proxy) = self.proxies.intercept(&to) else {
            return Box::pin(async move { http.call(to).await.map_err(Into::into) });
        };
        let mut tunnel = Tunnel::new(proxy.uri().clone(), http);
        if let Some(auth) = proxy.basic_auth() {
            tunnel = tunnel.with_auth(auth.clone());
        }
        Box::pin(async move { tunnel.call(to).await.map_err(Into::into) })
    }
}
