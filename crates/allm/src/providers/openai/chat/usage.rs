//! What a call used, as the Chat Completions family counts it.

use std::borrow::Cow;
use std::fmt;

use allm_core::{Cost, Map, Usage};
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;

use crate::wire::lenient::{Text, whole};

/// Usage, and what is odd about it.
pub(super) struct Read {
    pub(super) usage: Usage,
    pub(super) odd: Option<&'static str>,
}

/// Reads a usage object; anything else is none.
pub(super) fn read(text: &str) -> Option<Read> {
    let Told {
        counted: [input, completion, total],
        others: mut told,
    } = serde_json::from_str(text).ok()?;
    if told.is_empty() && (input, completion, total) == (None, None, None) {
        return None;
    }
    let cached = detail(&told, "prompt_tokens_details", "cached_tokens").or_else(|| {
        let names = [
            "prompt_cache_hit_tokens",
            "cached_tokens",
            "num_cached_tokens",
            "cache_read_input_tokens",
        ];
        names.into_iter().find_map(|name| take(&mut told, name))
    });
    let written = detail(&told, "prompt_tokens_details", "cache_write_tokens")
        .or_else(|| take(&mut told, "cache_creation_input_tokens"));
    let reasoning = detail(&told, "completion_tokens_details", "reasoning_tokens")
        .or_else(|| take(&mut told, "reasoning_tokens"));
    let cost = told
        .get("cost")
        .and_then(Value::as_f64)
        .filter(|cost| *cost >= 0.0)
        .map(|total| Cost {
            input: None,
            output: None,
            total,
        });
    if cost.is_some() {
        told.remove("cost");
    }
    let mut usage = Usage {
        input_tokens: input,
        output_tokens: completion,
        total_tokens: total,
        cached_input_tokens: cached,
        cache_write_input_tokens: written,
        reasoning_tokens: reasoning,
        cost,
        extra: told,
    };
    let odd = mend(&mut usage);
    Some(Read { usage, odd })
}

/// The counters that nearly every provider tells, and all else.
#[derive(Default)]
struct Told {
    counted: [Option<u64>; 3],
    others: Map,
}

const COUNTED: [&str; 3] = ["prompt_tokens", "completion_tokens", "total_tokens"];

impl<'de> Deserialize<'de> for Told {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;

        impl<'de> Visitor<'de> for Reader {
            type Value = Told;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Told, A::Error> {
                let mut told = Told::default();
                while let Some(Text(key)) = map.next_key()? {
                    let key: Cow<'de, str> = key.unwrap_or_default();
                    let value: Value = map.next_value()?;
                    let slots = COUNTED.iter().zip(&mut told.counted);
                    let slot = slots.into_iter().find(|(name, _)| **name == key);
                    // What is told twice counts as it was told last.
                    match (slot, count(&value)) {
                        (Some((_, slot)), counted @ Some(_)) => {
                            *slot = counted;
                            told.others.remove(&*key);
                        }
                        (slot, _) => {
                            if let Some((_, slot)) = slot {
                                *slot = None;
                            }
                            told.others.insert(key.into_owned(), value);
                        }
                    }
                }
                Ok(told)
            }
        }

        deserializer.deserialize_map(Reader)
    }
}

/// Output is all of the answer, and no part is larger than its whole.
fn mend(usage: &mut Usage) -> Option<&'static str> {
    let mut odd = None;
    if let (Some(input), Some(completion), Some(reasoning), Some(total)) = (
        usage.input_tokens,
        usage.output_tokens,
        usage.reasoning_tokens,
        usage.total_tokens,
    ) {
        let all = completion.checked_add(reasoning);
        // Some count thinking beside the answer.
        if reasoning > 0 && all.and_then(|all| all.checked_add(input)) == Some(total) {
            usage.output_tokens = all;
        }
    }
    if let (Some(output), Some(reasoning)) = (usage.output_tokens, usage.reasoning_tokens)
        && reasoning > output
    {
        usage.reasoning_tokens = None;
        keep(usage, "reasoning_tokens", reasoning);
        odd = Some("reasoning_tokens");
    }
    let cached = usage.cached_input_tokens.unwrap_or(0);
    let written = usage.cache_write_input_tokens.unwrap_or(0);
    if let Some(input) = usage.input_tokens
        && cached.saturating_add(written) > input
    {
        for (name, count) in [
            ("cached_tokens", usage.cached_input_tokens.take()),
            ("cache_write_tokens", usage.cache_write_input_tokens.take()),
        ] {
            if let Some(count) = count {
                keep(usage, name, count);
            }
        }
        odd = odd.or(Some("cached_tokens"));
    }
    odd
}

fn keep(usage: &mut Usage, name: &str, count: u64) {
    usage.extra.insert(name.to_owned(), count.into());
}

/// A counter, taken out of what is told; what is none stays.
fn take(told: &mut Map, name: &str) -> Option<u64> {
    let count = told.get(name).and_then(count)?;
    told.remove(name);
    Some(count)
}

fn detail(told: &Map, details: &str, name: &str) -> Option<u64> {
    told.get(details)?.get(name).and_then(count)
}

fn count(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_f64().and_then(whole))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(value: Value) -> (Usage, Option<&'static str>) {
        let read = read(&value.to_string()).expect("an object");
        (read.usage, read.odd)
    }

    #[test]
    fn p164_counters_are_lifted_and_the_rest_is_kept() {
        let details = json!({"cached_tokens": 4, "audio_tokens": 1});
        let (usage, odd) = of(json!({
            "prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15,
            "prompt_tokens_details": details,
            "completion_tokens_details": {"reasoning_tokens": 2},
            "queue_time": 0.5
        }));
        assert_eq!(odd, None);
        assert_eq!(
            (usage.input_tokens, usage.output_tokens, usage.total_tokens),
            (Some(10), Some(5), Some(15))
        );
        assert_eq!(usage.cached_input_tokens, Some(4));
        assert_eq!(usage.reasoning_tokens, Some(2));
        assert_eq!(usage.cache_write_input_tokens, None);
        assert_eq!(usage.extra["prompt_tokens_details"], details);
        assert_eq!(usage.extra["queue_time"], json!(0.5));
    }

    #[test]
    fn p226_reasoning_beside_the_answer() {
        let told = |total: u64| {
            json!({
                "prompt_tokens": 10, "completion_tokens": 5, "total_tokens": total,
                "completion_tokens_details": {"reasoning_tokens": 20}
            })
        };
        let (usage, odd) = of(told(35));
        assert_eq!(
            (usage.output_tokens, usage.reasoning_tokens),
            (Some(25), Some(20))
        );
        assert_eq!(odd, None);
        let (usage, odd) = of(told(15));
        assert_eq!(
            (usage.output_tokens, usage.reasoning_tokens),
            (Some(5), None)
        );
        assert_eq!(usage.extra["reasoning_tokens"], json!(20));
        assert_eq!(odd, Some("reasoning_tokens"));
    }

    #[test]
    fn p227_the_cached_counter_has_many_names() {
        for name in [
            "prompt_cache_hit_tokens",
            "cached_tokens",
            "num_cached_tokens",
            "cache_read_input_tokens",
        ] {
            let (usage, _) = of(json!({"prompt_tokens": 10, name: 7}));
            assert_eq!(usage.cached_input_tokens, Some(7), "{name}");
            assert!(usage.extra.is_empty());
        }
        let (usage, odd) = of(json!({"prompt_tokens": 3, "cached_tokens": 7}));
        assert_eq!(usage.cached_input_tokens, None);
        assert_eq!(odd, Some("cached_tokens"));
    }

    #[test]
    fn p229_a_stated_cost() {
        let (usage, _) = of(json!({"prompt_tokens": 1, "cost": 0.25}));
        assert_eq!(usage.cost.map(|cost| cost.total), Some(0.25));
        let (usage, _) = of(json!({"prompt_tokens": 1, "cost": {"total_cost": 1}}));
        assert_eq!(usage.cost, None);
        assert_eq!(usage.extra["cost"], json!({"total_cost": 1}));
    }

    /// C65
    #[test]
    fn a_counter_that_is_told_twice_counts_as_it_was_told_last() {
        let usage = |text: &str| read(text).expect("an object").usage;
        let told = usage(r#"{"prompt_tokens": "x", "prompt_tokens": 3}"#);
        assert_eq!((told.input_tokens, told.extra.len()), (Some(3), 0));
        let told = usage(r#"{"prompt_tokens": 3, "prompt\u005ftokens": "x"}"#);
        assert_eq!(told.input_tokens, None);
        assert_eq!(told.extra["prompt_tokens"], json!("x"));
        assert_eq!(usage(r#"{"total_tokens": 7}"#).total_tokens, Some(7));
    }

    /// C65
    #[test]
    fn odd_counters_stay_in_extra() {
        let (usage, _) = of(json!({
            "prompt_tokens": "12", "completion_tokens": -1, "total_tokens": 1.5, "new": null
        }));
        assert_eq!(usage.input_tokens, None);
        assert_eq!(usage.output_tokens, None);
        assert_eq!(usage.total_tokens, None);
        assert_eq!(usage.extra.len(), 4);
        let (usage, _) = of(json!({"prompt_tokens": 12.0}));
        assert_eq!(usage.input_tokens, Some(12));
        for none in ["null", "{}", "[]", "7", "\"x\""] {
            assert!(read(none).is_none(), "{none}");
        }
    }
}
