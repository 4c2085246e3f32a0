//! Addresses: where a file is, and where a link leads.

use http::Uri;
use http::uri::Scheme;

use crate::error::{ModelError, ModelErrorKind};

/// An address over HTTP. Its `Debug` and its errors show no user and no password.
#[derive(Clone)]
pub(super) struct Address {
    pub(super) uri: Uri,
    /// User and password, as in `https://user:password@host`.
    pub(super) user: Option<String>,
}

impl Address {
    pub(super) fn parse(text: &str) -> Result<Self, ModelError> {
        let text = text.split('#').next().unwrap_or_default();
        let wrong = || {
            let message = "the address is none: write https://host/path";
            ModelError::new(ModelErrorKind::InvalidName, message)
        };
        let uri: Uri = text.parse().map_err(|_| wrong())?;
        let scheme = uri.scheme().cloned().ok_or_else(wrong)?;
        let authority = uri.authority().cloned().ok_or_else(wrong)?;
        if scheme != Scheme::HTTP && scheme != Scheme::HTTPS {
            return Err(wrong());
        }
        let (user, host) = match authority.as_str().rsplit_once('@') {
            Some((user, host)) => (Some(user.to_owned()), host.to_owned()),
            None => (None, authority.as_str().to_owned()),
        };
        let path = uri.path_and_query().cloned();
        let path = path.unwrap_or_else(|| http::uri::PathAndQuery::from_static("/"));
        let uri = Uri::builder()
            .scheme(scheme)
            .authority(host)
            .path_and_query(path);
        Ok(Self {
            uri: uri.build().map_err(|_| wrong())?,
            user,
        })
    }

    /// Where a link on this page leads. Who asks stays known to the same host only.
    pub(super) fn join(&self, link: &str) -> Result<Self, ModelError> {
        let link = link.split('#').next().unwrap_or_default();
        let scheme = self.uri.scheme_str().unwrap_or("https");
        let host = self.host_and_port();
        let text = if link.starts_with("http://") || link.starts_with("https://") {
            link.to_owned()
        } else if let Some(rest) = link.strip_prefix("//") {
            format!("{scheme}://{rest}")
        } else if link.starts_with('/') {
            format!("{scheme}://{host}{link}")
        } else {
            let folder = self
                .uri
                .path()
                .rsplit_once('/')
                .map_or("", |(folder, _)| folder);
            format!(
                "{scheme}://{host}{}",
                without_dots(&format!("{folder}/{link}"))
            )
        };
        let mut joined = Self::parse(&text)?;
        if joined.user.is_none() && joined.host_and_port() == host && joined.scheme() == scheme {
            joined.user.clone_from(&self.user);
        }
        if scheme == "https" && joined.scheme() == "http" {
            let message = format!("{host} leads from https to plain http, which is not followed");
            return Err(ModelError::new(ModelErrorKind::Network, message));
        }
        Ok(joined)
    }

    pub(super) fn scheme(&self) -> &str {
        self.uri.scheme_str().unwrap_or_default()
    }

    fn host_and_port(&self) -> String {
        self.uri
            .authority()
            .map(|host| host.as_str().to_owned())
            .unwrap_or_default()
    }

    /// The host, for messages.
    pub(super) fn host(&self) -> &str {
        self.uri.host().unwrap_or_default()
    }

    /// The last part of the path.
    pub(super) fn file_name(&self) -> &str {
        self.uri.path().rsplit('/').next().unwrap_or_default()
    }
}

fn without_dots(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/').skip(1) {
        match part {
            "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

impl std::fmt::Debug for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Address({})", self.uri)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_lead_where_they_say() {
        let page = Address::parse("https://me:secret@index.test:8443/simple/pack/").unwrap();
        let to = |link: &str| {
            let address = page.join(link).unwrap();
            (address.uri.to_string(), address.user.is_some())
        };
        let here = |path: &str| (format!("https://index.test:8443{path}"), true);
        assert_eq!(to("../../files/a.whl#sha256=1"), here("/files/a.whl"));
        assert_eq!(to("a.whl"), here("/simple/pack/a.whl"));
        assert_eq!(to("/b?c=d"), here("/b?c=d"));
        assert_eq!(
            to("https://files.test/x"),
            ("https://files.test/x".to_owned(), false)
        );
        assert_eq!(
            to("//files.test/x"),
            ("https://files.test/x".to_owned(), false)
        );
        assert!(page.join("http://index.test:8443/x").is_err());
        assert!(!format!("{page:?}").contains("secret"));
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for text in ["", "ftp://a/b", "/a", "https://", "not an address"] {
            assert!(Address::parse(text).is_err(), "{text}");
        }
    }
}
