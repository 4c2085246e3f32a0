//! Servers that want a person to log in.

use std::fmt;
use std::sync::Arc;

use rmcp::transport::auth::{
    AuthError, AuthorizationManager, AuthorizationRequest, AuthorizationSession, CredentialStore,
    InMemoryCredentialStore, StoredCredentials,
};

use crate::client::HttpClient;
use crate::error::{McpError, McpErrorKind};

/// How much of an answer of the login server is read, in bytes.
const ANSWER: usize = 1024 * 1024;

/// A login that a person has not yet done.
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use allm_mcp::McpServer;
/// use allm_mcp::oauth::LoginRequest;
///
/// let url = "https://mcp.example.com/mcp";
/// let login = LoginRequest::new(url, "http://127.0.0.1:7777/callback").begin().await?;
/// println!("open {}", login.url());
/// // The browser comes back to the address above; what it asked for there is the rest.
/// # let came_back_to = "";
/// let login = login.finish(came_back_to).await?;
/// let tools = McpServer::http(url).login(login).connect().await?.tools();
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct LoginRequest {
    url: String,
    redirect: String,
    client: Option<String>,
    secret: Option<String>,
    scopes: Vec<String>,
}

impl LoginRequest {
    /// For the server at this address; the browser goes to `redirect` when the person has logged in.
    pub fn new(url: impl Into<String>, redirect: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            redirect: redirect.into(),
            client: None,
            secret: None,
            scopes: Vec::new(),
        }
    }

    /// As this client, which the login server knows. Otherwise one is registered.
    #[must_use]
    pub fn client(mut self, id: impl Into<String>) -> Self {
        self.client = Some(id.into());
        self
    }

    /// With the secret of the client.
    #[must_use]
    pub fn client_secret(mut self, secret: impl Into<String>) -> Self {
        self.secret = Some(secret.into());
        self
    }

    /// What is to be allowed. Otherwise what the server says that it needs.
    #[must_use]
    pub fn scopes(mut self, scopes: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.scopes.extend(scopes.into_iter().map(Into::into));
        self
    }

    /// Finds the login server and says where the person has to go.
    ///
    /// # Errors
    ///
    /// If there is none, or it does not want this client.
    pub async fn begin(self) -> Result<PendingLogin, McpError> {
        let store = InMemoryCredentialStore::new();
        let mut manager = manager(&self.url, &store).await?;
        let found = manager.resolve_metadata().await;
        let found = found.map_err(|error| failed(&self.url, &error))?;
        manager.set_metadata(found.metadata);
        let mut request = AuthorizationRequest::new(self.redirect).with_client_name("allm");
        if let Some(client) = self.client {
            request = request.with_preregistered_client(client);
        }
        if let Some(secret) = self.secret {
            request = request.with_client_secret(secret);
        }
        if !self.scopes.is_empty() {
            request = request.with_scopes(self.scopes);
        }
        let session = AuthorizationSession::new(manager, request).await;
        let session = session.map_err(|(_, error)| failed(&self.url, &error))?;
        Ok(PendingLogin {
            server: self.url,
            session,
            store,
        })
    }
}

impl fmt::Debug for LoginRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoginRequest").finish_non_exhaustive()
    }
}

/// A login that a person is doing.
pub struct PendingLogin {
    server: String,
    session: AuthorizationSession,
    store: InMemoryCredentialStore,
}

impl PendingLogin {
    /// Where the person has to go.
    #[must_use]
    pub fn url(&self) -> &str {
        self.session.get_authorization_url()
    }

    /// The browser was sent to this address when the person had logged in.
    ///
    /// # Errors
    ///
    /// If the person did not, or the address is not of this login.
    pub async fn finish(self, came_back_to: &str) -> Result<Login, McpError> {
        let done = self.session.handle_callback_url(came_back_to).await;
        done.map_err(|error| failed(&self.server, &error))?;
        Ok(Login { store: self.store })
    }
}

impl fmt::Debug for PendingLogin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PendingLogin").finish_non_exhaustive()
    }
}

/// What a login has given: tokens, which are renewed while they are used. Clones share them.
#[derive(Clone)]
pub struct Login {
    store: InMemoryCredentialStore,
}

impl Login {
    /// The tokens as JSON, to be kept where secrets are kept. They change when they are renewed.
    ///
    /// # Errors
    ///
    /// If there are none any more.
    pub async fn to_json(&self) -> Result<String, McpError> {
        let lost = || McpError::new(McpErrorKind::Unauthorized, "login", "there are no tokens");
        let kept = self.store.load().await.ok().flatten().ok_or_else(lost)?;
        serde_json::to_string(&kept).map_err(|_| lost())
    }

    /// Tokens that were kept.
    ///
    /// # Errors
    ///
    /// If it is not what [`to_json`](Self::to_json) gave.
    pub async fn from_json(json: &str) -> Result<Self, McpError> {
        let wrong = |_| {
            let message = "what was kept of the login cannot be read";
            McpError::new(McpErrorKind::InvalidSettings, "login", message)
        };
        let kept: StoredCredentials = serde_json::from_str(json).map_err(wrong)?;
        let store = InMemoryCredentialStore::new();
        let saved = store.save(kept).await;
        saved.map_err(|error| failed("login", &error))?;
        Ok(Self { store })
    }

    pub(crate) async fn manager(&self, url: &str) -> Result<AuthorizationManager, McpError> {
        let mut manager = manager(url, &self.store).await?;
        let ready = manager.initialize_from_store().await;
        ready.map_err(|error| failed(url, &error))?;
        Ok(manager)
    }
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Login").finish_non_exhaustive()
    }
}

async fn manager(
    url: &str,
    store: &InMemoryCredentialStore,
) -> Result<AuthorizationManager, McpError> {
    let client = HttpClient::new(ANSWER);
    let client =
        client.map_err(|message| McpError::new(McpErrorKind::Start, host(url), message))?;
    let manager = AuthorizationManager::new_with_oauth_http_client(url, Arc::new(client)).await;
    let mut manager = manager.map_err(|error| failed(url, &error))?;
    manager.set_credential_store(store.clone());
    Ok(manager)
}

/// Of an address only the host is shown.
fn host(url: &str) -> String {
    let uri = url.parse::<http::Uri>().ok();
    uri.and_then(|uri| uri.host().map(str::to_owned))
        .unwrap_or_else(|| "http".to_owned())
}

fn failed(url: &str, error: &AuthError) -> McpError {
    // What it says may hold what a server said, and that may hold anything.
    let message = match error {
        AuthError::AuthorizationRequired => "a person has to log in",
        AuthError::NoAuthorizationSupport => "it has no login that could be found",
        AuthError::RegistrationFailed(_) => "its login server does not register this client",
        AuthError::TokenRefreshFailed(_) => "the tokens could not be renewed",
        _ => "the login failed",
    };
    McpError::new(McpErrorKind::Unauthorized, host(url), message).detail(Some(error.to_string()))
}
