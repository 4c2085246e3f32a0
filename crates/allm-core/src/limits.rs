//! The numbers and texts that are part of the interface.

use std::time::Duration;

use serde_json::{Value, json};

/// How many turns a run has.
pub const MAX_TURNS: u32 = 8;

/// How long a call may take.
pub const TOOL_TIMEOUT: Duration = Duration::from_secs(30);

/// How much encoded content a call may have, in bytes; the mark of a cut does not count.
pub const MAX_TOOL_OUTPUT: usize = 262_144;

/// How many pictures and files a reply may have.
pub const MAX_TOOL_MEDIA_PARTS: usize = 16;

/// How much the pictures and files of a reply may be together, in bytes.
pub const MAX_TOOL_MEDIA: usize = 5_242_880;

/// How much raw argument text of a call is read, in bytes.
pub const MAX_TOOL_ARGUMENTS: usize = 1_048_576;

/// How deep arguments may nest.
pub const MAX_ARGUMENT_DEPTH: usize = 128;

/// How many faults of the arguments are reported.
pub const MAX_ARGUMENT_FAULTS: usize = 20;

/// How many tools are named to a model that called one that is not there.
pub const MAX_LISTED_TOOLS: usize = 20;

/// Where a message of progress is cut, in bytes.
pub const MAX_PROGRESS_MESSAGE: usize = 4_096;

/// Where the text of a panic is cut, in bytes.
pub const MAX_PANIC_TEXT: usize = 4_096;

/// How much of its own a handler may give along with a question, in bytes of JSON; it may nest as deep as arguments.
pub const MAX_HANDLER_STATE: usize = 262_144;

/// The content of a call that asked the user, who answers the model.
pub const AWAITING_USER: &str = "<awaiting user response>";

/// What the model is told before the second pass of `structured_finalize`.
pub const FINALIZE_NUDGE: &str = "Now provide your final structured response.";

/// The name of the tool that explains compact tools.
pub const TOOL_HELP: &str = "tool_help";

/// The metadata key by which a tool of the library is known; for the help tool its value is [`TOOL_HELP`].
pub const BUILTIN_MARKER: &str = "allm_builtin";

/// The schema of a compact tool's stub.
#[must_use]
pub fn stub_schema() -> Value {
    json!({"type": "object"})
}
