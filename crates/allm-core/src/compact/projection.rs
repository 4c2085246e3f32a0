//! From the tools of a call to the list that is sent and the list that is run.

use super::{forced, has_compact, is_tool_help, signature, tool_help};
use crate::data::{Map, Tool, ToolChoice, ToolSpec};
use crate::limits::stub_schema;

/// The tools as the provider is told of them: compact ones as stubs, and the help tool at the end if there are any.
///
/// A tool that the choice forces is sent in full, since the model could not ask about it first. The choice may also
/// stand in `extra`, in the form of a provider.
///
/// Equal arguments give an equal list, so that the list is the same on every turn of a run.
///
/// ```
/// use allm_core::{Map, Tool, compact};
/// use serde_json::json;
///
/// let tool = Tool::new("create_issue", "Creates an issue. Returns its address.", json!({
///     "type": "object",
///     "properties": {"title": {"type": "string"}, "body": {"type": "string"}},
///     "required": ["title"],
/// }))
/// .compact();
/// let sent = compact::project(&[tool], None, &Map::new());
/// let names: Vec<_> = sent.iter().filter_map(|spec| spec.name()).collect();
/// assert_eq!(names, ["create_issue", "tool_help"]);
/// ```
#[must_use]
pub fn project(tools: &[Tool], tool_choice: Option<&ToolChoice>, extra: &Map) -> Vec<ToolSpec> {
    let forced = forced::name(tool_choice, extra);
    let spec = |tool: &Tool| match forced {
        Some(name) if tool.name == *name => tool.spec(),
        _ if tool.compact => stub(tool),
        _ => tool.spec(),
    };
    let help = needs_help(tools).then(|| tool_help().spec());
    tools.iter().map(spec).chain(help).collect()
}

/// The tools as they are run: all in full, and the help tool at the end if any is compact.
///
/// A list that has been through this comes back as it is.
#[must_use]
pub fn executed(tools: &[Tool]) -> Vec<Tool> {
    let help = needs_help(tools).then(tool_help);
    tools.iter().cloned().chain(help).collect()
}

fn needs_help(tools: &[Tool]) -> bool {
    has_compact(tools) && !tools.iter().any(is_tool_help)
}

fn stub(tool: &Tool) -> ToolSpec {
    let summary = signature::summary(tool);
    let signature = signature::signature(&tool.schema).unwrap_or_default();
    let mut description = String::new();
    for piece in [&*summary, &*signature, "[compact]"] {
        if !description.is_empty() && !piece.is_empty() {
            description.push(' ');
        }
        description.push_str(piece);
    }
    ToolSpec::function(tool.name.clone(), description, stub_schema())
}
