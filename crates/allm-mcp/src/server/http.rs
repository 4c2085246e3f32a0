//! Serving by streamable HTTP.

mod connections;
mod guard;

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::net::TcpListener;

use super::error::{ServeError, ServeReason};
use super::handler::Handler;
use super::settings::Settings;

use connections::Served;
use guard::{Guard, Token};

/// A service by streamable HTTP, before it listens.
///
/// Only names of this machine are answered in the header `Host`, and only its pages in `Origin`: a page from elsewhere
/// that has the name of its own server point to this machine is refused. There is no TLS; put a proxy before it.
#[must_use = "nothing is served before `bind` or `run`"]
pub struct HttpService {
    settings: Settings,
    address: String,
    path: String,
    token: Option<Token>,
    is_open: bool,
    hosts: Vec<String>,
    origins: Vec<String>,
    max_clients: usize,
}

impl HttpService {
    pub(super) fn new(settings: Settings, address: String) -> Self {
        Self {
            settings,
            address,
            path: "/mcp".to_owned(),
            token: None,
            is_open: false,
            hosts: Vec::new(),
            origins: Vec::new(),
            max_clients: 256,
        }
    }

    /// Where it is served; `/mcp` if not set.
    pub fn path(mut self, path: impl Into<String>) -> Self {
        self.path = path.into();
        self
    }

    /// Answers only who sends this token, as `Authorization: Bearer …`.
    pub fn bearer_token(mut self, token: impl Into<String>) -> Self {
        self.token = Some(Token::new(&token.into()));
        self
    }

    /// Answers anybody who reaches the address, without a token. It needs to be said only where others than this machine
    /// reach it.
    pub fn without_token(mut self) -> Self {
        self.is_open = true;
        self
    }

    /// Also answers to this name, as it stands in the header `Host`: `tools.example.com`, or with a port.
    pub fn allow_host(mut self, host: impl Into<String>) -> Self {
        self.hosts.push(host.into());
        self
    }

    /// Also answers pages from there, as it stands in the header `Origin`: `https://app.example.com:443`, or with `:*`
    /// for any port.
    pub fn allow_origin(mut self, origin: impl Into<String>) -> Self {
        self.origins.push(origin.into());
        self
    }

    /// How many clients may have a session at once; 256 if not set. Four times as many connections are taken at once:
    /// others wait.
    pub fn max_clients(mut self, clients: usize) -> Self {
        self.max_clients = clients;
        self
    }

    /// Listens, and serves until the token of the service fires: [`bind`](Self::bind) and [`Listening::run`] in one.
    ///
    /// # Errors
    ///
    /// As for both.
    pub async fn run(self) -> Result<(), ServeError> {
        self.bind().await?.run().await
    }

    /// Listens. Nobody is answered before [`Listening::run`].
    ///
    /// # Errors
    ///
    /// A wrong setting or tool; an address that cannot be used; one that others reach, if there is no token.
    pub async fn bind(self) -> Result<Listening, ServeError> {
        let invalid = |message: String| ServeError::new(ServeReason::InvalidConfig, message);
        if !self.path.starts_with('/') || self.path.contains(['?', '#']) {
            let path = &self.path;
            return Err(invalid(format!(
                "{path:?} is no path; it begins with a slash"
            )));
        }
        if self.max_clients == 0 {
            return Err(invalid("max_clients is 0".to_owned()));
        }
        if self.token.as_ref().is_some_and(Token::is_empty) {
            return Err(invalid("the bearer token is empty".to_owned()));
        }
        let handler = Handler::new(self.settings).await?;
        let cannot = |error: std::io::Error| {
            let message = format!("{} cannot be listened on: {error}", self.address);
            ServeError::new(ServeReason::Address, message).from(error)
        };
        let listener = TcpListener::bind(&self.address).await.map_err(cannot)?;
        let address = listener.local_addr().map_err(cannot)?;
        let is_local = address.ip().is_loopback();
        if !is_local && self.token.is_none() && !self.is_open {
            return Err(invalid(format!(
                "others than this machine reach {address}, and no bearer token is wanted from them; set one, or say `without_token`"
            )));
        }
        let config = StreamableHttpServerConfig::default()
            .with_allowed_hosts(hosts(address, self.hosts))
            .with_allowed_origins(origins(is_local, self.origins))
            .enforce_origin_validation()
            .with_max_request_body_bytes(handler.settings().max_message);
        let mut sessions = LocalSessionManager::default();
        sessions.session_config.keep_alive = Some(handler.settings().longest_wait());
        let sessions = Arc::new(sessions);
        let ending = config.cancellation_token.clone();
        let served = handler.clone();
        let service =
            StreamableHttpService::new(move || Ok(served.clone()), Arc::clone(&sessions), config);
        let guard = Guard {
            path: self.path,
            token: self.token,
            max_clients: self.max_clients,
            sessions: Arc::clone(&sessions),
        };
        Ok(Listening {
            address,
            listener,
            served: Served {
                handler,
                service,
                sessions,
                guard: Arc::new(guard),
                ending,
            },
        })
    }
}

/// The names that are answered to: those of this machine, the address itself, and what was said.
fn hosts(address: SocketAddr, more: Vec<String>) -> Vec<String> {
    let local = ["localhost", "127.0.0.1", "::1"].map(str::to_owned);
    let own = (!address.ip().is_unspecified()).then(|| address.ip().to_string());
    local.into_iter().chain(own).chain(more).collect()
}

/// The pages that are answered: those of this machine, where only this machine reaches the address, and what was said.
fn origins(is_local: bool, more: Vec<String>) -> Vec<String> {
    let local = ["http://localhost:*", "http://127.0.0.1:*", "http://[::1]:*"];
    let local = local.into_iter().filter(|_| is_local).map(str::to_owned);
    local.chain(more).collect()
}

/// A service that listens.
#[must_use = "nobody is answered before `run`"]
pub struct Listening {
    address: SocketAddr,
    listener: TcpListener,
    served: Served,
}

impl Listening {
    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where clients of this machine find it.
    #[must_use]
    pub fn url(&self) -> String {
        let mut address = self.address;
        if address.ip().is_unspecified() {
            match address {
                SocketAddr::V4(_) => address.set_ip(std::net::Ipv4Addr::LOCALHOST.into()),
                SocketAddr::V6(_) => address.set_ip(std::net::Ipv6Addr::LOCALHOST.into()),
            }
        }
        format!("http://{address}{}", self.served.guard.path)
    }

    /// Serves until the token of the service fires.
    ///
    /// # Errors
    ///
    /// When no more connections can be taken.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future closes the connections and stops the calls.
    pub async fn run(self) -> Result<(), ServeError> {
        self.served.run(self.listener).await
    }
}

impl fmt::Debug for HttpService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpService")
            .field("address", &self.address)
            .field("path", &self.path)
            .field("has_token", &self.token.is_some())
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Listening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Listening")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}
