//! Compact tools: sent as stubs, run in full, explained when the model asks.
//!
//! Two lists come from the tools of a call. [`project`] gives the *sent* one, in which every compact tool is a stub;
//! [`executed`] gives the one that calls are run with. Both end with the help tool if any tool is compact.
//! [`tool_help_answer`] is what that tool says.

mod forced;
mod help;
mod projection;
mod signature;

use serde_json::{Value, json};

use crate::data::{Effect, Map, Tool};
use crate::error::{Fault, FaultCode};
use crate::limits::{BUILTIN_MARKER, TOOL_HELP};

pub use help::{full_help, tool_help_answer};
pub use projection::{executed, project};

/// The tool that explains compact tools. It has no handler: the runner answers it with [`tool_help_answer`].
#[must_use]
pub fn tool_help() -> Tool {
    let description = "Explains the tools whose description ends with [compact]: gives the full description and \
                       the JSON schema of the arguments of each tool that is named. Call it before such a tool \
                       unless the short form says enough.";
    let schema = json!({
        "type": "object",
        "properties": {"names": {"type": "array", "items": {"type": "string"}}},
        "required": ["names"],
    });
    let marker = (BUILTIN_MARKER.to_owned(), Value::from(TOOL_HELP));
    Tool::new(TOOL_HELP, description, schema)
        .effect(Effect::Pure)
        .metadata(Map::from_iter([marker]))
}

/// Whether this is the help tool of the library.
///
/// The marker in its metadata says so, not its name: a caller may have a `tool_help` of his own.
#[must_use]
pub fn is_tool_help(tool: &Tool) -> bool {
    tool.metadata.get(BUILTIN_MARKER).and_then(Value::as_str) == Some(TOOL_HELP)
}

/// What is wrong with the list: a `tool_help` of the caller's own beside a compact tool.
#[must_use]
pub fn check(tools: &[Tool]) -> Option<Fault> {
    let taken = |tool: &Tool| tool.name == TOOL_HELP && !is_tool_help(tool);
    (has_compact(tools) && tools.iter().any(taken)).then(|| {
        Fault::new("tools", FaultCode::DuplicateName)
            .detail("tool_help is the library's when a tool is compact")
    })
}

fn has_compact(tools: &[Tool]) -> bool {
    tools.iter().any(|tool| tool.compact)
}
