//! The floor: what a careful programmer would write by hand for one provider, with reqwest, a split into lines, and typed
//! JSON. Nothing is checked that such a programmer would not check.

mod anthropic;
mod chat;
mod execute;
mod gemini;
mod responses;

use std::borrow::Cow;

use anyhow::{Context, ensure};
use bench_common::{Checked, PROMPT, Plan, Scenario, Wire, at_once, by_hand, first_token};
use reqwest::{Client, Response};
use serde::{Deserialize, Serialize};

fn main() -> anyhow::Result<()> {
    bench_common::run(work)
}

async fn work(plan: Plan) -> anyhow::Result<Checked> {
    let client = Client::new();
    match (plan.scenario, plan.wire) {
        (Scenario::Text | Scenario::Packed | Scenario::Arguments, _) => {
            Ok(ask(&client, &plan).await?.checked()?)
        }
        (Scenario::Gaps, _) => {
            let one = || {
                let (client, plan) = (client.clone(), plan.clone());
                async move { ask(&client, &plan).await?.checked() }
            };
            at_once(plan.count, one).await
        }
        (Scenario::Request, Wire::Chat) => chat::requests(&client, &plan).await,
        (Scenario::Calls, Wire::Chat) => chat::runs(&client, &plan).await,
        (Scenario::Loop, Wire::Chat) => chat::run(&client, &plan).await,
        _ => plan.unsupported(),
    }
}

/// One streamed answer.
async fn ask(client: &Client, plan: &Plan) -> anyhow::Result<Reply> {
    match plan.wire {
        Wire::Chat => chat::ask(client, plan).await,
        Wire::Responses => responses::ask(client, plan).await,
        Wire::Anthropic => anthropic::ask(client, plan).await,
        Wire::Gemini => gemini::ask(client, plan).await,
    }
}

/// Sends a document and gives the answer, if it is one.
async fn post(client: &Client, url: String, body: &impl Serialize) -> anyhow::Result<Response> {
    by_hand::post(client, url, serde_json::to_vec(body)?).await
}

/// A text that is borrowed where it can be.
#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

/// What was answered.
#[derive(Default)]
struct Reply {
    text: String,
    calls: Vec<Call>,
    finished: bool,
}

/// A call in an answer.
#[derive(Default)]
struct Call {
    id: String,
    name: String,
    arguments: String,
}

/// The arguments of `note`.
#[derive(Deserialize)]
struct Note {
    text: String,
}

impl Reply {
    fn text(&mut self, delta: &str) {
        if self.text.is_empty() {
            first_token();
        }
        self.text.push_str(delta);
    }

    fn call(&mut self, index: usize) -> &mut Call {
        if self.calls.len() <= index {
            self.calls.resize_with(index + 1, Call::default);
        }
        &mut self.calls[index]
    }

    /// Sums up an answer with a text, or with a call of `note`.
    fn checked(self) -> anyhow::Result<Checked> {
        ensure!(self.finished, "the answer was cut");
        let mut arguments = 0;
        for call in &self.calls {
            let note: Note = serde_json::from_str(&call.arguments).context("arguments")?;
            arguments += note.text.len() as u64;
        }
        Ok(Checked {
            text_bytes: self.text.len() as u64,
            arguments,
            calls: self.calls.len() as u64,
        })
    }
}

/// What is asked in the simple scenarios, and whether the tool `note` is offered.
fn question(plan: &Plan) -> (&'static str, bool) {
    (PROMPT, plan.scenario == Scenario::Arguments)
}
