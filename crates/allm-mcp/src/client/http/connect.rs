//! Connections: pooled, over TLS where the address says so, through the proxy that the environment names.

use std::error::Error as StdError;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::Uri;
use http_body_util::Full;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::proxy::matcher::Matcher;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tower_service::Service;

type BoxError = Box<dyn StdError + Send + Sync>;

/// How long a connection may take.
const CONNECT: Duration = Duration::from_secs(10);

/// Sends requests.
pub(super) type Pool = Client<HttpsConnector<Way>, Full<Bytes>>;

/// Sends requests, over connections of its own.
pub(super) fn pool() -> Result<Pool, String> {
    let pool = Client::builder(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(Duration::from_secs(90))
        .build(connector()?);
    Ok(pool)
}

/// The same for all: reading the system's certificates takes long.
fn connector() -> Result<HttpsConnector<Way>, String> {
    static CONNECTOR: OnceLock<HttpsConnector<Way>> = OnceLock::new();
    if let Some(known) = CONNECTOR.get() {
        return Ok(known.clone());
    }
    let mut http = HttpConnector::new();
    http.enforce_http(false);
    http.set_nodelay(true);
    http.set_connect_timeout(Some(CONNECT));
    let way = Way {
        http,
        proxies: Arc::new(Matcher::from_env()),
    };
    let tls = HttpsConnectorBuilder::new()
        .with_native_roots()
        .map_err(|_| "the system has no certificates to check servers by".to_owned())?
        .https_or_http()
        .enable_all_versions()
        .wrap_connector(way);
    Ok(CONNECTOR.get_or_init(|| tls).clone())
}

/// The way to a host: straight, or through a tunnel of a proxy.
#[derive(Clone)]
pub(super) struct Way {
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
        // What stays on this machine would be told to the proxy in plain text.
        let is_here = to.host().is_some_and(is_loopback);
        let Some(proxy) = self.proxies.intercept(&to).filter(|_| !is_here) else {
            return Box::pin(async move { http.call(to).await.map_err(Into::into) });
        };
        let mut tunnel = Tunnel::new(proxy.uri().clone(), http);
        if let Some(auth) = proxy.basic_auth() {
            tunnel = tunnel.with_auth(auth.clone());
        }
        Box::pin(async move { tunnel.call(to).await.map_err(Into::into) })
    }
}

/// Whether a host, in brackets or not, is this machine.
pub(super) fn is_loopback(host: &str) -> bool {
    let host = host.trim_matches(['[', ']']);
    host.parse::<std::net::IpAddr>().map_or_else(
        |_| host.eq_ignore_ascii_case("localhost"),
        |ip| ip.is_loopback(),
    )
}
