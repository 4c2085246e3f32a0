//! Handlers that take a thread of the runtime and do not give it back.

use std::future::{Future, poll_fn};
use std::pin::pin;

use tokio::runtime::{Handle, RuntimeFlavor};

/// Runs a future of the caller's so that nothing else waits for its thread alone, should it block it.
pub(super) async fn aside<F: Future>(runtime: Option<&Handle>, future: F) -> F::Output {
    let mut future = pin!(future);
    poll_fn(|cx| {
        clear_the_way(runtime);
        future.as_mut().poll(cx)
    })
    .await
}

/// Lets other threads fetch what was woken last on this one.
///
/// Each thread of the multi-threaded runtime keeps the task that was woken last in a place from which no other thread
/// takes it. Behind a handler that blocks, that task would wait for as long as the handler does; and it may be the run
/// itself, with its limits, or a sibling. A task that is spawned now takes the place, and the other one moves to where any
/// thread finds it.
pub(super) fn clear_the_way(runtime: Option<&Handle>) {
    if let Some(runtime) = runtime
        && runtime.runtime_flavor() == RuntimeFlavor::MultiThread
    {
        drop(runtime.spawn(async {}));
    }
}
