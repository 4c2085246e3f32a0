//! The JSON in which this library keeps its own values.
//!
//! A [`Document`] stands alone and says what it is: `{"v":1,"type":"message","data":{…}}`. Everything inside it is a
//! plain value. Reading is strict: a field that the format does not have, a key twice, text after the end or a wrong
//! type is a [`JsonError`](crate::JsonError) that names the place and never the content. Writing gives the same bytes
//! for the same value, and refuses what reading would refuse.
//!
//! ```
//! use allm_core::json::{self, Document};
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Serialize, Deserialize)]
//! #[serde(deny_unknown_fields)]
//! struct Greeting {
//!     text: String,
//! }
//!
//! impl Document for Greeting {
//!     const TYPE: &'static str = "greeting";
//! }
//!
//! let text = json::to_string(&Greeting { text: "hi".into() })?;
//! assert_eq!(text, r#"{"v":1,"type":"greeting","data":{"text":"hi"}}"#);
//!
//! let error = json::from_str::<Greeting>(r#"{"v":1,"type":"greeting","data":{"txt":"hi"}}"#).err();
//! assert_eq!(error.map(|error| error.path.to_string()), Some("data.txt".into()));
//! # Ok::<(), allm_core::JsonError>(())
//! ```

mod canonical;
mod document;
mod fault;
mod foreign;
mod limits;
mod node;
mod parse;
mod plain;
mod raw;
mod sorted;
pub(crate) mod tagged;
#[cfg(test)]
mod tests;
mod tree;
mod value;
mod write;

pub use canonical::{canonical, canonical_value};
pub use document::{
    Document, Envelope, FORMAT, from_slice, from_slice_with, from_str, peek, to_string, to_vec,
};
pub(crate) use foreign::foreign_as;
pub use foreign::{ForeignFault, foreign_value};
pub use limits::{Limits, MAX_DEPTH};
pub use raw::RawJson;
pub use sorted::{Keyed, Sorted, in_order, sorted, sorted_entries};
pub(crate) use value::{from_value, to_value};
pub use value::{value_from_slice, value_to_string, value_to_vec};
