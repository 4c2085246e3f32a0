//! What answers a request, and what only looks like it.
//!
//! Whatever comes back is of the request that it came back for, so nobody has to wait for an answer that cannot be read.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use allm_core::BoxStream;
use futures_core::Stream;
use rmcp::model::{ErrorData, JsonRpcMessage, RequestId, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_client::SseError;
use sse_stream::Sse;

/// What servers say in words when they do not know a session, in lower case.
const FORGOTTEN: [&str; 8] = [
    "session not found",
    "session expired",
    "session has expired",
    "session terminated",
    "session has been terminated",
    "no valid session",
    "expired session id",
    "mcp-session-id",
];

/// A body as the answer to a request.
pub(super) fn of(body: &[u8], id: &RequestId) -> ServerJsonRpcMessage {
    let message = serde_json::from_slice(body).ok();
    message
        .and_then(|message| fit(message, id))
        .unwrap_or_else(|| unreadable(id))
}

/// What the server says in the body of a failure, if it is an error of the protocol. Whoever refuses early does not
/// always know which request it is.
pub(super) fn refusal(body: &[u8], id: &RequestId) -> Option<ServerJsonRpcMessage> {
    match serde_json::from_slice(body) {
        Ok(ServerJsonRpcMessage::Error(said)) => {
            Some(JsonRpcMessage::error(said.error, Some(id.clone())))
        }
        _ => None,
    }
}

/// The protocol has 404 for a session that is not known; many servers say 400 and put it in words. Only those words: a
/// call that was refused because of its arguments is not made again.
pub(super) fn is_forgotten(body: &[u8]) -> bool {
    match serde_json::from_slice(body) {
        Ok(ServerJsonRpcMessage::Error(said)) => {
            let said = said.error.message.to_lowercase();
            FORGOTTEN.iter().any(|words| said.contains(words))
        }
        _ => false,
    }
}

/// What stands in the place of an answer that is none.
pub(super) fn unreadable(id: &RequestId) -> ServerJsonRpcMessage {
    let error = ErrorData::parse_error("the server's answer could not be read", None);
    JsonRpcMessage::error(error, Some(id.clone()))
}

/// The message, if it is not the answer to another request.
fn fit(message: ServerJsonRpcMessage, id: &RequestId) -> Option<ServerJsonRpcMessage> {
    // Some servers send a number back as a text.
    let is_same = |other: &RequestId| other.to_string() == id.to_string();
    match message {
        JsonRpcMessage::Response(response) if !is_same(&response.id) => None,
        JsonRpcMessage::Error(error) => match &error.id {
            Some(other) if !is_same(other) => None,
            Some(_) => Some(JsonRpcMessage::Error(error)),
            None => Some(JsonRpcMessage::error(error.error, Some(id.clone()))),
        },
        message => Some(message),
    }
}

/// The events that a server answers a request with. One that is no message is an answer that cannot be read.
pub(super) struct Answers {
    pub(super) events: BoxStream<'static, Result<Sse, SseError>>,
    pub(super) id: RequestId,
}

impl Answers {
    fn read(&self, event: &mut Sse) {
        let is_message = event.event.as_deref().is_none_or(|kind| kind == "message");
        let data = event.data.as_deref().map(str::trim).unwrap_or_default();
        if !is_message || data.is_empty() {
            return;
        }
        let message = serde_json::from_str::<ServerJsonRpcMessage>(data).ok();
        let is_nameless =
            matches!(&message, Some(JsonRpcMessage::Error(error)) if error.id.is_none());
        let instead = match message.and_then(|message| fit(message, &self.id)) {
            Some(_) if !is_nameless => return,
            Some(message) => message,
            None => unreadable(&self.id),
        };
        event.data = serde_json::to_string(&instead).ok();
    }
}

impl Stream for Answers {
    type Item = Result<Sse, SseError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let mut event = ready!(self.events.as_mut().poll_next(context));
        if let Some(Ok(event)) = &mut event {
            self.read(event);
        }
        Poll::Ready(event)
    }
}

#[cfg(test)]
mod tests;
