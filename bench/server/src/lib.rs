//! A model server on loopback that costs little: its answers are rendered once, before they are sent.
//!
//! The first part of a path says what is answered:
//!
//! | path | answer |
//! |---|---|
//! | `/text-N/…` | N text deltas of 20 bytes, each in a network chunk of its own |
//! | `/packed-N/…` | the same, as many to a network chunk as 64 KiB hold |
//! | `/gaps-N/…` | the same, one every 5 ms |
//! | `/arguments-N/…` | one call of `note`, its arguments 10 N bytes in N fragments |
//! | `/packed-arguments-N/…` | the same, as many to a network chunk as 64 KiB hold |
//! | `/calls-N/…` | N calls of `add`; to their results a text of 10 deltas |
//! | `/loop-N/…` | a call of `lookup` until there were N, then a text of 10 deltas |
//!
//! The rest of it says which provider is meant, as with the provider itself.

mod answer;
mod connection;
mod rendered;
mod request;
mod wires;

use std::cell::RefCell;
use std::net::TcpListener;
use std::rc::Rc;
use std::time::Duration;

use rendered::Library;
use tokio::task::LocalSet;

/// Answers in this thread until the time is over.
///
/// # Errors
///
/// When nothing can be accepted any more.
pub fn serve(listener: TcpListener, life: Duration) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let serving = LocalSet::new();
    runtime.block_on(async {
        match tokio::time::timeout(life, serving.run_until(accept(listener))).await {
            Ok(ended) => ended,
            Err(_) => Ok(()),
        }
    })
}

async fn accept(listener: TcpListener) -> anyhow::Result<()> {
    listener.set_nonblocking(true)?;
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let library = Rc::new(RefCell::new(Library::default()));
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let library = Rc::clone(&library);
        // A client that goes away is not the server's business.
        tokio::task::spawn_local(async move { drop(connection::serve(stream, &library).await) });
    }
}
