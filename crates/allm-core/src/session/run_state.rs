//! A run that has not ended.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::entry::{Hooks, Operation, RecordedTool};
use crate::data::{Hash, ModelRef, Response, RunId, Timestamp};
use crate::run::Run;

/// A run that has not ended.
#[derive(Clone, Debug, PartialEq)]
pub struct RunState {
    /// Its id.
    pub id: RunId,
    /// What began it.
    pub op: Operation,
    /// The model.
    pub model: Option<ModelRef>,
    /// Which closures it was started with.
    pub hooks: Hooks,
    /// The tools that it was started with.
    pub tools: Vec<RecordedTool>,
    /// The hash of the four before it.
    pub(super) started: Hash,
    /// Which attempt at the present model call is next, from 1.
    pub attempt: u32,
    /// What had come of an answer that was broken off.
    pub partial: Option<Response>,
    /// Whether the end of the last model call is known, so that none was lost.
    pub interrupted: bool,
    /// How often it was taken over since something was achieved.
    pub recoveries: u32,
    /// How long it was driven.
    pub clock: RunClock,
    /// The loop.
    pub(super) run: Run,
}

impl RunState {
    /// The loop: what it has done, and with which settings.
    #[must_use]
    pub const fn run(&self) -> &Run {
        &self.run
    }
}

/// How long a run was driven, by the store's clock. The time in which nobody drove it is no part of that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunClock {
    /// By the drivers before the present one, in milliseconds.
    used_ms: u64,
    /// Since when the present one drives it.
    since: Timestamp,
    /// When a driver last wrote something.
    seen: Timestamp,
}

impl RunClock {
    pub(super) const fn started(at: Timestamp) -> Self {
        Self {
            used_ms: 0,
            since: at,
            seen: at,
        }
    }

    /// The driver wrote something.
    pub(super) const fn tick(&mut self, at: Timestamp) {
        self.seen = at;
    }

    /// Another driver takes over.
    pub(super) fn hand_over(&mut self, at: Timestamp) {
        let used = self.used();
        *self = Self {
            used_ms: u64::try_from(used.as_millis()).unwrap_or(u64::MAX),
            ..Self::started(at)
        };
    }

    /// How long it was driven, as far as its journal tells.
    #[must_use]
    pub fn used(&self) -> Duration {
        let driven = self.seen.as_millis().saturating_sub(self.since.as_millis());
        let driven = u64::try_from(driven).unwrap_or(0);
        Duration::from_millis(self.used_ms.saturating_add(driven))
    }
}
