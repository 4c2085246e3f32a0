//! Whole bodies.

mod conversations;
mod settings;

use allm_core::{Message, ModelRef};

use super::*;

pub(super) const MODEL: &str = "claude-sonnet-4-6";
pub(super) const OLD: &str = "claude-sonnet-4-0";

pub(super) fn call(request: Request, model: &str) -> ModelCall {
    let model = ModelRef {
        provider: "anthropic".into(),
        model: model.to_owned(),
    };
    ModelCall::new(request, model, "q")
}

/// A request that was built, its body as a value.
pub(super) struct Sent {
    pub(super) body: Value,
    pub(super) asked: Asked,
    /// Codes and paths.
    pub(super) warnings: Vec<(String, String)>,
}

pub(super) fn sent(request: Request, model: &str) -> Sent {
    let built = build(&call(request, model), &"anthropic".into()).expect("a body");
    let warnings = built.warnings.into_iter().map(|warning| {
        let path = warning.path.map(|path| path.to_string());
        (warning.code, path.unwrap_or_default())
    });
    Sent {
        body: serde_json::from_slice(&built.body).expect("JSON"),
        asked: built.asked,
        warnings: warnings.collect(),
    }
}

pub(super) fn body(request: Request) -> Value {
    sent(request, MODEL).body
}

/// What is refused, as text; empty when nothing is.
pub(super) fn refused(request: Request, model: &str) -> String {
    let result = super::super::check::check(&call(request, model));
    result
        .err()
        .map(|error| error.to_string())
        .unwrap_or_default()
}

pub(super) fn request(messages: Vec<Message>) -> Request {
    Request {
        messages: messages.into(),
        ..Request::default()
    }
}

pub(super) fn hi() -> Request {
    Request::new("hi")
}
