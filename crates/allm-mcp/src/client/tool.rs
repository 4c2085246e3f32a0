//! What runs when the model calls a tool of a server.

use std::sync::Arc;

use allm_core::{
    ApprovalRule, BoxFuture, Map, ReportedError, Tool, ToolContext, ToolError, ToolHandler,
    ToolReason, ToolReply,
};
use rmcp::model::{CallToolRequestParams, ErrorCode, RequestMetaObject, ServerResult};
use rmcp::service::ServiceError;
use serde_json::json;

use super::calls::OpenCall;
use super::connection::Inner;
use super::end::End;
use super::link::{Link, chain};
use super::question::Asked;
use super::reply;
use super::resume::{State, Then};
use super::rounds::Round;
use super::suspended::{Given, SuspendedCall};
use crate::error::McpError;
use crate::meta;

/// A tool of a server.
pub(super) struct McpTool {
    pub(super) inner: Arc<Inner>,
    original: String,
    pub(super) tool: Tool,
}

/// How a call is made.
#[derive(Default)]
pub(super) struct Attempt {
    /// Answers that were given to an earlier attempt, for when the same is asked again.
    pub(super) recorded: Vec<Given>,
    /// Answers that were given in this one.
    pub(super) given: Vec<Given>,
    /// What a server that keeps nothing itself wants back.
    pub(super) round: Option<Round>,
    /// Whether it is made on a new connection because the server did not know the old one.
    #[cfg_attr(
        not(feature = "client-http"),
        expect(dead_code, reason = "only servers by HTTP forget")
    )]
    pub(super) is_renewed: bool,
}

impl McpTool {
    pub(super) fn new(inner: Arc<Inner>, original: String, tool: Tool) -> Self {
        Self {
            inner,
            original,
            tool,
        }
    }

    pub(super) fn server(&self) -> &str {
        self.inner.server.shown()
    }

    /// Calls the tool, unless it is not what it was.
    pub(super) async fn begin(
        &self,
        arguments: Arc<Map>,
        context: &ToolContext,
        attempt: Attempt,
    ) -> Result<ToolReply, ToolError> {
        let mut attempt = attempt;
        loop {
            let link = self
                .inner
                .link()
                .await
                .map_err(|error| unreachable(&error))?;
            // What a person agrees to is looked at again before each call.
            if self.inner.stale.get() || self.tool.approval == ApprovalRule::Always {
                let looked = self.inner.look(&link).await;
                looked.map_err(|error| unreachable(&error))?;
            }
            if let Some(objection) = self.inner.objection(&self.original, &self.tool) {
                let error = ReportedError::new(objection);
                let details = json!({"reason": "tool_changed"});
                return Ok(ToolReply::Error(error.details(details)));
            }
            let params = self.params(&arguments, context, attempt.round.as_ref());
            let call = link.calls.begin(link.peer(), params, context).await;
            let call = call.map_err(|error| self.broken(&error, &link))?;
            let end = link.end.clone();
            drop(link);
            match self.attend(call, &end, context, attempt).await? {
                Next::Reply(reply) => return Ok(reply),
                Next::Again(next) => attempt = next,
            }
        }
    }

    fn params(
        &self,
        arguments: &Map,
        context: &ToolContext,
        round: Option<&Round>,
    ) -> CallToolRequestParams {
        let mut params =
            CallToolRequestParams::new(self.original.clone()).with_arguments(arguments.clone());
        let mut own = RequestMetaObject::new();
        own.insert(
            meta::IDEMPOTENCY_KEY.to_owned(),
            context.idempotency_key.as_str().into(),
        );
        params.meta = Some(own);
        if let Some(round) = round {
            params.request_state = round.request_state.clone();
            params.input_responses = round.responses();
        }
        params
    }

    /// Waits for the result, and hears what the server asks meanwhile.
    pub(super) async fn attend(
        &self,
        mut call: OpenCall,
        end: &End,
        context: &ToolContext,
        mut attempt: Attempt,
    ) -> Result<Next, ToolError> {
        loop {
            tokio::select! {
                biased;
                response = &mut call.response => {
                    call.done();
                    return match response {
                        Ok(Ok(result)) => self.result(result, attempt).await,
                        Ok(Err(error)) => self.refused(&error, end, attempt).await,
                        Err(_) => Err(self.gone(end).await),
                    };
                }
                Some(asked) = call.questions.recv() => {
                    let known = attempt.recorded.iter().position(|given| given.question == asked.question);
                    let Some(known) = known else {
                        return Ok(Next::Reply(self.suspend(call, end, asked, context, attempt)));
                    };
                    let given = attempt.recorded.remove(known);
                    let _ = asked.answer.send(given.result.clone());
                    call.answered().await;
                    attempt.given.push(given);
                }
                () = end.wait() => {
                    call.done();
                    return Err(self.gone(end).await);
                }
            }
        }
    }

    /// Keeps the call open at the server, and asks the person.
    fn suspend(
        &self,
        call: OpenCall,
        end: &End,
        asked: Asked,
        context: &ToolContext,
        attempt: Attempt,
    ) -> ToolReply {
        let state = State {
            question: asked.question.clone(),
            then: Then::Answer {
                given: attempt.given.clone(),
            },
        };
        let reply = self.ask(&state, &[]);
        let suspended = SuspendedCall {
            call,
            end: end.clone(),
            question: asked.question,
            answer: asked.answer,
            given: attempt.given,
        };
        let limit = self.inner.server.answer_within;
        let key = context.idempotency_key.to_string();
        self.inner.suspended.keep(key, suspended, limit);
        reply
    }

    /// Asks the person.
    pub(super) fn ask(&self, state: &State, wrong: &[String]) -> ToolReply {
        let question = state.question.text(self.server(), wrong);
        let opts = state.question.opts(self.server(), wrong);
        ToolReply::ask_and_go_on_with(question, opts, serde_json::to_value(state).ok())
    }

    async fn result(&self, result: ServerResult, attempt: Attempt) -> Result<Next, ToolError> {
        match result {
            ServerResult::CallToolResult(result) => {
                let Some(folder) = self.inner.server.media_folder.clone() else {
                    return Ok(Next::Reply(reply::of(result, None)));
                };
                let write = move || reply::of(result, Some(&folder));
                let reply = tokio::task::spawn_blocking(write).await;
                reply
                    .map(Next::Reply)
                    .map_err(|_| self.strange("its content could not be kept"))
            }
            ServerResult::InputRequiredResult(wanted) => {
                let round = Round::next(attempt.round, wanted).map_err(|why| self.strange(&why))?;
                self.input(round).await
            }
            ServerResult::CreateTaskResult(_) => {
                Err(self.strange("it made a task of the call, which it was not asked to"))
            }
            _ => Err(self.strange("its result is not that of a tool")),
        }
    }

    /// The server said that it will not, or it could not be told.
    async fn refused(
        &self,
        error: &ServiceError,
        end: &End,
        attempt: Attempt,
    ) -> Result<Next, ToolError> {
        match error {
            ServiceError::McpError(error) if error.code == ErrorCode::PARSE_ERROR => {
                Err(self.strange(&error.message))
            }
            ServiceError::McpError(error) => {
                let state = State::of_required_page(error.data.as_ref(), attempt.round);
                Ok(Next::Reply(match state {
                    Some(state) => self.ask(&state, &[]),
                    None => ToolReply::error(&*error.message),
                }))
            }
            #[cfg(feature = "client-http")]
            ServiceError::TransportSend(unsent)
                if !attempt.is_renewed && super::http::has_forgotten(unsent.error.as_ref()) =>
            {
                end.fire("the server has forgotten the session");
                Ok(Next::Again(Attempt {
                    is_renewed: true,
                    ..attempt
                }))
            }
            ServiceError::TransportSend(unsent) => {
                let message = format!("the MCP server `{}` could not be reached", self.server());
                let error = ToolError::new(ToolReason::HandlerExit, message);
                Err(error.cause(chain(unsent.error.as_ref())))
            }
            _ => Err(self.gone(end).await),
        }
    }

    /// The server does not keep to the protocol.
    pub(super) fn strange(&self, why: &str) -> ToolError {
        let message = format!(
            "the answer of the MCP server `{}` is of no use",
            self.server()
        );
        ToolError::new(ToolReason::InvalidReturn, message).cause(why)
    }

    /// The server ended before it answered.
    pub(super) async fn gone(&self, end: &End) -> ToolError {
        let message = format!(
            "the MCP server `{}` ended before it answered",
            self.server()
        );
        ToolError::new(ToolReason::HandlerExit, message).cause(end.told().await)
    }

    fn broken(&self, error: &ServiceError, link: &Link) -> ToolError {
        let mut said = chain(error);
        if link.end.is_over() {
            said = link.end.reason();
        }
        let message = format!("the MCP server `{}` could not be called", self.server());
        ToolError::new(ToolReason::HandlerExit, message).cause(said)
    }
}

/// What comes after an attempt.
pub(super) enum Next {
    Reply(ToolReply),
    /// Another attempt, with what the server wants.
    Again(Attempt),
}

fn unreachable(error: &McpError) -> ToolError {
    let message = format!("the MCP server `{}` is not there", error.server());
    let mut cause = error.to_string();
    if let Some(said) = error.server_said() {
        cause.push_str("; it said: ");
        cause.push_str(said);
    }
    ToolError::new(ToolReason::HandlerExit, message).cause(cause)
}

impl ToolHandler for McpTool {
    fn call(
        &self,
        arguments: Arc<Map>,
        context: ToolContext,
    ) -> BoxFuture<'_, Result<ToolReply, ToolError>> {
        Box::pin(async move {
            match context.answer.clone() {
                None => self.begin(arguments, &context, Attempt::default()).await,
                Some(answer) => self.go_on(&answer, arguments, &context).await,
            }
        })
    }
}
