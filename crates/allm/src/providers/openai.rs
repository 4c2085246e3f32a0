//! OpenAI, by its two APIs.

pub(crate) mod azure;
mod capabilities;
pub(crate) mod chat;
pub(crate) mod model;
pub(crate) mod responses;

use std::fmt;
use std::sync::Arc;

use allm_core::{
    Adapter, AdapterError, AdapterReason, BoxStream, Capabilities, EngineError, Event, KeyUse,
    ModelCall, ValidationError,
};

use super::compat::profile::{MaxTokensField, Profile};
use super::connection::{
    Auth, Connection, Outgoing, connection_answers, connection_options, failed,
};
use super::translate::notes::Faults;
use chat::Rules;
use model::Family;

/// Which of OpenAI's APIs is asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Api {
    /// By the model's name: Responses for `gpt-5` and later, `o…`, `codex-…` and `computer-use-…`, else Chat
    /// Completions.
    #[default]
    Auto,
    /// The Responses API.
    Responses,
    /// The Chat Completions API.
    ChatCompletions,
}

impl Api {
    /// The API that a call goes to, never `Auto`: what the call says, else this, else what the model's name says.
    pub(crate) fn for_call(self, call: &ModelCall) -> Self {
        let chosen = match call.wire.as_deref() {
            Some(RESPONSES) => Self::Responses,
            Some(chat::WIRE) => Self::ChatCompletions,
            _ => self,
        };
        match chosen {
            Self::Auto if Family::of(&call.model.model).prefers_responses() => Self::Responses,
            Self::Auto => Self::ChatCompletions,
            chosen => chosen,
        }
    }
}

/// The name of the Responses wire.
const RESPONSES: &str = "openai.responses";

/// OpenAI. The key is that of the call, of this configuration, of the engine's source, or `OPENAI_API_KEY`.
///
/// ```
/// use allm::{Api, Engine, OpenAi};
///
/// let openai = OpenAi::new().organization("org-1").api(Api::ChatCompletions);
/// let engine = Engine::builder().provider(openai).model("openai:gpt-4.1-mini").build()?;
/// # Ok::<(), allm::EngineError>(())
/// ```
#[derive(Clone)]
pub struct OpenAi {
    connection: Connection,
    api: Api,
    organization: Option<String>,
    project: Option<String>,
    profile: Arc<Profile>,
}

impl fmt::Debug for OpenAi {
    /// Organisation and project are values of headers, and not shown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenAi")
            .field("connection", &self.connection)
            .field("api", &self.api)
            .finish_non_exhaustive()
    }
}

impl Default for OpenAi {
    fn default() -> Self {
        Self::new()
    }
}

impl OpenAi {
    /// OpenAI at its own address.
    #[must_use]
    pub fn new() -> Self {
        Self {
            connection: Connection::new("openai", "https://api.openai.com/v1", Auth::Bearer),
            api: Api::Auto,
            organization: None,
            project: None,
            profile: Arc::new(own_profile()),
        }
    }

    /// Which API is asked.
    #[must_use]
    pub fn api(mut self, api: Api) -> Self {
        self.api = api;
        self
    }

    /// The organisation that calls count for.
    #[must_use]
    pub fn organization(mut self, id: impl Into<String>) -> Self {
        self.organization = Some(id.into());
        self
    }

    /// The project that calls count for.
    #[must_use]
    pub fn project(mut self, id: impl Into<String>) -> Self {
        self.project = Some(id.into());
        self
    }

    connection_options!();
}

/// What OpenAI itself does.
pub(crate) fn own_profile() -> Profile {
    Profile {
        max_tokens_field: MaxTokensField::MaxCompletionTokens,
        allowed_tools: true,
        prompt_cache: true,
        verbosity: true,
        ..Profile::default()
    }
}

/// OpenAI's two APIs behind one address.
pub(crate) struct Wires<'a> {
    pub(crate) connection: &'a Connection,
    pub(crate) profile: &'a Arc<Profile>,
    pub(crate) headers: Vec<(&'static str, String)>,
    /// Never `Auto`.
    pub(crate) api: Api,
}

impl Wires<'_> {
    fn rules(&self, call: &ModelCall) -> Rules {
        Rules {
            profile: Arc::clone(self.profile),
            family: Some(Family::of(&call.model.model)),
        }
    }

    pub(crate) fn check(&self, call: &ModelCall) -> Result<(), ValidationError> {
        check_wire(call, &[RESPONSES, chat::WIRE])?;
        match self.api {
            Api::Responses => responses::check(self.connection, call),
            Api::Auto | Api::ChatCompletions => {
                chat::check(self.connection, call, &self.rules(call))
            }
        }
    }

    pub(crate) fn stream(self, call: ModelCall) -> BoxStream<'static, Event> {
        let outgoing = match self.api {
            Api::Responses => {
                let family = Family::of(&call.model.model);
                responses::outgoing(self.connection, &call, family)
            }
            Api::Auto | Api::ChatCompletions => {
                chat::outgoing(self.connection, &call, &self.rules(&call))
            }
        };
        match outgoing {
            Ok(outgoing) => {
                let outgoing = Outgoing {
                    headers: self.headers,
                    ..outgoing
                };
                self.connection.stream(call, outgoing)
            }
            Err(error) => failed(&unwritable(self.connection, &error).into()),
        }
    }
}

/// Refuses a wire that the provider does not speak.
pub(crate) fn check_wire(call: &ModelCall, known: &[&str]) -> Result<(), ValidationError> {
    let mut faults = Faults::default();
    if call
        .wire
        .as_deref()
        .is_some_and(|wire| !known.contains(&wire))
    {
        let why = format!("this provider has {}", known.join(", "));
        faults.unsupported("wire", &why);
    }
    faults.finish()
}

/// A body that cannot be written.
pub(crate) fn unwritable(connection: &Connection, error: &serde_json::Error) -> AdapterError {
    let message = format!("the request cannot be written: {error}");
    AdapterError::new(
        connection.name.clone(),
        AdapterReason::InvalidRequest,
        message,
    )
}

impl OpenAi {
    fn wires(&self, call: &ModelCall) -> Wires<'_> {
        let headers = [
            ("openai-organization", &self.organization),
            ("openai-project", &self.project),
        ];
        let headers = headers
            .into_iter()
            .filter_map(|(name, value)| Some((name, value.clone()?)))
            .collect();
        Wires {
            connection: &self.connection,
            profile: &self.profile,
            headers,
            api: self.api.for_call(call),
        }
    }
}

impl Adapter for OpenAi {
    connection_answers!();

    fn check_config(&self) -> Result<(), EngineError> {
        self.connection.check()
    }

    fn capabilities(&self, model: &str) -> Capabilities {
        capabilities::of(model)
    }

    fn key_use(&self) -> KeyUse {
        self.connection.key_use(KeyUse::Required)
    }

    fn check(&self, call: &ModelCall) -> Result<(), ValidationError> {
        self.wires(call).check(call)
    }

    fn stream(&self, call: ModelCall) -> BoxStream<'static, Event> {
        self.wires(&call).stream(call)
    }
}

#[cfg(test)]
mod tests {
    use allm_core::{ModelRef, Request};

    use super::*;

    #[test]
    fn p126_call_then_configuration_then_name() {
        let call = |model: &str, wire: Option<&str>| {
            let model = ModelRef {
                provider: "openai".into(),
                model: model.to_owned(),
            };
            let mut call = ModelCall::new(Request::new("hi"), model, "r");
            call.wire = wire.map(str::to_owned);
            call
        };
        let (responses, chat) = (Api::Responses, Api::ChatCompletions);
        for (api, model, wire, expected) in [
            (Api::Auto, "gpt-5", None, responses),
            (Api::Auto, "gpt-4o", None, chat),
            (chat, "gpt-5", None, chat),
            (responses, "gpt-4o", None, responses),
            (chat, "gpt-4o", Some("openai.responses"), responses),
            (responses, "gpt-5", Some("openai.chat"), chat),
        ] {
            let openai = OpenAi::new().api(api);
            assert_eq!(
                openai.wires(&call(model, wire)).api,
                expected,
                "{api:?} {model} {wire:?}"
            );
        }
    }
}
