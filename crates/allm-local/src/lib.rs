//! A GGUF model in the process, as a provider of allm: no network, no key.
//!
//! [`Local`] is the provider, [`models`] where the files of models are and how they are obtained. A small model that is
//! known by name is `smollm2-135m`, about 100 MB.
//!
//! ```no_run
//! use allm::{Engine, tool};
//! use allm_local::{Local, models};
//!
//! /// Multiplies two numbers.
//! #[tool]
//! async fn multiply(a: f64, b: f64) -> Result<f64, String> {
//!     Ok(a * b)
//! }
//!
//! #[tokio::main(flavor = "current_thread")]
//! async fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     // Once: it is kept in the user's folder.
//!     models::pull("smollm2-135m", models::Pull::new()).await?;
//!     let engine = Engine::builder()
//!         .provider(Local::new())
//!         .model("local:smollm2-135m")
//!         .tool(multiply)
//!         .build()?;
//!     println!("{}", engine.chat("What is 17 times 23?").text().await?);
//!     Ok(())
//! }
//! ```
//!
//! What a model may write is held to a grammar, token by token: a call of a tool is always one of an offered tool with
//! arguments that fit its schema, and an answer in JSON fits the schema that was asked for. What it says in them is
//! another matter: a model of this size is often wrong.
//!
//! [`guide`] says more.
//!
//! Models of the Llama family (`general.architecture` = `llama`) with a byte-pair or SentencePiece tokenizer and a chat
//! template in their file can be run. Weights may have any quantisation that candle reads.

mod error;
mod gguf;
mod grammar;
#[doc = include_str!("docs/local_models.md")]
pub mod guide {}
mod local;
mod model;
pub mod models;
mod prompt;
mod template;
#[cfg(test)]
#[allow(dead_code, reason = "the tests of the adapter use more of it")]
mod tiny;
mod tokenizer;
mod worker;

pub use error::{ModelError, ModelErrorKind};
pub use local::{Activity, Local};
