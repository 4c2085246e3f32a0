//! One call of a client.

use std::pin::pin;

use allm::stream_tool_calls;
use allm_core::limits::MAX_TOOL_OUTPUT;
use allm_core::session::arguments_hash;
use allm_core::{
    Answer, AnswerTo, ApprovalRule, CallFailure, Event, ExecutionResult, FailureReason, Map, Tool,
    ToolCall, encode,
};
use futures_core::Stream;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ElicitResult, ElicitationAction,
    ErrorCode,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::Value;

use super::amended::{Amended, Keeps, Shared};
use super::approvals::{self, Approvals};
use super::asking::{self, Asking, Unheard};
use super::handler::Handler;
use super::progress::Reports;
use super::question::{self, Form};
use super::result;
use super::rounds::{Kept, random};

/// The code of errors that are the server's own and that another attempt may not meet.
const BUSY: ErrorCode = ErrorCode(-32000);

/// What a person is asked.
#[derive(Clone, Debug)]
pub(super) struct Wanted {
    message: String,
    form: Form,
    purpose: Purpose,
}

/// What the answer is for.
#[derive(Clone, Debug)]
enum Purpose {
    /// The call may run.
    Approval,
    /// It is the result.
    Result,
    /// The handler goes on with it, and with what it kept.
    GoOn(Option<Value>),
}

/// What is done next with a call.
enum Next {
    Run,
    Ask(Wanted),
    Hear(Wanted, ElicitResult),
    End(CallToolResponse),
}

/// Runs a call, until it ends, the client cancels it or goes, or the service stops.
pub(super) async fn call(
    handler: &Handler,
    request: CallToolRequestParams,
    context: RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let stop = handler.stop();
    if stop.stopping.is_cancelled() {
        return Err(ErrorData::new(BUSY, "the server is stopping", None));
    }
    let Some(tool) = handler.find(&request.name) else {
        // The names of the tools are no secret, but a name may be long.
        let name: String = request.name.chars().take(100).collect();
        return Err(ErrorData::invalid_params(
            format!("Unknown tool: {name}"),
            None,
        ));
    };
    let Some(_open) = handler.gate().open() else {
        let message = "there are too many open calls; call again later";
        return Err(ErrorData::new(BUSY, message, None));
    };
    let token = context.ct.clone();
    let (call, next) = Call::take_up(handler, tool, request, &context)?;
    tokio::select! {
        biased;
        // Dropping the call stops its handler and fires its token.
        () = token.cancelled() => Err(ErrorData::new(BUSY, "the call was cancelled", None)),
        () = stop.ended.cancelled() => {
            Ok(result::failed(&encode::closed(FailureReason::Cancelled, tool.name.as_str())).into())
        }
        ended = call.go_on(next) => ended,
    }
}

struct Call<'a> {
    handler: &'a Handler,
    tool: &'a Tool,
    arguments: Map,
    /// The id that the idempotency key is made of: equal in all rounds of a call.
    id: String,
    /// The key that the client gave.
    key: Option<String>,
    is_approved: bool,
    asking: Asking,
    reports: Reports,
    wire_id: String,
    /// What a person answered the handler.
    answer: Option<Answer>,
}

impl<'a> Call<'a> {
    /// A new call, or one that goes on with the answer that it ended for.
    fn take_up(
        handler: &'a Handler,
        tool: &'a Tool,
        request: CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<(Self, Next), ErrorData> {
        let arguments = request.arguments.unwrap_or_default();
        let kept = match &request.request_state {
            None => None,
            Some(handle) => {
                let kept = handler.rounds().take(handle);
                let is_same = |kept: &Kept| kept.is_of(&request.name, &arguments);
                let Some(kept) = kept.filter(is_same) else {
                    let message = "the requestState is unknown, too old, used already, or of another call; call again without it";
                    return Err(ErrorData::invalid_params(message, None));
                };
                Some(kept)
            }
        };
        let heard = heard(request.input_responses.as_ref())?;
        let approved =
            handler.approvals() == Approvals::LeaveToClient || tool.approval == ApprovalRule::Never;
        let (id, is_approved, next) = match kept {
            Some(kept) => {
                let next = match heard {
                    Some(heard) => Next::Hear(kept.wanted, heard),
                    None => Next::Ask(kept.wanted),
                };
                (kept.id, kept.is_approved, next)
            }
            None => {
                let Some(id) = random() else {
                    let message = "the system gives no random bytes";
                    return Err(ErrorData::internal_error(message, None));
                };
                let next = match approved {
                    true => Next::Run,
                    false => Next::Ask(approval(tool, &arguments)?),
                };
                (id, approved, next)
            }
        };
        let key = handler.key(context);
        let call = Self {
            handler,
            tool,
            arguments,
            id,
            key,
            is_approved,
            asking: Asking::of(context),
            reports: Reports::new(&context.peer, context.meta.get_progress_token()),
            wire_id: context.id.to_string(),
            answer: None,
        };
        Ok((call, next))
    }

    async fn go_on(mut self, mut next: Next) -> Result<CallToolResponse, ErrorData> {
        loop {
            next = match next {
                Next::Run => self.run().await?,
                Next::Ask(wanted) => self.ask(wanted).await?,
                Next::Hear(wanted, heard) => self.hear(wanted, heard)?,
                Next::End(response) => return Ok(response),
            }
        }
    }

    /// Runs the handler, as soon as there is room.
    async fn run(&mut self) -> Result<Next, ErrorData> {
        let _running = self.handler.gate().run().await;
        let settings = self.handler.settings();
        let kept = Keeps::default();
        let executor = Amended {
            inner: settings.executor.clone(),
            context: settings.context.clone(),
            idempotency_key: self.key.clone(),
            answer: self.answer.take(),
            kept: kept.clone(),
        };
        let mut options = settings
            .options()
            .request_id(self.id.as_str())
            .executor(executor);
        if let Some(encoder) = &settings.encoder {
            options = options.encoder(Shared(encoder.clone()));
        }
        let arguments = Value::Object(self.arguments.clone()).to_string();
        let call = ToolCall::new(self.wire_id.as_str(), self.tool.name.as_str(), arguments);
        let tools = std::slice::from_ref(self.tool);
        let mut events = pin!(stream_tool_calls(vec![call], tools, options));
        let mut came_to = None;
        let limit = settings.max_tool_output.unwrap_or(MAX_TOOL_OUTPUT);
        while let Some(event) = std::future::poll_fn(|cx| events.as_mut().poll_next(cx)).await {
            match event {
                Event::ToolProgress(report) => self.reports.tell(&report).await,
                Event::ToolExecutionCompleted(completed) => came_to = Some(completed.result),
                Event::ToolResultEncoded(encoded) => {
                    return Ok(end(match came_to {
                        Some(ExecutionResult::Ok(value)) if !encoded.is_error => {
                            let told = result::value(value, encoded.content, limit);
                            result::with(told, &encoded.media)
                        }
                        Some(ExecutionResult::Error(failure)) => {
                            result::failure(&failure, encoded.content, limit)
                        }
                        _ if encoded.is_error => result::refused(encoded.content),
                        _ => result::text(encoded.content),
                    }));
                }
                // There is no run to end here: what the tool ends it with is the result.
                Event::ToolHalt(halt) => {
                    return Ok(end(match halt.is_error {
                        true => result::refused(halt.content),
                        false => result::value(halt.result, halt.content, limit),
                    }));
                }
                Event::AskUserRequested(asked) => {
                    let form = Form::of(&asked.opts).ok_or_else(no_form)?;
                    let purpose = match asked.answer_to {
                        AnswerTo::Tool => Purpose::GoOn(kept.take()),
                        AnswerTo::Model => Purpose::Result,
                    };
                    return Ok(Next::Ask(Wanted {
                        message: asked.question,
                        form,
                        purpose,
                    }));
                }
                Event::Error(error) => {
                    let message = format!("the call could not be run: {}", error.error.message);
                    return Err(ErrorData::internal_error(message, None));
                }
                _ => {}
            }
        }
        let message = "the call ended without a result";
        Err(ErrorData::internal_error(message, None))
    }

    /// Asks the person at the client.
    async fn ask(&self, wanted: Wanted) -> Result<Next, ErrorData> {
        let peer = match &self.asking {
            Asking::Cannot => return Ok(end(self.cannot(&wanted))),
            Asking::Later => {
                let kept = Kept {
                    tool: self.tool.name.as_str().to_owned(),
                    arguments: arguments_hash(&self.arguments),
                    id: self.id.clone(),
                    is_approved: self.is_approved,
                    wanted: wanted.clone(),
                };
                let Some(handle) = self.handler.rounds().keep(kept) else {
                    let message = "too many calls wait for an answer; call again later";
                    return Err(ErrorData::new(BUSY, message, None));
                };
                let wanted = asking::later(&wanted.message, &wanted.form, handle);
                return Ok(Next::End(wanted.into()));
            }
            Asking::Now(peer) => peer,
        };
        let limit = self.handler.settings().answer_timeout;
        match asking::now(peer, &wanted.message, &wanted.form, limit).await {
            Ok(heard) => Ok(Next::Hear(wanted, heard)),
            Err(Unheard::Late) => Ok(end(self.closed(FailureReason::Expired))),
            Err(Unheard::Failed(error)) => {
                let why = format!("the client could not ask a person: {}", error.message);
                Ok(end(self.unasked(&wanted, &why)))
            }
        }
    }

    /// What a person's answer means.
    fn hear(&mut self, wanted: Wanted, heard: ElicitResult) -> Result<Next, ErrorData> {
        let is_accepted = heard.action == ElicitationAction::Accept;
        let filled = heard.content.filter(|_| is_accepted);
        let answer = filled.and_then(|filled| wanted.form.read(&filled));
        Ok(match (wanted.purpose, answer) {
            (Purpose::Approval, Some(form)) if approvals::agrees(&form) => {
                self.is_approved = true;
                Next::Run
            }
            (Purpose::Approval, _) => {
                let denied = encode::denied(self.tool.name.as_str(), "");
                end(result::failed(&denied))
            }
            (Purpose::Result, Some(answer)) => end(result::text(question::words(&answer))),
            (Purpose::GoOn(state), Some(answer)) => {
                let mut answer = Answer::new(question::words(&answer));
                answer.state = state;
                self.answer = Some(answer);
                Next::Run
            }
            (Purpose::Result | Purpose::GoOn(_), None) => {
                let message = match (is_accepted, heard.action) {
                    (true, _) => "the client's answer does not fit the question",
                    (_, ElicitationAction::Decline) => "the person declined to answer",
                    _ => "the person did not answer",
                };
                end(self.not_executed(message))
            }
        })
    }

    /// The client cannot ask anybody.
    fn cannot(&self, wanted: &Wanted) -> CallToolResult {
        let why = "this client cannot ask one: it has not declared the capability `elicitation` with forms";
        self.unasked(wanted, why)
    }

    fn unasked(&self, wanted: &Wanted, why: &str) -> CallToolResult {
        let tool = self.tool.name.as_str();
        let message = match wanted.purpose {
            Purpose::Approval => {
                format!("the tool `{tool}` was not run: a person must agree to it first, and {why}")
            }
            Purpose::Result | Purpose::GoOn(_) => {
                let asks = &wanted.message;
                format!("the tool `{tool}` asks a person, and {why}. It asks: {asks}")
            }
        };
        self.not_executed(&message)
    }

    fn not_executed(&self, message: &str) -> CallToolResult {
        result::failed(&CallFailure::new(FailureReason::NotExecuted, message))
    }

    fn closed(&self, reason: FailureReason) -> CallToolResult {
        result::failed(&encode::closed(reason, self.tool.name.as_str()))
    }
}

fn end(result: CallToolResult) -> Next {
    Next::End(result.into())
}

/// What a person is asked before a call.
fn approval(tool: &Tool, arguments: &Map) -> Result<Wanted, ErrorData> {
    let arguments = Value::Object(arguments.clone()).to_string();
    Ok(Wanted {
        message: approvals::question(tool.name.as_str(), &arguments),
        form: Form::whole(approvals::schema()).ok_or_else(no_form)?,
        purpose: Purpose::Approval,
    })
}

fn no_form() -> ErrorData {
    ErrorData::internal_error("the question could not be made into a form", None)
}

/// What the client heard from a person, in a call that goes on.
fn heard(
    responses: Option<&rmcp::model::InputResponses>,
) -> Result<Option<ElicitResult>, ErrorData> {
    let Some(response) = responses.and_then(|responses| responses.get(asking::INPUT)) else {
        return Ok(None);
    };
    let heard = serde_json::from_value(response.clone()).map_err(|_| {
        let message = format!(
            "inputResponses.{} is no result of an elicitation",
            asking::INPUT
        );
        ErrorData::invalid_params(message, None)
    })?;
    Ok(Some(heard))
}
