//! Anthropic: the Messages wire.

pub(crate) mod block;
mod check;
mod event;
mod members;
mod messages;
mod models;
mod request;
mod schema;
pub(crate) mod stream;
mod usage;

use std::fmt;

use allm_core::{
    Adapter, BoxStream, Capabilities, EngineError, EngineReason, Error, Event, KeyUse, ModelCall,
    ValidationError,
};

use super::connection::{
    Auth, Connection, Outgoing, connection_answers, connection_options, failed,
};
use crate::wire::decode::late_decoder;
use models::Model;

const BASE: &str = "https://api.anthropic.com";
const PATH: &str = "/v1/messages";
const VERSION: &str = "2023-06-01";

/// Claude, over Anthropic's Messages API, or any server that speaks it.
///
/// ```
/// use allm::{Anthropic, Engine};
///
/// let claude = Anthropic::new().beta("context-1m-2025-08-07");
/// let engine = Engine::builder().provider(claude).model("anthropic:claude-sonnet-4-5").build()?;
/// # Ok::<(), allm::EngineError>(())
/// ```
///
/// The key is that of the call, of this configuration, of the engine's source, or `ANTHROPIC_API_KEY`. A token instead of
/// a key is sent with [`auth`](Self::auth)`(Auth::Bearer)`.
#[derive(Clone)]
pub struct Anthropic {
    connection: Connection,
    version: String,
    betas: Vec<String>,
}

impl Default for Anthropic {
    fn default() -> Self {
        Self::new()
    }
}

impl Anthropic {
    /// Under the name `anthropic`, at Anthropic's own address.
    #[must_use]
    pub fn new() -> Self {
        Self {
            connection: Connection::new("anthropic", BASE, Auth::Header("x-api-key".to_owned())),
            version: VERSION.to_owned(),
            betas: Vec::new(),
        }
    }

    connection_options!();

    /// Turns on a beta feature; may be said again for others.
    #[must_use]
    pub fn beta(mut self, name: impl Into<String>) -> Self {
        self.betas.push(name.into());
        self
    }

    /// The version of the API; `2023-06-01` if not said.
    #[must_use]
    pub fn version(mut self, version: impl Into<String>) -> Self {
        self.version = version.into();
        self
    }

    /// The request of a call.
    pub(crate) fn outgoing(&self, call: &ModelCall) -> Result<Outgoing, serde_json::Error> {
        let built = request::build(call, &self.connection.name)?;
        Ok(Outgoing {
            path: PATH.to_owned(),
            body: built.body,
            headers: self.headers(),
            auth: None,
            wire: request::WIRE,
            decoder: late_decoder(|| stream::Messages::new(built.asked)),
            warnings: built.warnings,
        })
    }

    fn headers(&self) -> Vec<(&'static str, String)> {
        let mut headers = vec![("anthropic-version", self.version.clone())];
        if !self.betas.is_empty() {
            headers.push(("anthropic-beta", self.betas.join(",")));
        }
        headers
    }
}

impl fmt::Debug for Anthropic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Anthropic")
            .field("connection", &self.connection)
            .field("version", &self.version)
            .field("betas", &self.betas)
            .finish()
    }
}

impl Adapter for Anthropic {
    connection_answers!();

    fn check_config(&self) -> Result<(), EngineError> {
        self.connection.check()?;
        for (name, value) in self.headers() {
            self.connection.header(name, &value)?;
        }
        Ok(())
    }

    fn capabilities(&self, model: &str) -> Capabilities {
        Model::of(model).capabilities()
    }

    fn key_use(&self) -> KeyUse {
        self.connection.key_use(KeyUse::Required)
    }

    fn check(&self, call: &ModelCall) -> Result<(), ValidationError> {
        check::check(call)
    }

    fn stream(&self, call: ModelCall) -> BoxStream<'static, Event> {
        match self.outgoing(&call) {
            Ok(outgoing) => self.connection.stream(call, outgoing),
            Err(_) => {
                let message =
                    "the request cannot be written as JSON; `extra` may hold its messages";
                let error = EngineError::new(EngineReason::InvalidConfig, message);
                failed(&Error::from(error))
            }
        }
    }
}

#[cfg(test)]
mod tests;
