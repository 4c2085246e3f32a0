//! The ways to speak to a provider, and an engine for each.

use std::fmt;
use std::str::FromStr;

use allm::{Anthropic, Api, Engine, Gemini, OpenAi};

use crate::Failure;

/// How a provider is spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wire {
    /// OpenAI Chat Completions.
    Chat,
    /// OpenAI Responses.
    Responses,
    /// Anthropic Messages.
    Anthropic,
    /// Gemini.
    Gemini,
}

impl Wire {
    /// Every wire.
    pub const ALL: [Self; 4] = [Self::Chat, Self::Responses, Self::Anthropic, Self::Gemini];

    /// An engine whose provider is the server at this address, which says in its path what is answered.
    ///
    /// # Errors
    ///
    /// When the settings are not right.
    pub fn engine(self, root: &str) -> Result<Engine, Failure> {
        let key = "sk-of-nobody-at-all";
        let openai = |api| {
            OpenAi::new()
                .api(api)
                .base_url(format!("{root}/v1"))
                .api_key(key)
        };
        let builder = Engine::builder();
        let builder = match self {
            Self::Chat => builder
                .provider(openai(Api::ChatCompletions))
                .model("openai:gpt-4.1-mini"),
            Self::Responses => builder
                .provider(openai(Api::Responses))
                .model("openai:gpt-4.1-mini"),
            Self::Anthropic => builder
                .provider(Anthropic::new().base_url(root).api_key(key))
                .model("anthropic:claude-sonnet-4-5"),
            Self::Gemini => builder
                .provider(
                    Gemini::new()
                        .base_url(format!("{root}/v1beta"))
                        .api_key(key),
                )
                .model("gemini:gemini-2.5-flash"),
        };
        Ok(builder.build()?)
    }

    fn name(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::Responses => "responses",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
        }
    }
}

impl fmt::Display for Wire {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl FromStr for Wire {
    type Err = Failure;

    fn from_str(text: &str) -> Result<Self, Failure> {
        let known = Self::ALL.into_iter().find(|wire| wire.name() == text);
        known.ok_or_else(|| format!("no wire is called {text}").into())
    }
}
