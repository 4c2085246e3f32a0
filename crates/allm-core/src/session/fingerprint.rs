//! What a person agreed to is one tool as it was then.

use serde_json::json;

use crate::data::{Hash, Tool};
use crate::json::canonical_value;

/// The fingerprint of a tool: SHA-256 over the canonical JSON of its name, description, schema and effect.
///
/// An approval is good for the tool that the person saw. A tool whose fingerprint has changed since is another one.
///
/// ```
/// use allm_core::{Effect, Tool, session::tool_fingerprint};
/// use serde_json::json;
///
/// let tool = Tool::new("send", "Sends an invoice.", json!({"type": "object"}));
/// let other = tool.clone().effect(Effect::Pure);
/// assert_ne!(tool_fingerprint(&tool), tool_fingerprint(&other));
/// ```
#[must_use]
pub fn tool_fingerprint(tool: &Tool) -> Hash {
    let facts = json!({
        "name": tool.name,
        "description": tool.description,
        "schema": tool.schema,
        "effect": tool.effect,
    });
    Hash::of_bytes(&canonical_value(&facts))
}
