//! What a recorder has heard so far, and how it listens.

use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use allm_core::{ApiKey, Redactor};
use bytes::Bytes;
use http::{HeaderMap, Request};
use http_body::{Body, Frame};
use http_body_util::{BodyExt as _, Full};
use tokio::time::Instant;

use super::cassette::{Answered, Asked, Chunk, End, Interaction};
use crate::providers::connection::is_secret;
use crate::wire::client::HttpClient;
use crate::wire::transport::{BoxError, Incoming, Sending, Transport};

/// What was heard, shared by all who listen.
#[derive(Clone, Default)]
pub(super) struct Tape(Arc<Mutex<Heard>>);

#[derive(Default)]
struct Heard {
    interactions: Vec<Heeded>,
    /// Every key that was used, once.
    keys: Vec<ApiKey>,
    /// Whether something was heard since it was last written.
    unwritten: bool,
}

/// One request, and what has come of its answer.
struct Heeded {
    asked: Asked,
    head: Option<(u16, Vec<(String, String)>)>,
    pieces: Vec<(u64, Bytes)>,
    /// `None` while the answer is read, and after its reader has left.
    end: Option<End>,
}

impl Tape {
    fn lock(&self) -> MutexGuard<'_, Heard> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Listens to a client that is asked with this key.
    pub(super) fn listen(&self, client: HttpClient, key: Option<&ApiKey>) -> HttpClient {
        if let Some(key) = key.filter(|key| is_secret(key)) {
            let mut heard = self.lock();
            let is_known = |known: &ApiKey| known.expose() == key.expose();
            if !heard.keys.iter().any(is_known) {
                heard.keys.push(key.clone());
            }
        }
        Arc::new(Listener {
            client,
            tape: self.clone(),
        })
    }

    /// What is worth writing, and what must not be in it: an answer that never began is left out, unless the connection
    /// failed.
    pub(super) fn heard(&self) -> (Vec<Interaction>, Redactor) {
        let heard = self.lock();
        let interactions = heard.interactions.iter().filter_map(Heeded::interaction);
        let redactor = Redactor::new();
        let redactor = heard.keys.iter().fold(redactor, Redactor::with_key);
        (interactions.collect(), redactor)
    }

    /// What was heard is in a file.
    pub(super) fn written(&self) {
        self.lock().unwritten = false;
    }

    /// Takes a request; gives its number.
    fn request(&self, asked: Asked) -> usize {
        let mut heard = self.lock();
        heard.unwritten = true;
        heard.interactions.push(Heeded {
            asked,
            head: None,
            pieces: Vec::new(),
            end: None,
        });
        heard.interactions.len() - 1
    }

    fn note(&self, number: usize, note: impl FnOnce(&mut Heeded)) {
        if let Some(heeded) = self.lock().interactions.get_mut(number) {
            note(heeded);
        }
    }
}

impl Drop for Heard {
    fn drop(&mut self) {
        if self.unwritten {
            tracing::warn!("a recording was dropped without `finish`: it is in no file");
        }
    }
}

impl fmt::Debug for Tape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tape")
    }
}

impl Heeded {
    fn interaction(&self) -> Option<Interaction> {
        let answered = self.head.as_ref().map(|(status, headers)| Answered {
            status: *status,
            headers: headers.clone(),
            body: self
                .pieces
                .iter()
                .flat_map(|(_, piece)| piece.iter().copied())
                .collect(),
            chunks: self
                .pieces
                .iter()
                .map(|(at, piece)| Chunk {
                    at: *at,
                    length: piece.len(),
                })
                .collect(),
        });
        if answered.is_none() && self.end != Some(End::Broken) {
            return None;
        }
        Some(Interaction {
            asked: self.asked.clone(),
            answered,
            end: self.end.unwrap_or(End::Left),
        })
    }
}

/// Carries requests by a client, and writes down what goes over.
struct Listener {
    client: HttpClient,
    tape: Tape,
}

impl Transport for Listener {
    fn send(&self, request: Request<Full<Bytes>>) -> Sending {
        let (client, tape) = (Arc::clone(&self.client), self.tape.clone());
        Box::pin(async move {
            let (head, body) = request.into_parts();
            let body = body.collect().await?.to_bytes();
            let number = tape.request(Asked::new(&head.method, &head.uri, &body));
            let began = Instant::now();
            let request = Request::from_parts(head, Full::new(body));
            let response = match client.send(request).await {
                Ok(response) => response,
                Err(error) => {
                    tape.note(number, |heeded| heeded.end = Some(End::Broken));
                    return Err(error);
                }
            };
            let status = response.status().as_u16();
            let headers = texts(response.headers());
            tape.note(number, |heeded| heeded.head = Some((status, headers)));
            Ok(response.map(|body| {
                let tap = Tap {
                    body,
                    tape,
                    number,
                    began,
                };
                tap.boxed_unsync()
            }))
        })
    }
}

/// Headers as texts; those of one name are one.
fn texts(headers: &HeaderMap) -> Vec<(String, String)> {
    let names = headers.keys();
    names
        .map(|name| {
            let values = headers.get_all(name).into_iter();
            let values = values.filter_map(|value| value.to_str().ok());
            (
                name.as_str().to_owned(),
                values.collect::<Vec<_>>().join(", "),
            )
        })
        .collect()
}

/// The body of an answer, written down while it is read.
struct Tap {
    body: Incoming,
    tape: Tape,
    number: usize,
    began: Instant,
}

impl Body for Tap {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let this = self.get_mut();
        let frame = ready!(Pin::new(&mut this.body).poll_frame(cx));
        let at = u64::try_from(this.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        this.tape.note(this.number, |heeded| match &frame {
            None => heeded.end = Some(End::Whole),
            Some(Err(_)) => heeded.end = Some(End::Broken),
            Some(Ok(frame)) => {
                let piece = frame.data_ref().filter(|piece| !piece.is_empty());
                heeded.pieces.extend(piece.map(|piece| (at, piece.clone())));
            }
        });
        Poll::Ready(frame)
    }
}
