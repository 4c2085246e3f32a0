//! Calls that a person must agree to.

use serde_json::{Value, json};

/// What becomes of calls that a person must agree to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Approvals {
    /// The person at the client is asked, by elicitation. A client that cannot ask has the call refused.
    #[default]
    Ask,
    /// It is left to the client: many ask before each call. The tools are marked as destructive, and run when called.
    LeaveToClient,
}

/// The field in which a person agrees.
const FIELD: &str = "approve";

/// How much of the arguments a person is shown.
const SHOWN: usize = 2000;

/// What a person is asked before a call.
pub(super) fn question(tool: &str, arguments: &str) -> String {
    let cut = arguments.floor_char_boundary(SHOWN);
    let (shown, more) = arguments.split_at_checked(cut).unwrap_or((arguments, ""));
    let rest = match more.len() {
        0 => String::new(),
        bytes => format!(" … and {bytes} bytes more"),
    };
    format!("May `{tool}` run with {shown}{rest}?")
}

/// The form in which a person agrees: a field that must be set, so that nobody agrees by an empty form.
pub(super) fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {FIELD: {"type": "boolean", "title": "Run it", "description": "Whether the call may run."}},
        "required": [FIELD],
    })
}

/// Whether a filled form agrees.
pub(super) fn agrees(form: &Value) -> bool {
    form.get(FIELD) == Some(&Value::Bool(true))
}
