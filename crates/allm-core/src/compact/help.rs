//! What the help tool says.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use crate::data::{Map, Tool, ToolCall};
use crate::encode::listed;
use crate::error::text::short_line;
use crate::json::canonical_value;
use crate::limits::TOOL_HELP;

/// How many unknown names get a note of their own. Each note repeats the list of names, so without a limit a call with
/// very many made-up names would have an answer of a very different size.
const UNKNOWN_SHOWN: usize = 20;

/// The answer to a call of the help tool: a section for each distinct name, in the order asked.
///
/// It never fails. A name that no tool has gets a note with the names of the compact tools, and arguments that cannot
/// be used get a line that says how to call it. After twenty unknown names the others are only counted.
///
/// ```
/// use allm_core::{Tool, ToolCall, compact};
/// use serde_json::json;
///
/// let tools = [Tool::new("lookup", "Looks a record up.", json!({"type": "object"})).compact()];
/// let call = ToolCall::new("call-1", "tool_help", r#"{"names": ["lookup"]}"#);
/// assert_eq!(
///     compact::tool_help_answer(&tools, &call),
///     "## lookup\nLooks a record up.\nArguments (JSON Schema): {\"type\":\"object\"}",
/// );
/// ```
#[must_use]
pub fn tool_help_answer(tools: &[Tool], call: &ToolCall) -> String {
    let Some(names) = call.arguments.as_deref().and_then(names_asked) else {
        let compact = compact_names(tools);
        return format!(
            "Usage: {TOOL_HELP} takes {{\"names\": [\"name of a tool\"]}}. Compact tools: {compact}"
        );
    };
    let known: HashMap<&str, &Tool> = tools
        .iter()
        .rev()
        .map(|tool| (tool.name.as_str(), tool))
        .collect();
    let mut seen = HashSet::new();
    let mut sections = Vec::new();
    let mut unknown = 0_usize;
    for name in names.into_iter().filter(|name| seen.insert(*name)) {
        if let Some(tool) = known.get(name) {
            sections.push(full_help(tool));
        } else {
            unknown += 1;
            if unknown <= UNKNOWN_SHOWN {
                sections.push(unknown_note(name, tools));
            }
        }
    }
    let more = unknown.saturating_sub(UNKNOWN_SHOWN);
    if more > 0 {
        sections.push(format!("Unknown names not shown: {more}"));
    }
    sections.join("\n\n")
}

/// All that there is to know of a tool before calling it: its name, full description and schema.
///
/// The schema is canonical JSON, so that equal tools have equal help on every platform.
#[must_use]
pub fn full_help(tool: &Tool) -> String {
    let schema = canonical_value(&tool.schema);
    let schema = String::from_utf8_lossy(&schema);
    let mut help = format!("## {}\n", tool.name);
    if !tool.description.is_empty() {
        help.push_str(&tool.description);
        help.push('\n');
    }
    help.push_str("Arguments (JSON Schema): ");
    help.push_str(&schema);
    help
}

fn unknown_note(name: &str, tools: &[Tool]) -> String {
    let name = short_line(name);
    let compact = compact_names(tools);
    format!("## {name}\nNo tool has this name. Compact tools: {compact}")
}

fn names_asked(arguments: &Map) -> Option<Vec<&str>> {
    match arguments.get("names")? {
        Value::String(name) => Some(vec![name]),
        Value::Array(names) if !names.is_empty() => names.iter().map(Value::as_str).collect(),
        _ => None,
    }
}

fn compact_names(tools: &[Tool]) -> String {
    let compact = tools.iter().filter(|tool| tool.compact);
    let names = listed(compact.map(|tool| tool.name.as_str()));
    names.unwrap_or_else(|| "(none)".to_owned())
}
