//! The values of the golden files, chosen by hand: together they use every field and every variant of the format.

mod entries;
mod errors;
mod events;
mod messages;
mod requests;
mod responses;
mod results;
mod runs;
mod sessions;

use allm_core::session::{Approval, ApprovalToken, JournalEntry, Session};
use allm_core::{
    ChatResult, Error, Event, Message, Request, Response, Run, StepResult, Thread, Tool, ToolCall,
    ToolSpec, Usage,
};

/// A value and the name of its file.
pub(crate) type Named<T> = (&'static str, T);

/// Every value, by document type.
pub(crate) struct Golden {
    pub(crate) message: Vec<Named<Message>>,
    pub(crate) thread: Vec<Named<Thread>>,
    pub(crate) request: Vec<Named<Request>>,
    pub(crate) response: Vec<Named<Response>>,
    pub(crate) usage: Vec<Named<Usage>>,
    pub(crate) tool_call: Vec<Named<ToolCall>>,
    pub(crate) tool_spec: Vec<Named<ToolSpec>>,
    pub(crate) tool: Vec<Named<Tool>>,
    pub(crate) event: Vec<Named<Event>>,
    pub(crate) step_result: Vec<Named<StepResult>>,
    pub(crate) chat_result: Vec<Named<ChatResult>>,
    pub(crate) error: Vec<Named<Error>>,
    pub(crate) run: Vec<Named<Run>>,
    pub(crate) session: Vec<Named<Session>>,
    pub(crate) entry: Vec<Named<JournalEntry>>,
    pub(crate) approval: Vec<Named<Approval>>,
    pub(crate) approval_token: Vec<Named<ApprovalToken>>,
}

/// Every value.
pub(crate) fn all() -> Golden {
    Golden {
        message: messages::messages(),
        thread: messages::threads(),
        request: requests::requests(),
        response: responses::responses(),
        usage: responses::usages(),
        tool_call: messages::calls(),
        tool_spec: requests::specs(),
        tool: requests::tools(),
        event: events::events(),
        step_result: results::steps(),
        chat_result: results::chats(),
        error: errors::errors(),
        run: runs::runs(),
        session: sessions::sessions(),
        entry: entries::entries(),
        approval: entries::approvals(),
        approval_token: entries::tokens(),
    }
}
