//! Bodies, of which no more is kept than a limit.

use std::error::Error as StdError;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures_core::Stream;
use http_body_util::{BodyExt as _, BodyStream, Limited};
use hyper::body::{Frame, Incoming};

/// All of a body, if it is not too long.
pub(super) async fn whole(body: Incoming, limit: usize) -> Result<Bytes, BodyError> {
    match Limited::new(body, limit).collect().await {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) if error.is::<http_body_util::LengthLimitError>() => Err(too_long(limit)),
        Err(error) => Err(BodyError(error.to_string())),
    }
}

/// The bytes of an event stream. It ends with an error when one event is too long.
pub(super) struct Events {
    body: BodyStream<Incoming>,
    limit: usize,
    /// How long the event is so far.
    length: usize,
    /// Whether the line so far is empty.
    is_line_empty: bool,
    is_over: bool,
}

impl Events {
    pub(super) fn new(body: Incoming, limit: usize) -> Self {
        Self {
            body: BodyStream::new(body),
            limit,
            length: 0,
            is_line_empty: true,
            is_over: false,
        }
    }

    /// Whether the event is still within the limit.
    fn measure(&mut self, piece: &[u8]) -> bool {
        for byte in piece {
            match byte {
                b'\r' => {}
                // An empty line ends an event.
                b'\n' if self.is_line_empty => self.length = 0,
                b'\n' => self.is_line_empty = true,
                _ => {
                    self.is_line_empty = false;
                    self.length = self.length.saturating_add(1);
                }
            }
            if self.length > self.limit {
                return false;
            }
        }
        true
    }
}

impl Stream for Events {
    type Item = Result<Bytes, BodyError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.is_over {
            return Poll::Ready(None);
        }
        loop {
            let frame = ready!(Pin::new(&mut self.body).poll_next(context));
            let item = match frame.map(|frame| frame.map(Frame::into_data)) {
                None => None,
                // Trailers say nothing here.
                Some(Ok(Err(_))) => continue,
                Some(Ok(Ok(piece))) if self.measure(&piece) => return Poll::Ready(Some(Ok(piece))),
                Some(Ok(Ok(_))) => Some(Err(too_long(self.limit))),
                Some(Err(error)) => Some(Err(BodyError(error.to_string()))),
            };
            self.is_over = true;
            return Poll::Ready(item);
        }
    }
}

fn too_long(limit: usize) -> BodyError {
    BodyError(format!(
        "the server sent a message of more than {limit} bytes"
    ))
}

/// A body could not be read.
#[derive(Debug)]
pub(crate) struct BodyError(pub(super) String);

impl fmt::Display for BodyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl StdError for BodyError {}
