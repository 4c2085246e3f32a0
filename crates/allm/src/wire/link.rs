//! A connection as its client holds it.

use std::io::{IoSlice, Result};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_rustls::MaybeHttpsStream;
use hyper_util::client::legacy::connect::{Connected, Connection};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt as _, Take};
use tokio::net::TcpStream;

type Stream = MaybeHttpsStream<TokioIo<TcpStream>>;

/// A connection, in a box: the state of TLS takes a kilobyte, and the client holds a connection in several places at once
/// while it is made.
pub(crate) struct Link(Box<Paced<Stream>>);

/// A connection that gives small pieces until it is known to have much to give.
///
/// Whoever reads makes room for twice as much each time that all room was used, and keeps it: a short answer that comes
/// in a burst would hold several times its own size. With thousands of streams at once that is most of the memory. A
/// stream that is long and fast gets room all the same, because every read costs.
struct Paced<S> {
    stream: TokioIo<Take<TokioIo<S>>>,
    /// How many reads have given all that they might, one after the other.
    full: u32,
}

/// The most that a read gives at first: one byte less than the room that is made at first, so that it is not used up.
const PIECE: u64 = 8 * 1024 - 1;
/// After so many full pieces there is no limit.
const PATIENCE: u32 = 16;

impl<S: Read + Unpin> Paced<S> {
    fn new(stream: S) -> Self {
        let stream = TokioIo::new(TokioIo::new(stream).take(PIECE));
        Self { stream, full: 0 }
    }

    fn get_ref(&self) -> &S {
        self.stream.inner().get_ref().inner()
    }

    fn get_mut(&mut self) -> &mut S {
        self.stream.inner_mut().get_mut().inner_mut()
    }

    fn poll_read(&mut self, cx: &mut Context<'_>, buf: ReadBufCursor<'_>) -> Poll<Result<()>> {
        let limit = if self.full < PATIENCE {
            PIECE
        } else {
            u64::MAX
        };
        self.stream.inner_mut().set_limit(limit);
        ready!(Pin::new(&mut self.stream).poll_read(cx, buf))?;
        let read = limit - self.stream.inner().limit();
        self.full = if read < PIECE {
            0
        } else {
            self.full.saturating_add(1)
        };
        Poll::Ready(Ok(()))
    }
}

impl From<Stream> for Link {
    fn from(stream: Stream) -> Self {
        Self(Box::new(Paced::new(stream)))
    }
}

impl Link {
    fn inner(self: Pin<&mut Self>) -> Pin<&mut Stream> {
        Pin::new(self.get_mut().0.get_mut())
    }
}

impl Connection for Link {
    fn connected(&self) -> Connected {
        self.0.get_ref().connected()
    }
}

impl Read for Link {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: ReadBufCursor<'_>,
    ) -> Poll<Result<()>> {
        self.get_mut().0.poll_read(cx, buf)
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
        self.0.stream.inner().get_ref().inner().is_write_vectored()
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<Result<usize>> {
        self.inner().poll_write_vectored(cx, bufs)
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use hyper::rt::ReadBuf;

    use super::*;

    /// How much each read gives, of something that always has all of it ready.
    fn reads(length: usize, room: usize) -> Vec<usize> {
        let whole: Vec<u8> = (0..length).map(|at| (at % 251) as u8).collect();
        let mut paced = Paced::new(TokioIo::new(&*whole));
        let mut cx = Context::from_waker(Waker::noop());
        let (mut read, mut sizes) = (Vec::new(), Vec::new());
        let mut memory = vec![0; room];
        loop {
            let mut buf = ReadBuf::new(&mut memory);
            let polled = paced.poll_read(&mut cx, buf.unfilled());
            assert!(matches!(polled, Poll::Ready(Ok(()))));
            if buf.filled().is_empty() {
                assert_eq!(read, whole);
                return sizes;
            }
            read.extend_from_slice(buf.filled());
            sizes.push(buf.filled().len());
        }
    }

    #[test]
    fn a_connection_gives_small_pieces_until_it_has_given_many() {
        let piece = usize::try_from(PIECE).expect("small");
        // A short answer never fills the room that is made for it.
        assert_eq!(reads(20_000, 8192), [piece, piece, 20_000 - 2 * piece]);
        // A long one gets all the room there is.
        let sizes = reads(1 << 20, 1 << 16);
        let (first, rest) = sizes.split_at(16);
        assert_eq!(first, [piece; 16]);
        assert_eq!(rest[..4], [1 << 16; 4]);
    }
}
