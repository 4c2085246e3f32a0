//! Which provider answers for a model string.

use std::sync::Arc;

use allm_core::{Adapter, EngineError, EngineReason, ModelRef, ModelText, ProviderName};

/// The providers of an engine, in the order they were added.
#[derive(Clone, Default)]
pub(crate) struct Providers {
    list: Vec<Arc<dyn Adapter>>,
    default: Option<ProviderName>,
}

/// Providers that this library knows and whose cargo feature may be off.
const FEATURES: &[(&str, &str)] = &[];

impl Providers {
    /// Adds a provider; one of the same name is replaced.
    pub(crate) fn add(&mut self, provider: Arc<dyn Adapter>) {
        let same = |known: &&mut Arc<dyn Adapter>| known.provider() == provider.provider();
        match self.list.iter_mut().find(same) {
            Some(known) => *known = provider,
            None => self.list.push(provider),
        }
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
        if let Some((_, feature)) = FEATURES.iter().find(|(provider, _)| *provider == name) {
            let message = format!("the provider `{name}` needs the cargo feature `{feature}`");
            return EngineError {
                provider: Some(model.provider.clone()),
                ..EngineError::new(EngineReason::ProviderDisabled, message)
            };
        }
        let known = match self.names().as_slice() {
            [] => "none was added".to_owned(),
            names => format!("there are: {}", names.join(", ")),
        };
        // `llama3:8b` is how local servers name their models.
        let message = format!(
            "no provider is called `{name}` ({known}); for a model of a local server write `ollama:{model}`"
        );
        EngineError {
            provider: Some(model.provider.clone()),
            ..EngineError::new(EngineReason::UnknownProvider, message)
        }
    }
}
