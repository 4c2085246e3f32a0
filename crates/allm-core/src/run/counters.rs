//! What a run has spent.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::options::Budgets;
use crate::data::{Map, Usage, is_false};

/// What a run has spent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Counters {
    /// Turns of the first pass.
    pub(super) turns: u32,
    /// Calls that the library ran or refused for their arguments.
    pub(super) tool_calls: u64,
    /// Known tokens of all turns.
    pub(super) tokens: u64,
    /// Known cost of all turns.
    pub(super) cost: f64,
    /// Whether the cost of a turn is unknown.
    #[serde(default, skip_serializing_if = "is_false")]
    pub(super) cost_unknown: bool,
}

impl Counters {
    pub(super) fn add(&mut self, usage: &Usage) {
        self.tokens = self.tokens.saturating_add(known_tokens(usage));
        match &usage.cost {
            Some(cost) if (self.cost + cost.total).is_finite() => self.cost += cost.total,
            _ => self.cost_unknown = true,
        }
    }

    /// The token or cost budget that leaves nothing for another model call, as the run's metadata.
    pub(super) fn used_up(&self, budgets: &Budgets) -> Option<Map> {
        if let Some(limit) = budgets.tokens.filter(|limit| self.tokens >= *limit) {
            return Some(spent("tokens", json!(limit), json!(self.tokens)));
        }
        let limit = budgets.cost?;
        if self.cost_unknown {
            return Some(spent("cost", json!(limit), Value::Null));
        }
        (self.cost >= limit).then(|| spent("cost", json!(limit), json!(self.cost)))
    }

    /// Whether the tool-call budget has no room for this many calls, as the run's metadata.
    pub(super) fn no_room_for(&self, calls: u64, budgets: &Budgets) -> Option<Map> {
        let limit = budgets.tool_calls?;
        (self.tool_calls.saturating_add(calls) > limit)
            .then(|| spent("tool_calls", json!(limit), json!(self.tool_calls)))
    }
}

/// The tokens of a turn that are known: the total, or what there is of input and output.
fn known_tokens(usage: &Usage) -> u64 {
    usage.total().unwrap_or_else(|| {
        let known = [usage.input_tokens, usage.output_tokens];
        known.into_iter().flatten().fold(0, u64::saturating_add)
    })
}

fn spent(budget: &str, limit: Value, used: Value) -> Map {
    [("budget", budget.into()), ("limit", limit), ("used", used)]
        .map(|(key, value)| (key.to_owned(), value))
        .into_iter()
        .collect()
}
