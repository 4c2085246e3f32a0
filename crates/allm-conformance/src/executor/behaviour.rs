//! How a tool of the kit behaves.

use allm_core::{Map, ReportedError, ToolReply};
use serde_json::{Value, json};

/// How a tool of the kit behaves.
///
/// [`in_process`](Self::in_process) makes such a tool of a handler. For tools that run elsewhere, [`reply`](Self::reply)
/// and [`reply_json`](Self::reply_json) say what the fixed ones reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Behaviour {
    /// Replies with what it was told, an object: `arguments`, `call_id`, `idempotency_key`, `session_id`, `request_id` and
    /// `answer`, an [`Answer`](allm_core::Answer) as JSON (`null` or absent for what it was not told), and `context` where
    /// the caller's value can reach it: the number in a [`CallerValue`](super::CallerValue), or `null`.
    Echo,
    /// Replies with a text.
    ReplyText,
    /// Reports an error with details.
    ReportError,
    /// Asks a person, with options.
    AskUser,
    /// Asks a person to go on with the answer, with options and a state of its own.
    AskAndGoOn,
    /// Ends the run with a reason of its own.
    Halt,
    /// Ends the run with a reason that the loop itself uses. The runner refuses it, not the executor.
    HaltReserved,
    /// Panics with the text [`CRASH_TEXT`](super::CRASH_TEXT) before it waits for anything.
    Panic,
    /// Panics with that text after it has waited.
    PanicLater,
    /// Panics with a payload that is not text.
    PanicWithoutText,
    /// Its process ends without a reply, with a status that is not zero.
    Exit,
    /// Its process is killed by a signal before it replies.
    KilledBySignal,
    /// Replies with something that is no reply, such as `42`.
    InvalidReturn,
    /// Nothing runs for it: a tool without a handler, or one that the executor does not know.
    NoHandler,
    /// Its handler refuses every arguments before it starts.
    RefuseArguments,
    /// Never replies, and can be stopped.
    NeverReturn,
    /// Never replies and takes no notice of the cancel token, nor of a signal that can be ignored.
    IgnoreCancel,
    /// Waits for the cancel token and then replies as [`ReplyText`](Self::ReplyText) does.
    WaitForCancel,
    /// Replies with a text of so many bytes.
    Flood(usize),
    /// Writes a reply that has no end.
    Endless,
    /// Reports progress 1, 2 … up to this number, of this number, and then replies as [`ReplyText`](Self::ReplyText)
    /// does.
    Progress(u32),
    /// Holds its thread with [`Witness::hold`](super::Witness::hold) and then replies as
    /// [`ReplyText`](Self::ReplyText) does.
    Blocking,
}

impl Behaviour {
    /// Every behaviour once.
    pub const ALL: [Self; 22] = [
        Self::Echo,
        Self::ReplyText,
        Self::ReportError,
        Self::AskUser,
        Self::AskAndGoOn,
        Self::Halt,
        Self::HaltReserved,
        Self::Panic,
        Self::PanicLater,
        Self::PanicWithoutText,
        Self::Exit,
        Self::KilledBySignal,
        Self::InvalidReturn,
        Self::NoHandler,
        Self::RefuseArguments,
        Self::NeverReturn,
        Self::IgnoreCancel,
        Self::WaitForCancel,
        Self::Flood(1 << 20),
        Self::Endless,
        Self::Progress(3),
        Self::Blocking,
    ];

    /// A name for a tool that behaves so.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Echo => "echo",
            Self::ReplyText => "reply_text",
            Self::ReportError => "report_error",
            Self::AskUser => "ask_user",
            Self::AskAndGoOn => "ask_and_go_on",
            Self::Halt => "halt",
            Self::HaltReserved => "halt_reserved",
            Self::Panic => "panic",
            Self::PanicLater => "panic_later",
            Self::PanicWithoutText => "panic_without_text",
            Self::Exit => "exit",
            Self::KilledBySignal => "killed_by_signal",
            Self::InvalidReturn => "invalid_return",
            Self::NoHandler => "no_handler",
            Self::RefuseArguments => "refuse_arguments",
            Self::NeverReturn => "never_return",
            Self::IgnoreCancel => "ignore_cancel",
            Self::WaitForCancel => "wait_for_cancel",
            Self::Flood(_) => "flood",
            Self::Endless => "endless",
            Self::Progress(_) => "progress",
            Self::Blocking => "blocking",
        }
    }

    /// What a tool that behaves so replies, where that is one fixed reply.
    #[must_use]
    pub fn reply(self) -> Option<ToolReply> {
        ToolReply::from_json(self.reply_json()?).ok()
    }

    /// The same as JSON, for tools that speak it.
    #[must_use]
    pub fn reply_json(self) -> Option<Value> {
        let reply = match self {
            Self::ReplyText | Self::WaitForCancel | Self::Progress(_) | Self::Blocking => {
                json!({"ok": TEXT})
            }
            Self::Flood(bytes) => json!({"ok": "x".repeat(bytes)}),
            Self::ReportError => json!({"error": {
                "message": "no such city: Zürich\n(asked twice)",
                "details": {"city": "Zürich", "tried": [1, 2]},
            }}),
            Self::AskUser => json!({"ask_user": {
                "question": "Really delete “all”?",
                "opts": {"choices": ["yes", "no"], "nested": {"a": [null, 1.5]}},
            }}),
            Self::AskAndGoOn => json!({"ask_user": {
                "question": "Which “one”?",
                "opts": {"schema": {"type": "string"}},
                "answer_to": "tool",
                "state": {"page": 2, "nested": [null, 1.5, "ä"]},
            }}),
            Self::Halt => json!({"halt": {"reason": "plan_submitted", "value": {"steps": 3}}}),
            Self::HaltReserved => json!({"halt": {"reason": "completed", "value": null}}),
            _ => return None,
        };
        Some(reply)
    }
}

/// The text of [`Behaviour::ReplyText`].
const TEXT: &str = "Grüße 🌍 \"quoted\"\n\tand\u{2028}more";

pub(super) fn reported() -> ReportedError {
    match Behaviour::ReportError.reply() {
        Some(ToolReply::Error(error)) => error,
        _ => ReportedError::new(""),
    }
}

/// What `Echo` replies.
pub(super) fn told(arguments: Map, context: &allm_core::ToolContext) -> Value {
    json!({
        "arguments": arguments,
        "call_id": context.tool_call.id.as_str(),
        "idempotency_key": context.idempotency_key,
        "session_id": context.session_id.as_ref().map(|id| id.as_str()),
        "request_id": context.request_id.as_ref().map(|id| id.as_str()),
        "answer": context.answer,
        "context": context.get::<super::CallerValue>().map(|value| value.0),
    })
}
