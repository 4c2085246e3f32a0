//! Servers that speak like OpenAI's Chat Completions.

mod named;
pub(crate) mod profile;

use std::sync::Arc;

use allm_core::{
    Adapter, BoxStream, Capabilities, EngineError, Event, KeyUse, ModelCall, Support,
    ValidationError,
};

use super::connection::{Auth, Connection, connection_answers, connection_options, failed};
use super::openai::chat::{self, Rules};
use super::openai::{check_wire, unwritable};
use profile::Profile;

/// A server that speaks like OpenAI's Chat Completions.
///
/// Many are known by name; any other is reached by its address. What such a server does differently is a [`Profile`].
///
/// ```
/// use allm::{Compat, Engine};
///
/// let engine = Engine::builder()
///     .provider(Compat::ollama())
///     .provider(Compat::new("mine", "http://localhost:9000/v1"))
///     .model("ollama:llama3.1:8b")
///     .build()?;
/// # Ok::<(), allm::EngineError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Compat {
    connection: Connection,
    profile: Arc<Profile>,
    key_use: KeyUse,
}

impl Compat {
    /// A server at this address, under this provider name. A key is sent when one is found.
    #[must_use]
    pub fn new(name: &str, base_url: &str) -> Self {
        Self {
            connection: Connection::new(name, base_url, Auth::Bearer),
            profile: Arc::default(),
            key_use: KeyUse::Optional,
        }
    }

    /// What the server does differently.
    #[must_use]
    pub fn profile(mut self, profile: Profile) -> Self {
        self.profile = Arc::new(profile);
        self
    }

    /// What the server does differently, as it is set.
    #[must_use]
    pub fn known_profile(&self) -> &Profile {
        &self.profile
    }

    /// Whether calls need a key.
    #[must_use]
    pub fn key_use(mut self, key_use: KeyUse) -> Self {
        self.key_use = key_use;
        self
    }

    connection_options!();

    fn rules(&self) -> Rules {
        Rules {
            profile: Arc::clone(&self.profile),
            family: None,
        }
    }
}

impl Adapter for Compat {
    connection_answers!();

    fn check_config(&self) -> Result<(), EngineError> {
        self.connection.check()
    }

    fn capabilities(&self, _: &str) -> Capabilities {
        Capabilities {
            streaming: Support::Yes,
            json_schema: self.profile.json_schema,
            vision: self.profile.images,
            ..Capabilities::default()
        }
    }

    fn key_use(&self) -> KeyUse {
        self.connection.key_use(self.key_use)
    }

    fn check(&self, call: &ModelCall) -> Result<(), ValidationError> {
        check_wire(call, &[chat::WIRE])?;
        chat::check(&self.connection, call, &self.rules())
    }

    fn stream(&self, call: ModelCall) -> BoxStream<'static, Event> {
        match chat::outgoing(&self.connection, &call, &self.rules()) {
            Ok(outgoing) => self.connection.stream(call, outgoing),
            Err(error) => failed(&unwritable(&self.connection, &error).into()),
        }
    }
}
