//! What a response used.

use allm_core::{Cost, Usage};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::wire::answer::Answer;

/// Reads what a response used. What is no counter, or is unknown, stays beside the counters.
pub(super) fn read(raw: &RawValue, answer: &mut Answer) {
    let Ok(Value::Object(mut fields)) = serde_json::from_str(raw.get()) else {
        return;
    };
    let mut usage = Usage {
        input_tokens: count(&mut fields, "input_tokens"),
        output_tokens: count(&mut fields, "output_tokens"),
        total_tokens: count(&mut fields, "total_tokens"),
        cached_input_tokens: detail(&mut fields, "input_tokens_details", "cached_tokens"),
        cache_write_input_tokens: detail(&mut fields, "input_tokens_details", "cache_write_tokens"),
        reasoning_tokens: detail(&mut fields, "output_tokens_details", "reasoning_tokens"),
        ..Usage::default()
    };
    if let Some(total) = fields.get("cost").and_then(Value::as_f64) {
        fields.remove("cost");
        usage.cost = Some(Cost {
            input: None,
            output: None,
            total,
        });
    }
    if let (Some(part), Some(whole)) = (usage.reasoning_tokens, usage.output_tokens)
        && part > whole
    {
        usage.reasoning_tokens = None;
        fields.insert("reasoning_tokens".to_owned(), part.into());
        answer.warn("usage_inconsistent", Some("reasoning_tokens".to_owned()));
    }
    let cached = usage.cached_input_tokens.unwrap_or(0);
    let written = usage.cache_write_input_tokens.unwrap_or(0);
    if let Some(whole) = usage.input_tokens
        && cached.saturating_add(written) > whole
    {
        let parts = [
            ("cached_tokens", usage.cached_input_tokens.take()),
            ("cache_write_tokens", usage.cache_write_input_tokens.take()),
        ];
        for (name, part) in parts {
            if let Some(part) = part {
                fields.insert(name.to_owned(), part.into());
            }
        }
        answer.warn("usage_inconsistent", Some("cached_tokens".to_owned()));
    }
    fields.retain(|_, value| !value.is_null());
    usage.extra = fields;
    answer.usage(usage);
}

/// A counter, taken out of the fields that it stands in.
fn count(fields: &mut Map<String, Value>, name: &str) -> Option<u64> {
    let count = fields.get(name)?.as_u64()?;
    fields.remove(name);
    Some(count)
}

/// A counter of the details, taken out of them.
fn detail(fields: &mut Map<String, Value>, details: &str, name: &str) -> Option<u64> {
    let inner = fields.get_mut(details)?.as_object_mut()?;
    let count = count(inner, name);
    if inner.values().all(Value::is_null) {
        fields.remove(details);
    }
    count
}
