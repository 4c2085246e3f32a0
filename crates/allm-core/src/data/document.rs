//! The values that can stand alone as a document.

use crate::data::{
    ChatResult, Event, Message, Request, Response, StepResult, Thread, Tool, ToolCall, ToolSpec,
    Usage,
};
use crate::error::Error;
use crate::json::Document;

macro_rules! documents {
    ($($type:ty => $name:literal),+ $(,)?) => {$(
        impl Document for $type {
            const TYPE: &'static str = $name;
        }
    )+};
}

documents! {
    Message => "message",
    Thread => "thread",
    Request => "request",
    Response => "response",
    Usage => "usage",
    ToolCall => "tool_call",
    ToolSpec => "tool_spec",
    Tool => "tool",
    Event => "event",
    StepResult => "step_result",
    ChatResult => "chat_result",
    Error => "error",
}
