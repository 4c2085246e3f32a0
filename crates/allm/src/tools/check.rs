//! Whether the arguments of a call are right.

use std::sync::Arc;

use allm_core::json::in_order;
use allm_core::limits::{MAX_ARGUMENT_DEPTH, MAX_ARGUMENT_FAULTS, MAX_TOOL_ARGUMENTS};
use allm_core::{
    ArgumentFault, ArgumentFaults, ArgumentLimits, MalformedArguments, Map, ToolCall, ToolExecutor,
    ToolFailure, compact,
};
use jsonschema::error::ValidationErrorKind;
use jsonschema::{ValidationError, Validator};
use serde_json::Value;

use super::cut;
use super::toolset::Entry;

/// How much is said of one fault, in bytes.
const MAX_FAULT_TEXT: usize = 512;

/// Arguments that are right.
pub(super) struct Checked {
    /// For everybody who looks at them.
    pub(super) shared: Arc<Map>,
    /// The handler's own.
    pub(super) owned: Map,
}

/// The arguments that the handler gets; the first stage that finds a fault decides.
pub(super) fn arguments(
    entry: &Entry,
    call: &ToolCall,
    max_bytes: usize,
    executor: &dyn ToolExecutor,
) -> Result<Checked, ToolFailure> {
    let refused = |message: String, mut faults: Vec<ArgumentFault>| {
        faults.truncate(MAX_ARGUMENT_FAULTS);
        ToolFailure::InvalidArguments(ArgumentFaults {
            message,
            faults,
            help: entry.tool.compact.then(|| compact::full_help(&entry.tool)),
        })
    };
    let shared = parsed(call, max_bytes).map_err(|fault| {
        let message = fault.to_string();
        let root = ArgumentFault {
            path: String::new(),
            message: message.clone(),
        };
        refused(message, vec![root])
    })?;
    let arguments = Value::Object((*shared).clone());
    let faults = schema_faults(&entry.schema, &arguments);
    if !faults.is_empty() {
        return Err(refused(unfit("its schema"), faults));
    }
    let owned = match arguments {
        Value::Object(owned) => owned,
        // It was made an object above.
        _ => Map::new(),
    };
    match executor.check(&entry.tool, &owned) {
        Ok(()) => Ok(Checked { shared, owned }),
        Err(faults) => Err(refused(unfit("what it takes"), faults)),
    }
}

/// What is wrong with arguments that did not come from a model.
pub(crate) fn argument_faults(entry: &Entry, arguments: &Map) -> Vec<ArgumentFault> {
    schema_faults(&entry.schema, &Value::Object(arguments.clone()))
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
            let again = ToolCall::parsed(call.id.clone(), &*call.name, raw, limits);
            again
                .arguments
                .ok_or(MalformedArguments::NotJson { offset: 0 })
        }
        (_, fault) => Err(fault.unwrap_or(MalformedArguments::Incomplete)),
    }
}

fn schema_faults(schema: &Validator, arguments: &Value) -> Vec<ArgumentFault> {
    if schema.is_valid(arguments) {
        return Vec::new();
    }
    let arguments = in_order(arguments);
    let mut faults = Vec::new();
    for error in schema.iter_errors(&arguments) {
        if faults.len() >= MAX_ARGUMENT_FAULTS {
            break;
        }
        add(&mut faults, &error);
    }
    faults
}

/// Values are left out of what is said: the model knows them, and they may be long.
fn add(faults: &mut Vec<ArgumentFault>, error: &ValidationError<'_>) {
    let at = error.instance_path().as_str();
    let mut fault = |path: String, message: String| {
        let message = cut(message, MAX_FAULT_TEXT);
        faults.push(ArgumentFault { path, message });
    };
    match error.kind() {
        ValidationErrorKind::Required { property } => {
            let name = property.as_str().unwrap_or_default();
            fault(below(at, name), "must be there".to_owned());
        }
        ValidationErrorKind::AdditionalProperties { unexpected }
        | ValidationErrorKind::UnevaluatedProperties { unexpected } => {
            for name in unexpected.iter().take(MAX_ARGUMENT_FAULTS) {
                fault(below(at, name), "must not be there".to_owned());
            }
        }
        _ => fault(at.to_owned(), error.masked().to_string()),
    }
}

/// The JSON Pointer of a property.
fn below(pointer: &str, name: &str) -> String {
    let name = name.replace('~', "~0").replace('/', "~1");
    format!("{pointer}/{name}")
}
