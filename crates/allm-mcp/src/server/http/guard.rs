//! Who is answered.

use std::sync::Arc;

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::Full;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use sha2::{Digest as _, Sha256};

/// Who is answered, before MCP is spoken.
pub(super) struct Guard {
    pub(super) path: String,
    pub(super) token: Option<Token>,
    pub(super) max_clients: usize,
    pub(super) sessions: Arc<LocalSessionManager>,
}

/// A token, as its hash: comparing two hashes tells nothing of either.
pub(super) struct Token {
    hash: [u8; 32],
    is_empty: bool,
}

impl Token {
    pub(super) fn new(text: &str) -> Self {
        Self {
            hash: hash(text),
            is_empty: text.trim().is_empty(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.is_empty
    }

    fn is_in(&self, headers: &HeaderMap) -> bool {
        let mut given = headers.get_all(AUTHORIZATION).iter();
        let (Some(first), None) = (given.next(), given.next()) else {
            return false;
        };
        let Some((scheme, token)) = first.to_str().ok().and_then(|text| text.split_once(' '))
        else {
            return false;
        };
        scheme.eq_ignore_ascii_case("bearer") && hash(token.trim()) == self.hash
    }
}

fn hash(text: &str) -> [u8; 32] {
    Sha256::digest(text.as_bytes()).into()
}

impl Guard {
    /// Why a request is not answered, as the response.
    pub(super) async fn refuses<B>(&self, request: &Request<B>) -> Option<Response<Full<Bytes>>> {
        if let Some(token) = &self.token
            && !token.is_in(request.headers())
        {
            let mut response = says(StatusCode::UNAUTHORIZED, "a bearer token is wanted");
            let wanted = HeaderValue::from_static("Bearer");
            response.headers_mut().insert(WWW_AUTHENTICATE, wanted);
            return Some(response);
        }
        if request.uri().path() != self.path {
            return Some(says(StatusCode::NOT_FOUND, "there is nothing here"));
        }
        // Who has a session, or needs none, has room.
        let headers = request.headers();
        let begins = request.method() == Method::POST
            && !headers.contains_key("mcp-session-id")
            && !is_stateless(headers);
        if begins && self.sessions.sessions.read().await.len() >= self.max_clients {
            let why = "there are too many clients; come again later";
            return Some(says(StatusCode::SERVICE_UNAVAILABLE, why));
        }
        None
    }
}

/// From version 2026-07-28 on there are no sessions.
fn is_stateless(headers: &HeaderMap) -> bool {
    let version = headers.get("mcp-protocol-version");
    version.is_some_and(|version| version.as_bytes() >= b"2026-07-28".as_slice())
}

fn says(status: StatusCode, why: &'static str) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from_static(why.as_bytes())));
    *response.status_mut() = status;
    let kind = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}
