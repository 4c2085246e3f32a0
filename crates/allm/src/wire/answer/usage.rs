//! Counters that contradict each other.

use allm_core::Usage;

/// No part is larger than its whole: a part that says so says nothing and is only kept beside the counters. Gives the
/// names of what was taken out.
pub(super) fn settle(usage: &mut Usage) -> Vec<&'static str> {
    let mut odd = Vec::new();
    let mut take = |counter: &mut Option<u64>, name| {
        if let Some(count) = counter.take() {
            usage.extra.insert(String::from(name), count.into());
            odd.push(name);
        }
    };
    if usage.reasoning_tokens > usage.output_tokens && usage.output_tokens.is_some() {
        take(&mut usage.reasoning_tokens, "reasoning_tokens");
    }
    let cached = usage.cached_input_tokens.unwrap_or_default();
    let written = usage.cache_write_input_tokens.unwrap_or_default();
    if usage
        .input_tokens
        .is_some_and(|input| cached.saturating_add(written) > input)
    {
        take(&mut usage.cached_input_tokens, "cached_tokens");
        take(&mut usage.cache_write_input_tokens, "cache_write_tokens");
    }
    odd
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// C61: a part may be the whole, and no more.
    #[test]
    fn c61_no_part_is_larger_than_its_whole() {
        let told = |input, cached, written, output, reasoning| Usage {
            input_tokens: input,
            cached_input_tokens: cached,
            cache_write_input_tokens: written,
            output_tokens: output,
            reasoning_tokens: reasoning,
            ..Usage::default()
        };
        let fits = told(Some(7), Some(3), Some(4), Some(5), Some(5));
        for fits in [fits, told(None, Some(3), None, None, Some(5))] {
            let mut usage = fits.clone();
            assert!(settle(&mut usage).is_empty());
            assert_eq!(usage, fits);
        }
        let mut usage = told(Some(6), Some(3), Some(4), Some(5), Some(6));
        let odd = ["reasoning_tokens", "cached_tokens", "cache_write_tokens"];
        assert_eq!(settle(&mut usage), odd);
        let extra = json!({"reasoning_tokens": 6, "cached_tokens": 3, "cache_write_tokens": 4});
        assert_eq!(serde_json::Value::from(usage.extra.clone()), extra);
        usage.extra.clear();
        assert_eq!(usage, told(Some(6), None, None, Some(5), None));
    }
}
