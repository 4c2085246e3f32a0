//! The wires, who speaks them, and answers made for them.

use std::sync::Arc;

use allm::{Adapter, Anthropic, Api, Compat, Gemini, OpenAi};
use serde_json::{Value, json};

/// A wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Dialect {
    /// OpenAI's Chat Completions.
    OpenAiChat,
    /// OpenAI's Responses.
    OpenAiResponses,
    /// Anthropic's Messages.
    AnthropicMessages,
    /// Gemini's generateContent.
    Gemini,
}

impl Dialect {
    /// All of them.
    pub const ALL: [Self; 4] = [
        Self::OpenAiChat,
        Self::OpenAiResponses,
        Self::AnthropicMessages,
        Self::Gemini,
    ];

    /// The dialect of a file of recordings.
    #[must_use]
    pub fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|dialect| dialect.name() == name)
    }

    /// As the file of recordings is named.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::OpenAiChat => "openai-chat",
            Self::OpenAiResponses => "openai-responses",
            Self::AnthropicMessages => "anthropic-messages",
            Self::Gemini => "gemini",
        }
    }

    /// Who speaks it under the name of a provider.
    #[must_use]
    pub fn speaker(self, provider: &str) -> Speaker {
        match self {
            Self::OpenAiChat => match provider {
                "openai" | "azure" => Speaker::OpenAi(OpenAi::new().api(Api::ChatCompletions)),
                _ => Speaker::Compat(compatible(provider)),
            },
            Self::OpenAiResponses => Speaker::OpenAi(OpenAi::new().api(Api::Responses)),
            Self::AnthropicMessages => Speaker::Anthropic(Anthropic::new()),
            Self::Gemini => Speaker::Gemini(Gemini::new()),
        }
    }

    /// A whole answer of which this is what the model said, as it stands in a later request.
    #[must_use]
    pub fn answer(self, said: &[Value]) -> Value {
        let first = said.first().cloned().unwrap_or_default();
        match self {
            Self::OpenAiChat => json!({
                "id": "again", "object": "chat.completion",
                "choices": [{"index": 0, "message": first, "finish_reason": "stop"}]
            }),
            Self::OpenAiResponses => {
                let output: Vec<Value> = said.iter().map(item).collect();
                json!({"id": "again", "object": "response", "status": "completed", "output": output})
            }
            Self::AnthropicMessages => {
                let content = match first.get("content") {
                    Some(Value::String(text)) => json!([{"type": "text", "text": text}]),
                    content => json!(content),
                };
                json!({
                    "id": "again", "type": "message", "role": "assistant", "content": content,
                    "stop_reason": "end_turn"
                })
            }
            Self::Gemini => {
                let parts = first.get("parts").and_then(Value::as_array);
                let parts: Vec<Value> = parts.into_iter().flatten().map(humps).collect();
                let content = json!({"role": "model", "parts": parts});
                json!({"candidates": [{"content": content, "finishReason": "STOP"}]})
            }
        }
    }
}

/// A provider that can be had at any address. Making one is dear, moving it is not.
#[derive(Clone, Debug)]
pub enum Speaker {
    /// OpenAI.
    OpenAi(OpenAi),
    /// One that speaks like it.
    Compat(Compat),
    /// Anthropic.
    Anthropic(Anthropic),
    /// Gemini.
    Gemini(Gemini),
}

impl Speaker {
    /// At this address.
    #[must_use]
    pub fn at(&self, url: &str) -> Arc<dyn Adapter> {
        match self.clone() {
            Self::OpenAi(provider) => Arc::new(provider.base_url(url)),
            Self::Compat(provider) => Arc::new(provider.base_url(url)),
            Self::Anthropic(provider) => Arc::new(provider.base_url(url)),
            Self::Gemini(provider) => Arc::new(provider.base_url(url)),
        }
    }
}

fn compatible(provider: &str) -> Compat {
    match provider {
        "mistral" => Compat::mistral(),
        "deepseek" => Compat::deepseek(),
        "openrouter" => Compat::openrouter(),
        "groq" => Compat::groq(),
        "ollama" => Compat::ollama(),
        "llamacpp" => Compat::llamacpp(),
        "xai" => Compat::xai(),
        "together" => Compat::together(),
        "fireworks" => Compat::fireworks(),
        "cerebras" => Compat::cerebras(),
        "vllm" => Compat::vllm(),
        other => Compat::new(other, "http://127.0.0.1"),
    }
}

/// An item of an input as one of an output: a message has a type and a list of blocks.
fn item(said: &Value) -> Value {
    let mut item = said.clone();
    let Some(members) = item.as_object_mut() else {
        return item;
    };
    members.entry("type").or_insert_with(|| "message".into());
    if let Some(Value::String(text)) = members.get("content") {
        let block = json!({"type": "output_text", "text": text, "annotations": []});
        members.insert("content".into(), json!([block]));
    }
    item
}

/// The names that are written with underscores as the wire answers them.
fn humps(part: &Value) -> Value {
    let names = [
        ("function_call", "functionCall"),
        ("thought_signature", "thoughtSignature"),
        ("inline_data", "inlineData"),
        ("file_data", "fileData"),
    ];
    let mut part = part.clone();
    if let Some(members) = part.as_object_mut() {
        for (written, name) in names {
            if let Some(value) = members.remove(written) {
                members.insert(name.to_owned(), value);
            }
        }
    }
    part
}
