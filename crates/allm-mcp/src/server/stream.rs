//! Serving one client on a pair of streams.

use rmcp::RoleServer;
use rmcp::service::{QuitReason, ServerInitializeError, serve_server_with_ct};
use rmcp::transport::async_rw::AsyncRwTransport;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;

use super::error::{ServeError, ServeReason};
use super::handler::Handler;
use super::stop::GRACE;

/// The standard input and output.
pub(super) fn standard() -> (
    impl AsyncRead + Send + Unpin,
    impl AsyncWrite + Send + Unpin,
) {
    rmcp::transport::io::stdio_pipes()
}

/// Serves until the client closes its side or the service is stopped.
pub(super) async fn serve<R, W>(handler: Handler, read: R, write: W) -> Result<(), ServeError>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let longest = handler.settings().max_message;
    let stopping = handler.stop().stopping.clone();
    let calls = handler.clone();
    let transport =
        AsyncRwTransport::<RoleServer, R, W>::new(read, write).with_max_line_length(longest);
    let token = CancellationToken::new();
    // Also when this future is dropped.
    let _guard = token.clone().drop_guard();
    let begun = tokio::select! {
        biased;
        () = stopping.cancelled() => return Ok(()),
        begun = serve_server_with_ct(handler, transport, token.clone()) => begun,
    };
    let running = match begun {
        Ok(running) => running,
        // A client that leaves before it has begun did nothing wrong.
        Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
        Err(error) => return Err(refused(error)),
    };
    let mut ended = std::pin::pin!(running.waiting());
    let ended = tokio::select! {
        biased;
        ended = &mut ended => ended,
        () = stopping.cancelled() => {
            // The token stops the calls at once, so those that run have their time before it.
            let emptied = tokio::time::timeout(GRACE, calls.gate().emptied());
            tokio::select! {
                biased;
                ended = &mut ended => ended,
                _ = emptied => {
                    token.cancel();
                    ended.await
                }
            }
        }
    };
    match ended {
        Ok(QuitReason::JoinError(error)) | Err(error) => {
            let message = "the connection broke";
            Err(ServeError::new(ServeReason::Connection, message).from(error))
        }
        Ok(_) => Ok(()),
    }
}

fn refused(error: ServerInitializeError) -> ServeError {
    let message = match &error {
        ServerInitializeError::ExpectedInitializeRequest(_) => {
            "the client did not begin with `initialize`"
        }
        ServerInitializeError::InitializeFailed(_) => "the client could not be agreed with",
        ServerInitializeError::TransportError { .. } => "the client is gone",
        _ => "the connection could not begin",
    };
    // What the client sent stays out of errors.
    ServeError::new(ServeReason::Handshake, message)
}
