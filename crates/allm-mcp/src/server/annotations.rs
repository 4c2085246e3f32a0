//! Tools as clients are told of them.

use std::sync::Arc;

use allm_core::{ApprovalRule, Effect, Map, Tool};
use rmcp::model::{Tool as Listed, ToolAnnotations};
use serde_json::Value;

/// A tool as a client is told of it.
pub(super) fn listed(tool: &Tool) -> Listed {
    let description = (!tool.description.is_empty()).then(|| tool.description.clone().into());
    let name = tool.name.as_str().to_owned();
    Listed::new_with_raw(name, description, Arc::new(schema(tool))).with_annotations(hints(tool))
}

/// MCP wants the type to be said; what our schemas leave open is always an object.
fn schema(tool: &Tool) -> Map {
    let mut schema = match &*tool.schema {
        Value::Object(schema) => schema.clone(),
        _ => Map::new(),
    };
    let kind = schema.entry("type").or_insert(Value::Null);
    *kind = "object".into();
    schema
}

/// What is not said counts as destructive and not idempotent.
fn hints(tool: &Tool) -> ToolAnnotations {
    let hints = match tool.effect {
        Effect::Pure => ToolAnnotations::new().read_only(true),
        Effect::Idempotent => ToolAnnotations::new().read_only(false).idempotent(true),
        _ => ToolAnnotations::new().read_only(false).idempotent(false),
    };
    match tool.approval {
        ApprovalRule::Always => hints.read_only(false).destructive(true),
        _ => hints,
    }
}
