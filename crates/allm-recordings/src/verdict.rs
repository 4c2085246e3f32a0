//! What a reader says that an answer is, in a form that can be compared and kept without keeping the answer.
//!
//! # The form of a verdict
//!
//! One line of `verdicts/<dialect>.jsonl` is one verdict: a JSON object with exactly the keys of [`Line`], in any order.
//! Lines are sorted by `hash`.
//!
//! | key | value |
//! |---|---|
//! | `hash` | the record: the first 16 hex digits of the SHA-256 of its line, without the line end |
//! | `text` | the digest of the visible text: all text parts joined with nothing between them |
//! | `reasoning` | the digest of the readable reasoning: all parts joined with nothing between them |
//! | `refusal` | the digest of the first refusal's text |
//! | `calls` | the digest of the calls, see below |
//! | `finish` | `stop`, `length`, `tool_calls`, `content_filter`, `error`, `other`; `null` when the answer names no reason |
//! | `usage` | `[input, output, cached input, reasoning]`, each a count or `null` when the provider did not send it; the input is the whole prompt, the output has the reasoning in it |
//! | `error` | `null`, or `[reason, status]`: the reason by its code of the contract (`rate_limited`), the status a number or `null` |
//!
//! An answer that failed, before or in the midst of it, has `finish: "error"`, an `error`, and nothing else: `text`,
//! `reasoning`, `refusal` and `calls` are `null` and all of `usage` is `null`.
//!
//! # Digests
//!
//! A digest is the first 12 hex digits of the SHA-256 of UTF-8 text; of nothing at all (an empty text, no calls) it is
//! `null`. A lone surrogate in a text counts as U+FFFD.
//!
//! The text of calls is the canonical JSON of `[[id, name, arguments], …]`, in the order of the answer:
//!
//! - `id` is the provider's own, `""` when it gave none.
//! - `arguments` is the JSON object. It is `{}` when the argument text is empty, only white space, or `null`. A text that
//!   is no JSON object (cut off, or another kind of value) stands there as a JSON string, as it is.
//! - Calls that the provider runs itself (web search, code execution) are no calls.
//!
//! Canonical JSON has no white space outside of strings, the keys of objects sorted by code points, every character but
//! `"`, `\` and those below U+0020 as itself, `\b \t \n \f \r` for these five, and `\u00xx` in lower case for the other
//! control characters. An integer is written in decimal. A number that is no integer literal, or is beyond 64 bits, is
//! read as a 64-bit float: when it has no fraction and is nearer to zero than 10^15 it is written as that integer, else
//! as its shortest digits in the form `d[.ddd]e<exponent>`, such as `1.5e0`, `2.5e-7`, `1e20`.

use allm::{Error, FinishReason, Response, ToolCall};
use serde::{Deserialize, Serialize};
use serde_json::{Number, Value};

use crate::hex::sha256;

/// What a reader says that an answer is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Verdict {
    /// The digest of the visible text.
    pub text: Option<String>,
    /// The digest of the readable reasoning.
    pub reasoning: Option<String>,
    /// The digest of the refusal.
    pub refusal: Option<String>,
    /// The digest of the calls.
    pub calls: Option<String>,
    /// Why the model stopped.
    pub finish: Option<String>,
    /// Input, output, cached input, reasoning.
    pub usage: [Option<u64>; 4],
    /// Reason and status.
    pub error: Option<(String, Option<u16>)>,
}

/// A verdict in a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    /// The record.
    pub hash: String,
    /// What it is.
    #[serde(flatten)]
    pub verdict: Verdict,
}

impl Verdict {
    /// The verdict of the library.
    #[must_use]
    pub fn of(result: &Result<Response, Error>) -> Self {
        match result {
            Err(error) => Self::failed(error.reason(), status(error)),
            Ok(response) => Self::answered(response),
        }
    }

    fn failed(reason: &str, status: Option<u16>) -> Self {
        Self {
            finish: Some("error".to_owned()),
            error: Some((reason.to_owned(), status)),
            ..Self::default()
        }
    }

    fn answered(response: &Response) -> Self {
        if let Some(failure) = &response.error {
            let status = failure.metadata.get("status").and_then(Value::as_u64);
            let status = status.and_then(|status| status.try_into().ok());
            return Self::failed(&failure.reason, status);
        }
        let usage = &response.usage;
        Self {
            text: digest(&response.text()),
            reasoning: digest(&response.reasoning()),
            refusal: digest(response.refusal().unwrap_or_default()),
            calls: digest(&calls_text(response.tool_calls())),
            finish: response
                .finish_reason
                .map(FinishReason::as_str)
                .map(str::to_owned),
            usage: [
                usage.input_tokens,
                usage.output_tokens,
                usage.cached_input_tokens,
                usage.reasoning_tokens,
            ],
            error: None,
        }
    }

    /// The names of the fields in which two verdicts differ.
    #[must_use]
    pub fn differences(&self, other: &Self) -> Vec<&'static str> {
        let same = [
            ("text", self.text == other.text),
            ("reasoning", self.reasoning == other.reasoning),
            ("refusal", self.refusal == other.refusal),
            ("calls", self.calls == other.calls),
            ("finish", self.finish == other.finish),
            ("usage", self.usage == other.usage),
            ("error", self.error == other.error),
        ];
        let differing = same.into_iter().filter(|(_, same)| !same);
        differing.map(|(name, _)| name).collect()
    }
}

fn status(error: &Error) -> Option<u16> {
    match error {
        Error::Adapter(error) => error.status,
        _ => None,
    }
}

fn digest(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| sha256(text.as_bytes(), 12))
}

/// The canonical text of calls; empty without any.
#[must_use]
pub fn calls_text(calls: &[ToolCall]) -> String {
    if calls.is_empty() {
        return String::new();
    }
    let calls = calls.iter().map(|call| {
        let id = call.wire_id.as_deref().unwrap_or_default();
        Value::from(vec![
            id.into(),
            call.original_name().into(),
            arguments(call),
        ])
    });
    let mut text = String::new();
    canonical(&Value::from_iter(calls), &mut text);
    text
}

fn arguments(call: &ToolCall) -> Value {
    if let Some(arguments) = &call.arguments {
        return Value::Object((**arguments).clone());
    }
    match serde_json::from_str(&call.raw_arguments) {
        Ok(Value::Object(arguments)) => arguments.into(),
        _ => (*call.raw_arguments).into(),
    }
}

fn canonical(value: &Value, text: &mut String) {
    match value {
        Value::Object(map) => {
            let mut members: Vec<_> = map.iter().collect();
            members.sort_by_key(|(key, _)| key.as_str());
            list(text, ['{', '}'], members, |(key, value), text| {
                text.push_str(&Value::from(key.as_str()).to_string());
                text.push(':');
                canonical(value, text);
            });
        }
        Value::Array(items) => list(text, ['[', ']'], items, canonical),
        Value::Number(number) => text.push_str(&number_text(number)),
        Value::Null | Value::Bool(_) | Value::String(_) => text.push_str(&value.to_string()),
    }
}

fn list<T>(
    text: &mut String,
    [open, close]: [char; 2],
    items: impl IntoIterator<Item = T>,
    write: impl Fn(T, &mut String),
) {
    text.push(open);
    for (at, item) in items.into_iter().enumerate() {
        if at > 0 {
            text.push(',');
        }
        write(item, text);
    }
    text.push(close);
}

fn number_text(number: &Number) -> String {
    if number.is_i64() || number.is_u64() {
        return number.to_string();
    }
    let float = number.as_f64().unwrap_or_default();
    if float.fract() == 0.0 && float.abs() < 1e15 {
        // Minus zero is zero.
        return format!("{:.0}", float + 0.0);
    }
    format!("{float:e}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the reader in Python writes for the same calls.
    #[test]
    fn the_text_of_calls() {
        let raw =
            r#"{"b":1.0,"a":[0.5,-0.0,1e20,2.5e-7,18446744073709551615,"é\u0001\n\"/"],"c":{}}"#;
        let mut call = ToolCall::new("x", "f", raw);
        call.wire_id = Some("id".into());
        let cut = ToolCall::cut_off("y", "g", "{\"a\": ");
        let none = ToolCall::new("z", "h", " ");
        let expected = concat!(
            r#"[["id","f",{"a":[5e-1,0,1e20,2.5e-7,18446744073709551615,"é\u0001\n\"/"],"b":1,"c":{}}],"#,
            r#"["","g","{\"a\": "],["","h",{}]]"#
        );
        assert_eq!(calls_text(&[call, cut, none]), expected);
        assert_eq!(calls_text(&[]), "");
    }

    #[test]
    fn differing_fields() {
        let answer = Response::new(allm::Message::assistant("hi"));
        let ours = Verdict::of(&Ok(answer));
        assert_eq!(ours.text.as_deref(), Some("8f434346648f"));
        let theirs = Verdict {
            text: None,
            usage: [Some(1), None, None, None],
            ..ours.clone()
        };
        assert_eq!(ours.differences(&theirs), ["text", "usage"]);
        assert!(ours.differences(&ours).is_empty());
    }
}
