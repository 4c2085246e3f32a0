//! The budget that ended a run.

use serde_json::Value;

use super::Map;

/// The budget that ended a run: what it allowed, and what was used of it.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum ExhaustedBudget {
    /// The batch that did not run would have gone over it.
    ToolCalls {
        /// How many calls there could be.
        limit: u64,
        /// How many there were.
        used: u64,
    },
    /// There was none left for another model call.
    Tokens {
        /// How many tokens could be used.
        limit: u64,
        /// How many are known to have been.
        used: u64,
    },
    /// There was none left for another model call, or it cannot be told.
    Cost {
        /// How much the run could cost, in USD.
        limit: f64,
        /// How much it did; `None` when the cost of a turn is unknown.
        used: Option<f64>,
    },
}

impl ExhaustedBudget {
    /// As the metadata of a result tells it.
    pub(super) fn of_metadata(metadata: &Map) -> Option<Self> {
        let (limit, used) = (metadata.get("limit")?, metadata.get("used")?);
        match metadata.get("budget")?.as_str()? {
            "tool_calls" => Some(Self::ToolCalls {
                limit: limit.as_u64()?,
                used: used.as_u64()?,
            }),
            "tokens" => Some(Self::Tokens {
                limit: limit.as_u64()?,
                used: used.as_u64()?,
            }),
            "cost" => Some(Self::Cost {
                limit: limit.as_f64()?,
                used: match used {
                    Value::Null => None,
                    used => Some(used.as_f64()?),
                },
            }),
            _ => None,
        }
    }
}
