//! The engine below the loop: building, keys, retries, time limits, cancelling, and how failures are told.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "these are tests"
)]

mod build;
mod failures;
mod keys;
mod limits;
mod retry;

use std::sync::{Arc, Mutex};

use allm::{
    Adapter, ApiKey, BoxFuture, BoxStream, Engine, Event, Fake, KeyError, KeyRequest, KeySource,
    KeyUse, ModelCall, ProviderName, Script,
};

fn text(text: &str) -> Script {
    Script::new().text(text)
}

fn engine(fake: &Fake) -> Engine {
    let builder = Engine::builder().provider(fake.clone());
    builder.model("fake:any").build().expect("a valid engine")
}

fn key(text: &str) -> ApiKey {
    ApiKey::new(text).expect("valid").expect("not empty")
}

/// The prompt and the key of a call.
type Used = (String, Option<String>);

/// A provider with a name, perhaps a key, and a note of every key that it was called with.
#[derive(Clone)]
struct Keyed {
    name: ProviderName,
    key_use: KeyUse,
    own: Option<ApiKey>,
    fake: Fake,
    used: Arc<Mutex<Vec<Used>>>,
}

impl Keyed {
    fn new(name: &str, key_use: KeyUse) -> Self {
        Self {
            name: name.into(),
            key_use,
            own: None,
            fake: Fake::named(name).always(text("x")),
            used: Arc::default(),
        }
    }

    /// An engine that has it alone.
    fn engine(&self) -> allm::EngineBuilder {
        let builder = Engine::builder().provider(self.clone());
        builder.model(format!("{}:any", self.name))
    }

    fn used(&self) -> Vec<Used> {
        std::mem::take(&mut self.used.lock().unwrap())
    }

    /// The key of the only call since it was last asked.
    fn last(&self) -> Option<String> {
        let used = self.used();
        assert_eq!(used.len(), 1);
        used[0].1.clone()
    }
}

impl Adapter for Keyed {
    fn provider(&self) -> &ProviderName {
        &self.name
    }

    fn key_use(&self) -> KeyUse {
        self.key_use
    }

    fn key_source(&self) -> Option<&dyn KeySource> {
        self.own.as_ref().map(|key| key as _)
    }

    fn stream(&self, call: ModelCall) -> BoxStream<'static, Event> {
        let prompt = call.request.messages.iter().next_back().unwrap().text();
        let key = call.key.as_ref().map(|key| key.expose().to_owned());
        self.used.lock().unwrap().push((prompt, key));
        self.fake.stream(call)
    }
}

type Answer = BoxFuture<'static, Result<Option<ApiKey>, KeyError>>;

/// A key source that is a closure.
struct Source<F>(F);

impl<F: Fn(KeyRequest) -> Answer + Send + Sync> KeySource for Source<F> {
    fn key(&self, ask: KeyRequest) -> BoxFuture<'_, Result<Option<ApiKey>, KeyError>> {
        self.0(ask)
    }
}
