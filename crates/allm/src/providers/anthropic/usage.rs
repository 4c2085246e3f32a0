//! What a call used, as it is told bit by bit.

use allm_core::{Map, Usage};
use serde_json::Value;

use crate::wire::lenient::whole;

/// What was said of usage so far: each statement is laid over the earlier ones.
#[derive(Debug, Default)]
pub(super) struct Spent(Map);

impl Spent {
    /// Takes in a statement. What it does not say, or says as null, stays.
    pub(super) fn say(&mut self, said: Map) {
        overlay(&mut self.0, said);
    }

    /// The usage, and whether its parts contradict each other.
    pub(super) fn usage(&self) -> (Usage, bool) {
        let mut rest = self.0.clone();
        let uncached = take(&mut rest, "input_tokens");
        let cached = take(&mut rest, "cache_read_input_tokens");
        let written = take(&mut rest, "cache_creation_input_tokens");
        let output = take(&mut rest, "output_tokens");
        let mut thinking = take_thinking(&mut rest);
        let inconsistent = thinking > output && output.is_some();
        if inconsistent && let Some(thinking) = thinking.take() {
            rest.insert("thinking_tokens".to_owned(), thinking.into());
        }
        let input = uncached.map(|uncached| {
            uncached
                .saturating_add(cached.unwrap_or_default())
                .saturating_add(written.unwrap_or_default())
        });
        if let Some(uncached) = uncached {
            rest.insert("uncached_input_tokens".to_owned(), uncached.into());
        }
        let usage = Usage {
            input_tokens: input,
            output_tokens: output,
            total_tokens: input.zip(output).map(|(a, b)| a.saturating_add(b)),
            cached_input_tokens: cached,
            cache_write_input_tokens: written,
            reasoning_tokens: thinking,
            extra: rest,
            ..Usage::default()
        };
        (usage, inconsistent)
    }
}

fn overlay(base: &mut Map, over: Map) {
    for (key, value) in over {
        match (base.get_mut(&key), value) {
            (_, Value::Null) => {}
            (Some(Value::Object(base)), Value::Object(over)) => overlay(base, over),
            (_, Value::Object(over)) => {
                let mut object = Map::new();
                overlay(&mut object, over);
                base.insert(key, object.into());
            }
            (_, value) => {
                base.insert(key, value);
            }
        }
    }
}

/// A counter. What is none stays where it is.
fn take(map: &mut Map, key: &str) -> Option<u64> {
    let value = map.get(key)?;
    let count = value.as_u64().or_else(|| value.as_f64().and_then(whole))?;
    map.remove(key);
    Some(count)
}

fn take_thinking(map: &mut Map) -> Option<u64> {
    let details = map.get_mut("output_tokens_details")?.as_object_mut()?;
    let count = take(details, "thinking_tokens");
    if details.is_empty() {
        map.remove("output_tokens_details");
    }
    count
}
