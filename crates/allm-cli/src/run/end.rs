//! How a run ended, and what that means for whoever started it.

use allm::session::Wait;
use allm::{ChatResult, FinishReason, HaltReason, SessionError};
use serde_json::Value;

use crate::config::Config;
use crate::engine::Ready;
use crate::failure;
use crate::form::Form;
use crate::problem::{Exit, Problem};
use crate::sessions::how;

use super::conversation::Conversation;

/// How a run ended.
pub(super) struct End {
    /// What came of it; `None` when it was refused.
    pub(super) result: Option<ChatResult>,
    /// The answer as a value, where it had to fit a schema and does.
    pub(super) parsed: Option<Value>,
    /// Whether it waits for a person.
    pub(super) waits: bool,
    /// Why there is no final answer.
    pub(super) problem: Option<Problem>,
}

pub(super) fn of(
    result: Result<ChatResult, SessionError>,
    conversation: &Conversation,
    form: Option<&Form>,
    ready: &Ready,
    config: &Config,
    was_interrupted: bool,
) -> End {
    let model = &ready.chosen.model;
    let result = match result {
        Ok(result) => result,
        Err(error) => {
            let problem = match was_interrupted {
                true => interrupted(),
                false => failure::of_session(&error, model, config),
            };
            return End {
                result: None,
                parsed: None,
                waits: false,
                problem: Some(problem),
            };
        }
    };
    let (parsed, problem) = match finished(&result, form, model, config) {
        Ok(Finished::Waits) => (None, Some(waiting(conversation))),
        Ok(Finished::Answer(parsed)) => (parsed, None),
        Err(problem) => (None, Some(problem)),
    };
    End {
        waits: waits(&result),
        parsed,
        problem,
        result: Some(result),
    }
}

/// What a run came to that did not fail.
pub(crate) enum Finished {
    /// There is a final answer; as a value, where it had to fit a schema.
    Answer(Option<Value>),
    /// It waits for a person.
    Waits,
}

fn waits(result: &ChatResult) -> bool {
    let reason = &result.halted_reason;
    matches!(reason, HaltReason::AskUser | HaltReason::ManualToolCalls)
}

/// What the end of a run means for whoever started it: the same, whichever command that was.
pub(crate) fn finished(
    result: &ChatResult,
    form: Option<&Form>,
    model: &str,
    config: &Config,
) -> Result<Finished, Problem> {
    if waits(result) {
        return Ok(Finished::Waits);
    }
    let unfinished = |what: String| Problem::new(Exit::Unfinished, what);
    Err(match &result.halted_reason {
        HaltReason::Completed => return answer(result, form).map(Finished::Answer),
        HaltReason::Cancelled => interrupted(),
        HaltReason::Error => match result.failure() {
            Some(failed) => failure::explain(&failed, model, config),
            None => Problem::failed(format!("`{model}` gave no answer")),
        },
        HaltReason::ToolError => Problem::failed("a tool failed"),
        HaltReason::MaxTurns => {
            let turns = result.steps.len();
            unfinished(format!("there is no final answer after {turns} turns"))
                .advice("allow more with --max-turns")
        }
        HaltReason::Truncated => cut(),
        reason => unfinished(format!("the run ended without a final answer: {reason}")),
    })
}

fn interrupted() -> Problem {
    Problem::new(Exit::Interrupted, "interrupted")
}

fn cut() -> Problem {
    Problem::new(
        Exit::Unfinished,
        "the answer was cut: it ran into the limit of tokens",
    )
    .advice("allow more with --max-tokens")
}

/// The final answer, if it is whole, no refusal, and fits.
fn answer(result: &ChatResult, form: Option<&Form>) -> Result<Option<Value>, Problem> {
    let response = result.final_response.as_ref();
    if let Some(words) = response.and_then(|response| response.refusal()) {
        let what = format!("the model refuses to answer: {words}");
        return Err(Problem::new(Exit::Unfinished, what));
    }
    match response.and_then(|response| response.finish_reason) {
        Some(FinishReason::Length) => return Err(cut()),
        Some(FinishReason::ContentFilter) => {
            let what = "the answer was cut: the provider filtered it";
            return Err(Problem::new(Exit::Unfinished, what));
        }
        _ => {}
    }
    let Some(form) = form else {
        return Ok(None);
    };
    form.check(&result.text()).map(Some)
}

/// What is waited for, and the command that goes on.
fn waiting(conversation: &Conversation) -> Problem {
    let session = conversation.session();
    let id = session.id();
    let waits = session.waits();
    let lines: Vec<String> = waits
        .iter()
        .map(|wait| {
            let tool = &wait.tool;
            match &wait.wait {
                Wait::Approval(approval) => {
                    let arguments = Value::Object(approval.arguments.clone());
                    format!("the call {tool}({arguments}) waits for approval")
                }
                Wait::Question(question) => format!("{tool} asks: {}", question.question),
                _ => {
                    let turn = session.open_turn();
                    let call = turn.and_then(|turn| turn.get(wait.call));
                    let arguments = call.map_or("", |call| &*call.call.raw_arguments);
                    format!("the call {tool}({arguments}) waits for its result")
                }
            }
        })
        .collect();
    let what = match lines.is_empty() {
        true => "the run waits for a person".to_owned(),
        false => lines.join("\n  "),
    };
    let advice = how::first(id, &waits);
    Problem::new(Exit::Waiting, what).advice(format!("session {id}; go on with: {advice}"))
}
