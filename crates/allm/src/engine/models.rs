//! Which provider answers for a model string.

use std::sync::Arc;

use allm_core::{Adapter, EngineError, EngineReason, ModelRef, ModelText, ProviderName};

/// The providers of an engine, in the order they were added.
#[derive(Clone, Default)]
pub(crate) struct Providers {
    list: Vec<Arc<dyn Adapter>>,
    default: Option<ProviderName>,
}

/// Providers that this library knows, their cargo feature, and whether it is on.
const FEATURES: &[(&str, &str, bool)] = &[
    ("openai", "openai", cfg!(feature = "openai")),
    ("azure", "openai", cfg!(feature = "openai")),
    ("anthropic", "anthropic", cfg!(feature = "anthropic")),
    ("gemini", "gemini", cfg!(feature = "gemini")),
];

/// Names that are a provider's for sure, and so not the beginning of a local model's name.
pub(crate) const KNOWN: &[&str] = &[
    "openai",
    "anthropic",
    "gemini",
    "azure",
    "ollama",
    "vllm",
    "llamacpp",
    "lmstudio",
    "groq",
    "mistral",
    "deepseek",
    "openrouter",
    "xai",
    "together",
    "fireworks",
    "cerebras",
    "local",
    "fake",
];

/// The error for a provider whose feature is off.
fn disabled(provider: &ProviderName, features: &[(&str, &str, bool)]) -> Option<EngineError> {
    let name = provider.as_str();
    let (_, feature, _) = features
        .iter()
        .find(|(known, _, on)| *known == name && !on)?;
    let message = format!("the provider `{name}` needs the cargo feature `{feature}`");
    Some(EngineError {
        provider: Some(provider.clone()),
        ..EngineError::new(EngineReason::ProviderDisabled, message)
    })
}

impl Providers {
    /// Adds a provider; one of the same name is replaced.
    pub(crate) fn add(&mut self, provider: Arc<dyn Adapter>) {
        let same = |known: &&mut Arc<dyn Adapter>| known.provider() == provider.provider();
        match self.list.iter_mut().find(same) {
            Some(known) => *known = provider,
            None => self.list.push(provider),
        }
    }

    /// What is wrong with how a provider was configured.
    pub(crate) fn check(&self) -> Result<(), EngineError> {
        self.list
            .iter()
            .try_for_each(|provider| provider.check_config())
    }

    pub(crate) fn set_default(&mut self, name: ProviderName) {
        self.default = Some(name);
    }

    /// The names, for messages and `Debug`.
    pub(crate) fn names(&self) -> Vec<&str> {
        self.list
            .iter()
            .map(|provider| provider.provider().as_str())
            .collect()
    }

    fn get(&self, name: &ProviderName) -> Option<&Arc<dyn Adapter>> {
        self.list
            .iter()
            .find(|provider| provider.provider() == name)
    }

    /// The provider and the model of a model string. A provider is never guessed from a model's name.
    pub(crate) fn resolve(&self, text: &str) -> Result<(Arc<dyn Adapter>, ModelRef), EngineError> {
        let model = match ModelRef::parse(text)? {
            ModelText::Full(model) => model,
            ModelText::Bare(model) => ModelRef {
                provider: self.provider_of_bare_model()?,
                model,
            },
        };
        match self.get(&model.provider) {
            Some(provider) => Ok((Arc::clone(provider), model)),
            None => Err(self.unknown(&model)),
        }
    }

    fn provider_of_bare_model(&self) -> Result<ProviderName, EngineError> {
        match (&self.default, self.list.as_slice()) {
            (Some(name), _) => Ok(name.clone()),
            (None, [only]) => Ok(only.provider().clone()),
            (None, _) => Err(EngineError::new(
                EngineReason::AmbiguousProvider,
                format!(
                    "the model names no provider; write `provider:model` or set a default provider (there are: {})",
                    self.names().join(", ")
                ),
            )),
        }
    }

    fn unknown(&self, model: &ModelRef) -> EngineError {
        let name = model.provider.as_str();
        if let Some(error) = disabled(&model.provider, FEATURES) {
            return error;
        }
        let message = match self.names().as_slice() {
            [] => format!(
                "the model `{model}` needs the provider `{name}` and none was added; add it with `.provider(..)`"
            ),
            names => {
                let known = names.join(", ");
                let add = format!(
                    "no provider is called `{name}` (there are: {known}); add it with `.provider(..)`"
                );
                // `llama3:8b` is how local servers name their models.
                match KNOWN.contains(&name) {
                    true => add,
                    false => {
                        format!("{add}, or write `ollama:{model}` for a model of a local server")
                    }
                }
            }
        };
        EngineError {
            provider: Some(model.provider.clone()),
            ..EngineError::new(EngineReason::UnknownProvider, message)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c7_a_provider_whose_feature_is_off() {
        let features = [("a", "x", true), ("b", "y", false)];
        let error = disabled(&"b".into(), &features).unwrap();
        assert_eq!(error.reason, EngineReason::ProviderDisabled);
        assert_eq!(
            error.message,
            "the provider `b` needs the cargo feature `y`"
        );
        for name in ["a", "c"] {
            assert_eq!(disabled(&name.into(), &features), None);
        }
        // The real table: what this build has is on, and what it has not is said.
        for (name, _, on) in FEATURES {
            assert_eq!(disabled(&(*name).into(), FEATURES).is_none(), *on, "{name}");
        }
    }
}
