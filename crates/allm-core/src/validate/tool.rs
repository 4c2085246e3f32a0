//! Tools and lists of tools.

use std::collections::HashMap;
use std::time::Duration;

use serde_json::Value;

use super::faults::{Check, Faults, Place};
use super::schema::{self, Root};
use crate::data::{ProviderName, Tool, ToolName, ToolSpec};
use crate::error::{Fault, FaultCode, ValidationError};

const TOOLS: &str = "tools";

/// Names that mean something else where a tool is chosen.
const RESERVED: [&str; 3] = ["auto", "none", "required"];

/// Checks one tool: its name, its schema and its time limit.
///
/// # Errors
///
/// `invalid_tool`, with the paths `name`, `schema` and `timeout`.
pub fn tool(tool: &Tool) -> Result<(), ValidationError> {
    let mut faults = Faults::default();
    check_tool(tool, Place::Root, &mut faults);
    faults.finish()
}

/// Checks a list of tools: each of them, and that no two have one name.
///
/// # Errors
///
/// `invalid_tool`, with paths such as `tools[1].name`; `tools` itself for a name that comes twice.
pub fn tools(tools: &[Tool]) -> Result<(), ValidationError> {
    let mut faults = Faults::default();
    for (index, tool) in tools.iter().enumerate() {
        check_tool(tool, Place::Entry(TOOLS, index), &mut faults);
    }
    names(tools.iter().map(|tool| Some(&tool.name)), &mut faults);
    faults.finish()
}

/// Checks a list of tools as a provider is told of them; like [`tools()`].
///
/// # Errors
///
/// `invalid_tool`, with paths such as `tools[1].name`; `tools` itself for a name that comes twice.
pub fn tool_specs(specs: &[ToolSpec]) -> Result<(), ValidationError> {
    let mut faults = Faults::default();
    check_specs(specs, None, &mut faults);
    faults.finish()
}

/// Checks the tools of a request, and those built into a provider against the one they go to, if that is known.
pub(super) fn check_specs(
    specs: &[ToolSpec],
    provider: Option<&ProviderName>,
    faults: &mut Faults,
) {
    for (index, spec) in specs.iter().enumerate() {
        let place = Place::Entry(TOOLS, index);
        match spec {
            ToolSpec::Function(function) => {
                check_function(&function.name, &function.schema, place, faults);
            }
            ToolSpec::Provider(tool) if provider.is_some_and(|to| *to != tool.provider) => {
                faults.add(Check::ProviderTool, place.path(), FaultCode::WrongProvider);
            }
            ToolSpec::Provider(_) => {}
        }
    }
    names(specs.iter().map(ToolSpec::name), faults);
}

fn check_tool(tool: &Tool, place: Place, faults: &mut Faults) {
    check_function(&tool.name, &tool.schema, place, faults);
    if tool.timeout == Some(Duration::ZERO) {
        faults.add(
            Check::ToolTimeout,
            place.field("timeout"),
            FaultCode::MustBePositive,
        );
    }
}

fn check_function(name: &ToolName, schema: &Value, place: Place, faults: &mut Faults) {
    let name = name.as_str();
    let code = if name.is_empty() {
        Some(FaultCode::Empty)
    } else if !is_name(name) {
        Some(FaultCode::InvalidFormat)
    } else if RESERVED.contains(&name) {
        Some(FaultCode::ReservedToolName)
    } else {
        None
    };
    if let Some(code) = code {
        faults.add(Check::ToolName, place.field("name"), code);
    }
    for fault in schema::faults(schema, Root::Object) {
        faults.put(Check::ToolSchema, fault.at(place.field("schema")));
    }
}

/// Whether the text is 1 to 64 of `A-Z a-z 0-9 _ -`.
pub(super) fn is_name(text: &str) -> bool {
    (1..=64).contains(&text.len())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
}

/// One fault for the whole list, however many names come twice; the detail shows the first.
fn names<'a>(names: impl Iterator<Item = Option<&'a ToolName>>, faults: &mut Faults) {
    let mut seen = HashMap::new();
    for (index, name) in names.enumerate() {
        let Some(name) = name.filter(|name| !name.as_str().is_empty()) else {
            continue;
        };
        if let Some(first) = seen.insert(name, index) {
            let detail = format!("{TOOLS}[{index}] has the name of {TOOLS}[{first}]");
            let fault = Fault::new(TOOLS, FaultCode::DuplicateName).detail(detail);
            faults.put(Check::ToolNames, fault);
            return;
        }
    }
}
