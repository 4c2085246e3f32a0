//! The work with a library that makes one turn at a time: the runs of S4 and S6 are made here, by hand and alike for all.

use std::future::Future;
use std::sync::Arc;

use anyhow::{Context, bail, ensure};
use futures_util::future::try_join_all;
use serde_json::{Value, json};

pub use crate::tools::Offered;
use crate::{
    Checked, MAX_TURNS, PROMPT, Plan, Scenario, Wire, at_once, in_turn, looked_up, message, tools,
};

/// A call of an answer.
#[derive(Clone, Debug)]
pub struct Call {
    /// The provider's id.
    pub id: String,
    /// The tool.
    pub name: String,
    /// The arguments, parsed.
    pub arguments: Value,
}

impl Call {
    /// A call of a library that leaves the arguments as text.
    ///
    /// # Errors
    ///
    /// When the text is no JSON.
    pub fn parsed(id: &str, name: &str, arguments: &str) -> anyhow::Result<Self> {
        Ok(Self {
            id: id.to_owned(),
            name: name.to_owned(),
            arguments: serde_json::from_str(arguments)?,
        })
    }
}

/// An answer.
#[derive(Debug)]
pub struct Reply<A> {
    /// How many bytes of text came.
    pub text_bytes: u64,
    /// The calls.
    pub calls: Vec<Call>,
    /// The answer in the library's own form, for the history.
    pub answer: A,
}

/// A library, set up for one wire.
pub trait Peer: Send + Sync + Sized + 'static {
    /// A message of a conversation.
    type Message: Clone + Send + Sync;
    /// An answer in the library's own form.
    type Answer: Send;

    /// The library, pointed at the server and told of the tools.
    ///
    /// # Errors
    ///
    /// When it cannot be set up.
    fn new(plan: &Plan, tools: Vec<Offered>) -> anyhow::Result<Self>;

    /// What a user says.
    fn user(text: String) -> Self::Message;

    /// What a model said.
    fn assistant(text: String) -> Self::Message;

    /// One streamed answer.
    fn stream(
        &self,
        history: &[Self::Message],
    ) -> impl Future<Output = anyhow::Result<Reply<Self::Answer>>> + Send;

    /// One whole answer; the bytes of its text.
    fn whole(&self, history: &[Self::Message]) -> impl Future<Output = anyhow::Result<u64>> + Send;

    /// Adds an answer with calls, and their results, to a conversation.
    fn answered(
        history: &mut Vec<Self::Message>,
        answer: Self::Answer,
        results: Vec<(Call, String)>,
    );
}

/// Does the work of a plan.
///
/// # Errors
///
/// When it fails, or the plan has another wire.
pub async fn work<P: Peer>(plan: Plan) -> anyhow::Result<Checked> {
    if plan.wire != Wire::Chat {
        return plan.unsupported();
    }
    let tools = match plan.scenario {
        Scenario::Arguments => vec![tools::note()],
        Scenario::Calls => vec![tools::add()],
        Scenario::Loop => vec![tools::lookup()],
        _ => Vec::new(),
    };
    let peer = Arc::new(P::new(&plan, tools)?);
    match plan.scenario {
        Scenario::Text | Scenario::Packed | Scenario::Arguments => ask(&*peer).await,
        Scenario::Loop => run(&*peer).await,
        Scenario::Calls => in_turn(plan.count, || run(&*peer)).await,
        Scenario::Request => requests(&*peer, plan.count).await,
        Scenario::Gaps => {
            let one = || {
                let peer = Arc::clone(&peer);
                async move { ask(&*peer).await }
            };
            at_once(plan.count, one).await
        }
    }
}

async fn ask<P: Peer>(peer: &P) -> anyhow::Result<Checked> {
    let reply = peer.stream(&[P::user(PROMPT.to_owned())]).await?;
    let mut sum = Checked {
        text_bytes: reply.text_bytes,
        ..Checked::default()
    };
    for call in &reply.calls {
        let text = call.arguments.get("text").and_then(Value::as_str);
        sum.arguments += text.context("no text in the arguments")?.len() as u64;
        sum.calls += 1;
    }
    Ok(sum)
}

async fn requests<P: Peer>(peer: &P, count: usize) -> anyhow::Result<Checked> {
    let mut thread: Vec<P::Message> = (0..199)
        .map(|index| match index % 2 {
            0 => P::user(message(index)),
            _ => P::assistant(message(index)),
        })
        .collect();
    thread.push(P::user(PROMPT.to_owned()));
    let mut sum = Checked::default();
    for _ in 0..count {
        sum.text_bytes += peer.whole(&thread).await?;
    }
    Ok(sum)
}

async fn run<P: Peer>(peer: &P) -> anyhow::Result<Checked> {
    let mut history = vec![P::user(PROMPT.to_owned())];
    let mut sum = Checked::default();
    for _ in 0..MAX_TURNS {
        let reply = peer.stream(&history).await?;
        sum.text_bytes += reply.text_bytes;
        if reply.calls.is_empty() {
            ensure!(reply.text_bytes > 0, "an empty answer");
            return Ok(sum);
        }
        let running = reply.calls.iter().map(execute);
        let results = try_join_all(running).await?;
        let mut told = Vec::new();
        for (call, (number, content)) in reply.calls.into_iter().zip(results) {
            sum.arguments += number;
            sum.calls += 1;
            told.push((call, content));
        }
        P::answered(&mut history, reply.answer, told);
    }
    bail!("the run has no end")
}

/// Runs a call; the number that is summed up for the check, and what the model is told.
async fn execute(call: &Call) -> anyhow::Result<(u64, String)> {
    let number = |name: &str| call.arguments.get(name).and_then(Value::as_u64);
    match call.name.as_str() {
        "add" => {
            let (a, b) = number("a").zip(number("b")).context("no numbers")?;
            Ok((a + b, json!({"sum": a + b}).to_string()))
        }
        "lookup" => {
            let key = call.arguments.get("key").and_then(Value::as_str);
            let key = key.context("no key")?;
            Ok((key.len() as u64, looked_up(key)))
        }
        other => bail!("no tool is called {other}"),
    }
}
