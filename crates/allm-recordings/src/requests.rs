//! What the library sends, held against what was recorded.

pub mod bodies;
pub mod case;
pub mod classes;
pub mod conversation;
pub mod dialect;
pub mod normal;
pub mod report;
pub mod schema;
pub mod thread;

pub use dialect::Dialect;
pub use normal::Normal;
pub use report::Report;
pub use schema::Schemas;
