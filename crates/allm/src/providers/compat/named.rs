//! The servers that are known by name.

use allm_core::{KeyUse, Support};

use super::Compat;
use super::profile::{
    IdRule, Profile, ReasoningBack, ReasoningBackField, ReasoningField, ReasoningRequest,
    ToolResultImages,
};

impl Compat {
    /// Ollama on this machine.
    #[must_use]
    pub fn ollama() -> Self {
        Self::new("ollama", "http://localhost:11434/v1").with(|profile| {
            profile.reasoning_in =
                vec![ReasoningField::Reasoning, ReasoningField::ReasoningContent];
        })
    }

    /// vLLM on this machine.
    #[must_use]
    pub fn vllm() -> Self {
        Self::new("vllm", "http://localhost:8000/v1")
    }

    /// The server of llama.cpp on this machine.
    #[must_use]
    pub fn llamacpp() -> Self {
        Self::new("llamacpp", "http://localhost:8080/v1").with(|profile| {
            profile.tool_result_images = ToolResultImages::Inline;
        })
    }

    /// LM Studio on this machine.
    #[must_use]
    pub fn lmstudio() -> Self {
        Self::new("lmstudio", "http://localhost:1234/v1")
    }

    /// Groq.
    #[must_use]
    pub fn groq() -> Self {
        Self::remote("groq", "https://api.groq.com/openai/v1").with(|profile| {
            profile.reasoning_in =
                vec![ReasoningField::Reasoning, ReasoningField::ReasoningContent];
        })
    }

    /// Mistral.
    #[must_use]
    pub fn mistral() -> Self {
        Self::remote("mistral", "https://api.mistral.ai/v1").with(|profile| {
            profile.seed_field = "random_seed".into();
            profile.required_word = "any".into();
            profile.stream_options = false;
            profile.id_rule = IdRule::Alphanumeric { length: 9 };
            profile.reasoning_back = ReasoningBack::Always { fill_empty: false };
            profile.reasoning_back_field = ReasoningBackField::Content;
        })
    }

    /// DeepSeek.
    #[must_use]
    pub fn deepseek() -> Self {
        Self::remote("deepseek", "https://api.deepseek.com").with(|profile| {
            profile.reasoning_back = ReasoningBack::SinceLastUser;
            profile.images = Support::No;
        })
    }

    /// OpenRouter.
    #[must_use]
    pub fn openrouter() -> Self {
        Self::remote("openrouter", "https://openrouter.ai/api/v1").with(|profile| {
            profile.reasoning_in =
                vec![ReasoningField::Reasoning, ReasoningField::ReasoningContent];
            profile.reasoning_back = ReasoningBack::Always { fill_empty: false };
            profile.reasoning_back_field = ReasoningBackField::Details;
            profile.reasoning_request = ReasoningRequest::Object;
            profile.file_urls = true;
        })
    }

    /// xAI.
    #[must_use]
    pub fn xai() -> Self {
        Self::remote("xai", "https://api.x.ai/v1")
    }

    /// Together.
    #[must_use]
    pub fn together() -> Self {
        Self::remote("together", "https://api.together.xyz/v1")
    }

    /// Fireworks.
    #[must_use]
    pub fn fireworks() -> Self {
        Self::remote("fireworks", "https://api.fireworks.ai/inference/v1")
    }

    /// Cerebras.
    #[must_use]
    pub fn cerebras() -> Self {
        Self::remote("cerebras", "https://api.cerebras.ai/v1")
    }

    /// The address of the program that calls, which a router shows beside its usage (`HTTP-Referer`).
    #[must_use]
    pub fn referer(self, url: impl Into<String>) -> Self {
        self.header("HTTP-Referer", url)
    }

    /// The name of the program that calls, which a router shows beside its usage (`X-Title`).
    #[must_use]
    pub fn title(self, title: impl Into<String>) -> Self {
        self.header("X-Title", title)
    }

    fn remote(name: &str, base_url: &str) -> Self {
        Self::new(name, base_url).key_use(KeyUse::Required)
    }

    fn with(self, change: impl FnOnce(&mut Profile)) -> Self {
        let mut profile = Profile::default();
        change(&mut profile);
        self.profile(profile)
    }
}

#[cfg(test)]
mod tests {
    use allm_core::Adapter as _;

    use super::*;

    #[test]
    fn every_named_server() {
        let (open, keyed) = (KeyUse::Optional, KeyUse::Required);
        for (server, name, url, key) in [
            (
                Compat::ollama(),
                "ollama",
                "http://localhost:11434/v1",
                open,
            ),
            (Compat::vllm(), "vllm", "http://localhost:8000/v1", open),
            (
                Compat::llamacpp(),
                "llamacpp",
                "http://localhost:8080/v1",
                open,
            ),
            (
                Compat::lmstudio(),
                "lmstudio",
                "http://localhost:1234/v1",
                open,
            ),
            (
                Compat::groq(),
                "groq",
                "https://api.groq.com/openai/v1",
                keyed,
            ),
            (
                Compat::mistral(),
                "mistral",
                "https://api.mistral.ai/v1",
                keyed,
            ),
            (
                Compat::deepseek(),
                "deepseek",
                "https://api.deepseek.com",
                keyed,
            ),
            (
                Compat::openrouter(),
                "openrouter",
                "https://openrouter.ai/api/v1",
                keyed,
            ),
            (Compat::xai(), "xai", "https://api.x.ai/v1", keyed),
            (
                Compat::together(),
                "together",
                "https://api.together.xyz/v1",
                keyed,
            ),
            (
                Compat::fireworks(),
                "fireworks",
                "https://api.fireworks.ai/inference/v1",
                keyed,
            ),
            (
                Compat::cerebras(),
                "cerebras",
                "https://api.cerebras.ai/v1",
                keyed,
            ),
        ] {
            assert_eq!(server.provider().as_str(), name);
            assert!(crate::engine::models::KNOWN.contains(&name), "{name}");
            assert_eq!(server.connection.base_url.as_str(), url);
            assert_eq!(server.key_use, key, "{name}");
            assert_eq!(server.check_config(), Ok(()));
        }
        assert_eq!(Compat::deepseek().capabilities("m").vision, Support::No);
    }
}
