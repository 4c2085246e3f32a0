//! What a server says by itself.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use allm_core::Progress;
use rmcp::ClientHandler;
use rmcp::model::{
    ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult, ElicitationAction,
    ElicitationCapability, ErrorData, FormElicitationCapability, Implementation,
    ProgressNotificationParam, UrlElicitationCapability,
};
use rmcp::service::{InboundStreamOrigin, NotificationContext, RequestContext, RoleClient};
use tokio::sync::Notify;

use super::calls::Calls;
use super::question::Asked;

/// Hears what a server says by itself.
#[derive(Clone)]
pub(super) struct Callbacks {
    pub(super) server: Arc<str>,
    pub(super) calls: Calls,
    pub(super) stale: Arc<Stale>,
}

/// Whether the list of tools may be another one by now.
#[derive(Default)]
pub(super) struct Stale {
    is: AtomicBool,
    changed: Notify,
}

impl Stale {
    pub(super) fn set(&self) {
        self.is.store(true, Ordering::Release);
        self.changed.notify_one();
    }

    pub(super) fn get(&self) -> bool {
        self.is.load(Ordering::Acquire)
    }

    /// Taken back before the list is asked for: what is said meanwhile counts.
    pub(super) fn take(&self) {
        self.is.store(false, Ordering::Release);
    }

    pub(super) async fn changed(&self) {
        self.changed.notified().await;
    }
}

impl ClientHandler for Callbacks {
    fn get_info(&self) -> ClientConfig {
        let mut capabilities = ClientCapabilities::default();
        capabilities.elicitation = Some(
            ElicitationCapability::new()
                .with_form(FormElicitationCapability::new())
                .with_url(UrlElicitationCapability::new()),
        );
        let client = Implementation::new("allm", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(capabilities, client)
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let of = match context.extensions.get::<InboundStreamOrigin>() {
            Some(InboundStreamOrigin::OutboundRequest(id)) => Some(id.clone()),
            // One that came by itself is of no call that could be told, as on a transport without streams.
            Some(InboundStreamOrigin::Unassociated) | None => None,
        };
        let (asked, answer) = Asked::new(request);
        self.calls.ask(asked, of).await;
        let answer = tokio::select! {
            answer = answer => answer.ok(),
            () = context.ct.cancelled() => None,
        };
        // Nobody will answer.
        Ok(answer.unwrap_or_else(|| ElicitResult::new(ElicitationAction::Decline)))
    }

    async fn on_progress(
        &self,
        params: ProgressNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        let progress = Progress {
            progress: Some(params.progress),
            total: params.total,
            message: params.message,
        };
        self.calls
            .progress(&params.progress_token, params.progress, progress)
            .await;
    }

    #[expect(deprecated, reason = "servers of earlier versions log this way")]
    async fn on_logging_message(
        &self,
        params: rmcp::model::LoggingMessageNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        use rmcp::model::LoggingLevel as Level;
        let server = &*self.server;
        let logger = params.logger.as_deref().unwrap_or_default();
        let said = match &params.data {
            serde_json::Value::String(text) => text.clone(),
            value => value.to_string(),
        };
        match params.level {
            Level::Debug => tracing::debug!(target: "allm_mcp::log", server, logger, "{said}"),
            Level::Info | Level::Notice => {
                tracing::info!(target: "allm_mcp::log", server, logger, "{said}");
            }
            Level::Warning => tracing::warn!(target: "allm_mcp::log", server, logger, "{said}"),
            _ => tracing::error!(target: "allm_mcp::log", server, logger, "{said}"),
        }
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.stale.set();
    }
}
