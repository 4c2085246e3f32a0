//! Session stores for allm: where the journals of sessions are kept.
//!
//! Each store implements [`SessionStore`](allm_core::SessionStore), whose documentation has the rules.
//!
//! | store | for |
//! |---|---|
//! | [`SqliteStore`] | one machine: a file, shared by any number of its programs |
//! | [`PostgresStore`] | many machines: a server |
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
#[cfg(feature = "database")]
mod database;
mod hints;
mod memory;
#[cfg(feature = "postgres")]
mod postgres;
mod rules;
#[cfg(feature = "sqlite")]
mod sqlite;

pub use clock::Clock;
#[cfg(feature = "database")]
pub use database::schema::Migrate;
pub use memory::MemoryStore;
#[cfg(feature = "postgres")]
pub use postgres::{PostgresOptions, PostgresStore};
#[cfg(feature = "sqlite")]
pub use sqlite::{SqliteOptions, SqliteStore};
