//! What goes wrong between us and a provider, each with what comes of it: a server on this machine misbehaves, and the
//! real adapters of every wire read it.
//!
//! Time is paused and no limit is set but the one that a test is about, so that nothing but a wait of ours moves it.

#![cfg(all(feature = "anthropic", feature = "gemini", feature = "openai"))]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "these are tests"
)]

mod bodies;
mod recorded;
mod retry;
mod secrets;
mod server;
mod statuses;
mod streams;
mod transport;
mod truncation;
mod wires;

use std::time::Duration;

use allm::{Error, Response, RetryPolicy, Timeouts};

use server::{Script, Server};
use wires::Wire;

/// What came of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Outcome {
    /// The reason of the failure, or `ok`.
    reason: String,
    is_retryable: bool,
    /// How often the server was asked.
    attempts: usize,
    /// What is there of the text.
    text: String,
    /// How long was waited before each attempt but the first, in milliseconds.
    waits: Vec<u128>,
}

impl Outcome {
    fn new(reason: &str, text: &str) -> Self {
        Self {
            reason: reason.to_owned(),
            is_retryable: false,
            attempts: 1,
            text: text.to_owned(),
            waits: Vec::new(),
        }
    }

    /// Before any content, by something that may pass: tried three times, with the waits of the policy.
    fn tried_again(reason: &str) -> Self {
        Self {
            is_retryable: true,
            attempts: 3,
            waits: vec![500, 1000],
            ..Self::new(reason, "")
        }
    }

    /// Before any content, by something that does not pass.
    fn final_at_once(reason: &str) -> Self {
        Self::new(reason, "")
    }

    /// After the text had begun: never tried again, and the text is kept.
    fn partial(reason: &str, is_retryable: bool) -> Self {
        Self {
            is_retryable,
            ..Self::new(reason, "Hel")
        }
    }

    fn whole() -> Self {
        Self::new("ok", "Hello")
    }
}

/// No limit at all.
const NO_LIMITS: Timeouts = Timeouts {
    connect: None,
    first_byte: None,
    idle: None,
    stall: None,
    deadline: None,
    key: None,
};

/// Three attempts, and no chance in the waits.
fn policy() -> RetryPolicy {
    RetryPolicy {
        jitter: Duration::ZERO,
        ..RetryPolicy::default()
    }
}

/// Asks a server that does this with every request.
async fn ask(wire: Wire, script: Script) -> (Outcome, Result<Response, Error>) {
    let server = Server::start(vec![script]).await;
    ask_server(wire, &server, NO_LIMITS).await
}

async fn ask_server(
    wire: Wire,
    server: &Server,
    limits: Timeouts,
) -> (Outcome, Result<Response, Error>) {
    let engine = wire
        .engine(&server.url)
        .timeouts(limits)
        .retry(policy())
        .build()
        .unwrap();
    let answered = engine.generate("hi").await;
    (outcome(server, &answered), answered)
}

fn outcome(server: &Server, answered: &Result<Response, Error>) -> Outcome {
    let failure = match answered {
        Ok(response) => response.error.clone().map(Error::from),
        Err(error) => Some(error.clone()),
    };
    let text = answered.as_ref().map(Response::text).unwrap_or_default();
    let seen = server.seen();
    let waits = seen
        .windows(2)
        .map(|pair| (pair[1].at - pair[0].at).as_millis());
    Outcome {
        reason: failure.as_ref().map_or("ok", Error::reason).to_owned(),
        is_retryable: failure.as_ref().is_some_and(Error::is_retryable),
        attempts: seen.len(),
        text,
        waits: waits.collect(),
    }
}

/// The error of a call that had no content.
fn refused(answered: Result<Response, Error>) -> allm::AdapterError {
    match answered {
        Err(Error::Adapter(error)) => *error,
        other => panic!("{other:?}"),
    }
}
