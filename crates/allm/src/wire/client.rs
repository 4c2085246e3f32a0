//! Connections: pooled, over TLS where the address says so, through the proxy that the environment names.

use std::error::Error as StdError;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::uri::Scheme;
use http::{Request, Uri};
use http_body_util::{BodyExt as _, Full};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder, MaybeHttpsStream};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::proxy::matcher::Matcher;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tower_service::Service;

use super::link::Link;
use super::transport::{BoxError, Sending, Transport};

type Connecting<T> = Pin<Box<dyn Future<Output = Result<T, BoxError>> + Send>>;
pub(crate) type HttpClient = Arc<dyn Transport>;

/// The clients of one provider configuration: one for each limit of connecting, which belongs to a client and not to a
/// call. There is hardly ever more than one.
#[derive(Clone, Default)]
pub(crate) struct Clients(Arc<Mutex<Vec<ByLimit>>>);

/// How many are kept, for a caller who has another limit for every call.
const LIMITS: usize = 8;

type ByLimit = (Option<Duration>, Security, HttpClient);

/// Whether connections are secured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Security {
    /// Over TLS, by the system's certificates.
    Tls,
    /// Not at all, and the certificates are not read: that takes longer than everything else before a first answer.
    Plain,
}

impl Clients {
    /// The client whose connections have this limit.
    pub(crate) fn get(
        &self,
        connect: Option<Duration>,
        security: Security,
    ) -> Result<HttpClient, NoRoots> {
        let mut clients = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut known = clients.iter();
        if let Some((_, _, client)) =
            known.find(|(limit, secured, _)| *limit == connect && *secured == security)
        {
            return Ok(client.clone());
        }
        let client = client(connect, security)?;
        if clients.len() >= LIMITS {
            // Calls that go on keep theirs.
            clients.remove(0);
        }
        clients.push((connect, security, client.clone()));
        Ok(client)
    }
}

impl fmt::Debug for Clients {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clients")
    }
}

/// The system has no certificates to check servers by.
#[derive(Debug)]
pub(crate) struct NoRoots;

fn client(limit: Option<Duration>, security: Security) -> Result<HttpClient, NoRoots> {
    let limited = Limited {
        way: Arc::new(match security {
            Security::Tls => Secured::Tls(connector()?),
            Security::Plain => Secured::Plain(Way::of_environment()),
        }),
        limit,
    };
    let pooled: Client<Limited, Boxed> = Client::builder(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(Duration::from_secs(90))
        .build(limited);
    Ok(Arc::new(pooled))
}

/// What makes secured connections, the same for all: reading the system's certificates takes longer than a call may.
fn connector() -> Result<HttpsConnector<Way>, NoRoots> {
    static CONNECTOR: OnceLock<HttpsConnector<Way>> = OnceLock::new();
    if let Some(known) = CONNECTOR.get() {
        return Ok(known.clone());
    }
    let tls = HttpsConnectorBuilder::new()
        .with_native_roots()
        .map_err(|_| NoRoots)?
        .https_or_http();
    #[cfg(feature = "http2")]
    let tls = tls.enable_all_versions();
    #[cfg(not(feature = "http2"))]
    let tls = tls.enable_http1();
    let tls = tls.wrap_connector(Way::of_environment());
    Ok(CONNECTOR.get_or_init(|| tls).clone())
}

/// A request's body. Each connection has room for 32 requests that wait, so what lies aside counts 32 times.
type Boxed = Box<Full<Bytes>>;

impl Transport for Client<Limited, Boxed> {
    fn send(&self, request: Request<Full<Bytes>>) -> Sending {
        let sent = self.request(request.map(Box::new));
        Box::pin(async move {
            let response = sent.await?;
            Ok(response.map(|body| body.map_err(BoxError::from).boxed_unsync()))
        })
    }
}

/// The way to a host: straight, or through a tunnel of a proxy.
#[derive(Clone)]
pub(crate) struct Way {
    http: HttpConnector,
    proxies: Arc<Matcher>,
}

impl Way {
    /// With the proxies that the environment names.
    fn of_environment() -> Self {
        static WAY: LazyLock<Way> = LazyLock::new(|| {
            let mut http = HttpConnector::new();
            http.enforce_http(false);
            http.set_nodelay(true);
            Way {
                http,
                proxies: Arc::new(Matcher::from_env()),
            }
        });
        WAY.clone()
    }
}

impl Service<Uri> for Way {
    type Response = TokioIo<TcpStream>;
    type Error = BoxError;
    type Future = Connecting<Self::Response>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, to: Uri) -> Self::Future {
        let mut http = self.http.clone();
        // What stays on this machine would be told to the proxy in plain text.
        let is_here = to.host().is_some_and(is_loopback);
        let Some(proxy) = self.proxies.intercept(&to).filter(|_| !is_here) else {
            let connecting = http.call(to);
            return Box::pin(async move { connecting.await.map_err(Into::into) });
        };
        let mut tunnel = Tunnel::new(proxy.uri().clone(), http);
        if let Some(auth) = proxy.basic_auth() {
            tunnel = tunnel.with_auth(auth.clone());
        }
        let connecting = tunnel.call(to);
        Box::pin(async move { connecting.await.map_err(Into::into) })
    }
}

/// Whether a host, in brackets or not, is this machine.
pub(crate) fn is_loopback(host: &str) -> bool {
    let host = host.trim_matches(['[', ']']);
    host.parse::<std::net::IpAddr>().map_or_else(
        |_| host.eq_ignore_ascii_case("localhost"),
        |ip| ip.is_loopback(),
    )
}

/// Connects within a limit: name, TCP and TLS. While a connection is made there are several copies of it.
#[derive(Clone)]
pub(crate) struct Limited {
    way: Arc<Secured>,
    limit: Option<Duration>,
}

enum Secured {
    Tls(HttpsConnector<Way>),
    Plain(Way),
}

impl Secured {
    fn call(&self, to: Uri) -> Connecting<Link> {
        match self {
            Self::Tls(tls) => {
                let connecting = tls.clone().call(to);
                Box::pin(async move {
                    Ok(match connecting.await? {
                        MaybeHttpsStream::Http(plain) => Link::new(plain),
                        secured => Link::new(secured),
                    })
                })
            }
            // An address is of one kind, and so is the client that was made for it.
            Self::Plain(_) if to.scheme() != Some(&Scheme::HTTP) => {
                let error = std::io::Error::other("the address is not one of plain HTTP");
                Box::pin(std::future::ready(Err(error.into())))
            }
            Self::Plain(way) => {
                let connecting = way.clone().call(to);
                Box::pin(async move { connecting.await.map(Link::new) })
            }
        }
    }
}

/// A connection was not made in time.
#[derive(Debug)]
pub(crate) struct TooSlow;

impl fmt::Display for TooSlow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the connection was not made in time")
    }
}

impl StdError for TooSlow {}

impl Service<Uri> for Limited {
    type Response = Link;
    type Error = BoxError;
    type Future = Connecting<Self::Response>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, to: Uri) -> Self::Future {
        let connecting = self.way.call(to);
        match self.limit {
            None => connecting,
            Some(limit) => Box::pin(async move {
                match tokio::time::timeout(limit, connecting).await {
                    Ok(connected) => connected,
                    Err(_) => Err(TooSlow.into()),
                }
            }),
        }
    }
}

/// Whether an error, or what it came from, is a connection that was too slow.
pub(crate) fn is_too_slow(error: &(dyn StdError + 'static)) -> bool {
    let mut next = Some(error);
    while let Some(error) = next {
        if error.is::<TooSlow>() {
            return true;
        }
        next = error.source();
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    /// P43: a key that may go over plain HTTP to this machine does not go through a proxy to it.
    #[tokio::test]
    async fn p43_no_proxy_for_this_machine() {
        let nobody = tokio::net::TcpListener::bind("127.0.0.1:0").await;
        let server = tokio::net::TcpListener::bind("127.0.0.1:0").await;
        let (Ok(nobody), Ok(server)) = (nobody, server) else {
            panic!("no ports")
        };
        let address = |listener: &tokio::net::TcpListener| {
            format!("http://{}", listener.local_addr().expect("an address"))
        };
        let proxies = Matcher::builder().all(address(&nobody)).build();
        let mut way = Way {
            http: HttpConnector::new(),
            proxies: Arc::new(proxies),
        };
        let to: Uri = address(&server).parse().expect("an address");
        assert!(way.proxies.intercept(&to).is_some());
        let made = way.call(to).await.expect("a connection");
        let peer = made.inner().peer_addr().expect("an address");
        assert_eq!(peer, server.local_addr().expect("an address"));
    }
}
