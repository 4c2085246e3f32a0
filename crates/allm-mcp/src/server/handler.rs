//! The side of a service that speaks MCP.

use std::sync::Arc;

use allm_core::Tool;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompleteResult, ErrorCode,
    Implementation, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult,
    ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool as Listed,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};

use super::annotations::listed;
use super::approvals::Approvals;
use super::call::call;
use super::error::ServeError;
use super::gate::Gate;
use super::rounds::Rounds;
use super::settings::Settings;
use super::stop::Stop;
use crate::meta::IDEMPOTENCY_KEY;

/// The side of a service that speaks MCP. Cheap to clone: every client has one.
#[derive(Clone)]
pub(super) struct Handler(Arc<Inner>);

struct Inner {
    settings: Settings,
    /// The tools that are served, as clients are told of them.
    listed: Vec<Listed>,
    gate: Gate,
    rounds: Rounds,
    stop: Stop,
}

impl Handler {
    /// Checks settings and tools.
    pub(super) async fn new(mut settings: Settings) -> Result<Self, ServeError> {
        settings.check().await?;
        settings.tools.retain(|tool| !tool.manual);
        for tool in &mut settings.tools {
            // A stub is for requests to models; clients are told everything.
            tool.compact = false;
        }
        Ok(Self(Arc::new(Inner {
            listed: settings.tools.iter().map(listed).collect(),
            gate: Gate::new(settings.max_concurrency, settings.max_open_calls),
            rounds: Rounds::new(settings.answer_timeout, settings.max_open_calls),
            stop: Stop::new(settings.cancel.clone()),
            settings,
        })))
    }

    pub(super) fn settings(&self) -> &Settings {
        &self.0.settings
    }

    pub(super) fn approvals(&self) -> Approvals {
        self.0.settings.approvals
    }

    pub(super) fn gate(&self) -> &Gate {
        &self.0.gate
    }

    pub(super) fn rounds(&self) -> &Rounds {
        &self.0.rounds
    }

    pub(super) fn stop(&self) -> &Stop {
        &self.0.stop
    }

    /// The tool of this name.
    pub(super) fn find(&self, name: &str) -> Option<&Tool> {
        let tools = &self.0.settings.tools;
        tools.iter().find(|tool| tool.name.as_str() == name)
    }

    /// The idempotency key that a client gave.
    pub(super) fn key(&self, context: &RequestContext<RoleServer>) -> Option<String> {
        let key = context.meta.get(IDEMPOTENCY_KEY)?.as_str()?;
        (!key.is_empty()).then(|| key.to_owned())
    }
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let settings = self.settings();
        let mut about = Implementation::new(settings.name.clone(), settings.version.clone());
        about.title.clone_from(&settings.title);
        let can = ServerCapabilities::builder().enable_tools().build();
        let mut info = ServerConfig::new(can).with_server_info(about);
        info.instructions.clone_from(&settings.instructions);
        info
    }

    fn get_tool(&self, name: &str) -> Option<Listed> {
        let tools = self.0.listed.iter();
        tools.into_iter().find(|tool| tool.name == name).cloned()
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        // All are on one page, so there is no cursor that was given out.
        if request.is_some_and(|page| page.cursor.is_some()) {
            return Err(ErrorData::invalid_params("there is no such page", None));
        }
        Ok(ListToolsResult::with_all_items(self.0.listed.clone()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        call(self, request, context).await
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Err(not_here("prompts/list"))
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Err(not_here("resources/list"))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Err(not_here("resources/templates/list"))
    }

    async fn complete(
        &self,
        _: CompleteRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        Err(not_here("completion/complete"))
    }
}

/// What was not declared is not there, rather than empty.
fn not_here(method: &'static str) -> ErrorData {
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, method, None)
}
