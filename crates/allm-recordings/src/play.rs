//! Plays recordings to the library, through the adapter that a caller would have chosen.

use std::future::poll_fn;
use std::sync::Arc;

use allm::{
    Adapter, Anthropic, Api, Azure, Compat, Engine, Error, Event, Fold, Gemini, KeyUse, ModelCall,
    ModelRef, OpenAi, Request, Response, RetryPolicy,
};

use crate::record::Record;
use crate::server::{CUT_HEADER, Cut, Server};

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
        self.choose(record, cut, IntoEngine(model(record)))
    }

    /// The provider's adapter alone, which answers with this record.
    #[must_use]
    pub fn adapter(&self, record: &Record, cut: Cut) -> Arc<dyn Adapter> {
        self.choose(record, cut, IntoArc)
    }

    fn choose<I: IntoForm>(&self, record: &Record, cut: Cut, form: I) -> I::Form {
        let url = self.server.base_url(record, cut);
        match (record.dialect.as_str(), record.provider.as_str()) {
            ("anthropic-messages", _) => form.of(self.anthropic.clone().base_url(url)),
            ("gemini", "vertex") => {
                form.of(self.gemini.clone().base_url(url).vertex("project", "here"))
            }
            ("gemini", _) => form.of(self.gemini.clone().base_url(url)),
            ("openai-responses", "azure") => {
                form.of(self.azure.clone().base_url(url).api(Api::Responses))
            }
            ("openai-responses", _) => {
                form.of(self.openai.clone().base_url(url).api(Api::Responses))
            }
            ("openai-chat", "azure") => {
                form.of(self.azure.clone().base_url(url).api(Api::ChatCompletions))
            }
            ("openai-chat", "openai") => {
                form.of(self.openai.clone().base_url(url).api(Api::ChatCompletions))
            }
            ("openai-chat", provider) => {
                let known = self
                    .compat
                    .iter()
                    .find(|known| known.provider().as_str() == provider);
                let compat = known.unwrap_or(&self.other).clone();
                form.of(compat.base_url(url).api_key(KEY))
            }
            (dialect, _) => panic!("no adapter speaks {dialect}"),
        }
    }
}

/// The events of an adapter's answer to one call with this cut, without an engine between.
pub async fn ask(adapter: &dyn Adapter, record: &Record, cut: Cut) -> Vec<Event> {
    let model = ModelRef {
        provider: adapter.provider().clone(),
        model: model(record).to_owned(),
    };
    let mut call = ModelCall::new(Request::new("hi"), model, "request");
    call.headers = vec![(CUT_HEADER.to_owned(), cut.text())];
    let mut stream = adapter.stream(call);
    let mut events = Vec::new();
    while let Some(mut event) = poll_fn(|cx| stream.as_mut().poll_next(cx)).await {
        if let Event::MessageCompleted(completed) = &mut event {
            // Told as a time of the day, it is counted from now.
            Arc::make_mut(completed).rate_limit = None;
        }
        events.push(event);
    }
    events
}

/// The answer that these events are.
pub fn folded(events: &[Event]) -> Response {
    let mut fold = Fold::new();
    for event in events {
        fold.push(event);
    }
    if let Some(error) = fold.missing_end() {
        fold.push(&error);
    }
    fold.response()
}

fn model(record: &Record) -> &str {
    let model = record.model.as_deref().filter(|model| !model.is_empty());
    model.unwrap_or("some-model")
}

/// What an adapter is made into.
trait IntoForm {
    type Form;

    fn of(self, adapter: impl Adapter + 'static) -> Self::Form;
}

struct IntoArc;

impl IntoForm for IntoArc {
    type Form = Arc<dyn Adapter>;

    fn of(self, adapter: impl Adapter + 'static) -> Self::Form {
        Arc::new(adapter)
    }
}

/// With this model.
struct IntoEngine<'a>(&'a str);

impl IntoForm for IntoEngine<'_> {
    type Form = Engine;

    fn of(self, adapter: impl Adapter + 'static) -> Engine {
        let once = RetryPolicy {
            max_attempts: 1,
            ..RetryPolicy::default()
        };
        let model = format!("{}:{}", adapter.provider(), self.0);
        Engine::builder()
            .provider(adapter)
            .model(model.as_str())
            .retry(once)
            .build()
            .unwrap()
    }
}
