//! The tools of a run, ready to be called.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use allm_core::{
    Fault, FaultCode, Path, Tool, ValidationError, ValidationReason, compact, validate,
};
use allm_schema::Schema;

/// The tools of a run by name, each with its compiled schema. Cheap to clone.
///
/// If a tool is compact, the help tool is among them, as the last.
#[derive(Clone, Default)]
pub(crate) struct ToolSet(Arc<Tools>);

#[derive(Default)]
struct Tools {
    /// In the order given.
    entries: Vec<Arc<Entry>>,
    by_name: BTreeMap<Box<str>, usize>,
    /// As the help tool is given them.
    list: Vec<Tool>,
}

/// A tool and what checks its arguments.
pub(crate) struct Entry {
    pub(crate) tool: Tool,
    pub(super) schema: Arc<Schema>,
}

impl ToolSet {
    /// These tools, checked and compiled.
    ///
    /// # Errors
    ///
    /// `invalid_tool` with every fault of every tool and of the list, also of schemas that only compiling shows to be
    /// wrong.
    pub(crate) fn new(tools: &[Tool]) -> Result<Self, ValidationError> {
        Self::default().compile(tools)
    }

    /// Other tools, checked. A schema that this set has compiled for the same name is not compiled again.
    ///
    /// # Errors
    ///
    /// As for [`new`](Self::new).
    pub(crate) fn compile(&self, tools: &[Tool]) -> Result<Self, ValidationError> {
        let mut faults = match validate::tools(tools) {
            Ok(()) => Vec::new(),
            Err(error) => error.faults,
        };
        faults.extend(compact::check(tools));
        let list = compact::executed(tools);
        let mut entries = Vec::with_capacity(list.len());
        for (index, tool) in list.iter().enumerate() {
            let path = Path::from("tools").index(index).field("schema");
            if faults.iter().any(|fault| fault.path == path) {
                continue;
            }
            match self.schema_of(tool) {
                Ok(schema) => entries.push(Arc::new(Entry {
                    tool: tool.clone(),
                    schema,
                })),
                Err(detail) => {
                    faults.push(Fault::new(path, FaultCode::InvalidSchema).detail(detail));
                }
            }
        }
        if !faults.is_empty() {
            return Err(ValidationError::new(ValidationReason::InvalidTool, faults));
        }
        let names = entries.iter().map(|entry| entry.tool.name.as_str().into());
        let mut by_name = BTreeMap::new();
        by_name.extend(names.zip(0..));
        Ok(Self(Arc::new(Tools {
            by_name,
            list,
            entries,
        })))
    }

    fn schema_of(&self, tool: &Tool) -> Result<Arc<Schema>, String> {
        match self.get(tool.name.as_str()) {
            Some(known) if known.tool.schema == tool.schema => Ok(Arc::clone(&known.schema)),
            _ => compile(tool).map(Arc::new),
        }
    }

    /// The tool of this name.
    pub(crate) fn get(&self, name: &str) -> Option<&Arc<Entry>> {
        let place = self.0.by_name.get(name)?;
        self.0.entries.get(*place)
    }

    /// Whether this is a clone of the other: nothing was compiled to make it.
    #[cfg(test)]
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// The tools in order, the help tool included.
    pub(crate) fn list(&self) -> &[Tool] {
        &self.0.list
    }
}

/// Nothing is fetched: a schema that points elsewhere does not compile.
fn compile(tool: &Tool) -> Result<Schema, String> {
    // What it says may hold values of the schema, which belong to the caller; the place is enough.
    Schema::compile(&tool.schema).map_err(|error| match error.place() {
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
