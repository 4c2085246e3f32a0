//! Whether the arguments of a call are right.

use std::sync::Arc;

use allm_core::limits::{MAX_ARGUMENT_DEPTH, MAX_ARGUMENT_FAULTS, MAX_TOOL_ARGUMENTS};
use allm_core::{
    ArgumentFault, ArgumentFaults, ArgumentLimits, MalformedArguments, Map, ToolCall, ToolExecutor,
    ToolFailure, compact,
};
use allm_schema::Schema;

use super::cut;
use super::toolset::Entry;

/// How much is said of one fault, in bytes.
const MAX_FAULT_TEXT: usize = 512;

/// The arguments that the handler gets; the first stage that finds a fault decides.
pub(super) fn arguments(
    entry: &Entry,
    call: &ToolCall,
    max_bytes: usize,
    executor: &dyn ToolExecutor,
) -> Result<Arc<Map>, ToolFailure> {
    let refused = |message: String, mut faults: Vec<ArgumentFault>| {
        faults.truncate(MAX_ARGUMENT_FAULTS);
        ToolFailure::InvalidArguments(ArgumentFaults {
            message,
            faults,
            help: entry.tool.compact.then(|| compact::full_help(&entry.tool)),
        })
    };
    let arguments = parsed(call, max_bytes).map_err(|fault| {
        let message = fault.to_string();
        let root = ArgumentFault {
            path: String::new(),
            message: message.clone(),
        };
        refused(message, vec![root])
    })?;
    let faults = schema_faults(&entry.schema, &arguments);
    if !faults.is_empty() {
        return Err(refused(unfit("its schema"), faults));
    }
    match executor.check(&entry.tool, &arguments) {
        Ok(()) => Ok(arguments),
        Err(faults) => Err(refused(unfit("what it takes"), faults)),
    }
}

/// What is wrong with arguments that did not come from a model.
pub(crate) fn argument_faults(entry: &Entry, arguments: &Map) -> Vec<ArgumentFault> {
    schema_faults(&entry.schema, arguments)
}

fn unfit(what: &str) -> String {
    format!("the arguments do not fit {what}")
}

/// The arguments as they were parsed, once, when the call came; or again where a tighter limit refused them then.
fn parsed(call: &ToolCall, max_bytes: usize) -> Result<Arc<Map>, MalformedArguments> {
    let bytes = call.raw_arguments.len();
    if bytes > max_bytes {
        return Err(MalformedArguments::TooLong { bytes });
    }
    match (&call.arguments, call.fault()) {
        (Some(arguments), None) => Ok(Arc::clone(arguments)),
        (None, Some(MalformedArguments::TooLong { .. })) if bytes > MAX_TOOL_ARGUMENTS => {
            let limits = ArgumentLimits {
                max_bytes,
                max_depth: MAX_ARGUMENT_DEPTH,
            };
            let raw = &*call.raw_arguments;
            let again = ToolCall::parsed(call.id.clone(), call.name.clone(), raw, limits);
            again
                .arguments
                .ok_or(MalformedArguments::NotJson { offset: 0 })
        }
        (_, fault) => Err(fault.unwrap_or(MalformedArguments::Incomplete)),
    }
}

fn schema_faults(schema: &Schema, arguments: &Map) -> Vec<ArgumentFault> {
    if schema.accepts_object(arguments) {
        return Vec::new();
    }
    let faults = schema.object_faults(arguments, MAX_ARGUMENT_FAULTS);
    let told = faults.into_iter().map(|fault| ArgumentFault {
        path: fault.path,
        message: cut(fault.message, MAX_FAULT_TEXT),
    });
    told.collect()
}
