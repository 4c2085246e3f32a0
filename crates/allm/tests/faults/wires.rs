//! The wires, each with the same short answer.

use allm::{Anthropic, Api, Compat, Engine, EngineBuilder, Gemini, OpenAi};
use serde_json::{Value, json};

pub(crate) const KEY: &str = "sk-faults-0123456789";
/// How large an event may be here.
pub(crate) const EVENT_LIMIT: usize = 64 * 1024;

/// What is spoken to the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wire {
    Responses,
    Chat,
    Anthropic,
    Gemini,
    Compat,
}

use Wire::*;

/// The four wires that there are.
pub(crate) const WIRES: [Wire; 4] = [Responses, Chat, Anthropic, Gemini];

impl Wire {
    /// An engine that asks this server.
    pub(crate) fn engine(self, url: &str) -> EngineBuilder {
        let engine = Engine::builder();
        match self {
            Responses | Chat => {
                let api = if self == Chat {
                    Api::ChatCompletions
                } else {
                    Api::Responses
                };
                let openai = OpenAi::new()
                    .base_url(url)
                    .api_key(KEY)
                    .api(api)
                    .max_event_bytes(EVENT_LIMIT);
                engine.provider(openai).model("openai:gpt-5")
            }
            Anthropic => {
                let anthropic = Anthropic::new()
                    .base_url(url)
                    .api_key(KEY)
                    .max_event_bytes(EVENT_LIMIT);
                engine
                    .provider(anthropic)
                    .model("anthropic:claude-sonnet-4-5")
            }
            Gemini => {
                let gemini = Gemini::new()
                    .base_url(url)
                    .api_key(KEY)
                    .max_event_bytes(EVENT_LIMIT);
                engine.provider(gemini).model("gemini:gemini-2.5-flash")
            }
            Compat => {
                let server = Compat::new("acme", url)
                    .api_key(KEY)
                    .max_event_bytes(EVENT_LIMIT);
                engine.provider(server).model("acme:m")
            }
        }
    }

    pub(crate) fn provider(self) -> &'static str {
        match self {
            Responses | Chat => "openai",
            Anthropic => "anthropic",
            Gemini => "gemini",
            Compat => "acme",
        }
    }

    /// What comes before any text.
    pub(crate) fn preamble(self) -> String {
        let mut frames = self.opening("Hel");
        frames.pop();
        self.frames(&frames)
    }

    /// The events of `Hello` up to the closing one, and nothing after it.
    pub(crate) fn closed(self) -> String {
        let mut closing = self.closing();
        if matches!(self, Chat | Compat) {
            closing.truncate(1);
        }
        self.frames(&[self.opening("Hel"), vec![self.delta("lo")], closing].concat())
    }

    /// The events of `Hel`, which is not the whole answer.
    pub(crate) fn begun(self) -> String {
        self.frames(&self.opening("Hel"))
    }

    /// The events of `Hello`, and all that follows them.
    pub(crate) fn stream(self) -> String {
        self.frames(&[self.opening("Hel"), vec![self.delta("lo")], self.closing()].concat())
    }

    /// One event more of the text.
    pub(crate) fn text(self, text: &str) -> String {
        self.frames(&[self.delta(text)])
    }

    pub(crate) fn frames(self, frames: &[Value]) -> String {
        let frame = |frame: &Value| match frame {
            Value::String(text) => format!("data: {text}\n\n"),
            frame => match self.name(frame) {
                Some(name) => format!("event: {name}\ndata: {frame}\n\n"),
                None => format!("data: {frame}\n\n"),
            },
        };
        frames.iter().map(frame).collect()
    }

    /// The name of an event, where the wire has names.
    fn name(self, frame: &Value) -> Option<&str> {
        match self {
            Responses | Anthropic => frame["type"].as_str(),
            Chat | Gemini | Compat => None,
        }
    }

    fn opening(self, text: &str) -> Vec<Value> {
        let mut frames = match self {
            Responses => {
                let begun = json!({"id": "resp_1", "model": "m", "status": "in_progress"});
                let item =
                    json!({"type": "message", "id": "i", "role": "assistant", "content": []});
                vec![
                    json!({"type": "response.created", "response": begun}),
                    json!({"type": "response.output_item.added", "output_index": 0, "item": item}),
                ]
            }
            Chat | Compat => {
                vec![json!({"id": "c", "choices": [{"delta": {"role": "assistant"}}]})]
            }
            Anthropic => {
                let message = json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "m",
                    "content": [], "usage": {"input_tokens": 3, "output_tokens": 1}});
                let block = json!({"type": "text", "text": ""});
                vec![
                    json!({"type": "message_start", "message": message}),
                    json!({"type": "content_block_start", "index": 0, "content_block": block}),
                    json!({"type": "ping"}),
                ]
            }
            Gemini => Vec::new(),
        };
        frames.push(self.delta(text));
        frames
    }

    fn delta(self, text: &str) -> Value {
        match self {
            Responses => {
                json!({"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": text})
            }
            Chat | Compat => json!({"choices": [{"index": 0, "delta": {"content": text}}]}),
            Anthropic => {
                json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}})
            }
            Gemini => {
                json!({"candidates": [{"content": {"role": "model", "parts": [{"text": text}]}}]})
            }
        }
    }

    fn closing(self) -> Vec<Value> {
        match self {
            Responses => {
                vec![json!({"type": "response.completed", "response": self.document()})]
            }
            Chat | Compat => vec![
                json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}),
                json!({"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 2}}),
                json!("[DONE]"),
            ],
            Anthropic => vec![
                json!({"type": "content_block_stop", "index": 0}),
                json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}}),
                json!({"type": "message_stop"}),
            ],
            Gemini => vec![
                json!({"candidates": [{"content": {"parts": []}, "finishReason": "STOP"}],
                "usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 2}}),
            ],
        }
    }

    /// `Hello` as one document.
    pub(crate) fn document(self) -> Value {
        match self {
            Responses => {
                let text = json!({"type": "output_text", "text": "Hello", "annotations": []});
                let message =
                    json!({"type": "message", "id": "i", "role": "assistant", "content": [text]});
                json!({"id": "resp_1", "model": "m", "status": "completed", "output": [message],
                    "usage": {"input_tokens": 3, "output_tokens": 2}})
            }
            Chat | Compat => {
                let message = json!({"role": "assistant", "content": "Hello"});
                json!({"id": "c", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
                    "usage": {"prompt_tokens": 3, "completion_tokens": 2}})
            }
            Anthropic => {
                json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "m",
                    "content": [{"type": "text", "text": "Hello"}], "stop_reason": "end_turn",
                    "usage": {"input_tokens": 3, "output_tokens": 2}})
            }
            Gemini => {
                json!({"candidates": [{"content": {"role": "model", "parts": [{"text": "Hello"}]}, "finishReason": "STOP"}],
                    "usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 2}})
            }
        }
    }
}
