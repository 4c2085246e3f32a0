//! What a cassette holds: requests and their answers.

use bytes::Bytes;
use http::Uri;
use serde_json::Value;

/// One request and its answer.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Interaction {
    pub(super) asked: Asked,
    /// `None`: the connection failed before an answer began.
    pub(super) answered: Option<Answered>,
    pub(super) end: End,
}

/// A request, as far as it is recorded and compared. Headers are neither: they hold keys.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Asked {
    pub(super) method: String,
    /// With its port, where the address names one.
    pub(super) host: String,
    pub(super) path: String,
    /// As sent, without the question mark.
    pub(super) query: String,
    pub(super) body: Payload,
}

/// The body of a request.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Payload {
    Json(Value),
    Other(Bytes),
}

/// An answer.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Answered {
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Bytes,
    pub(super) chunks: Vec<Chunk>,
}

/// A piece of a body, as it came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Chunk {
    /// Milliseconds after the request was sent.
    pub(super) at: u64,
    /// How many bytes of the body it is.
    pub(super) length: usize,
}

/// How an answer ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum End {
    /// The server ended it.
    #[default]
    Whole,
    /// The connection failed.
    Broken,
    /// Its reader wanted no more: it had all that counts, or was stopped.
    Left,
}

impl Asked {
    pub(super) fn new(method: &http::Method, uri: &Uri, body: &Bytes) -> Self {
        Self {
            method: method.as_str().to_owned(),
            host: uri
                .authority()
                .map_or("", |authority| authority.as_str())
                .to_owned(),
            path: uri.path().to_owned(),
            query: uri.query().unwrap_or_default().to_owned(),
            body: match serde_json::from_slice(body) {
                Ok(value) => Payload::Json(value),
                Err(_) => Payload::Other(body.clone()),
            },
        }
    }

    /// The request in a few words.
    pub(super) fn line(&self) -> String {
        format!("{} {}{}", self.method, self.host, self.path)
    }
}
