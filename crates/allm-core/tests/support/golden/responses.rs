//! Answers and usage.

use std::time::Duration;

use allm_core::{
    AdapterError, AdapterReason, Cost, Error, Failure, FinishReason, Message, Part, Path,
    RateLimit, RateWindow, Response, Usage, Warning,
};
use serde_json::json;

use super::Named;
use super::messages::assistant;
use crate::support::{map, raw};

pub(super) fn usage() -> Usage {
    Usage {
        input_tokens: Some(7_311),
        output_tokens: Some(13),
        total_tokens: Some(7_324),
        cached_input_tokens: Some(7_308),
        cache_write_input_tokens: Some(0),
        reasoning_tokens: Some(13),
        cost: Some(Cost {
            input: Some(0.000_731_1),
            output: Some(1.3e-7),
            total: 0.000_731_23,
        }),
        extra: map(json!({"service_tier": "default"})),
    }
}

pub(super) fn usages() -> Vec<Named<Usage>> {
    let total = Cost {
        input: None,
        output: None,
        total: 2.0,
    };
    vec![
        ("unknown", Usage::default()),
        ("full", usage()),
        (
            "large",
            Usage {
                cost: Some(total),
                ..Usage::io(u64::MAX, 1 << 63)
            },
        ),
    ]
}

/// What a provider's refusal looks like as data.
pub(super) fn failure() -> Failure {
    Failure::from(Error::from(AdapterError {
        status: Some(529),
        provider_code: Some("overloaded_error".to_owned()),
        provider_request_id: Some("req_1".to_owned()),
        retry_after: Some(Duration::from_millis(1_500)),
        attempts: Some(3),
        ..AdapterError::new(
            "anthropic",
            AdapterReason::ProviderUnavailable,
            "Overloaded",
        )
    }))
}

pub(super) fn rate_limit() -> RateLimit {
    RateLimit {
        requests: Some(RateWindow {
            limit: Some(50),
            remaining: Some(49),
            reset: Some(Duration::from_secs(1)),
        }),
        tokens: Some(RateWindow {
            limit: None,
            remaining: Some(0),
            reset: None,
        }),
    }
}

pub(super) fn warnings() -> Vec<Warning> {
    let warning = |code: &str, path: Option<Path>, detail: Option<&str>| Warning {
        code: code.to_owned(),
        path,
        detail: detail.map(str::to_owned),
    };
    vec![
        warning("option_dropped", Some(Path::from("seed")), None),
        warning(
            "opaque_dropped",
            Some(Path::from("messages").index(2).field("content").index(0)),
            Some("3 of openai"),
        ),
        warning("usage_inconsistent", None, None),
    ]
}

pub(super) fn stopped(text: &str) -> Response {
    Response {
        finish_reason: Some(FinishReason::Stop),
        ..Response::new(Message::assistant(text))
    }
}

fn finished(reason: FinishReason, raw: &str) -> Response {
    Response {
        finish_reason: Some(reason),
        raw_finish_reason: Some(raw.to_owned()),
        ..Response::new(Message::assistant("I"))
    }
}

pub(super) fn responses() -> Vec<Named<Response>> {
    vec![
        (
            "minimal",
            Response::new(Message::assistant(Vec::<Part>::new())),
        ),
        ("stop", stopped("Hello!")),
        ("length", finished(FinishReason::Length, "max_tokens")),
        (
            "content_filter",
            Response {
                finish_reason: Some(FinishReason::ContentFilter),
                ..Response::new(Message::assistant([
                    Part::text("I"),
                    Part::refusal("I cannot."),
                ]))
            },
        ),
        ("other", finished(FinishReason::Other, "a new word")),
        (
            "failed",
            Response {
                finish_reason: Some(FinishReason::Error),
                error: Some(failure()),
                ..Response::new(Message::assistant("I thi"))
            },
        ),
        ("full", full()),
    ]
}

/// An answer that uses every field but `error`.
fn full() -> Response {
    Response {
        id: Some("msg_1".into()),
        request_id: Some("AAECAwQFBgcICQoLDA0ODw".into()),
        provider_request_id: Some("req_1".to_owned()),
        provider: Some("anthropic".into()),
        model: Some("claude-sonnet-4-5-20250929".to_owned()),
        finish_reason: Some(FinishReason::ToolCalls),
        raw_finish_reason: Some("tool_use".to_owned()),
        usage: usage(),
        warnings: warnings(),
        rate_limit: Some(rate_limit()),
        extra: map(json!({"fingerprint": "fp_1"})),
        metadata: map(json!({"trace": "t1"})),
        raw: Some(raw("{\"id\": \"msg_1\" }")),
        ..Response::new(assistant())
    }
}
