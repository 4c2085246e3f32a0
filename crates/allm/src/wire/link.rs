//! A connection as its client holds it.

use std::io::{IoSlice, Result};
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_rustls::MaybeHttpsStream;
use hyper_util::client::legacy::connect::{Connected, Connection};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

type Stream = MaybeHttpsStream<TokioIo<TcpStream>>;

/// A connection, in a box: the state of TLS takes a kilobyte, and the client holds a connection in several places at once
/// while it is made.
pub(crate) struct Link(Box<Stream>);

impl From<Stream> for Link {
    fn from(stream: Stream) -> Self {
        Self(Box::new(stream))
    }
}

impl Link {
    fn inner(self: Pin<&mut Self>) -> Pin<&mut Stream> {
        Pin::new(&mut *self.get_mut().0)
    }
}

impl Connection for Link {
    fn connected(&self) -> Connected {
        self.0.connected()
    }
}

impl Read for Link {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: ReadBufCursor<'_>,
    ) -> Poll<Result<()>> {
        self.inner().poll_read(cx, buf)
    }
}

impl Write for Link {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<Result<usize>> {
        self.inner().poll_write(cx, buf)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        self.inner().poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        self.inner().poll_shutdown(cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.0.is_write_vectored()
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<Result<usize>> {
        self.inner().poll_write_vectored(cx, bufs)
    }
}
