//! Which model is asked.

use allm::{ProviderName, environment_names};

use crate::config::Config;

/// The variable of the environment that names the model where nothing else does.
const VARIABLE: &str = "ALLM_MODEL";

/// Providers whose key in the environment is enough to take them, in the order in which keys are looked for, and the
/// model that is then taken.
const BY_KEY: &[(&str, &str)] = &[
    ("anthropic", "claude-sonnet-4-5"),
    ("openai", "gpt-4.1-mini"),
    ("gemini", "gemini-2.5-flash"),
    ("mistral", "mistral-small-latest"),
    ("groq", "llama-3.3-70b-versatile"),
    ("openrouter", "openai/gpt-4.1-mini"),
    ("deepseek", "deepseek-chat"),
    ("xai", "grok-4-fast"),
    ("together", "meta-llama/Llama-3.3-70B-Instruct-Turbo"),
    (
        "fireworks",
        "accounts/fireworks/models/llama-v3p3-70b-instruct",
    ),
    ("cerebras", "llama-3.3-70b"),
];

/// The model that runs in this process.
pub(crate) const EMBEDDED: &str = "local:smollm2-135m";

/// A model, and why it is this one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Chosen {
    /// As `provider:model`.
    pub(crate) model: String,
    /// Why.
    pub(crate) why: Why,
}

/// Why a model is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    /// The command line names it.
    Asked,
    /// The conversation was held with it.
    Kept,
    /// The configuration names it.
    Configured,
    /// `ALLM_MODEL` names it.
    Variable,
    /// This variable of the environment has a key.
    Key(String),
    /// There is nothing else.
    Embedded,
}

impl Why {
    /// In words, after the model.
    pub(crate) fn in_words(&self) -> String {
        match self {
            Self::Asked => "as --model says".to_owned(),
            Self::Kept => "as before in this conversation".to_owned(),
            Self::Configured => "as the configuration says".to_owned(),
            Self::Variable => format!("as {VARIABLE} says"),
            Self::Key(name) => format!("because {name} has a key"),
            Self::Embedded => "because there is no key and the configuration names none".to_owned(),
        }
    }
}

/// The model that commands without `--model` speak of.
pub(crate) fn chosen(config: &Config) -> Chosen {
    choose(None, None, config, variable)
}

/// The model: what was asked for, what the conversation was held with, the configuration, `ALLM_MODEL`, a key in the
/// environment, or the embedded one. Nobody else reads the variable: it would beat what it must not.
pub(crate) fn choose(
    asked: Option<&str>,
    kept: Option<&str>,
    config: &Config,
    variable: impl Fn(&str) -> Option<String>,
) -> Chosen {
    let chosen = |model: &str, why| Chosen {
        model: model.to_owned(),
        why,
    };
    if let Some(model) = asked {
        return chosen(model, Why::Asked);
    }
    if let Some(model) = kept {
        return chosen(model, Why::Kept);
    }
    if let Some(model) = &config.model {
        return chosen(model, Why::Configured);
    }
    if let Some(model) = variable(VARIABLE) {
        return chosen(&model, Why::Variable);
    }
    for (provider, default) in BY_KEY {
        let settings = config.providers.get(*provider);
        let named = settings.and_then(|settings| settings.key_env.clone());
        let names = named.map_or_else(
            || environment_names(&ProviderName::from(*provider)),
            |name| vec![name],
        );
        if let Some(name) = names.into_iter().find(|name| variable(name).is_some()) {
            let model = settings.and_then(|settings| settings.default_model.as_deref());
            let model = format!("{provider}:{}", model.unwrap_or(default));
            return chosen(&model, Why::Key(name));
        }
    }
    chosen(EMBEDDED, Why::Embedded)
}

/// What a variable of the environment says, if it says something.
pub(crate) fn variable(name: &str) -> Option<String> {
    let value = std::env::var_os(name).filter(|value| !value.is_empty());
    value.map(|value| value.to_string_lossy().into_owned())
}

/// Whether a variable of the environment says something.
pub(crate) fn is_set(name: &str) -> bool {
    std::env::var_os(name).is_some_and(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "these are tests")]

    use super::*;

    fn config(text: &str) -> Config {
        toml::from_str(text).unwrap()
    }

    /// Only these variables are set, each to its own name as that of a model.
    fn only(set: &'static [&'static str]) -> impl Fn(&str) -> Option<String> {
        move |name| set.contains(&name).then(|| format!("{name}:x"))
    }

    #[test]
    fn what_was_asked_for_beats_the_conversation_the_configuration_and_the_environment() {
        let said = config("model = \"openai:gpt-5\"");
        let silent = Config::default();
        let all = || only(&["ALLM_MODEL", "OPENAI_API_KEY"]);
        for (chosen, model, why) in [
            (
                choose(Some("ollama:llama3.1:8b"), Some("xai:grok"), &said, all()),
                "ollama:llama3.1:8b",
                Why::Asked,
            ),
            (
                choose(None, Some("xai:grok"), &said, all()),
                "xai:grok",
                Why::Kept,
            ),
            (
                choose(None, None, &said, all()),
                "openai:gpt-5",
                Why::Configured,
            ),
            (
                choose(None, None, &silent, all()),
                "ALLM_MODEL:x",
                Why::Variable,
            ),
        ] {
            assert_eq!((chosen.model.as_str(), chosen.why), (model, why));
        }
    }

    #[test]
    fn the_first_key_in_the_environment_picks_its_provider() {
        let chosen = choose(None, None, &Config::default(), only(&["GOOGLE_API_KEY"]));
        assert_eq!(chosen.model, "gemini:gemini-2.5-flash");
        assert_eq!(chosen.why, Why::Key("GOOGLE_API_KEY".to_owned()));

        let own =
            config("[providers.openai]\nkey_env = \"WORK_KEY\"\ndefault_model = \"gpt-5-mini\"");
        let chosen = choose(None, None, &own, only(&["WORK_KEY"]));
        assert_eq!(chosen.model, "openai:gpt-5-mini");
        assert_eq!(chosen.why, Why::Key("WORK_KEY".to_owned()));
    }

    #[test]
    fn without_anything_it_is_the_embedded_one() {
        let chosen = choose(None, None, &Config::default(), |_| None);
        assert_eq!(
            (chosen.model.as_str(), chosen.why),
            (EMBEDDED, Why::Embedded)
        );
    }
}
