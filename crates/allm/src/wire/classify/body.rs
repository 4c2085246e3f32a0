//! What the body of a failure says, wherever it says it.

use std::time::{Duration, SystemTime};

use allm_core::AdapterReason;
use serde_json::Value;

use super::super::headers;
use super::rules;

/// What a body tells of a failure.
#[derive(Default)]
pub(super) struct Told {
    pub(super) message: Option<String>,
    pub(super) code: Option<String>,
    pub(super) kind: Option<String>,
    pub(super) param: Option<String>,
    pub(super) request_id: Option<String>,
    /// The status that an error inside an answer names.
    pub(super) status: Option<u16>,
    pub(super) failed_generation: Option<String>,
    /// The error of whom the provider asked in turn.
    pub(super) nested: Option<Box<Told>>,
    /// Every text that may be a code.
    codes: Vec<String>,
    /// A quota of the day is used up.
    daily_quota: bool,
    waits: Vec<Duration>,
    resets_at_millis: Option<f64>,
}

impl Told {
    pub(super) fn read(body: &Value) -> Self {
        Self::read_nested(body, 2)
    }

    fn read_nested(body: &Value, levels: u8) -> Self {
        let body = match body {
            Value::Array(list) => list.first().unwrap_or(&Value::Null),
            body => body,
        };
        let error = error_of(body);
        let mut told = Self {
            message: message(body, error),
            code: field(error, body, "code"),
            kind: field(error, body, "type"),
            param: field(error, body, "param"),
            request_id: body.get("request_id").and_then(text),
            failed_generation: field(error, body, "failed_generation"),
            ..Self::default()
        };
        for source in [error, body] {
            for name in ["code", "type", "status", "reason"] {
                told.codes.extend(source.get(name).and_then(text));
            }
            for name in ["status_code", "code", "status"] {
                told.status = told.status.or_else(|| http_status(source.get(name)?));
            }
        }
        for inner in ["innererror", "inner_error"] {
            let code = error.get(inner).and_then(|inner| inner.get("code"));
            told.codes.extend(code.and_then(text));
        }
        told.read_details(error);
        if levels > 0
            && let Some(raw) = error
                .get("metadata")
                .and_then(|metadata| metadata.get("raw"))
        {
            let upstream = match raw {
                Value::String(raw) => match serde_json::from_str::<Value>(raw) {
                    Ok(value) if !value.is_string() => Self::read_nested(&value, levels - 1),
                    _ => Self {
                        message: Some(raw.clone()),
                        ..Self::default()
                    },
                },
                value => Self::read_nested(value, levels - 1),
            };
            told.nested = Some(Box::new(upstream));
        }
        let reset = error
            .get("metadata")
            .and_then(|metadata| metadata.get("headers")?.get("X-RateLimit-Reset"));
        told.resets_at_millis = reset.and_then(|reset| match reset {
            Value::String(text) => text.parse().ok(),
            value => value.as_f64(),
        });
        told
    }

    /// What Google says in `details`.
    fn read_details(&mut self, error: &Value) {
        let details = error.get("details").and_then(Value::as_array);
        for detail in details.into_iter().flatten() {
            self.codes.extend(detail.get("reason").and_then(text));
            if let Some(delay) = detail.get("retryDelay").and_then(Value::as_str) {
                self.waits.extend(headers::duration(delay));
            }
            let kind = detail
                .get("@type")
                .and_then(Value::as_str)
                .unwrap_or_default();
            if kind.ends_with("QuotaFailure") {
                let quotas = detail.get("violations").and_then(Value::as_array);
                let ids = quotas
                    .into_iter()
                    .flatten()
                    .filter_map(|v| v.get("quotaId")?.as_str());
                self.daily_quota |= ids.into_iter().any(|id| id.contains("PerDay"));
            }
        }
    }

    /// The reason that codes and words name; `None` leaves it to the status.
    pub(super) fn reason(&self, status: Option<u16>, words_count: bool) -> Option<AdapterReason> {
        let message = self.message.as_deref().unwrap_or_default();
        if self.daily_quota {
            return Some(AdapterReason::QuotaExceeded);
        }
        let client = status.is_some_and(|status| (400..500).contains(&status));
        rules::of_codes(&self.codes, message, status).or_else(|| {
            (words_count || client)
                .then(|| rules::of_words(message))
                .flatten()
        })
    }

    /// How long the body asks to wait; the longest of what it says.
    pub(super) fn retry_after(&self, now: SystemTime) -> Option<Duration> {
        let reset = self.resets_at_millis.and_then(|millis| {
            let then = SystemTime::UNIX_EPOCH.checked_add(headers::seconds(millis / 1000.0)?)?;
            headers::until(then, now)
        });
        self.waits.iter().copied().chain(reset).max()
    }
}

/// Where the error stands: a known place, or the body itself.
fn error_of(body: &Value) -> &Value {
    let choice = || body.get("choices")?.get(0)?.get("error");
    let groq = || body.get("x_groq")?.get("error");
    let response = || body.get("response")?.get("error");
    [body.get("error"), choice(), groq(), response()]
        .into_iter()
        .flatten()
        .find(|error| !error.is_null())
        .unwrap_or(body)
}

fn message(body: &Value, error: &Value) -> Option<String> {
    let of = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
    let detail = body.get("detail");
    [
        of(error.get("message")),
        of(Some(error)),
        of(body.get("error")),
        of(body.get("message")),
        of(body.get("Message")),
        of(detail),
        of(detail.and_then(|detail| detail.get("message"))),
        of(detail.and_then(|detail| detail.get(0)?.get("msg"))),
    ]
    .into_iter()
    .flatten()
    .find(|text| !text.trim().is_empty())
}

/// A field of the error, or of the body.
fn field(error: &Value, body: &Value, name: &str) -> Option<String> {
    [error, body]
        .into_iter()
        .find_map(|source| source.get(name).and_then(text))
}

/// A text or a number, as text.
fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// A number, or digits, that is the status of a failure.
fn http_status(value: &Value) -> Option<u16> {
    let number = match value {
        Value::Number(number) => u16::try_from(number.as_u64()?).ok()?,
        Value::String(text) => text.parse().ok()?,
        _ => return None,
    };
    (400..600).contains(&number).then_some(number)
}
