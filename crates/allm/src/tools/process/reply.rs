//! What a process replied.

use allm_core::json::foreign_value;
use allm_core::limits::MAX_ARGUMENT_DEPTH;
use allm_core::{ReportedError, ToolError, ToolReason, ToolReply};
use serde_json::Value;

use super::super::cut;
use super::super::executor::exited;
use super::child::Said;

/// How much of an offending text a cause holds, in bytes.
const MAX_CAUSE: usize = 4_096;

/// How much of the end of standard output is told of a failure, in bytes; as much as of standard error.
const MAX_COMPLAINT: usize = 2_048;

/// How deep a reply may nest: a tool may give back the deepest arguments, with something around them.
const MAX_DEPTH: usize = MAX_ARGUMENT_DEPTH + 16;

/// The reply in what a process said.
pub(super) fn read(said: &Said, max_output: usize) -> Result<ToolReply, ToolError> {
    check_length(said, max_output)?;
    match value(&said.stdout) {
        Some(value) => ToolReply::from_json(value).map_err(|mut error| {
            if let Some(cause) = &mut error.cause {
                cause.message = cut(std::mem::take(&mut cause.message), MAX_CAUSE);
            }
            error
        }),
        // Half a reply of a process that died is none.
        None if !said.status.success() || said.stdout.trim_ascii().is_empty() => {
            let stderr = said.stderr.trim();
            Err(exited(&format!("{}; {stderr}", said.status)))
        }
        None => {
            let text = String::from_utf8_lossy(&said.stdout).into_owned();
            Err(invalid(
                "the reply is not one JSON value",
                cut(text, MAX_CAUSE),
            ))
        }
    }
}

/// What a process said as text.
pub(super) fn text(said: &Said, max_output: usize) -> Result<ToolReply, ToolError> {
    check_length(said, max_output)?;
    let text = String::from_utf8_lossy(&said.stdout);
    let text = text.trim_end_matches(['\r', '\n']);
    let stderr = said.stderr.trim();
    match said.status.code() {
        Some(0) => Ok(ToolReply::ok(text)),
        Some(code) => {
            // Some programs complain where they also answer.
            let complaint = match stderr.is_empty() {
                true => tail(text.trim(), MAX_COMPLAINT),
                false => stderr,
            };
            let message = match complaint.is_empty() {
                true => format!("it ended with status {code}"),
                false => format!("it ended with status {code}: {complaint}"),
            };
            Ok(ToolReply::Error(ReportedError::new(message)))
        }
        None => Err(exited(&format!("{}; {stderr}", said.status))),
    }
}

fn check_length(said: &Said, max_output: usize) -> Result<(), ToolError> {
    if !said.too_much {
        return Ok(());
    }
    let cause = format!("it said more than {max_output} bytes");
    Err(invalid("the reply is too long", cause))
}

/// The end of a text, at most this long.
fn tail(text: &str, limit: usize) -> &str {
    let from = text.len().saturating_sub(limit);
    let from = (from..=text.len()).find(|place| text.is_char_boundary(*place));
    from.and_then(|from| text.get(from..)).unwrap_or_default()
}

/// The one JSON value in a text.
fn value(text: &[u8]) -> Option<Value> {
    let text = str::from_utf8(text).ok()?;
    foreign_value(text, MAX_DEPTH).ok()
}

fn invalid(message: &str, cause: String) -> ToolError {
    ToolError::new(ToolReason::InvalidReturn, message).cause(cause)
}
