//! The entry of a takeover.

use serde::{Deserialize, Serialize};

use crate::data::{RunId, WriterId, is_false};
use crate::session::key::CallKey;

/// Somebody took an unfinished run over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recovered {
    /// The run.
    pub run: RunId,
    /// Who wrote last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous_writer: Option<WriterId>,
    /// The calls that may have begun.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub open_intents: Vec<CallKey>,
    /// Whether an answer of the model was lost.
    #[serde(default, skip_serializing_if = "is_false")]
    pub lost_model_call: bool,
    /// After how many of these without progress the run fails.
    pub limit: u32,
}
