//! What handlers tell beside their reply.

use std::fmt;
use std::sync::{Arc, Weak};

use allm_core::run::ToolOutcome;
use allm_core::{Progress, ProgressSink, ToolError, ToolReply, encode, limits};

use super::super::aside::clear_the_way;
use super::super::cut;
use super::super::settings::RunnerSettings;
use super::super::toolset::Entry;
use super::Shared;
use super::call::{Call, outcome_of};

/// Where a handler reports progress. Once the batch is gone, reports reach nobody.
pub(super) struct Reports {
    shared: Weak<Shared>,
    place: usize,
    turn: u32,
    index: u32,
    attempt: u32,
    settings: Arc<RunnerSettings>,
    entry: Arc<Entry>,
}

impl Reports {
    pub(super) fn of(call: &Call) -> Self {
        let on_late = call.shared.settings.on_late.as_ref();
        let attempt = on_late.map(|late| late.attempt(call.shared.turn, call.index));
        Self {
            attempt: attempt.unwrap_or(1),
            shared: Arc::downgrade(&call.shared),
            place: call.place,
            turn: call.shared.turn,
            index: call.index,
            settings: Arc::clone(&call.shared.settings),
            entry: Arc::clone(&call.entry),
        }
    }
}

impl ProgressSink for Reports {
    fn report(&self, progress: Progress) {
        let Some(shared) = self.shared.upgrade() else {
            return;
        };
        let number = |number: Option<f64>| number.filter(|number| number.is_finite());
        let message = progress.message;
        let progress = Progress {
            progress: number(progress.progress),
            total: number(progress.total),
            message: message.map(|message| cut(message, limits::MAX_PROGRESS_MESSAGE)),
        };
        if shared.board.report(self.place, progress) {
            // The consumer was woken, and the handler may go on without giving its thread back.
            clear_the_way(shared.runtime.as_ref());
        }
    }

    fn late(&self, reply: Result<ToolReply, ToolError>) {
        if let Some(on_late) = &self.settings.on_late {
            on_late.keep(LateReply {
                turn: self.turn,
                index: self.index,
                attempt: self.attempt,
                reply,
                settings: Arc::clone(&self.settings),
                entry: Arc::clone(&self.entry),
            });
        }
    }
}

/// What a handler came to when its call may have ended without it.
pub(crate) struct LateReply {
    /// The turn of the call.
    pub(crate) turn: u32,
    /// Its place in the response.
    pub(crate) index: u32,
    /// Which attempt of it this was.
    pub(crate) attempt: u32,
    reply: Result<ToolReply, ToolError>,
    settings: Arc<RunnerSettings>,
    entry: Arc<Entry>,
}

impl LateReply {
    /// What the call would have come to. No policy is asked.
    pub(crate) async fn outcome(self) -> ToolOutcome {
        let outcome = outcome_of(&self.settings, self.reply).await;
        outcome.unwrap_or_else(|failure| {
            let tool = &self.entry.tool;
            let report = encode::report(&failure, tool.name.as_str(), &tool.effect);
            ToolOutcome::failed(report)
        })
    }
}

impl fmt::Debug for LateReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LateReply")
            .field("turn", &self.turn)
            .field("index", &self.index)
            .field("attempt", &self.attempt)
            .finish_non_exhaustive()
    }
}
