//! One connection: requests in, answers out.

use std::cell::RefCell;
use std::time::Duration;

use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::time::Instant;

use crate::answer::{Answer, Pace};
use crate::rendered::{Library, Rendered};
use crate::request::Inbox;

/// The time between two events where there is one.
const GAP: Duration = Duration::from_millis(5);

const UNKNOWN: &[u8] =
    b"HTTP/1.1 404 Not Found\r\ncontent-type: application/json\r\ncontent-length: 38\r\n\r\n\
    {\"error\":{\"message\":\"no such answer\"}}";

/// Serves a connection until the client closes it.
pub(crate) async fn serve(mut stream: TcpStream, library: &RefCell<Library>) -> anyhow::Result<()> {
    let mut inbox = Inbox::default();
    while let Some(request) = inbox.next(&mut stream).await? {
        let answer = request.wire.zip(Answer::to(&request));
        let Some((wire, answer)) = answer else {
            stream.write_all(UNKNOWN).await?;
            continue;
        };
        let rendered = library
            .borrow_mut()
            .get(wire, request.is_streamed(), answer);
        send(&mut stream, &rendered).await?;
    }
    Ok(())
}

async fn send(stream: &mut TcpStream, rendered: &Rendered) -> anyhow::Result<()> {
    let mut next = Instant::now();
    for piece in &rendered.pieces {
        if rendered.pace == Pace::Gaps {
            next += GAP;
            tokio::time::sleep_until(next).await;
        }
        stream.write_all(piece).await?;
    }
    Ok(())
}
