//! The hosts that may be asked.

use std::fmt;

use http::Uri;
use toml::Spanned;

use crate::config::Source;
use crate::problem::Problem;

/// Hosts that may be asked; none for "ask a person".
#[derive(Debug, Default)]
pub(super) struct Allowed(Vec<Entry>);

#[derive(Debug, PartialEq, Eq)]
struct Entry {
    /// In lower case.
    host: String,
    /// Whether every host below it is meant, and not it itself.
    below: bool,
    /// Without it, the port that the scheme has.
    port: Option<u16>,
}

/// How a host is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// By its own name: its address may be any.
    Named,
    /// By a pattern, or by a person: its address must be a public one.
    Public,
    /// Not.
    No,
}

impl Allowed {
    pub(super) fn read(said: &[Spanned<String>], source: &Source) -> Result<Self, Problem> {
        let entries = said.iter().map(|said| {
            Entry::read(said.get_ref()).ok_or_else(|| {
                let what = format!("`{}` is no host", said.get_ref());
                let advice =
                    "write it as \"api.example.com\", \"*.example.org\" or \"localhost:8080\"";
                source.problem(&said.span(), what).advice(advice)
            })
        });
        Ok(Self(entries.collect::<Result<_, _>>()?))
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How the host of an address is allowed.
    pub(super) fn way(&self, url: &Uri) -> Way {
        if self.is_empty() {
            return Way::Public;
        }
        let matching = || self.0.iter().filter(|entry| entry.is_for(url));
        match (matching().any(|entry| !entry.below), matching().next()) {
            (true, _) => Way::Named,
            (false, Some(_)) => Way::Public,
            (false, None) => Way::No,
        }
    }
}

impl Entry {
    fn read(said: &str) -> Option<Self> {
        let (below, rest) = match said.strip_prefix("*.") {
            Some(rest) => (true, rest),
            None => (false, said),
        };
        let (host, port) = match rest.rsplit_once(':') {
            // An address in brackets has colons of its own.
            Some((host, port)) if !port.ends_with(']') => (host, Some(port.parse().ok()?)),
            _ => (rest, None),
        };
        let is_address = host.starts_with('[') && host.ends_with(']');
        let letter = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '.';
        let is_name = !host.is_empty() && host.chars().all(letter) && !host.starts_with('.');
        (is_name || is_address).then(|| Self {
            host: host.to_ascii_lowercase(),
            below,
            port,
        })
    }

    fn is_for(&self, url: &Uri) -> bool {
        let host = url.host().unwrap_or_default().to_ascii_lowercase();
        // A name may be written with the dot of the root.
        let host = host.strip_suffix('.').unwrap_or(&host);
        let is_host = match self.below {
            true => host
                .strip_suffix(&self.host)
                .is_some_and(|rest| rest.len() > 1 && rest.ends_with('.')),
            false => host == self.host,
        };
        let usual = match url.scheme_str() {
            Some("http") => 80,
            _ => 443,
        };
        is_host && url.port_u16().unwrap_or(usual) == self.port.unwrap_or(usual)
    }
}

impl fmt::Display for Allowed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, entry) in self.0.iter().enumerate() {
            let comma = if place == 0 { "" } else { ", " };
            let star = if entry.below { "*." } else { "" };
            write!(f, "{comma}{star}{}", entry.host)?;
            if let Some(port) = entry.port {
                write!(f, ":{port}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn way(list: &[&str], url: &str) -> Way {
        let entries = list.iter().map(|said| Entry::read(said).expect("a host"));
        Allowed(entries.collect()).way(&url.parse().expect("a URL"))
    }

    #[test]
    fn a_host_is_allowed_by_name_or_by_pattern() {
        let list = [
            "api.example.com",
            "*.example.org",
            "localhost:8080",
            "[::1]:9",
        ];
        for (url, expected) in [
            ("https://api.example.com/x", Way::Named),
            ("https://API.Example.com./x", Way::Named),
            ("http://api.example.com:80/x", Way::Named),
            ("https://api.example.com:8443/", Way::No),
            ("https://xapi.example.com/", Way::No),
            ("https://api.example.com.evil.net/", Way::No),
            ("https://example.org/", Way::No),
            ("https://a.b.example.org/", Way::Public),
            ("https://evilexample.org/", Way::No),
            ("http://localhost:8080/", Way::Named),
            ("http://localhost/", Way::No),
            ("http://[::1]:9/", Way::Named),
        ] {
            assert_eq!(way(&list, url), expected, "{url}");
        }
        assert_eq!(way(&[], "https://anywhere.net/"), Way::Public);
    }

    #[test]
    fn what_is_no_host() {
        for said in [
            "",
            "https://a.com",
            "a.com/x",
            "a b",
            "*.",
            "a.com:x",
            "a.com:99999",
            ".com",
        ] {
            assert_eq!(Entry::read(said), None, "{said}");
        }
    }
}
