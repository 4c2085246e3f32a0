//! Checks of what a caller gives, before anything is sent.
//!
//! Every function looks at the whole value and reports all that is wrong with it at once, each fault with its place.
//! Nothing is fetched, changed or run, and the time grows with the size of the value alone.

mod faults;
mod message;
mod request;
mod schema;
mod settings;
mod source;
mod thread;
mod tool;

pub use message::message;
pub use request::{request, request_for};
pub use schema::strict::not_strict_at;
pub use settings::{Amount, SettingFaults};
pub use thread::{OpenCall, open_calls, sendable, thread};
pub use tool::{tool, tool_specs, tools};
