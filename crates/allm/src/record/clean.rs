//! What of a recording may be seen.

use std::fmt;
use std::sync::Arc;

use allm_core::Redactor;
use bytes::Bytes;
use serde_json::Value;

use super::cassette::{Answered, Asked, Chunk, Interaction, Payload};

/// Changes a text before it is written or compared.
#[derive(Clone)]
pub(super) struct Scrub(Arc<dyn Fn(&str) -> String + Send + Sync>);

impl Scrub {
    pub(super) fn new(scrub: impl Fn(&str) -> String + Send + Sync + 'static) -> Self {
        Self(Arc::new(scrub))
    }
}

impl fmt::Debug for Scrub {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Scrub")
    }
}

/// Takes out of interactions what must not be in a file: what is never written, then secrets, then what the user says.
pub(super) struct Cleaner {
    redactor: Redactor,
    scrub: Option<Scrub>,
}

impl Cleaner {
    pub(super) fn new(redactor: Redactor, scrub: Option<Scrub>) -> Self {
        Self { redactor, scrub }
    }

    /// Whether a key in use stands in a text.
    pub(super) fn finds_key_in(&self, text: &str) -> bool {
        self.redactor.finds_key_in(text.as_bytes())
    }

    pub(super) fn interaction(&self, interaction: &Interaction) -> Interaction {
        Interaction {
            asked: self.asked(&interaction.asked),
            answered: interaction.answered.as_ref().map(|it| self.answered(it)),
            end: interaction.end,
        }
    }

    pub(super) fn asked(&self, asked: &Asked) -> Asked {
        let query: Vec<&str> = asked
            .query
            .split('&')
            .filter(|pair| !is_key_parameter(pair))
            .collect();
        Asked {
            method: asked.method.clone(),
            host: self.text(&asked.host),
            path: self.text(&asked.path),
            query: self.text(&query.join("&")),
            body: match &asked.body {
                Payload::Json(value) => {
                    let mut value = value.clone();
                    self.value(&mut value);
                    Payload::Json(as_read(value))
                }
                Payload::Other(bytes) => Payload::Other(self.bytes(bytes)),
            },
        }
    }

    fn answered(&self, answered: &Answered) -> Answered {
        let headers = answered.headers.iter();
        let body = self.bytes(&answered.body);
        Answered {
            status: answered.status,
            headers: headers
                .filter(|(name, _)| is_written(name))
                .map(|(name, value)| (name.clone(), self.text(value)))
                .collect(),
            chunks: if body == answered.body {
                answered.chunks.clone()
            } else {
                moved(answered, body.len())
            },
            body,
        }
    }

    fn text(&self, text: &str) -> String {
        let clean = self.redactor.text(text);
        match &self.scrub {
            Some(scrub) => (scrub.0)(&clean),
            None => clean.into_owned(),
        }
    }

    /// Bytes that are no text stay as they are; a key in them is found later.
    fn bytes(&self, bytes: &Bytes) -> Bytes {
        match std::str::from_utf8(bytes) {
            Ok(text) => Bytes::from(self.text(text)),
            Err(_) => bytes.clone(),
        }
    }

    fn value(&self, value: &mut Value) {
        self.redactor.clean_value(value);
        if let Some(scrub) = &self.scrub {
            scrub_value(scrub, value);
        }
    }
}

/// The names of members are of the wire and not of the user.
fn scrub_value(scrub: &Scrub, value: &mut Value) {
    match value {
        Value::String(text) => *text = (scrub.0)(text),
        Value::Array(values) => values.iter_mut().for_each(|it| scrub_value(scrub, it)),
        Value::Object(map) => map.values_mut().for_each(|it| scrub_value(scrub, it)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The chunks of a body that has another length now: where it is cut does not matter, but every byte must be in one.
fn moved(answered: &Answered, length: usize) -> Vec<Chunk> {
    let was = answered.body.len().max(1);
    let (mut old, mut new) = (0_usize, 0_usize);
    let chunks = answered.chunks.iter().map(|chunk| {
        old += chunk.length;
        let end = old as u128 * length as u128 / was as u128;
        let end = usize::try_from(end).unwrap_or(length);
        let moved = Chunk {
            at: chunk.at,
            length: end.saturating_sub(new),
        };
        new = end;
        moved
    });
    chunks.filter(|chunk| chunk.length > 0).collect()
}

/// The value as it is after it was written and read: a number may be read as its neighbour.
fn as_read(value: Value) -> Value {
    let text = value.to_string();
    serde_json::from_str(&text).unwrap_or(value)
}

/// Whether a header of an answer is written: not what tells of an account, and not what belongs to the connection.
fn is_written(name: &str) -> bool {
    const OF_ACCOUNTS: [&str; 7] = [
        "authoriz", "api-key", "apikey", "cookie", "organi", "project", "secret",
    ];
    const OF_CONNECTIONS: [&str; 5] = [
        "connection",
        "content-length",
        "keep-alive",
        "trailer",
        "transfer-encoding",
    ];
    let name = name.to_ascii_lowercase();
    !OF_ACCOUNTS.iter().any(|part| name.contains(part)) && !OF_CONNECTIONS.contains(&name.as_str())
}

/// Whether a pair of a query holds a key, by its name.
fn is_key_parameter(pair: &str) -> bool {
    const NAMES: [&str; 8] = [
        "key",
        "apikey",
        "accesskey",
        "accesstoken",
        "authtoken",
        "token",
        "authorization",
        "subscriptionkey",
    ];
    let name = pair.split('=').next().unwrap_or_default();
    let plain: String = name
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .map(|character| character.to_ascii_lowercase())
        .collect();
    NAMES.contains(&plain.as_str()) || plain.ends_with("apikey")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_stays_in_a_chunk() {
        let chunk = |at, length| Chunk { at, length };
        let mut answered = Answered {
            status: 200,
            headers: Vec::new(),
            body: Bytes::from_static(b"0123456789"),
            chunks: vec![chunk(1, 3), chunk(2, 6), chunk(3, 1)],
        };
        for length in [0, 1, 2, 5, 10, 11, 1000] {
            let moved = moved(&answered, length);
            assert_eq!(moved.iter().map(|it| it.length).sum::<usize>(), length);
            assert!(moved.iter().all(|it| it.length > 0));
        }
        answered.chunks.clear();
        assert_eq!(moved(&answered, 5), []);
    }

    /// C196
    #[test]
    fn c196_what_is_never_written() {
        for name in [
            "authorization",
            "x-api-key",
            "Api-Key",
            "x-goog-api-key",
            "cookie",
            "set-cookie",
            "openai-organization",
            "anthropic-organization-id",
            "openai-project",
            "x-goog-user-project",
        ] {
            assert!(!is_written(name), "{name}");
        }
        for name in ["x-request-id", "x-ratelimit-limit-tokens", "retry-after"] {
            assert!(is_written(name), "{name}");
        }
        for pair in [
            "key=1",
            "api_key=1",
            "API-Key=1",
            "x-goog-api-key=1",
            "access_token",
        ] {
            assert!(is_key_parameter(pair), "{pair}");
        }
        for pair in ["alt=sse", "api-version=1", "keys=1", ""] {
            assert!(!is_key_parameter(pair), "{pair}");
        }
    }
}
