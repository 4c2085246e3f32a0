//! Model strings: `provider:model`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::id::ProviderName;
use crate::error::{EngineError, EngineReason};

/// A provider and one of its models, written `provider:model`.
///
/// The text is split at the first colon; further colons and slashes belong to the model.
///
/// ```
/// use allm_core::ModelRef;
///
/// let model: ModelRef = "ollama:llama3.1:8b".parse()?;
/// assert_eq!(model.provider, "ollama");
/// assert_eq!(model.model, "llama3.1:8b");
/// assert_eq!(model.to_string(), "ollama:llama3.1:8b");
/// # Ok::<(), allm_core::EngineError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ModelRef {
    /// Who serves it.
    pub provider: ProviderName,
    /// The provider's name of the model.
    pub model: String,
}

/// What a model string says: with a provider, or the model alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModelText {
    /// `provider:model`.
    Full(ModelRef),
    /// A text without a colon: the provider has to come from elsewhere, it is never guessed from the name.
    Bare(String),
}

impl ModelRef {
    /// This model of this provider, unchecked.
    pub fn new(provider: impl Into<ProviderName>, model: impl Into<String>) -> Self {
        Self {
            provider: provider.into(),
            model: model.into(),
        }
    }

    /// Reads a model string that may leave the provider out.
    ///
    /// # Errors
    ///
    /// `invalid_model` when a part is empty or holds a character that it cannot hold.
    pub fn parse(text: &str) -> Result<ModelText, EngineError> {
        match text.split_once(':') {
            Some((provider, model)) => {
                check_provider(provider)?;
                check_model(model)?;
                Ok(ModelText::Full(Self {
                    provider: provider.into(),
                    model: model.to_owned(),
                }))
            }
            None => {
                check_model(text)?;
                Ok(ModelText::Bare(text.to_owned()))
            }
        }
    }
}

fn invalid(message: &str) -> EngineError {
    EngineError::new(EngineReason::InvalidModel, message)
}

fn check_provider(name: &str) -> Result<(), EngineError> {
    let mut chars = name.chars();
    let starts_well = chars.next().is_some_and(|c| c.is_ascii_lowercase());
    let goes_on_well =
        chars.all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '-');
    if starts_well && goes_on_well && name.len() <= 32 {
        Ok(())
    } else {
        Err(invalid(
            "the provider before the first `:` must be 1 to 32 of a-z, 0-9, `_`, `-` and begin with a letter",
        ))
    }
}

fn check_model(name: &str) -> Result<(), EngineError> {
    if name.is_empty() {
        Err(invalid("the model's name is empty; write `provider:model`"))
    } else if name.chars().any(|c| c.is_whitespace() || c.is_control()) {
        Err(invalid(
            "the model's name holds white space or a control character",
        ))
    } else {
        Ok(())
    }
}

impl FromStr for ModelRef {
    type Err = EngineError;

    fn from_str(text: &str) -> Result<Self, EngineError> {
        match Self::parse(text)? {
            ModelText::Full(model) => Ok(model),
            ModelText::Bare(_) => Err(invalid("no provider; write `provider:model`")),
        }
    }
}

impl fmt::Display for ModelRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.provider, self.model)
    }
}

impl Serialize for ModelRef {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ModelRef {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse()
            .map_err(|e: EngineError| de::Error::custom(e.message))
    }
}
