//! The kit for those who write an [`Adapter`].
//!
//! The subject gives an adapter for each [`Scenario`]: connected to a server of the test's own, or to recorded traffic,
//! which says what the scenario wants. The kit plays them all and looks at the events.
//!
//! ```
//! use std::time::Duration;
//! use allm::{AdapterError, AdapterReason, Fake, Script};
//! use allm_conformance::CannotExpress;
//! use allm_conformance::adapter::{self, AdapterSubject, Prepared, Scenario, Traffic};
//!
//! struct Mine;
//!
//! impl AdapterSubject for Mine {
//!     fn prepare(&self, scenario: Scenario) -> Result<Prepared, CannotExpress> {
//!         let script = match scenario {
//!             Scenario::Text => Script::new().text(adapter::TEXT).usage(allm::Usage::io(12, 4)),
//!             Scenario::Unavailable => Script::new().fail(AdapterReason::ProviderUnavailable),
//!             _ => return Err(CannotExpress::because("not written yet")),
//!         };
//!         let fake = Fake::new().always(script);
//!         let seen = fake.clone();
//!         Ok(Prepared::new(fake).traffic(move || Traffic {
//!             opened: seen.calls().len(),
//!             open: seen.open_streams(),
//!         }))
//!     }
//! }
//!
//! # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
//! adapter::check(&Mine).await.assert();
//! # });
//! ```

mod answers;
mod calls;
mod grammar;
mod life;
mod play;
mod scenario;
mod text;
mod trouble;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use allm_core::{Adapter, BoxFuture};

use crate::finding::{CannotExpress, Checked, Finding, Rule};
use crate::report::Report;
use crate::wait;

pub use scenario::{
    ARGUMENTS, KEY, MALFORMED, OTHER_ARGUMENTS, PARTIAL, REFUSAL, Scenario, TEXT, THOUGHT, TOOL,
};

use play::Stage;

/// What is checked: an adapter for each scenario.
pub trait AdapterSubject: Send + Sync {
    /// A new adapter whose provider answers every call with this scenario.
    ///
    /// # Errors
    ///
    /// When it cannot be expressed here. The checks that need it are then skipped.
    fn prepare(&self, scenario: Scenario) -> Result<Prepared, CannotExpress>;

    /// How long the kit waits for something that should come at once. Nothing waits so long when all is well.
    fn patience(&self) -> Duration {
        Duration::from_secs(10)
    }

    /// The clock. By default it is real time; a test with a paused clock gives that one, and then nothing waits really.
    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        wait::sleep(duration)
    }
}

/// An adapter that is ready to be called.
#[must_use]
pub struct Prepared {
    adapter: Arc<dyn Adapter>,
    model: String,
    traffic: Option<Box<dyn Fn() -> Traffic + Send + Sync>>,
    shown: Option<String>,
}

/// What the provider's side has seen so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// How many requests came.
    pub opened: usize,
    /// How many of them are still being answered: the adapter has not closed its side.
    pub open: usize,
}

impl Prepared {
    /// This adapter, asked for the model `conformance`.
    pub fn new(adapter: impl Adapter + 'static) -> Self {
        Self {
            adapter: Arc::new(adapter),
            model: "conformance".to_owned(),
            traffic: None,
            shown: None,
        }
    }

    /// Asked for this model.
    pub fn model(mut self, model: impl Into<String>) -> Self {
        self.model = model.into();
        self
    }

    /// With a look at what the provider's side has seen. Without it some checks are skipped.
    pub fn traffic(mut self, traffic: impl Fn() -> Traffic + Send + Sync + 'static) -> Self {
        self.traffic = Some(Box::new(traffic));
        self
    }

    /// With what `Debug` shows of the adapter, configured with [`KEY`] as its key.
    pub fn shown_as(mut self, shown: impl Into<String>) -> Self {
        self.shown = Some(shown.into());
        self
    }
}

impl fmt::Debug for Prepared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Prepared")
            .field("provider", self.adapter.provider())
            .field("model", &self.model)
            .finish_non_exhaustive()
    }
}

type Look = fn(&Stage<'_>) -> Checked;
type Act = for<'a> fn(&'a Stage<'a>) -> BoxFuture<'a, Checked>;

/// Checks an adapter against every behaviour that the engine expects of one.
///
/// Needs no particular runtime; it runs in that of the caller's test.
pub async fn check(subject: &dyn AdapterSubject) -> Report {
    let stage = Stage::play_all(subject).await;
    let mut checks = Vec::new();
    let rules = [
        grammar::RULES,
        text::RULES,
        calls::RULES,
        answers::RULES,
        trouble::RULES,
    ];
    for (rule, look) in rules.into_iter().flatten() {
        let checked = wait::caught_now(|| look(&stage));
        let checked = checked.unwrap_or_else(|panic| Err(Finding::failed(rule.behaviour, panic)));
        checks.push(rule.came_to(checked));
    }
    for (rule, act) in life::RULES {
        // A check waits for several things in a row, each with the patience of its own.
        let limit = subject.sleep(subject.patience().saturating_mul(4));
        let checked = match wait::before(limit, wait::caught(act(&stage))).await {
            Some(Ok(checked)) => checked,
            Some(Err(panic)) => Err(Finding::failed(rule.behaviour, panic)),
            None => Err(Finding::failed(rule.behaviour, "nothing came in time")),
        };
        checks.push(Rule::came_to(*rule, checked));
    }
    Report::new("adapter", checks)
}
