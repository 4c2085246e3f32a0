//! A connection as its client holds it.

use std::io::{IoSlice, Result};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::client::legacy::connect::{Connected, Connection};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt as _, Take};

/// A connection, in a box of its own size: the state of TLS takes a kilobyte, a connection without it a tenth of that, and
/// the client holds a connection in several places at once while it is made.
pub(crate) struct Link(Box<dyn Wire>);

/// What a client needs of a connection.
trait Wire: Connection + Read + Write + Send + Unpin {}

impl<W: Connection + Read + Write + Send + Unpin> Wire for W {}

/// A connection that gives small pieces until it is known to have much to give.
///
/// Whoever reads makes room for twice as much each time that all room was used, and keeps it: a short answer that comes
/// in a burst would hold several times its own size. With thousands of streams at once that is most of the memory. A
/// stream that is long and fast gets room all the same, because every read costs.
struct Paced<S> {
    stream: TokioIo<Take<TokioIo<S>>>,
    /// How many reads have given all that they might since something was written, which is the next request.
    full: u32,
}

/// The most that a read gives at first: less than the 8 KiB of room that are made at first, so that they are not used up.
/// Room that nothing was ever written into takes no memory, and the room of a piece is used again for the next one.
const PIECE: u64 = 4 * 1024 - 1;
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

    /// Who writes a request: the answer to it may be a short one again.
    fn writer(&mut self) -> &mut S {
        self.full = 0;
        self.get_mut()
    }
}

impl<S: Read + Unpin> Read for Paced<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: ReadBufCursor<'_>,
    ) -> Poll<Result<()>> {
        let this = self.get_mut();
        let limit = if this.full < PATIENCE {
            PIECE
        } else {
            u64::MAX
        };
        this.stream.inner_mut().set_limit(limit);
        ready!(Pin::new(&mut this.stream).poll_read(cx, buf))?;
        let read = limit - this.stream.inner().limit();
        if read >= PIECE {
            this.full = this.full.saturating_add(1);
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: Read + Write + Unpin> Write for Paced<S> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<Result<usize>> {
        Pin::new(self.get_mut().writer()).poll_write(cx, buf)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(self.get_mut().get_mut()).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(self.get_mut().get_mut()).poll_shutdown(cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.get_ref().is_write_vectored()
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<Result<usize>> {
        Pin::new(self.get_mut().writer()).poll_write_vectored(cx, bufs)
    }
}

impl<S: Connection + Read + Unpin> Connection for Paced<S> {
    fn connected(&self) -> Connected {
        self.get_ref().connected()
    }
}

impl Link {
    pub(crate) fn new<S: Connection + Read + Write + Send + Unpin + 'static>(stream: S) -> Self {
        Self(Box::new(Paced::new(stream)))
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
        Pin::new(&mut self.get_mut().0).poll_read(cx, buf)
    }
}

impl Write for Link {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<Result<usize>> {
        Pin::new(&mut self.get_mut().0).poll_write(cx, buf)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.get_mut().0).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.get_mut().0).poll_shutdown(cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.0.is_write_vectored()
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<Result<usize>> {
        Pin::new(&mut self.get_mut().0).poll_write_vectored(cx, bufs)
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use hyper::rt::ReadBuf;

    use super::*;

    type Reader<'a> = Paced<TokioIo<&'a [u8]>>;

    /// How much a read gives, of something that always has all of it ready.
    fn read(paced: &mut Reader<'_>, room: usize) -> usize {
        let mut cx = Context::from_waker(Waker::noop());
        let mut memory = vec![0; room];
        let mut buf = ReadBuf::new(&mut memory);
        let polled = Pin::new(paced).poll_read(&mut cx, buf.unfilled());
        assert!(matches!(polled, Poll::Ready(Ok(()))));
        assert!(buf.filled().iter().all(|byte| *byte == 7));
        buf.filled().len()
    }

    #[test]
    fn a_connection_gives_small_pieces_until_it_has_given_many() {
        let piece = usize::try_from(PIECE).expect("small");
        let whole = vec![7; 1 << 20];
        let mut paced = Paced::new(TokioIo::new(&*whole));
        let mut given = 0;
        let mut expect = |paced: &mut Reader<'_>, room: usize, expected: usize| {
            assert_eq!(read(paced, room), expected);
            given += expected;
        };
        // A short answer does not use up the room that is made for it. Pieces that are not full do not count.
        for _ in 0..PATIENCE {
            expect(&mut paced, 1 << 16, piece);
            expect(&mut paced, 100, 100);
        }
        // A long one gets all the room there is.
        expect(&mut paced, 1 << 16, 1 << 16);
        // And the answer to the next request begins small.
        let _: &mut TokioIo<&[u8]> = paced.writer();
        expect(&mut paced, 1 << 16, piece);
        for _ in 1..PATIENCE {
            expect(&mut paced, 1 << 16, piece);
        }
        let rest = whole.len() - given;
        assert_eq!(read(&mut paced, whole.len()), rest);
        assert_eq!(read(&mut paced, 1), 0);
    }
}
