//! What a run says while it goes on, and in the end.
//!
//! Nothing but the answer goes to standard output. Notes go to standard error, and only if that is a terminal.

use std::io;

use allm::session::Wait;
use allm::{ChatResult, Cost, Event, Map, Usage};
use serde::Serialize;
use serde_json::{Value, json};

use crate::answer::{Answer, Written, note_event};
use crate::arguments::Run;
use crate::engine::Ready;
use crate::problem::Problem;

use super::conversation::Conversation;
use super::end::End;

/// In which form a run is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// The text as it comes.
    Live,
    /// The last answer, when it is there.
    Final,
    /// One object in the end.
    Json,
    /// Every event.
    Events,
}

/// Tells what happens.
pub(super) struct Show {
    mode: Mode,
    model: String,
    answer: Answer,
}

impl Show {
    pub(super) fn new(asked: &Run, has_form: bool, ready: &Ready) -> Self {
        let answer = Answer::here();
        let mode = match (asked.json, asked.events) {
            (true, _) => Mode::Json,
            (_, true) => Mode::Events,
            // What is said before a call of a tool is not the answer, and it is known only later that it was not.
            _ if has_form => Mode::Final,
            _ if ready.tools.is_empty() || answer.is_read => Mode::Live,
            _ => Mode::Final,
        };
        Self {
            mode,
            model: ready.chosen.model.clone(),
            answer,
        }
    }

    /// Tells of an event.
    pub(super) fn event(&mut self, event: &Event) -> io::Result<()> {
        match (self.mode, event) {
            (Mode::Live, Event::TextDelta(delta)) => self.answer.say(&delta.delta),
            (Mode::Live, Event::ToolExecutionStarted(_)) => self.answer.end_line(),
            (Mode::Events, event) => {
                let line = serde_json::to_string(event).map_err(io::Error::other)?;
                self.answer.write(&line)?;
                self.answer.write("\n")
            }
            _ => Ok(()),
        }?;
        note_event(event);
        Ok(())
    }

    /// Tells how it ended.
    pub(super) fn end(
        &mut self,
        end: &End,
        conversation: &Conversation,
    ) -> Result<Written, Problem> {
        let text = end
            .result
            .as_ref()
            .map(ChatResult::text)
            .unwrap_or_default();
        let is_answer = end.problem.is_none();
        // What could not be said is told when it ends.
        let _ = match self.mode {
            Mode::Json => {
                let told = Told::of(end, conversation, &self.model, &text);
                let line = serde_json::to_string(&told);
                let line = line.map_err(|error| Problem::failed(error.to_string()))?;
                self.answer.write(&line)
            }
            Mode::Final if is_answer => self.answer.say(text.trim_end_matches('\n')),
            Mode::Final | Mode::Live | Mode::Events => Ok(()),
        };
        self.answer.end()
    }
}

/// The object of `--json`. All of its keys are always there.
#[derive(Serialize)]
struct Told<'a> {
    text: &'a str,
    parsed: Option<&'a Value>,
    model: &'a str,
    halted_reason: Option<&'a str>,
    session: Option<&'a str>,
    usage: Option<Usage>,
    cost: Option<Cost>,
    tool_calls: Vec<Value>,
    waiting: Vec<Value>,
    error: Option<String>,
}

impl<'a> Told<'a> {
    fn of(end: &'a End, conversation: &'a Conversation, model: &'a str, text: &'a str) -> Self {
        let usage = end.result.as_ref().map(ChatResult::usage);
        let usage = usage.filter(|usage| !usage.is_empty());
        Self {
            text,
            parsed: end.parsed.as_ref(),
            model,
            halted_reason: end
                .result
                .as_ref()
                .map(|result| result.halted_reason.as_str()),
            session: conversation.kept_id(end.waits),
            cost: usage.as_ref().and_then(|usage| usage.cost),
            usage,
            tool_calls: end.result.as_ref().map(calls).unwrap_or_default(),
            waiting: match end.waits {
                true => waiting(conversation),
                false => Vec::new(),
            },
            error: end
                .problem
                .as_ref()
                .map(|problem| problem.what().to_owned()),
        }
    }
}

fn calls(result: &ChatResult) -> Vec<Value> {
    let mut told = Vec::new();
    for step in &result.steps {
        for call in step.response.tool_calls() {
            let answer = step
                .tool_results
                .iter()
                .find(|message| message.tool_call_id.as_ref() == Some(&call.id));
            told.push(json!({
                "name": call.name,
                "arguments": call.arguments,
                "result": answer.map(|message| message.text()),
                "is_error": answer.is_some_and(|message| message.is_error),
            }));
        }
    }
    told
}

fn waiting(conversation: &Conversation) -> Vec<Value> {
    let told = conversation.session().waits().into_iter().map(|wait| {
        let mut told = Map::new();
        told.insert("for".to_owned(), json!(wait.wait.kind().as_str()));
        told.insert("call".to_owned(), json!(wait.call));
        told.insert("tool".to_owned(), json!(wait.tool));
        match wait.wait {
            Wait::Approval(approval) => {
                told.insert("approval".to_owned(), json!(approval.approval_id));
                told.insert("arguments".to_owned(), json!(approval.arguments));
            }
            Wait::Question(question) => {
                told.insert("question".to_owned(), json!(question.question));
            }
            _ => {}
        }
        Value::Object(told)
    });
    told.collect()
}
