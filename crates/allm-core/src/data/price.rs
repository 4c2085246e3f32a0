//! What tokens cost.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::model_ref::ModelRef;
use super::usage::{Cost, Usage};

/// Prices per million tokens, in USD.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// Of input that no cache is involved in.
    pub input: f64,
    /// Of output, reasoning included.
    pub output: f64,
    /// Of input read from a cache; the input price when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_input: Option<f64>,
    /// Of input written to a cache; the input price when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write_input: Option<f64>,
}

impl Price {
    /// The price of input and of output; caches cost what other input does.
    #[must_use]
    pub const fn new(input: f64, output: f64) -> Self {
        Self {
            input,
            output,
            cached_input: None,
            cache_write_input: None,
        }
    }

    /// With an own price of input read from a cache.
    #[must_use]
    pub const fn cached_input(mut self, price: f64) -> Self {
        self.cached_input = Some(price);
        self
    }

    /// With an own price of input written to a cache.
    #[must_use]
    pub const fn cache_write_input(mut self, price: f64) -> Self {
        self.cache_write_input = Some(price);
        self
    }
}

/// The prices of the models that a caller uses.
///
/// ```
/// use allm_core::{ModelRef, Price, PriceList, Usage};
///
/// let model = ModelRef::new("anthropic", "claude");
/// let prices = PriceList::new().with(model.clone(), Price::new(4.0, 16.0));
/// let cost = prices.cost(&model, &Usage::io(1_000_000, 500_000)).expect("a price");
/// assert_eq!(cost.total, 4.0 + 8.0);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PriceList(BTreeMap<ModelRef, Price>);

impl PriceList {
    /// A list without prices.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// This list with one more price; the same model again replaces it.
    #[must_use]
    pub fn with(mut self, model: ModelRef, price: Price) -> Self {
        self.0.insert(model, price);
        self
    }

    /// What this usage cost. A cost that the provider stated wins; nothing is priced when the model is not in the list
    /// or a counter that is needed is unknown.
    #[must_use]
    pub fn cost(&self, model: &ModelRef, usage: &Usage) -> Option<Cost> {
        if usage.cost.is_some() {
            return usage.cost;
        }
        let price = self.0.get(model)?;
        let input = usage.input_tokens?;
        let cached = at_own_rate(usage.cached_input_tokens, price.cached_input)?;
        let written = at_own_rate(usage.cache_write_input_tokens, price.cache_write_input)?;
        let plain = input.checked_sub(cached.checked_add(written)?)?;
        let input_cost = at(plain, price.input)
            + at(cached, price.cached_input.unwrap_or(price.input))
            + at(written, price.cache_write_input.unwrap_or(price.input));
        let output_cost = at(usage.output_tokens?, price.output);
        Some(Cost {
            input: Some(input_cost),
            output: Some(output_cost),
            total: input_cost + output_cost,
        })
    }
}

impl FromIterator<(ModelRef, Price)> for PriceList {
    fn from_iter<I: IntoIterator<Item = (ModelRef, Price)>>(prices: I) -> Self {
        Self(prices.into_iter().collect())
    }
}

/// How many tokens have a rate of their own. Where there is such a rate their number must be known; without one an
/// unknown number does no harm, for they are priced as the rest of the input is.
fn at_own_rate(tokens: Option<u64>, rate: Option<f64>) -> Option<u64> {
    match rate {
        Some(_) => tokens,
        None => Some(tokens.unwrap_or(0)),
    }
}

fn at(tokens: u64, price_per_million: f64) -> f64 {
    #[expect(
        clippy::cast_precision_loss,
        reason = "token counts stay far below 2^53"
    )]
    let tokens = tokens as f64;
    tokens * price_per_million / 1_000_000.0
}
