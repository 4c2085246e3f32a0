//! Who carries a request to its answer: the network, or what stands in its place.

use std::error::Error as StdError;

use allm_core::BoxFuture;
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use http_body_util::combinators::UnsyncBoxBody;

pub(crate) type BoxError = Box<dyn StdError + Send + Sync>;

/// The body of an answer while it comes.
pub(crate) type Incoming = UnsyncBoxBody<Bytes, BoxError>;

/// Carries requests.
///
/// An error that is an [`AdapterError`](allm_core::AdapterError) is told as it is; any other is one of the connection.
pub(crate) trait Transport: Send + Sync {
    /// Sends a request and waits for the head of its answer. Nothing is sent before the first poll.
    fn send(&self, request: Request<Full<Bytes>>) -> Sending;
}

/// An answer that is waited for.
pub(crate) type Sending = BoxFuture<'static, Result<Response<Incoming>, BoxError>>;
