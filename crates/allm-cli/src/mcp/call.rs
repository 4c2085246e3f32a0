//! `allm mcp call`: one call of a tool of a server, by hand.

use std::io::{self, IsTerminal as _, Write as _};
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};

use allm::{
    Answer, AnswerTo, ApprovalRule, BoxFuture, DefaultExecutor, Event, ExecutionResult, Map, Tool,
    ToolCall, ToolContext, ToolError, ToolExecutor, ToolReply, ToolRunOptions, stream_tool_calls,
};
use futures_core::Stream as _;
use serde_json::Value;

use crate::config::Config;
use crate::models::written;
use crate::problem::{Exit, Problem};
use crate::terminal;
use crate::transcript::plain::harmless;

use super::servers::{Connected, OnFailure, connect};

pub(super) async fn perform(
    config: &Config,
    name: &str,
    arguments: &str,
    is_agreed: bool,
) -> Result<Exit, Problem> {
    let parsed: Value = serde_json::from_str(arguments)
        .map_err(|error| Problem::usage(format!("the arguments are no JSON: {error}")))?;
    if !parsed.is_object() {
        let what = "the arguments are no JSON object";
        return Err(Problem::usage(what).advice("write them as '{\"name\": \"value\"}'"));
    }
    let config = with_tool(config, name);
    let connected = connect(&config, OnFailure::GoOn).await?;
    let ended = called(&connected, name, arguments, is_agreed).await;
    connected.close().await;
    ended
}

async fn called(
    connected: &Connected,
    name: &str,
    arguments: &str,
    is_agreed: bool,
) -> Result<Exit, Problem> {
    let found = connected.tools().find(|(_, tool)| tool.name == *name);
    let Some((server, tool)) = found else {
        for problem in &connected.failures {
            problem.tell();
        }
        let what = format!("no server that works has a tool `{name}`");
        return Err(Problem::usage(what).advice("allm mcp tools"));
    };
    if tool.approval == ApprovalRule::Always && !is_agreed {
        if !is_person() {
            let what = format!("a person must agree to `{name}` of the server `{server}`");
            return Err(Problem::new(Exit::Waiting, what).advice("--yes agrees"));
        }
        if !terminal::agreed(&format!("May `{name}` run with {arguments}?"))? {
            let what = format!("`{name}` was not called");
            return Err(Problem::new(Exit::Unfinished, what));
        }
    }
    let mut answer = None;
    loop {
        match run(tool, arguments, answer.take()).await? {
            Came::Result(content, is_error) => {
                let content = match io::stdout().is_terminal() {
                    true => harmless(&content).to_string(),
                    false => content,
                };
                let told = written(io::stdout().write_all(format!("{content}\n").as_bytes()))?;
                return Ok(match is_error {
                    true => Exit::Failed,
                    false => told,
                });
            }
            Came::Question(question, state) => {
                if !is_person() {
                    let what = format!("`{name}` asks a person: {question}");
                    return Err(Problem::new(Exit::Waiting, what)
                        .advice("call it at a terminal, or in `allm chat`"));
                }
                let mut said = Answer::new(ask(&question)?);
                said.state = state;
                answer = Some(said);
            }
        }
    }
}

/// Only the servers that could have a tool of this name are started.
fn with_tool(config: &Config, tool: &str) -> Config {
    let mut config = config.clone();
    config.mcp.servers.retain(|name, said| {
        let said = said.get_ref();
        let is_renamed = said
            .tools
            .values()
            .any(|more| more.name.as_deref() == Some(tool));
        let prefix = said.prefix.as_ref().map_or(name, |prefix| prefix.get_ref());
        let rest = tool.strip_prefix(prefix.as_str());
        is_renamed || prefix.is_empty() || rest.is_some_and(|rest| rest.starts_with('_'))
    });
    config
}

pub(super) fn is_person() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

fn ask(question: &str) -> Result<String, Problem> {
    let mut err = io::stderr();
    let mut line = String::new();
    let asked = write!(err, "{}\nanswer > ", harmless(question))
        .and_then(|()| err.flush())
        .and_then(|()| io::stdin().read_line(&mut line));
    asked.map_err(|error| Problem::failed(format!("nobody could be asked: {error}")))?;
    Ok(line.trim().to_owned())
}

/// What a call came to.
enum Came {
    Result(String, bool),
    /// With what the tool keeps.
    Question(String, Option<Value>),
}

async fn run(tool: &Tool, arguments: &str, answer: Option<Answer>) -> Result<Came, Problem> {
    let kept = Arc::new(Mutex::new(None));
    let executor = Answered {
        inner: DefaultExecutor::new(),
        answer,
        kept: Arc::clone(&kept),
    };
    let call = ToolCall::new("call", tool.name.as_str(), arguments);
    let options = ToolRunOptions::new().request_id("call").executor(executor);
    let mut events = pin!(stream_tool_calls(
        vec![call],
        std::slice::from_ref(tool),
        options
    ));
    let mut words = None;
    while let Some(event) = std::future::poll_fn(|cx| events.as_mut().poll_next(cx)).await {
        match event {
            Event::ToolExecutionCompleted(completed) => {
                if let ExecutionResult::Error(failure) = completed.result {
                    words = Some(failure.message);
                }
            }
            Event::ToolResultEncoded(encoded) => {
                let content = words.take().unwrap_or(encoded.content);
                return Ok(Came::Result(content, encoded.is_error));
            }
            Event::ToolHalt(halt) => return Ok(Came::Result(halt.content, halt.is_error)),
            Event::AskUserRequested(asked) => {
                let state = kept.lock().unwrap_or_else(PoisonError::into_inner).take();
                return match asked.answer_to {
                    AnswerTo::Tool => Ok(Came::Question(asked.question, state)),
                    AnswerTo::Model => Ok(Came::Result(asked.question, false)),
                };
            }
            Event::Error(error) => return Err(Problem::failed(error.error.message)),
            _ => {}
        }
    }
    Err(Problem::failed("the call ended without a result"))
}

/// Tells a tool what a person answered, and keeps what it wants back.
struct Answered {
    inner: DefaultExecutor,
    answer: Option<Answer>,
    kept: Arc<Mutex<Option<Value>>>,
}

impl ToolExecutor for Answered {
    fn execute<'a>(
        &'a self,
        tool: &'a Tool,
        arguments: Arc<Map>,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, Result<ToolReply, ToolError>> {
        let mut context = context.clone();
        context.answer.clone_from(&self.answer);
        Box::pin(async move {
            let reply = self.inner.execute(tool, arguments, &context).await;
            if let Ok(ToolReply::AskAndGoOn { state, .. }) = &reply {
                self.kept
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .clone_from(state);
            }
            reply
        })
    }
}
