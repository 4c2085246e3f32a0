//! Taking connections, and letting them go.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::BodyExt as _;
use http_body_util::combinators::BoxBody;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rmcp::transport::streamable_http_server::StreamableHttpService;
use rmcp::transport::streamable_http_server::session::SessionManager as _;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::super::error::ServeError;
use super::super::handler::Handler;
use super::super::stop::GRACE;
use super::guard::Guard;

/// How long the head of a request may take.
const HEAD: Duration = Duration::from_secs(30);

/// How long nothing is done after a connection could not be taken: there may be too many open files.
const PAUSE: Duration = Duration::from_millis(100);

/// How long answers that are ready may take to be told when the service stops. Streams that wait for something to be told
/// have no end of their own.
const TELLING: Duration = Duration::from_millis(300);

/// What is served.
pub(super) struct Served {
    pub(super) handler: Handler,
    pub(super) service: StreamableHttpService<Handler, LocalSessionManager>,
    pub(super) sessions: Arc<LocalSessionManager>,
    pub(super) guard: Arc<Guard>,
    /// Ends the streams of all responses.
    pub(super) ending: CancellationToken,
}

impl Served {
    /// Takes connections until the service is stopped.
    pub(super) async fn run(self, listener: TcpListener) -> Result<(), ServeError> {
        // Also when this future is dropped.
        let _ending = self.ending.clone().drop_guard();
        let _stopping = Ended(&self.handler);
        let stopping = self.handler.stop().stopping.clone();
        let closing = CancellationToken::new();
        let room = Arc::new(Semaphore::new(self.guard.max_clients.saturating_mul(4)));
        let mut connections = JoinSet::new();
        loop {
            let accepted = tokio::select! {
                biased;
                () = stopping.cancelled() => break,
                Some(_) = connections.join_next() => continue,
                accepted = accept(&listener, &room) => accepted,
            };
            let Some((stream, place)) = accepted else {
                continue;
            };
            let connection = self.connection(stream, closing.clone());
            connections.spawn(async move {
                connection.await;
                drop(place);
            });
        }
        drop(listener);
        closing.cancel();
        // Whatever runs may come to its end, and what it came to may be told.
        let _ = tokio::time::timeout(GRACE, self.handler.gate().emptied()).await;
        let _ = tokio::time::timeout(TELLING, all_of(&mut connections)).await;
        self.handler.stop().ended.cancel();
        self.ending.cancel();
        let ids: Vec<_> = self
            .sessions
            .sessions
            .read()
            .await
            .keys()
            .cloned()
            .collect();
        for id in ids {
            // One that has ended by now is closed already.
            let _ = self.sessions.close_session(&id).await;
        }
        let _ = tokio::time::timeout(GRACE, all_of(&mut connections)).await;
        Ok(())
    }

    /// Serves one connection.
    fn connection(
        &self,
        stream: TcpStream,
        closing: CancellationToken,
    ) -> impl Future<Output = ()> + Send + 'static {
        let service = self.service.clone();
        let guard = Arc::clone(&self.guard);
        let answer = service_fn(move |request: Request<Incoming>| {
            let (service, guard) = (service.clone(), Arc::clone(&guard));
            async move { Ok::<_, Infallible>(respond(&service, &guard, request).await) }
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD)
            .serve_connection(TokioIo::new(stream), answer);
        async move {
            let mut connection = std::pin::pin!(connection);
            tokio::select! {
                // A client that breaks off is no news.
                _ = connection.as_mut() => return,
                () = closing.cancelled() => connection.as_mut().graceful_shutdown(),
            }
            let _ = connection.await;
        }
    }
}

async fn all_of(connections: &mut JoinSet<()>) {
    while connections.join_next().await.is_some() {}
}

type Answer = Response<BoxBody<Bytes, Infallible>>;

async fn respond(
    service: &StreamableHttpService<Handler, LocalSessionManager>,
    guard: &Guard,
    request: Request<Incoming>,
) -> Answer {
    match guard.refuses(&request).await {
        Some(refusal) => refusal.map(|body| body.boxed()),
        None => service.handle(request).await,
    }
}

/// The next connection, as soon as there is room for it; `None` if it could not be taken.
async fn accept(
    listener: &TcpListener,
    room: &Arc<Semaphore>,
) -> Option<(TcpStream, tokio::sync::OwnedSemaphorePermit)> {
    let place = Arc::clone(room).acquire_owned().await.ok()?;
    match listener.accept().await {
        Ok((stream, _)) => {
            // Small messages go out at once; where it cannot be set, they are late.
            let _ = stream.set_nodelay(true);
            Some((stream, place))
        }
        Err(error) => {
            tracing::debug!(%error, "a connection could not be taken");
            tokio::time::sleep(PAUSE).await;
            None
        }
    }
}

/// Stops the calls that still run.
struct Ended<'a>(&'a Handler);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        self.0.stop().ended.cancel();
    }
}
