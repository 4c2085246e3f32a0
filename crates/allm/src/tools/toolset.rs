//! The tools of a run, ready to be called.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use allm_core::{
    Fault, FaultCode, Path, Tool, ValidationError, ValidationReason, compact, validate,
};
use jsonschema::Validator;

/// The tools of a run by name, each with its compiled schema. Cheap to clone.
///
/// If a tool is compact, the help tool is among them, as the last.
#[derive(Clone, Default)]
pub(crate) struct ToolSet(Arc<Tools>);

#[derive(Default)]
struct Tools {
    /// In the order given.
    entries: Vec<Arc<Entry>>,
    by_name: HashMap<Box<str>, usize>,
    /// As the help tool is given them.
    list: Vec<Tool>,
}

/// A tool and what checks its arguments.
pub(crate) struct Entry {
    pub(crate) tool: Tool,
    pub(super) schema: Validator,
}

impl ToolSet {
    /// These tools, checked and compiled.
    ///
    /// # Errors
    ///
    /// `invalid_tool` with every fault of every tool, also of schemas that only compiling shows to be wrong.
    pub(crate) fn new(tools: &[Tool]) -> Result<Self, ValidationError> {
        Self::default().with(tools)
    }

    /// These tools merged into the ones that there are: an equal name replaces in place, a new one is appended. What
    /// was compiled stays so.
    ///
    /// # Errors
    ///
    /// As for [`new`](Self::new); paths count in the list given.
    pub(crate) fn with(&self, tools: &[Tool]) -> Result<Self, ValidationError> {
        let known = self.0.entries.iter();
        let mut entries: Vec<Arc<Entry>> = known
            .filter(|entry| !compact::is_tool_help(&entry.tool))
            .cloned()
            .collect();
        for entry in compiled(tools)? {
            let same = |old: &&mut Arc<Entry>| old.tool.name == entry.tool.name;
            match entries.iter_mut().find(same) {
                Some(old) => *old = entry,
                None => entries.push(entry),
            }
        }
        let list: Vec<Tool> = entries.iter().map(|entry| entry.tool.clone()).collect();
        if let Some(fault) = compact::check(&list) {
            return Err(invalid(vec![fault]));
        }
        let list = compact::executed(&list);
        entries.extend(compiled(list.get(entries.len()..).unwrap_or_default())?);
        let names = entries.iter().map(|entry| entry.tool.name.as_str().into());
        Ok(Self(Arc::new(Tools {
            by_name: names.zip(0..).collect(),
            list,
            entries,
        })))
    }

    /// The tool of this name.
    pub(crate) fn get(&self, name: &str) -> Option<&Arc<Entry>> {
        let place = self.0.by_name.get(name)?;
        self.0.entries.get(*place)
    }

    /// The tools in order, the help tool included.
    pub(crate) fn list(&self) -> &[Tool] {
        &self.0.list
    }
}

fn invalid(faults: Vec<Fault>) -> ValidationError {
    ValidationError::new(ValidationReason::InvalidTool, faults)
}

fn compiled(tools: &[Tool]) -> Result<Vec<Arc<Entry>>, ValidationError> {
    let mut faults = match validate::tools(tools) {
        Ok(()) => Vec::new(),
        Err(error) => error.faults,
    };
    let mut entries = Vec::with_capacity(tools.len());
    for (index, tool) in tools.iter().enumerate() {
        let path = Path::from("tools").index(index).field("schema");
        if faults.iter().any(|fault| fault.path == path) {
            continue;
        }
        match compile(tool) {
            Ok(schema) => entries.push(Arc::new(Entry {
                tool: tool.clone(),
                schema,
            })),
            Err(detail) => faults.push(Fault::new(path, FaultCode::InvalidSchema).detail(detail)),
        }
    }
    if faults.is_empty() {
        Ok(entries)
    } else {
        Err(invalid(faults))
    }
}

/// Nothing is fetched: a schema that points elsewhere does not compile.
fn compile(tool: &Tool) -> Result<Validator, String> {
    jsonschema::options()
        .offline()
        .build(&tool.schema)
        // What it says may hold values of the schema, which belong to the caller; the place is enough.
        .map_err(|error| match error.schema_path().as_str() {
            "" => "the schema does not compile".to_owned(),
            place => format!("the schema does not compile at #{place}"),
        })
}

impl fmt::Debug for ToolSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.0.entries.iter().map(|entry| &entry.tool.name);
        f.debug_list().entries(names).finish()
    }
}

#[cfg(test)]
mod tests;
