//! The tool loop by hand: no engine, no network, no async.
//!
//! A `Run` says what it wants done. This program does it, with a model that reads from a script and two tools, and
//! tells the run what came of it. One tool asks a person: the run ends there, is stored as JSON, and the conversation
//! goes on in a new run once the person has answered.

use std::error::Error;
use std::io::{self, Write};

use allm_core::run::{Command, Input, Run, RunSetup, ToolOutcome};
use allm_core::{
    CallFailure, FailureReason, JsonEncoder, Map, Message, Response, Thread, Tool, ToolCall,
    ToolResultEncoder, json,
};
use serde::Deserialize;
use serde_json::{Value, json};

fn main() -> Result<(), Box<dyn Error>> {
    tell(&mut io::stdout().lock())
}

/// Runs the conversation and writes down what happens.
pub(crate) fn tell(out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    let mut model = script().into_iter();

    let wish = "Please cancel my order 42.";
    writeln!(out, "person  {wish}")?;
    let mut run = start(Thread::from(wish))?;
    drive(&mut run, &mut model, out)?;

    // The text can lie in a database for days and be read by another process.
    let stored = json::to_string(&run)?;
    let restored: Run = json::from_str(&stored)?;
    let result = restored.result().ok_or("the run has not ended")?;
    writeln!(out, "        (halted: {})", result.halted_reason)?;
    writeln!(out, "        (stored and read back)")?;

    let answer = "Yes, cancel it.";
    writeln!(out, "person  {answer}")?;
    let mut run = start(result.thread.clone().with_user(answer))?;
    drive(&mut run, &mut model, out)?;

    let result = run.result().ok_or("the run has not ended")?;
    writeln!(out, "        (halted: {})", result.halted_reason)?;
    Ok(())
}

fn start(thread: Thread) -> Result<Run, Box<dyn Error>> {
    let mut setup = RunSetup::new(thread);
    setup.tools = tools();
    Ok(Run::start(setup)?.run)
}

/// Does what the run says until it has nothing left to say. Every driver has this loop at its heart.
fn drive(
    run: &mut Run,
    model: &mut impl Iterator<Item = Message>,
    out: &mut impl Write,
) -> Result<(), Box<dyn Error>> {
    loop {
        match run.command() {
            // `call.request` is what a provider would be sent.
            Command::CallModel(_call) => {
                let message = model.next().ok_or("the script is over")?;
                for call in &message.tool_calls {
                    writeln!(out, "model   calls {} {}", call.name, call.raw_arguments)?;
                }
                if message.tool_calls.is_empty() {
                    writeln!(out, "model   {}", message.text())?;
                }
                run.apply(Input::responded(Response::new(message)))?;
            }
            // They may run at once and end in any order; here they run one by one.
            Command::RunTools(calls) => {
                for call in calls {
                    let outcome = run_tool(&call.call);
                    writeln!(out, "tool    {}", shown(&outcome))?;
                    run.apply(Input::tool_done(call.index, outcome))?;
                }
            }
            Command::Finish => return Ok(()),
            // Stops and `halt_when`, which this program does not use.
            other => return Err(format!("not expected: {other:?}").into()),
        }
    }
}

/// What the model says, in order.
fn script() -> [Message; 4] {
    let call = |id: &str, name: &str, arguments: &str| {
        Message::assistant("").with_tool_calls(vec![ToolCall::new(id, name, arguments)])
    };
    [
        call("a", "find_order", r#"{"order":42}"#),
        call("b", "cancel_order", r#"{"order":42}"#),
        call("c", "cancel_order", r#"{"order":42,"confirmed":true}"#),
        Message::assistant("Your order 42, a kettle, is cancelled."),
    ]
}

/// What the model is told of the tools.
fn tools() -> Vec<Tool> {
    let order = json!({"type": "integer"});
    vec![
        Tool::new(
            "find_order",
            "Looks an order up.",
            json!({"type": "object", "properties": {"order": order}, "required": ["order"]}),
        ),
        Tool::new(
            "cancel_order",
            "Cancels an order, once the customer has confirmed it.",
            json!({
                "type": "object",
                "properties": {"order": order, "confirmed": {"type": "boolean"}},
                "required": ["order"]
            }),
        ),
    ]
}

#[derive(Deserialize)]
struct Arguments {
    order: u64,
    #[serde(default)]
    confirmed: bool,
}

/// What the tools do.
fn run_tool(call: &ToolCall) -> ToolOutcome {
    let Arguments { order, confirmed } = match call.parse() {
        Ok(arguments) => arguments,
        // The model is told and may try again.
        Err(error) => return failed(FailureReason::InvalidArguments, &error.to_string()),
    };
    match call.name.as_str() {
        "find_order" => replied(json!({"item": "kettle", "order": order, "state": "packed"})),
        "cancel_order" if confirmed => replied(json!({"order": order, "state": "cancelled"})),
        "cancel_order" => ToolOutcome::Asked {
            question: format!("Order {order} is packed already. Cancel it?"),
            opts: Map::new(),
        },
        other => failed(FailureReason::NotFound, &format!("no handler for {other}")),
    }
}

/// A value, and the text of it that the model sees.
fn replied(value: Value) -> ToolOutcome {
    match JsonEncoder.encode(&value) {
        Ok(content) => ToolOutcome::replied(value, content),
        Err(error) => failed(FailureReason::EncodingFailed, &error.to_string()),
    }
}

fn failed(reason: FailureReason, message: &str) -> ToolOutcome {
    ToolOutcome::failed(CallFailure::new(reason, message))
}

fn shown(outcome: &ToolOutcome) -> String {
    match outcome {
        ToolOutcome::Replied { content, .. } => format!("replies {content}"),
        ToolOutcome::Asked { question, .. } => format!("asks: {question}"),
        ToolOutcome::Failed { failure, .. } => format!("fails: {}", failure.message),
        other => format!("{other:?}"),
    }
}
