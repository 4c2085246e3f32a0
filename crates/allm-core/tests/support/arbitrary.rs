//! Any value of every type of the data, small enough to make thousands of.
//!
//! Typed floats are finite and durations whole milliseconds: nothing else can be written. Free-form maps hold every
//! number that JSON can.

mod error;
mod event;
mod message;
mod request;
mod response;
mod result;
mod text;
mod tool;

pub(crate) use error::{any_error, any_failure_error};
pub(crate) use event::any_event;
pub(crate) use message::{any_call, any_message, any_messages, any_opaque, any_thread};
pub(crate) use request::{any_request, any_tool_spec};
pub(crate) use response::{any_failure, any_response, any_usage};
pub(crate) use result::{any_chat_result, any_step_result};
pub(crate) use text::{any_map, any_path, any_raw_json, any_text, any_tree};
pub(crate) use tool::{any_call_failure, any_tool};
