//! The engine that the arguments and the configuration describe.

use allm::{
    Adapter, Anthropic, ApiKey, BoxFuture, Compat, Engine, EngineBuilder, Gemini, KeyError,
    KeyRequest, KeySource, KeyUse, OpenAi, ProviderName, Tool, environment_names,
};

use crate::arguments::Asking;
use crate::config::{Config, Kind, Provider};
use crate::failure;
use crate::local;
use crate::mcp::{self, Connected, OnFailure};
use crate::model::{self, Chosen};
use crate::problem::Problem;
use crate::tools;

/// A name, and how its server is reached.
type Named = (&'static str, fn() -> Compat);

/// The servers that are known by name and speak like OpenAI.
const COMPAT: &[Named] = &[
    ("ollama", Compat::ollama),
    ("vllm", Compat::vllm),
    ("llamacpp", Compat::llamacpp),
    ("lmstudio", Compat::lmstudio),
    ("groq", Compat::groq),
    ("mistral", Compat::mistral),
    ("deepseek", Compat::deepseek),
    ("openrouter", Compat::openrouter),
    ("xai", Compat::xai),
    ("together", Compat::together),
    ("fireworks", Compat::fireworks),
    ("cerebras", Compat::cerebras),
];

/// A provider as the configuration has it. Every provider has these methods, each as its own.
macro_rules! reached {
    ($provider:expr, $settings:expr) => {{
        let mut provider = $provider;
        let settings: &Provider = $settings;
        if let Some(url) = &settings.base_url {
            provider = provider.base_url(url);
        }
        if let Some(name) = &settings.key_env {
            provider = provider.key_source(Variable(name.clone()));
        }
        for (name, value) in &settings.headers {
            provider = provider.header(name, value);
        }
        provider
    }};
}

/// An engine, and the model that it asks.
pub(crate) struct Ready {
    pub(crate) engine: Engine,
    pub(crate) chosen: Chosen,
    /// The tools that are offered.
    pub(crate) tools: Vec<Tool>,
    /// The servers that some of them belong to, and those that do not work.
    pub(crate) connected: Connected,
}

/// The engine for what was asked.
/// A model that is to run here and is not is fetched first, if a person is there and agrees.
/// `kept` is the model that a conversation was held with before.
pub(crate) async fn build(
    asking: &Asking,
    kept: Option<&str>,
    config: &Config,
    on_failure: OnFailure,
) -> Result<Ready, Problem> {
    let chosen = model::choose(asking.model.as_deref(), kept, config, model::variable);
    let mut builder = providers(Engine::builder(), config)?.model(chosen.model.clone());
    if let Some(turns) = asking.max_turns.or(config.max_turns) {
        builder = builder.max_turns(turns);
    }
    if let Some(tokens) = asking.max_tokens.or(config.max_tokens) {
        builder = builder.max_tokens(tokens);
    }
    if let Some(temperature) = asking.temperature.or(config.temperature) {
        builder = builder.temperature(temperature);
    }
    if let Some(seed) = asking.seed {
        builder = builder.seed(seed);
    }
    // What is wrong with the rest is said before any server is started.
    tools::offered(asking, config)?;
    local::ensure(&chosen).await?;
    failure::check_model(&chosen, config)?;
    let connected = match asking.no_tools {
        true => Connected::default(),
        false => mcp::connect(config, on_failure).await?,
    };
    let offered = tools::with_servers(asking, config, &connected)?;
    let engine = builder.tools(offered.clone()).build()?;
    Ok(Ready {
        engine,
        chosen,
        tools: offered,
        connected,
    })
}

/// The names of the providers that need no configuration.
pub(crate) fn known() -> impl Iterator<Item = &'static str> {
    let own = ["anthropic", "openai", "gemini"];
    own.into_iter().chain(COMPAT.iter().map(|(name, _)| *name))
}

/// Whether the library knows what the models of a provider can do, and so whether they take a form beside tools.
pub(crate) fn knows_models(chosen: &Chosen, config: &Config) -> bool {
    let provider = chosen.model.split(':').next().unwrap_or_default();
    if known().any(|known| known == provider) {
        return COMPAT.iter().all(|(name, _)| *name != provider);
    }
    let settings = config.providers.get(provider);
    let kind = settings.and_then(|settings| settings.kind);
    kind.is_some_and(|kind| kind != Kind::Compat)
}

/// Whether a provider's key must be there: servers of one's own often want none.
pub(crate) fn needs_key(provider: &str, config: &Config) -> bool {
    match COMPAT.iter().find(|(name, _)| *name == provider) {
        Some((_, make)) => Adapter::key_use(&make()) == KeyUse::Required,
        None if known().any(|known| known == provider) => true,
        // Who names a variable wants its key to be sent.
        None => {
            let settings = config.providers.get(provider);
            settings.is_some_and(|settings| settings.key_env.is_some())
        }
    }
}

/// The variables of the environment that can have a provider's key.
pub(crate) fn key_names(provider: &str, config: &Config) -> Vec<String> {
    let settings = config.providers.get(provider);
    match settings.and_then(|settings| settings.key_env.clone()) {
        Some(name) => vec![name],
        None => environment_names(&ProviderName::from(provider)),
    }
}

/// All known providers, as the configuration has them, and its own.
fn providers(mut builder: EngineBuilder, config: &Config) -> Result<EngineBuilder, Problem> {
    let silent = Provider::default();
    let of = |name: &str| config.providers.get(name).unwrap_or(&silent);
    builder = local::add(builder)
        .provider(reached!(OpenAi::new(), of("openai")))
        .provider(reached!(Anthropic::new(), of("anthropic")))
        .provider(reached!(Gemini::new(), of("gemini")));
    for (name, make) in COMPAT {
        builder = builder.provider(reached!(make(), of(name)));
    }
    let is_known = |name: &str| known().any(|known| known == name);
    for (name, settings) in config.providers.iter().filter(|(name, _)| !is_known(name)) {
        builder = own(builder, name, settings)?;
    }
    Ok(builder)
}

/// A provider with a name of the user's own.
fn own(builder: EngineBuilder, name: &str, settings: &Provider) -> Result<EngineBuilder, Problem> {
    let Some(url) = &settings.base_url else {
        let what = format!("the provider `{name}` of the configuration has no `base_url`");
        return Err(Problem::usage(what).advice("say where it is: base_url = \"https://…/v1\""));
    };
    Ok(match settings.kind.unwrap_or(Kind::Compat) {
        Kind::Openai => builder.provider(reached!(OpenAi::new().named(name), settings)),
        Kind::Anthropic => builder.provider(reached!(Anthropic::new().named(name), settings)),
        Kind::Gemini => builder.provider(reached!(Gemini::new().named(name), settings)),
        Kind::Compat => builder.provider(reached!(Compat::new(name, url), settings)),
    })
}

/// A key in a variable of the environment.
struct Variable(String);

impl KeySource for Variable {
    fn key(&self, _: KeyRequest) -> BoxFuture<'_, Result<Option<ApiKey>, KeyError>> {
        Box::pin(async move {
            let name = &self.0;
            let Some(text) = std::env::var_os(name) else {
                return Ok(None);
            };
            let text = text
                .into_string()
                .map_err(|_| KeyError::new(format!("{name} is not UTF-8")))?;
            ApiKey::new(text).map_err(|error| KeyError::new(format!("{name}: {}", error.message)))
        })
    }
}
