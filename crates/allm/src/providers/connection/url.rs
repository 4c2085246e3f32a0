//! Addresses: a base URL, and what is joined to it.

use std::sync::{Arc, OnceLock};

use allm_core::Server;
use http::Uri;
use http::uri::Scheme;

use crate::wire::client::is_loopback;

/// A base URL as it was given. It is read once.
#[derive(Clone)]
pub(crate) struct BaseUrl {
    text: String,
    address: Arc<Result<Address, String>>,
}

impl BaseUrl {
    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    /// What it says, or what is wrong with it.
    pub(super) fn address(&self) -> Result<&Address, &str> {
        self.address.as_ref().as_ref().map_err(String::as_str)
    }
}

impl From<String> for BaseUrl {
    fn from(text: String) -> Self {
        Self {
            address: Arc::new(Address::parse(&text)),
            text,
        }
    }
}

/// A base URL that was read.
pub(super) struct Address {
    uri: Uri,
    host: String,
    /// The first path that was joined, which for most wires is the only one, and what it came to.
    joined: OnceLock<(String, Uri)>,
}

impl Address {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let wrong = |why: &str| format!("the base URL `{}` {why}", shown(text));
        let uri: Uri = text.trim().parse().map_err(|_| wrong("is not a URL"))?;
        let scheme = uri
            .scheme()
            .ok_or_else(|| wrong("has no scheme; begin it with https://"))?;
        if *scheme != Scheme::HTTPS && *scheme != Scheme::HTTP {
            return Err(wrong("has a scheme other than https and http"));
        }
        let authority = uri.authority().ok_or_else(|| wrong("has no host"))?;
        if authority.as_str().contains('@') {
            return Err(wrong("holds a user name; give the key with `api_key`"));
        }
        let host = authority.host().trim_matches(['[', ']']).to_owned();
        if host.is_empty() {
            return Err(wrong("has no host"));
        }
        let joined = OnceLock::new();
        Ok(Self { uri, host, joined })
    }

    pub(super) fn server(&self) -> Server {
        let known = if self.is_https() { 443 } else { 80 };
        Server::new(
            self.host.clone(),
            Some(self.uri.port_u16().unwrap_or(known)),
        )
    }

    /// Whether it is reached over TLS.
    pub(super) fn is_https(&self) -> bool {
        self.uri.scheme() == Some(&Scheme::HTTPS)
    }

    /// Whether nobody can listen: over TLS, or on this machine.
    pub(super) fn is_secret(&self) -> bool {
        self.is_https() || is_loopback(&self.host)
    }

    /// This address with a path and a query after its own.
    pub(super) fn join(&self, path: &str, query: &[(String, String)]) -> Result<Uri, String> {
        if !query.is_empty() {
            return self.joined_anew(path, query);
        }
        if let Some((known, uri)) = self.joined.get()
            && known == path
        {
            return Ok(uri.clone());
        }
        let uri = self.joined_anew(path, query)?;
        let _ = self.joined.set((path.to_owned(), uri.clone()));
        Ok(uri)
    }

    fn joined_anew(&self, path: &str, query: &[(String, String)]) -> Result<Uri, String> {
        let (path, own_query) = path.split_once('?').unwrap_or((path, ""));
        let mut text = self.uri.path().trim_end_matches('/').to_owned();
        text.push('/');
        text.push_str(path.trim_start_matches('/'));
        let pairs = query
            .iter()
            .map(|(name, value)| format!("{}={}", encoded(name), encoded(value)));
        let parts: Vec<String> = [self.uri.query().unwrap_or_default(), own_query]
            .into_iter()
            .filter(|part| !part.is_empty())
            .map(str::to_owned)
            .chain(pairs)
            .collect();
        if !parts.is_empty() {
            text.push('?');
            text.push_str(&parts.join("&"));
        }
        let mut whole = self.uri.clone().into_parts();
        whole.path_and_query = Some(
            text.parse()
                .map_err(|_| "the address cannot be built".to_owned())?,
        );
        Uri::from_parts(whole).map_err(|_| "the address cannot be built".to_owned())
    }
}

/// All but the unreserved characters as `%XX`.
pub(crate) fn encoded(text: &str) -> String {
    use std::fmt::Write as _;
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                encoded.push(char::from(byte))
            }
            _ => drop(write!(encoded, "%{byte:02X}")),
        }
    }
    encoded
}

/// What may be shown of a URL: scheme, host and path.
pub(super) fn shown(text: &str) -> String {
    let text = text.split(['?', '#']).next().unwrap_or_default();
    match (text.find("://"), text.rfind('@')) {
        (Some(scheme), Some(user)) if user > scheme => {
            let scheme = text.get(..scheme + 3).unwrap_or_default();
            let rest = text.get(user + 1..).unwrap_or_default();
            format!("{scheme}{rest}")
        }
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(base: &str, path: &str, query: &[(&str, &str)]) -> String {
        let query: Vec<_> = query
            .iter()
            .map(|(n, v)| ((*n).to_owned(), (*v).to_owned()))
            .collect();
        Address::parse(base)
            .expect("a base")
            .join(path, &query)
            .expect("joined")
            .to_string()
    }

    #[test]
    fn p81_one_slash_and_every_query() {
        for base in ["https://h/v1", "https://h/v1/"] {
            assert_eq!(joined(base, "/chat", &[]), "https://h/v1/chat");
        }
        assert_eq!(joined("https://h", "/chat", &[]), "https://h/chat");
        assert_eq!(
            joined("https://h:8/a/b?x=1", "/c?y=2", &[("z", "3 &")]),
            "https://h:8/a/b/c?x=1&y=2&z=3%20%26"
        );
    }

    #[test]
    fn c91_what_is_no_base_url() {
        for bad in [
            "",
            "h/v1",
            "ftp://h",
            "https://",
            "https://k@h",
            "https://h h",
        ] {
            assert!(Address::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn p43_who_can_listen() {
        for (base, secret) in [
            ("https://h", true),
            ("http://localhost:1", true),
            ("http://127.0.0.1", true),
            ("http://127.9.9.9:1", true),
            ("http://[::1]:1", true),
            ("http://h", false),
            ("http://localhost.evil.example", false),
            ("http://10.0.0.1", false),
        ] {
            assert_eq!(
                Address::parse(base).expect(base).is_secret(),
                secret,
                "{base}"
            );
        }
    }

    #[test]
    fn nothing_secret_is_shown() {
        assert_eq!(shown("https://me:pw@h/p?key=k#f"), "https://h/p");
    }

    #[test]
    fn p90_what_is_in_a_path_is_encoded() {
        assert_eq!(encoded("a/b:c d"), "a%2Fb%3Ac%20d");
    }
}
