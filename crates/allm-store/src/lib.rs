//! Session stores for allm: where the journals of sessions are kept.
//!
//! Each store implements [`SessionStore`](allm_core::SessionStore), whose documentation has the rules.
//!
//! | store | feature | for |
//! |---|---|---|
//! | `SqliteStore` | `sqlite`, on by default | one machine: a file, shared by any number of its programs |
//! | `PostgresStore` | `postgres` | many machines: a server |
//! | [`MemoryStore`] | | tests, and sessions that may end with the program |
//!
//! ```
//! use allm_core::SessionStore;
//! use allm_store::MemoryStore;
//!
//! let store: Box<dyn SessionStore> = Box::new(MemoryStore::new());
//! # drop(store);
//! ```
//!
//! # What is in a database
//!
//! A row for each session with what lists show of it, a row for each entry, the newest snapshot, and tombstones. Content
//! above 64 KiB is kept once by its hash. An append writes the row of its session and those of its entries in one
//! transaction; nothing it does grows with the number of sessions or entries.
//!
//! Tables are made and migrated when a store is opened, each step in one transaction and under a lock, so programs may
//! start together. Where that is not wanted (`Migrate::Never`), a database that has to be migrated is `schema_too_old`.
//! One that a newer library has migrated is `schema_too_new`, and is left alone.
//!
//! Tables are ours and may change with a release. What is promised is that what was written stays readable.

mod clock;
mod cursor;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
mod database;
mod hints;
mod memory;
#[cfg(feature = "postgres")]
mod postgres;
mod rules;
#[cfg(feature = "sqlite")]
mod sqlite;

pub use clock::Clock;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
pub use database::schema::Migrate;
pub use memory::MemoryStore;
#[cfg(feature = "postgres")]
pub use postgres::{PostgresOptions, PostgresStore};
#[cfg(feature = "sqlite")]
pub use sqlite::{SqliteOptions, SqliteStore};
