//! Going on with a call when the person has answered.

use std::sync::Arc;

use allm_core::{Answer, Effect, Map, ToolContext, ToolError, ToolReason, ToolReply};
use rmcp::model::ElicitationAction;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::answer;
use super::question::{Question, Wants};
use super::rounds::Round;
use super::suspended::{Given, SuspendedCall};
use super::tool::{Attempt, McpTool, Next};

/// What a handler keeps with a question.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct State {
    pub(super) question: Question,
    pub(super) then: Then,
}

/// What is done with the answer.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Then {
    /// The server waits for it, with the call open.
    Answer {
        /// What was answered in that call before.
        given: Vec<Given>,
    },
    /// The call is made again and brings it along: the server keeps nothing.
    Round(Round),
    /// The call is made again: the server wants something done on a page first.
    Page(Option<Round>),
}

impl State {
    /// The server refuses until the person has done something on a page.
    pub(super) fn of_required_page(data: Option<&Value>, round: Option<Round>) -> Option<Self> {
        let pages = data?.get("elicitations")?.as_array()?;
        let page = pages.first()?;
        let text = |name: &str| page.get(name).and_then(Value::as_str);
        Some(Self {
            question: Question {
                message: text("message").unwrap_or_default().to_owned(),
                wants: Wants::Url(text("url")?.to_owned()),
            },
            then: Then::Page(round),
        })
    }
}

impl McpTool {
    /// The person has answered what the server asked.
    pub(super) async fn go_on(
        &self,
        given: &Answer,
        arguments: Arc<Map>,
        context: &ToolContext,
    ) -> Result<ToolReply, ToolError> {
        let state = given.state.clone().unwrap_or_default();
        let Ok(state) = serde_json::from_value::<State>(state) else {
            let message = "what was kept with the question cannot be read";
            return Err(ToolError::new(ToolReason::InvalidReturn, message));
        };
        let key = &context.idempotency_key;
        // A call on a connection that has ended is lost like one of another process.
        let open = self.inner.suspended.take(key);
        let open = open.filter(|open| !open.end.is_over() && open.question == state.question);
        let result = match answer::read(&given.text(), &state.question) {
            Ok(result) => result,
            Err(wrong) => {
                if let Some(open) = open {
                    let limit = self.inner.server.answer_within;
                    self.inner.suspended.keep(key.to_string(), open, limit);
                }
                return Ok(self.ask(&state, &wrong));
            }
        };
        let given = Given {
            question: state.question,
            result,
        };
        match state.then {
            Then::Answer { .. } if open.is_some() => match open {
                Some(open) => self.hand_over(open, given, arguments, context).await,
                None => Err(self.lost()),
            },
            Then::Answer { given: before } => {
                self.start_again(before, given, arguments, context).await
            }
            Then::Round(round) => {
                let next = self.input(round.answered(&given.result)).await?;
                self.follow(next, arguments, context).await
            }
            Then::Page(round) => match given.result.action {
                ElicitationAction::Accept => {
                    let attempt = Attempt {
                        round,
                        ..Attempt::default()
                    };
                    self.begin(arguments, context, attempt).await
                }
                _ => Ok(ToolReply::error(
                    "the person did not do what the server wants done first",
                )),
            },
        }
    }

    /// Gives the answer to the server, which waits for it.
    async fn hand_over(
        &self,
        open: SuspendedCall,
        given: Given,
        arguments: Arc<Map>,
        context: &ToolContext,
    ) -> Result<ToolReply, ToolError> {
        open.call.take_up(context).await;
        let _ = open.answer.send(given.result.clone());
        open.call.answered().await;
        let mut attempt = Attempt {
            given: open.given,
            ..Attempt::default()
        };
        attempt.given.push(given);
        let next = self.attend(open.call, &open.end, context, attempt).await?;
        self.follow(next, arguments, context).await
    }

    /// The call is not open any more: the process, or the connection, is another one.
    async fn start_again(
        &self,
        mut before: Vec<Given>,
        given: Given,
        arguments: Arc<Map>,
        context: &ToolContext,
    ) -> Result<ToolReply, ToolError> {
        if !matches!(self.tool.effect, Effect::Pure | Effect::Idempotent) {
            return Err(self.lost());
        }
        before.push(given);
        let attempt = Attempt {
            recorded: before,
            ..Attempt::default()
        };
        self.begin(arguments, context, attempt).await
    }

    async fn follow(
        &self,
        next: Next,
        arguments: Arc<Map>,
        context: &ToolContext,
    ) -> Result<ToolReply, ToolError> {
        match next {
            Next::Reply(reply) => Ok(reply),
            Next::Again(attempt) => self.begin(arguments, context, attempt).await,
        }
    }

    fn lost(&self) -> ToolError {
        let message = format!(
            "the call waited at the MCP server `{}` for the answer, and the connection to it is gone; it was not made again",
            self.server()
        );
        ToolError::new(ToolReason::HandlerExit, message)
    }
}
