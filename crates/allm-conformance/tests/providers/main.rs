//! The adapters of every wire pass the kit, each over a server on this machine that says what the scenario wants.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "these are tests"
)]

mod anthropic;
mod chat;
mod gemini;
mod responses;
mod server;

use std::time::Duration;

use allm::{Anthropic, Api, Compat, Gemini, OpenAi};
use allm_conformance::CannotExpress;
use allm_conformance::adapter::{self, AdapterSubject, KEY, Prepared, Scenario};
use allm_core::Adapter;
use serde_json::Value;
use server::Answer;

/// What a wire says in a scenario.
type Says = fn(Scenario) -> Result<Answer, CannotExpress>;

/// An adapter that asks the server at an address.
type Asks = fn(&str) -> Box<dyn Shown>;

/// An adapter that can be shown.
trait Shown: Adapter + std::fmt::Debug {
    fn prepared(self: Box<Self>) -> Prepared;
}

impl<A: Adapter + std::fmt::Debug + 'static> Shown for A {
    fn prepared(self: Box<Self>) -> Prepared {
        let shown = format!("{self:?} {self:#?}");
        Prepared::new(*self).shown_as(shown)
    }
}

struct Subject {
    says: Says,
    asks: Asks,
    model: &'static str,
}

impl AdapterSubject for Subject {
    fn prepare(&self, scenario: Scenario) -> Result<Prepared, CannotExpress> {
        let (url, seen) = server::start((self.says)(scenario)?);
        let prepared = (self.asks)(&url).prepared();
        Ok(prepared.model(self.model).traffic(move || seen.traffic()))
    }

    /// The machine may be busy.
    fn patience(&self) -> Duration {
        Duration::from_secs(60)
    }
}

/// Nothing is skipped but what needs a scenario that the wire cannot express.
async fn passes(says: Says, asks: Asks, model: &'static str, skipped: &[&str]) {
    let subject = Subject { says, asks, model };
    adapter::check(&subject).await.assert_skipping_only(skipped);
}

/// Frames of `data` lines, one a piece.
fn frames(frames: &[Value]) -> Answer {
    let frame = |frame: &Value| match frame["type"].as_str() {
        Some(name) => format!("event: {name}\ndata: {frame}\n\n"),
        None => format!("data: {frame}\n\n"),
    };
    Answer::frames(frames.iter().map(frame).collect())
}

// C70 to C83 of every wire, as far as the kit can see.

#[tokio::test]
async fn c78_responses() {
    let asks: Asks = |url| Box::new(OpenAi::new().base_url(url).api_key(KEY));
    passes(responses::says, asks, "gpt-5", &[]).await;
}

#[tokio::test]
async fn c78_chat_completions() {
    let asks: Asks = |url| {
        let openai = OpenAi::new().api(Api::ChatCompletions);
        Box::new(openai.base_url(url).api_key(KEY))
    };
    passes(chat::says, asks, "gpt-4.1", &["part_ids"]).await;
}

#[tokio::test]
async fn c78_a_compatible_server() {
    let asks: Asks = |url| Box::new(Compat::new("acme", url).api_key(KEY));
    passes(chat::says, asks, "m", &["part_ids"]).await;
}

#[tokio::test]
async fn c78_anthropic() {
    let asks: Asks = |url| Box::new(Anthropic::new().base_url(url).api_key(KEY));
    passes(anthropic::says, asks, "claude-sonnet-4-5", &["refusal"]).await;
}

#[tokio::test]
async fn c78_gemini() {
    let asks: Asks = |url| Box::new(Gemini::new().base_url(url).api_key(KEY));
    passes(gemini::says, asks, "gemini-2.5-flash", &["refusal"]).await;
}
