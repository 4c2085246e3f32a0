//! The engine: providers, tools and settings, ready to be asked.

pub(crate) mod keys;
pub(crate) mod level;
pub(crate) mod media;
pub(crate) mod models;
pub(crate) mod plan;
pub(crate) mod retry;
mod runner;
pub(crate) mod setters;
pub(crate) mod settings;
mod timeouts;
mod tools;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use allm_core::{
    Adapter, Capabilities, EngineError, KeySource, ModelRef, PriceList, ProviderName, Tool,
};

use crate::IntoTool;
use crate::chat::input::Input;
use crate::chat::{Chat, Generate, Step};
use crate::telemetry::Metrics;
use crate::tools::ToolSet;
use keys::{DotEnv, KeyChain};
use models::Providers;
use setters::setters;
use settings::Settings;

/// Providers, tools and settings, ready to be asked. Cheap to clone; clones share everything.
///
/// ```
/// use allm::{Engine, Fake, Script};
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// let fake = Fake::new().reply(Script::new().text("Sunny."));
/// let engine = Engine::builder().provider(fake).model("fake:any").build()?;
/// let answer = engine.chat("Weather in Boston?").await?;
/// assert_eq!(answer.text(), "Sunny.");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Engine(pub(crate) Arc<Parts>);

/// What an engine is made of.
#[derive(Clone, Default)]
pub(crate) struct Parts {
    pub(crate) providers: Providers,
    pub(crate) settings: Settings,
    /// The tools of the settings, compiled once.
    pub(crate) tools: ToolSet,
    pub(crate) keys: KeyChain,
    pub(crate) catalog: BTreeMap<ModelRef, Capabilities>,
    pub(crate) prices: Option<PriceList>,
    pub(crate) metrics: Option<Arc<dyn Metrics>>,
}

impl Engine {
    /// An engine to be described.
    pub fn builder() -> EngineBuilder {
        EngineBuilder {
            parts: Parts::default(),
            settings: Settings::default(),
        }
    }

    /// A new engine that differs in what `change` does to it; this one stays as it is.
    ///
    /// What `change` says is one level over this engine: tools are merged by name, `extra` key by key.
    ///
    /// # Errors
    ///
    /// Those of [`EngineBuilder::build`].
    pub fn with(
        &self,
        change: impl FnOnce(EngineBuilder) -> EngineBuilder,
    ) -> Result<Self, EngineError> {
        change(EngineBuilder {
            parts: (*self.0).clone(),
            settings: Settings::default(),
        })
        .build()
    }

    /// One answer of a model; no tool is run.
    pub fn generate(&self, input: impl Into<Input>) -> Generate {
        Generate::new(self.clone(), input.into())
    }

    /// One turn: an answer, and the calls in it run.
    pub fn step(&self, input: impl Into<Input>) -> Step {
        Step::new(self.clone(), input.into())
    }

    /// Turns until something stops them.
    pub fn chat(&self, input: impl Into<Input>) -> Chat {
        Chat::new(self.clone(), input.into())
    }
}

impl fmt::Debug for Engine {
    /// Provider names and the model; no header value, no key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine")
            .field("providers", &self.0.providers.names())
            .field("model", &self.0.settings.model.get())
            .finish_non_exhaustive()
    }
}

/// Describes an engine.
#[must_use = "an engine is made by `build`"]
pub struct EngineBuilder {
    /// What is there already; its settings are the level below.
    parts: Parts,
    pub(crate) settings: Settings,
}

impl EngineBuilder {
    setters!(request);
    setters!(call);
    setters!(tools);
    setters!(observed);
    setters!(run);
    setters!(chat);

    /// Adds a provider; one of the same name is replaced.
    pub fn provider(mut self, provider: impl Adapter + 'static) -> Self {
        self.parts.providers.add(Arc::new(provider));
        self
    }

    /// The provider of models that name none.
    pub fn default_provider(mut self, name: impl Into<ProviderName>) -> Self {
        self.parts.providers.set_default(name.into());
        self
    }

    /// Where keys come from when neither the call nor the provider has one.
    pub fn key_source(mut self, source: impl KeySource + 'static) -> Self {
        self.parts.keys.engine = Some(Arc::new(source));
        self
    }

    /// A `.env` file to look for keys in, last of all.
    pub fn dotenv(mut self, file: DotEnv) -> Self {
        self.parts.keys.dotenv = Some(file);
        self
    }

    /// What this model can do, where that is known better than the provider's table says.
    pub fn catalog(mut self, model: ModelRef, capabilities: Capabilities) -> Self {
        self.parts.catalog.insert(model, capabilities);
        self
    }

    /// What tokens cost.
    pub fn prices(mut self, prices: PriceList) -> Self {
        self.parts.prices = Some(prices);
        self
    }

    /// Takes numbers about every model call.
    pub fn metrics(mut self, metrics: impl Metrics + 'static) -> Self {
        self.parts.metrics = Some(Arc::new(metrics));
        self
    }

    /// The engine. Makes no network call and looks up no key.
    ///
    /// # Errors
    ///
    /// `invalid_model` and the other reasons for a model that cannot be resolved; `invalid_config` for limits of zero
    /// and tools that are not right.
    pub fn build(self) -> Result<Engine, EngineError> {
        let Self {
            mut parts,
            settings,
        } = self;
        parts.settings = settings.over(&parts.settings);
        if let Some(model) = parts.settings.model.get() {
            parts.providers.resolve(&model)?;
        }
        parts.settings.timeouts().check()?;
        parts.providers.check()?;
        let (tools, _) = parts.settings.tools.split();
        let compiled = parts.tools.compile(&tools);
        parts.tools = compiled.map_err(plan::as_config_error)?;
        Ok(Engine(Arc::new(parts)))
    }
}

impl fmt::Debug for EngineBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EngineBuilder")
            .field("providers", &self.parts.providers.names())
            .field(
                "model",
                &self.settings.model.or(&self.parts.settings.model).get(),
            )
            .finish_non_exhaustive()
    }
}

/// A list of tools, in any form that is one.
pub(crate) fn tools_of<M, T: IntoTool<M>>(tools: impl IntoIterator<Item = T>) -> Vec<Tool> {
    tools.into_iter().map(IntoTool::into_tool).collect()
}
