//! Runs language models and their tools.
//!
//! An [`Engine`] holds providers, tools and settings. [`Engine::chat`] asks the model, runs the tools that it calls, gives
//! it their results, and goes on until there is an answer or something else stops it. Await it for the result, or stream
//! it for everything on the way.
//!
//! ```
//! use allm::{Engine, Fake, Script, tool};
//! use serde_json::json;
//!
//! /// Tells the weather of a city.
//! #[tool]
//! async fn weather(city: String) -> Result<String, String> {
//!     Ok(format!("rain in {city}, 12 degrees"))
//! }
//!
//! #[tokio::main(flavor = "current_thread")]
//! async fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let model = Fake::new() // A scripted provider: no network, no key.
//!         .reply(Script::new().call("weather", json!({"city": "Boston"})))
//!         .reply("Take an umbrella.");
//!     let engine = Engine::builder().provider(model).model("fake:any").tool(weather).build()?;
//!     let answer = engine.chat("What should I wear in Boston?").text().await?;
//!     assert_eq!(answer, "Take an umbrella.");
//!     Ok(())
//! }
//! ```
//!
//! # Where to read on
//!
//! | question | page |
//! |---|---|
//! | How does the model call my functions? | [`guide::tools`], [`#[tool]`](macro@tool) |
//! | How do I show what happens while it happens? | [`guide::streaming`] |
//! | How do I run the calls myself, or let a person decide? | [`guide::manual_and_ask_user`] |
//! | How does a conversation stop for a person, survive a crash, go on elsewhere? | [`guide::sessions_and_durability`] |
//! | How do I get a Rust value instead of prose? | [`guide::structured_output`] |
//! | What can go wrong, and where do I see it? | [`guide::errors`] |
//! | How do I see what a run does, and what it costs? | [`guide::telemetry`] |
//! | How do I test my program without a network? | [`guide::testing_with_the_fake`] |
//! | How do I test against real answers without a network? | `guide::testing_with_recordings` |
//!
//! Whole programs are in the folder `examples` of this crate, in teaching order:
//! `cargo run -q -p allm --example 03_one_tool`.
//!
//! # What is where
//!
//! | concept | types |
//! |---|---|
//! | who is asked, with what | [`Engine`], [`EngineBuilder`]; [`Setting`] to switch a setting off |
//! | one model call, one turn, a whole run | [`Generate`], [`Step`], [`Chat`]; their results [`Response`], [`StepResult`], [`ChatResult`] |
//! | the conversation | [`Thread`], [`Message`], [`Part`], [`Input`] |
//! | conversations that are kept | [`Session`] as a value; [`Sessions`], [`DurableSession`] in a [`SessionStore`] (`allm-store`); [`SessionStatus`], [`SessionEvents`] |
//! | what happens on the way | [`EventStream`], [`Event`], [`Fold`] |
//! | tools | [`Tool`], [`IntoTool`], [`ToolContext`], [`ToolReply`], [`OnToolError`] |
//! | running tools without an engine | [`run_tool_calls`], [`stream_tool_calls`], [`ToolRunOptions`] |
//! | why a run stopped, what went wrong | [`HaltReason`], [`Error`](enum@Error) |
//! | answers as Rust values | [`response_format`], [`Chat::parse`], [`Generate::parse`] |
//! | stopping | [`CancelToken`] |
//! | spans, content, numbers | [`telemetry`], [`Redactor`] |
//! | the scripted provider | [`Fake`], [`Script`] |
//! | real traffic, recorded and replayed | `Recorder`, `Replay` |
//! | what you can implement | [`Adapter`], [`ToolExecutor`], [`ToolResultEncoder`], [`ToolHandler`], [`KeySource`], [`SessionStore`] |
//! | the loop as a value, without async | [`run`] |
//!
//! Everything of [`allm_core`] is here too.
//!
//! # One rule for settings
//!
//! Every setting is a method of the engine's builder and of a call, with the same name. The call beats the request, the
//! request beats the engine, the engine beats the default. [`Engine::with`] makes a new engine that differs in a few.
//!
//! # Features
//!
//! | feature | default | what |
//! |---|---|---|
//! | `openai` | yes | `OpenAi` by both of its APIs, `Azure`, and `Compat` for the servers that speak alike |
//! | `anthropic` | yes | `Anthropic`: the Messages API |
//! | `gemini` | yes | `Gemini`: Google's models, over the Gemini API or Vertex AI |
//! | `http2` | yes | HTTP/2 with the servers that offer it: many calls at once over one connection. Without it HTTP/1.1 alone |
//! | `sessions` | yes | conversations that are kept: `Session`, `Sessions`, `DurableSession` |
//! | `record` | yes | real traffic as files, for tests: `Recorder`, `Replay` |
//! | `process` | yes | tools that are child processes: `ProcessTool`, `ProcessExecutor`; on Unix |

// What providers share is not used by each of them.
#![cfg_attr(
    not(all(
        feature = "anthropic",
        feature = "gemini",
        feature = "openai",
        feature = "record",
        feature = "sessions"
    )),
    allow(
        dead_code,
        unreachable_pub,
        unused_imports,
        unused_macros,
        reason = "a build with some of the features"
    )
)]

#[doc(hidden)]
pub mod __private;
mod chat;
mod engine;
#[cfg(all(fuzzing, feature = "openai", feature = "anthropic", feature = "gemini"))]
#[doc(hidden)]
pub mod fuzzing;
pub mod guide;
mod handler_context;
mod into_tool;
mod panics;
mod providers;
mod random;
#[cfg(feature = "record")]
mod record;
mod response_format;
#[cfg(feature = "sessions")]
mod sessions;
pub mod telemetry;
mod tools;
#[cfg(feature = "http")]
mod wire;

pub use allm_core::run::UnknownTools;
pub use allm_core::*;
#[doc = include_str!("docs/tool.md")]
pub use allm_macros::tool;
pub use chat::{Chat, EventStream, Generate, Input, Step};
pub use engine::keys::{DotEnv, EnvironmentKeys};
pub use engine::retry::{RetryOn, RetryPolicy};
pub use engine::settings::{Setting, Toggle};
pub use engine::{Engine, EngineBuilder};
pub use handler_context::ToolContextExt;
pub use into_tool::IntoTool;
#[cfg(feature = "anthropic")]
pub use providers::anthropic::Anthropic;
#[cfg(feature = "openai")]
pub use providers::compat::Compat;
#[cfg(feature = "openai")]
pub use providers::compat::profile::{
    EmptyContent, IdRule, MalformedBack, MaxTokensField, Profile, ReasoningBack,
    ReasoningBackField, ReasoningField, ReasoningRequest, ThinkTags, ToolResultImages,
};
#[cfg(feature = "http")]
pub use providers::connection::Auth;
pub use providers::fake::{Fake, FakeCall, FakeOutcome, Script, ScriptFault, ScriptFaultReason};
#[cfg(feature = "gemini")]
pub use providers::gemini::{Gemini, SchemaMode};
#[cfg(feature = "openai")]
pub use providers::openai::azure::Azure;
#[cfg(feature = "openai")]
pub use providers::openai::{Api, OpenAi};
#[cfg(feature = "record")]
pub use record::{CassetteError, CassetteReason, Chunking, Pace, Recorder, Replay};
pub use response_format::response_format;
#[cfg(feature = "sessions")]
pub use sessions::{
    ApprovalSecret, Beginning, DurableSession, LiveEvent, Recovery, RetentionPolicy, Session,
    SessionCall, SessionEvents, SessionStream, Sessions, SessionsOptions, SubmittedResult, Told,
};
pub use tools::{
    ApprovalAnswer, ApprovalRequest, BatchHalt, Decide, DefaultExecutor, ErrorDecision,
    OnToolError, OnUnknownOutcome, ToolBatch, ToolEvents, ToolRunOptions, run_tool_calls,
    stream_tool_calls,
};
#[cfg(all(unix, feature = "process"))]
pub use tools::{ProcessExecutor, ProcessTool};

/// The program in the README is compiled and run with the tests of the documentation.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct ReadmeDoctests;
