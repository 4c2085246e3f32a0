//! A live connection to a server.

use std::borrow::Cow;
use std::error::Error as StdError;
use std::sync::Arc;

use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, JsonRpcMessage, ProtocolVersion, RequestId,
    ServerJsonRpcMessage, ServerPeerInfo,
};
use rmcp::serve_client_with_lifecycle;
use rmcp::service::{ClientInitializeError, ClientLifecycleMode, Peer, RoleClient, RunningService};
use rmcp::transport::Transport;

use super::callbacks::{Callbacks, Stale};
use super::calls::Calls;
use super::child::Process;
use super::end::End;
use super::settings::{McpServer, Program, Reach};
use super::stdio::Lines;
use crate::error::{McpError, McpErrorKind};

/// A live connection to a server. Dropping it closes it, and ends the process.
pub(super) struct Link {
    service: RunningService<RoleClient, Callbacks>,
    pub(super) calls: Calls,
    pub(super) end: End,
}

impl Link {
    /// Starts the server, or reaches it, and greets it.
    pub(super) async fn open(server: &McpServer, stale: Arc<Stale>) -> Result<Self, McpError> {
        let end = End::default();
        let callbacks = Callbacks {
            server: server.shown().into(),
            calls: Calls::default(),
            stale,
        };
        match &server.reach {
            Reach::Command(program) => Self::start(server, program, callbacks, end).await,
            #[cfg(feature = "client-http")]
            Reach::Http(address) => super::http::open(server, address, callbacks, end).await,
        }
    }

    async fn start(
        server: &McpServer,
        program: &Program,
        callbacks: Callbacks,
        end: End,
    ) -> Result<Self, McpError> {
        let (process, pipes) = Process::spawn(program, server.shown()).map_err(|error| {
            let program = program.program.display();
            let message = format!("`{program}` could not be started: {error}");
            server.error(McpErrorKind::Start, message)
        })?;
        end.listens_to(process.said());
        let limit = server.max_message;
        let lines = Lines::new(process, pipes, limit, end.clone(), server.shown());
        Self::greet(server, lines, callbacks, end).await
    }

    pub(super) async fn greet<T: Transport<RoleClient> + 'static>(
        server: &McpServer,
        transport: T,
        callbacks: Callbacks,
        end: End,
    ) -> Result<Self, McpError> {
        let calls = callbacks.calls.clone();
        let watched = Watched {
            transport,
            end: end.clone(),
            probe: None,
            is_old: false,
        };
        let mode = ClientLifecycleMode::Auto {
            preferred_versions: vec![ProtocolVersion::V_2026_07_28],
            legacy_version: None,
        };
        match serve_client_with_lifecycle(callbacks, watched, mode).await {
            Ok(service) => Ok(Self {
                service,
                calls,
                end,
            }),
            Err(error) => {
                let said = end.last_words().await;
                Err(failed(server, &error, &end).detail(said))
            }
        }
    }

    pub(super) fn peer(&self) -> &Peer<RoleClient> {
        self.service.peer()
    }

    pub(super) fn info(&self) -> Option<Arc<ServerPeerInfo>> {
        self.peer().peer_info()
    }

    pub(super) fn is_over(&self) -> bool {
        self.end.is_over() || self.service.is_closed() || self.peer().is_transport_closed()
    }

    /// Closes it in an orderly way, and waits for that.
    pub(super) async fn close(self) {
        self.end.fire("the connection was closed");
        let _ = self.service.cancel().await;
    }
}

fn failed(server: &McpServer, error: &ClientInitializeError, end: &End) -> McpError {
    if error.is_authorization_required() {
        let message = "it wants credentials, or others than it was given";
        return server.error(McpErrorKind::Unauthorized, message);
    }
    let (kind, message) = match error {
        ClientInitializeError::ConnectionClosed(_) => {
            let reason = end.reason();
            (
                McpErrorKind::Closed,
                format!("it ended before it was ready: {reason}"),
            )
        }
        ClientInitializeError::TransportError { error, .. } => {
            let error = chain(error.error.as_ref());
            (
                McpErrorKind::Start,
                format!("it could not be reached: {error}"),
            )
        }
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => {
            return failed(server, fallback, end);
        }
        ClientInitializeError::JsonRpcError(error) => {
            let message = &error.message;
            (
                McpErrorKind::Handshake,
                format!("it refused the greeting: {message}"),
            )
        }
        ClientInitializeError::NoCompatibleProtocolVersion { .. } => {
            let message = "it speaks no version of the protocol that is spoken here".to_owned();
            (McpErrorKind::Handshake, message)
        }
        _ => {
            let message = "what it said first is not the protocol".to_owned();
            (McpErrorKind::Handshake, message)
        }
    };
    server.error(kind, message)
}

/// An error and what it came from, in one line.
pub(super) fn chain(error: &(dyn StdError + 'static)) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(error) = next {
        let more = error.to_string();
        if !text.contains(&more) {
            text.push_str(": ");
            text.push_str(&more);
        }
        next = error.source();
    }
    text
}

/// A transport whose end is told at once to all who wait for something.
///
/// It also drops a late answer to the question whether the server knows the newer greeting. A server that takes long to
/// start answers it when it has been greeted in the older way meanwhile, and nobody expects that.
struct Watched<T> {
    transport: T,
    end: End,
    probe: Option<RequestId>,
    is_old: bool,
}

impl<T> Watched<T> {
    fn is_late(&self, message: &ServerJsonRpcMessage) -> bool {
        let id = match message {
            JsonRpcMessage::Response(response) => Some(&response.id),
            JsonRpcMessage::Error(error) => error.id.as_ref(),
            _ => None,
        };
        self.is_old && id.is_some() && id == self.probe.as_ref()
    }
}

impl<T: Transport<RoleClient>> Transport<RoleClient> for Watched<T> {
    type Error = T::Error;

    fn name() -> Cow<'static, str> {
        T::name()
    }

    fn send(
        &mut self,
        message: ClientJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        if let JsonRpcMessage::Request(request) = &message {
            match request.request {
                ClientRequest::DiscoverRequest(_) => self.probe = Some(request.id.clone()),
                ClientRequest::InitializeRequest(_) => self.is_old = true,
                _ => {}
            }
        }
        self.transport.send(message)
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        loop {
            let message = self.transport.receive().await;
            match &message {
                None => self.end.fire("the server closed the connection"),
                Some(message) if self.is_late(message) => continue,
                Some(_) => {}
            }
            return message;
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.end.fire("the connection was closed");
        self.transport.close().await
    }
}
