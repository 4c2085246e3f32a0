//! Plays recordings to the library, through the adapter that a caller would have chosen.

use std::sync::Arc;

use allm::{
    Adapter, Anthropic, Api, Azure, Compat, Engine, Error, Gemini, KeyUse, OpenAi, Response,
    RetryPolicy,
};

use crate::record::Record;
use crate::server::{Cut, Server};

const KEY: &str = "not-a-key-0123456789";

/// Why a record cannot be played to a wire: it is no answer of that wire.
#[must_use]
pub fn exclusion(record: &Record) -> Option<&'static str> {
    let path = record.request.path.split('?').next().unwrap_or_default();
    if path.ends_with("/responses/compact") {
        return Some("an answer of the compaction endpoint");
    }
    None
}

/// Plays recordings of one server. All plays share the connections of their provider.
#[derive(Clone, Debug)]
pub struct Player {
    server: Arc<Server>,
    openai: OpenAi,
    azure: Azure,
    anthropic: Anthropic,
    gemini: Gemini,
    compat: Vec<Compat>,
    other: Compat,
}

impl Player {
    /// A player of what this server has.
    #[must_use]
    pub fn new(server: Arc<Server>) -> Self {
        let compat = vec![
            Compat::ollama(),
            Compat::vllm(),
            Compat::llamacpp(),
            Compat::groq(),
            Compat::mistral(),
            Compat::deepseek(),
            Compat::openrouter(),
            Compat::xai(),
            Compat::together(),
            Compat::fireworks(),
            Compat::cerebras(),
        ];
        Self {
            server,
            openai: OpenAi::new().api_key(KEY),
            azure: Azure::new("x").api_key(KEY),
            anthropic: Anthropic::new().api_key(KEY),
            gemini: Gemini::new().api_key(KEY),
            compat,
            other: Compat::new("other", "http://localhost/").key_use(KeyUse::Optional),
        }
    }

    /// What the library makes of a record.
    ///
    /// # Errors
    ///
    /// What the library says.
    pub async fn play(&self, record: &Record, cut: Cut) -> Result<Response, Error> {
        let engine = self.engine(record, cut);
        engine.generate("hi").await
    }

    /// An engine whose provider answers with this record.
    #[must_use]
    pub fn engine(&self, record: &Record, cut: Cut) -> Engine {
        let url = self.server.base_url(record, cut);
        let model = record.model.as_deref().filter(|model| !model.is_empty());
        let model = model.unwrap_or("some-model");
        match (record.dialect.as_str(), record.provider.as_str()) {
            ("anthropic-messages", _) => engine(self.anthropic.clone().base_url(url), model),
            ("gemini", "vertex") => engine(
                self.gemini.clone().base_url(url).vertex("project", "here"),
                model,
            ),
            ("gemini", _) => engine(self.gemini.clone().base_url(url), model),
            ("openai-responses", "azure") => {
                engine(self.azure.clone().base_url(url).api(Api::Responses), model)
            }
            ("openai-responses", _) => {
                engine(self.openai.clone().base_url(url).api(Api::Responses), model)
            }
            ("openai-chat", "azure") => engine(
                self.azure.clone().base_url(url).api(Api::ChatCompletions),
                model,
            ),
            ("openai-chat", "openai") => engine(
                self.openai.clone().base_url(url).api(Api::ChatCompletions),
                model,
            ),
            ("openai-chat", provider) => {
                let known = self
                    .compat
                    .iter()
                    .find(|known| known.provider().as_str() == provider);
                let compat = known.unwrap_or(&self.other).clone();
                engine(compat.base_url(url).api_key(KEY), model)
            }
            (dialect, _) => panic!("no adapter speaks {dialect}"),
        }
    }
}

fn engine(provider: impl Adapter + 'static, model: &str) -> Engine {
    let once = RetryPolicy {
        max_attempts: 1,
        ..RetryPolicy::default()
    };
    let model = format!("{}:{model}", provider.provider());
    Engine::builder()
        .provider(provider)
        .model(model.as_str())
        .retry(once)
        .build()
        .unwrap()
}
