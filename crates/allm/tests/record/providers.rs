//! Every provider over HTTP.

use allm::{
    Anthropic, Azure, BoxFuture, Compat, Engine, Gemini, KeyError, KeyRequest, KeySource, KeyUse,
    OpenAi, Recorder, Replay,
};

pub(crate) const KEY: &str = "secret/key+of nobody";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Chat,
    Responses,
    Azure,
    Compat,
    Anthropic,
    Gemini,
}

impl Kind {
    pub(crate) const ALL: [Self; 6] = [
        Self::Chat,
        Self::Responses,
        Self::Azure,
        Self::Compat,
        Self::Anthropic,
        Self::Gemini,
    ];
}

/// What carries the requests.
#[derive(Clone, Copy)]
pub(crate) enum Over<'a> {
    Record(&'a Recorder),
    Replay(&'a Replay),
}

/// Nobody may ask it.
struct NoKeys;

impl KeySource for NoKeys {
    fn key(&self, _: KeyRequest) -> BoxFuture<'_, Result<Option<allm::ApiKey>, KeyError>> {
        Box::pin(std::future::ready(Err(KeyError::new(
            "a key was asked for",
        ))))
    }
}

/// An engine with one provider at this address. Only who records has a key.
pub(crate) fn engine(kind: Kind, url: &str, over: Over<'_>) -> Engine {
    let builder = Engine::builder();
    macro_rules! with {
        ($provider:expr, $model:literal) => {{
            let provider = $provider.base_url(url);
            let provider = match over {
                Over::Record(recorder) => provider.api_key(KEY).record(recorder),
                Over::Replay(replay) => provider.key_source(NoKeys).replay(replay),
            };
            builder.provider(provider).model($model)
        }};
    }
    let builder = match kind {
        Kind::Chat => with!(OpenAi::new(), "openai:gpt-4o"),
        Kind::Responses => with!(OpenAi::new(), "openai:gpt-5"),
        Kind::Azure => with!(Azure::new("res"), "azure:gpt-4o"),
        Kind::Compat => with!(Compat::new("mine", "").key_use(KeyUse::Required), "mine:m"),
        Kind::Anthropic => with!(Anthropic::new(), "anthropic:claude-sonnet-4-5"),
        Kind::Gemini => with!(Gemini::new(), "gemini:gemini-3-pro-preview"),
    };
    builder.build().unwrap()
}
