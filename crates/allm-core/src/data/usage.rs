//! What a call used.

use std::ops::Add;

use serde::{Deserialize, Serialize};
use serde_json::Map as JsonMap;

use super::Map;

/// What a call used. A counter that the provider did not send stays `None`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Usage {
    /// The whole prompt: uncached, cache reads, cache writes and provider-side tool prompts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u64>,
    /// The whole answer, reasoning included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u64>,
    /// As the provider counts it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_tokens: Option<u64>,
    /// The part of the input read from a cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_input_tokens: Option<u64>,
    /// The part of the input written to a cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write_input_tokens: Option<u64>,
    /// The part of the output that was thinking.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning_tokens: Option<u64>,
    /// What it cost, when known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Cost>,
    /// What the provider says beyond that.
    #[serde(default, skip_serializing_if = "JsonMap::is_empty")]
    #[serde(serialize_with = "crate::json::sorted")]
    pub extra: Map,
}

/// Money, in USD.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cost {
    /// For the prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<f64>,
    /// For the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<f64>,
    /// For both.
    pub total: f64,
}

impl Usage {
    /// Usage of which input and output are known.
    #[must_use]
    pub fn io(input_tokens: u64, output_tokens: u64) -> Self {
        Self {
            input_tokens: Some(input_tokens),
            output_tokens: Some(output_tokens),
            ..Self::default()
        }
    }

    /// Whether nothing is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The provider's total, else input and output together when both are known.
    #[must_use]
    pub fn total(&self) -> Option<u64> {
        self.total_tokens
            .or_else(|| Some(self.input_tokens?.saturating_add(self.output_tokens?)))
    }

    /// Which part of the input came from a cache; `None` when the input is unknown or 0, or the cached part is unknown.
    #[must_use]
    pub fn cache_hit_ratio(&self) -> Option<f64> {
        let input = self.input_tokens.filter(|input| *input > 0)?;
        #[expect(clippy::cast_precision_loss, reason = "a ratio of token counts")]
        Some(self.cached_input_tokens? as f64 / input as f64)
    }
}

fn sum(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.saturating_add(b)),
        (a, b) => a.or(b),
    }
}

impl Add for Usage {
    type Output = Self;

    /// Adds the counters (unknown plus known is known) and the costs, which are known only when both are. The left
    /// side's `extra` is kept.
    fn add(self, other: Self) -> Self {
        Self {
            input_tokens: sum(self.input_tokens, other.input_tokens),
            output_tokens: sum(self.output_tokens, other.output_tokens),
            total_tokens: sum(self.total_tokens, other.total_tokens),
            cached_input_tokens: sum(self.cached_input_tokens, other.cached_input_tokens),
            cache_write_input_tokens: sum(
                self.cache_write_input_tokens,
                other.cache_write_input_tokens,
            ),
            reasoning_tokens: sum(self.reasoning_tokens, other.reasoning_tokens),
            cost: self.cost.zip(other.cost).map(|(a, b)| a + b),
            extra: self.extra,
        }
    }
}

impl Add for Cost {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        let both = |a: Option<f64>, b: Option<f64>| a.zip(b).map(|(a, b)| a + b);
        Self {
            input: both(self.input, other.input),
            output: both(self.output, other.output),
            total: self.total + other.total,
        }
    }
}
