//! Session stores for allm: where the journals of sessions are kept.
//!
//! Each store implements [`SessionStore`](allm_core::SessionStore), whose documentation has the rules.
//!
//! | store | for |
//! |---|---|
//! | [`MemoryStore`] | tests, and sessions that may end with the program |
//!
//! ```
//! use allm_core::SessionStore;
//! use allm_store::MemoryStore;
//!
//! let store: Box<dyn SessionStore> = Box::new(MemoryStore::new());
//! # drop(store);
//! ```

mod clock;
mod cursor;
mod memory;
mod rules;

pub use clock::Clock;
pub use memory::MemoryStore;
