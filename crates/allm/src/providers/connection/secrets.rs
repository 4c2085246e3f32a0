//! What a provider may repeat of a request and must not be told further: its key, the values of its headers, and the
//! keys in its query.

use allm_core::{ApiKey, ModelCall, Redactor};

use super::Connection;

/// Shorter values stand in any text.
const SHORTEST: usize = 8;
/// What may stand before a token in a header.
const SCHEMES: [&str; 4] = ["bearer", "basic", "token", "key"];
/// Headers of a dialect that tell who calls.
const WHO: [&str; 2] = ["openai-organization", "openai-project"];
/// What the name of a query parameter has in it whose value is secret.
const SECRET: [&str; 6] = ["key", "token", "secret", "auth", "sig", "password"];

impl Connection {
    /// What takes the secrets of one attempt out of what the provider says.
    pub(super) fn redactor(&self, call: &ModelCall, own: &[(&'static str, String)]) -> Redactor {
        let mut redactor = Redactor::new();
        if let Some(key) = &call.key {
            redactor = redactor.with_key(key);
        }
        let who = own.iter().filter(|(name, _)| WHO.contains(name));
        let headers = self.headers.iter().chain(&call.headers);
        let values = headers.map(|(_, value)| value).chain(who.map(|(_, v)| v));
        for value in values {
            redactor = with(redactor, value);
            // A token may be repeated without the name of its scheme.
            if let Some((scheme, token)) = value.trim().split_once(' ')
                && SCHEMES.contains(&&*scheme.to_ascii_lowercase())
            {
                redactor = with(redactor, token);
            }
        }
        for (name, value) in self.query.iter().chain(&call.query) {
            if is_secret(name) {
                redactor = with(redactor, value);
            }
        }
        let base = self.base_url.as_str().split_once('?');
        for pair in base.map_or("", |(_, query)| query).split('&') {
            if let Some((name, value)) = pair.split_once('=')
                && is_secret(name)
            {
                redactor = with(redactor, value);
            }
        }
        redactor
    }
}

fn with(redactor: Redactor, value: &str) -> Redactor {
    let value = value.trim();
    match ApiKey::new(value) {
        Ok(Some(secret)) if value.len() >= SHORTEST => redactor.with_key(&secret),
        _ => redactor,
    }
}

fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SECRET.iter().any(|word| name.contains(word))
}
