//! Calls: `generate`, `step` and `chat`, awaited or streamed.

pub(crate) mod driver;
pub(crate) mod generate;
pub(crate) mod input;
pub(crate) mod model;
mod stream;

mod calls;

pub use calls::{Chat, Generate, Step};
pub use input::Input;
pub use stream::EventStream;
