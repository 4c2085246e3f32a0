//! The data, as the contract describes it.

mod calls;
mod messages;
mod response;
mod thread;
mod tools;
mod usage;
