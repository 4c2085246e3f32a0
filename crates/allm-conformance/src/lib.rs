//! Test kits for those who write a part of allm themselves.
//!
//! allm asks its users to bring what it does not have: an [`Adapter`](allm_core::Adapter) for another provider, a
//! [`ToolExecutor`](allm_core::ToolExecutor) that runs tools elsewhere, a
//! [`ToolResultEncoder`](allm_core::ToolResultEncoder) that shows results differently, a
//! [`SessionStore`](allm_core::SessionStore) over another database. Each has to keep rules, and the rest of the library
//! trusts that it does. A kit looks at all of them: build a subject, run the kit, assert.
//!
//! | who writes | calls |
//! |---|---|
//! | an adapter | [`adapter::check`] |
//! | an executor | [`executor::check`] |
//! | an encoder | [`encoder::check`], [`encoder::check_json`] |
//! | a store | [`store::check`] |
//!
//! The kits need no runtime of their own and run in that of the caller's test. They sleep for nothing: what should come
//! is waited for, with a limit. A test with a paused clock gives the kit that clock.
//!
//! # The report
//!
//! A kit does not stop at the first fault. It gives a [`Report`] that lists every behaviour with the place in the
//! contract that asks for it, and says of each whether it passed, failed (with what was expected and what was found) or
//! was skipped (with the reason). [`Report::assert`] fails the test with all failures at once:
//!
//! ```text
//! the executor kit: 2 of 36 failed
//!   FAILED   panic (L40): a panic is a `handler_raised` with its text as the cause
//!              expected: an outcome of the call
//!              found:    it panicked: secret-123 at /src/tool.rs
//!   FAILED   dropped (L271): nothing of a tool goes on when its call is dropped
//!              expected: nothing of the call goes on
//!              found:    nothing of the kind within 10s
//! ```
//!
//! # An executor
//!
//! ```
//! use allm_conformance::executor::{self, OfHandlers};
//!
//! # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
//! let subject = OfHandlers::new(allm::DefaultExecutor::new());
//! executor::check(&subject).await.assert();
//! # });
//! ```
//!
//! # An encoder
//!
//! ```
//! use allm_conformance::encoder;
//!
//! encoder::check(&allm_core::JsonEncoder).assert();
//! ```
//!
//! # An adapter
//!
//! ```
//! use allm::{Fake, Script};
//! use allm_conformance::CannotExpress;
//! use allm_conformance::adapter::{self, AdapterSubject, Prepared, Scenario, TEXT, TOOL};
//!
//! struct Scripted;
//!
//! impl AdapterSubject for Scripted {
//!     fn prepare(&self, scenario: Scenario) -> Result<Prepared, CannotExpress> {
//!         let script = match scenario {
//!             Scenario::Text => Script::new().text(TEXT),
//!             Scenario::OneCall => Script::new().call_raw(TOOL, adapter::ARGUMENTS),
//!             _ => return Err(CannotExpress::because("not written yet")),
//!         };
//!         Ok(Prepared::new(Fake::new().always(script)))
//!     }
//! }
//!
//! # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
//! let report = adapter::check(&Scripted).await;
//! report.assert();
//! println!("{report}"); // what was skipped, and why
//! # });
//! ```
//!
//! # A store
//!
//! A subject is a closure that makes stores over empty data; the module [`store`] shows one.

pub mod adapter;
pub mod encoder;
pub mod executor;
mod finding;
mod report;
pub mod store;
mod wait;

pub use finding::CannotExpress;
pub use report::{Check, Outcome, Report};
