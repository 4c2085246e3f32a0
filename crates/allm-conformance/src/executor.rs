//! The kit for those who write a [`ToolExecutor`].
//!
//! An executor that runs the handlers that tools carry needs no more than [`OfHandlers`]. One that runs tools elsewhere
//! (child processes, other machines) implements [`ExecutorSubject`]: it says how to make a tool of each [`Behaviour`].
//!
//! ```
//! use std::sync::Arc;
//! use allm_conformance::CannotExpress;
//! use allm_conformance::executor::{self, Behaviour, ExecutorSubject, Witness};
//! use allm_core::{Tool, ToolExecutor};
//!
//! struct Mine;
//!
//! impl ExecutorSubject for Mine {
//!     fn tool(&self, behaviour: Behaviour, witness: Witness) -> Result<Tool, CannotExpress> {
//!         match behaviour {
//!             Behaviour::Blocking => Err(CannotExpress::because("it runs async handlers only")),
//!             behaviour => behaviour.in_process(witness),
//!         }
//!     }
//!
//!     fn executor(&self) -> Arc<dyn ToolExecutor> {
//!         Arc::new(allm::DefaultExecutor::new())
//!     }
//! }
//!
//! # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
//! executor::check(&Mine).await.assert();
//! # });
//! ```

mod behaviour;
mod bench;
mod in_process;
mod replies;
mod stopping;
mod together;
mod trouble;
mod witness;

use std::sync::Arc;
use std::time::Duration;

use allm_core::{ArgumentFault, BoxFuture, Tool, ToolExecutor};

use crate::finding::{CannotExpress, Checked, Finding, Rule};
use crate::report::Report;
use crate::wait;

pub use behaviour::Behaviour;
pub use in_process::OfHandlers;
pub use witness::{Alive, Witness};

use bench::Bench;

/// What the tools that panic say. It may stand in the cause of an error and nowhere else.
pub const CRASH_TEXT: &str = "secret-123 at /src/tool.rs";

/// The caller's value in the context of some calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallerValue(pub u64);

/// What is checked: how to make the executor, and a tool of each behaviour.
pub trait ExecutorSubject: Send + Sync {
    /// A new tool that behaves so and tells the witness of its work.
    ///
    /// # Errors
    ///
    /// When it cannot be expressed here. The checks that need it are then skipped.
    fn tool(&self, behaviour: Behaviour, witness: Witness) -> Result<Tool, CannotExpress>;

    /// The executor, which can run every tool that was made so far.
    fn executor(&self) -> Arc<dyn ToolExecutor>;

    /// How long the kit waits for something that should come at once. Nothing waits so long when all is well.
    fn patience(&self) -> Duration {
        Duration::from_secs(10)
    }

    /// The clock. By default it is real time; a test with a paused clock gives that one, and then nothing waits really.
    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        wait::sleep(duration)
    }
}

/// The one fault of [`Behaviour::RefuseArguments`].
#[must_use]
pub fn refusal() -> ArgumentFault {
    ArgumentFault {
        path: "/city".to_owned(),
        message: "is refused".to_owned(),
    }
}

type Look = for<'a> fn(&'a Bench<'a>) -> BoxFuture<'a, Checked>;

/// Checks an executor against every behaviour that the loop expects of one.
///
/// Needs no particular runtime; it runs in that of the caller's test.
pub async fn check(subject: &dyn ExecutorSubject) -> Report {
    let mut checks = Vec::new();
    let rules = [
        replies::RULES,
        trouble::RULES,
        together::RULES,
        stopping::RULES,
    ];
    for (rule, look) in rules.into_iter().flatten() {
        let bench = Bench { subject };
        // A check waits for several things in a row, each with the patience of its own.
        let limit = subject.sleep(subject.patience().saturating_mul(4));
        let looked = wait::before(limit, wait::caught(look(&bench))).await;
        let checked = match looked {
            Some(Ok(checked)) => checked,
            Some(Err(panic)) => Err(Finding::failed(rule.behaviour, panic)),
            None => Err(Finding::failed(rule.behaviour, "nothing came in time")),
        };
        checks.push(Rule::came_to(*rule, checked));
    }
    Report::new("executor", checks)
}
