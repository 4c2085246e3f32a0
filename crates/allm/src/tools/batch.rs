//! A batch of calls, run in parallel.

mod board;
mod call;
mod encoding;
mod reports;
mod settle;
mod watch;

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use allm_core::run::{CallToRun, Stop, ToolOutcome};
use allm_core::{
    Answer, CancelToken, Event, ToolError, ToolFailure, ToolProgress, ToolReason, compact, encode,
};
use futures_core::Stream;
use tokio::runtime::Handle;
use tokio::task::{AbortHandle, JoinHandle};
use tokio::time::Instant;
use tracing::{Instrument, Span};

use super::executor::exited;
use super::settings::RunnerSettings;
use super::toolset::{Entry, ToolSet};
use super::wait::{First, race};
use board::{Board, Due, Note};
use call::{Call, Ending};
pub(crate) use encoding::encoded_value;
pub(crate) use reports::LateReply;
use reports::Reports;
use watch::Watcher;

/// What happens in a batch.
#[derive(Debug)]
pub(crate) enum BatchItem {
    /// A handler starts, or reports progress.
    Event(Event),
    /// A call came to its end.
    Done {
        /// Its place in the response.
        index: u32,
        /// What it came to.
        outcome: ToolOutcome,
        /// The two events that end it, adjacent; none for a call that did not start.
        events: Vec<Event>,
    },
}

/// What is known of an attempt beyond its call.
#[derive(Clone, Debug, Default)]
pub(crate) struct Attempt {
    /// What a person has answered to the handler, which asked to go on.
    pub(crate) answer: Option<Answer>,
    /// When it must have ended, whatever the time limit of its tool.
    pub(crate) until: Option<Instant>,
}

/// What is known of attempts, by the place of the call in the response.
pub(crate) type Attempts = BTreeMap<u32, Attempt>;

/// A batch that runs. Its calls go on while nobody polls it; it ends when every call has been told as done.
///
/// # Cancel safety
///
/// Dropping it aborts every task before `drop` returns and fires the token of each call.
#[must_use = "dropping it stops the calls"]
pub(crate) struct BatchRun {
    shared: Arc<Shared>,
    watchers: Vec<AbortHandle>,
}

/// What the tasks of a batch share.
struct Shared {
    board: Board,
    calls: Vec<CallToRun>,
    tools: ToolSet,
    settings: Arc<RunnerSettings>,
    turn: u32,
    attempts: Attempts,
    /// The parent of the token of each call.
    cancel: CancelToken,
    /// `None` when there is no runtime to run anything.
    runtime: Option<Handle>,
    /// What the spans of the calls are below.
    parent: Span,
}

impl BatchRun {
    /// Starts the calls, in their order and as many at once as the settings allow.
    pub(crate) fn start(
        calls: Vec<CallToRun>,
        tools: ToolSet,
        settings: Arc<RunnerSettings>,
        turn: u32,
        attempts: Attempts,
    ) -> Self {
        let shared = Arc::new(Shared {
            board: Board::new(
                calls.len(),
                settings.concurrency(calls.len()),
                settings.captures.clone(),
            ),
            calls,
            tools,
            cancel: settings.cancel.child(),
            settings,
            turn,
            attempts,
            runtime: Handle::try_current().ok(),
            parent: Span::current(),
        });
        // First, so that it is never behind a handler that blocks its thread.
        let runtime = shared.runtime.as_ref();
        let watcher = runtime.map(|runtime| runtime.spawn(Watcher::new(&shared)));
        shared.admit();
        Self {
            watchers: watcher.iter().map(JoinHandle::abort_handle).collect(),
            shared,
        }
    }

    /// Ends at once what has not ended on its own. Calls whose handler runs end as `handler_exit`, or as `timeout` for a
    /// deadline, and no policy is asked; all others were not started.
    pub(crate) fn stop(&mut self, stop: Stop) {
        self.shared.stop(stop);
    }

    /// What stopped calls that had not ended on their own.
    pub(crate) fn stopped(&self) -> Option<Stop> {
        self.shared.board.stopped()
    }

    /// Stops the calls when the token fires or the time is over, also while nobody polls.
    pub(crate) fn stop_when(&mut self, cancel: CancelToken, deadline: Option<(Duration, Stop)>) {
        let Some(runtime) = &self.shared.runtime else {
            return;
        };
        let shared = Arc::downgrade(&self.shared);
        let watcher = runtime.spawn(async move {
            let stop = match deadline {
                None => {
                    cancel.cancelled().await;
                    Stop::Cancelled
                }
                Some((limit, stop)) => {
                    let over = tokio::time::sleep(limit);
                    match race(cancel.cancelled(), over).await {
                        First::A(()) => Stop::Cancelled,
                        First::B(()) => stop,
                    }
                }
            };
            if let Some(shared) = shared.upgrade() {
                shared.stop(stop);
            }
        });
        self.watchers.push(watcher.abort_handle());
    }
}

impl Stream for BatchRun {
    type Item = BatchItem;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<BatchItem>> {
        let note = ready!(self.shared.board.poll(cx));
        Poll::Ready(note.and_then(|note| self.shared.item(note)))
    }
}

impl Drop for BatchRun {
    fn drop(&mut self) {
        // Fired first, so that a handler whose thread comes free now sees it; and not at all if every call has ended.
        if self.shared.board.is_busy() {
            self.shared.cancel.cancel();
        }
        self.shared.board.close();
        for watcher in &self.watchers {
            watcher.abort();
        }
    }
}

impl Shared {
    fn item(&self, note: Note) -> Option<BatchItem> {
        Some(match note {
            Note::Started(event) => BatchItem::Event(Event::ToolExecutionStarted(event)),
            Note::Progress(place, progress) => {
                let CallToRun { index, call } = self.calls.get(place)?;
                BatchItem::Event(Event::ToolProgress(Box::new(ToolProgress {
                    index: *index,
                    id: call.id.clone(),
                    progress: progress.progress,
                    total: progress.total,
                    message: progress.message,
                })))
            }
            Note::Done(place, outcome) => {
                let CallToRun { index, call } = self.calls.get(place)?;
                BatchItem::Done {
                    index: *index,
                    events: outcome.events(*index, call),
                    outcome,
                }
            }
        })
    }

    /// Lets calls through the gate as far as there is room, and until the token fires: whoever drives the batch is about
    /// to stop it then, and what waits must not begin, however soon a handler that heeds the token makes room.
    fn admit(self: &Arc<Self>) {
        self.board
            .admit(|| !self.cancel.is_cancelled(), |place| self.begin(place));
    }

    fn begin(self: &Arc<Self>, place: usize) {
        let Some(to_run @ CallToRun { index, call }) = self.calls.get(place) else {
            return;
        };
        let span = self.board.open_span(place, &self.parent, call);
        let Some(entry) = self.tools.get(call.original_name()) else {
            // Whoever made the batch sorts these out; nothing may be left without an end if not.
            let names = self.tools.list().iter().map(|tool| &tool.name);
            let failure = encode::unknown_tool(call.original_name(), names);
            return self.board.finish(place, ToolOutcome::failed(failure));
        };
        if compact::is_tool_help(&entry.tool) {
            let answer = compact::tool_help_answer(self.tools.list(), call);
            let content = encode::bound(answer.clone(), self.settings.max_tool_output);
            let arguments = call.arguments.clone().unwrap_or_default();
            if self
                .board
                .started(place, call::start_event(*index, call, arguments))
            {
                self.board
                    .finish(place, ToolOutcome::replied(answer, content));
            }
            return;
        }
        let Some(runtime) = &self.runtime else {
            let error = exited("there is no runtime to run it");
            return self.board.finish(place, self.stopped_as(entry, error));
        };
        let cancel = self.cancel.child();
        let call = Call::new(self, place, to_run, entry, cancel.clone());
        let due = call.due().map(|at| Due {
            at,
            cancel,
            span: span.clone(),
        });
        let task = runtime.spawn(Ending::by_its_end(call).run().instrument(span));
        self.board.keep(place, task.abort_handle());
        if let Some(due) = due {
            self.board.due(place, due);
        }
    }

    fn stop(&self, stop: Stop) {
        if !self.board.is_busy() {
            return;
        }
        // Fired first, so that a handler whose thread comes free now sees it.
        self.cancel.cancel();
        self.board.stop(stop, |place, started| {
            let call = self.calls.get(place).filter(|_| started);
            let entry = call.and_then(|call| self.tools.get(call.call.original_name()));
            let Some(entry) = entry else {
                return ToolOutcome::NotStarted;
            };
            let error = match stop {
                Stop::Cancelled => exited("the run was cancelled"),
                Stop::Deadline(_) => timed_out("a deadline of the run passed"),
            };
            self.stopped_as(entry, error)
        });
    }

    /// What a call that was stopped came to: neither policy nor encoder is asked.
    fn stopped_as(&self, entry: &Entry, error: ToolError) -> ToolOutcome {
        let failure = ToolFailure::Crashed(error);
        let report = encode::report(&failure, entry.tool.name.as_str(), &entry.tool.effect);
        let ToolOutcome::Failed {
            failure,
            content,
            decision,
        } = ToolOutcome::failed(report)
        else {
            return ToolOutcome::NotStarted;
        };
        ToolOutcome::Failed {
            failure,
            content: encode::bound(content, self.settings.max_tool_output),
            decision,
        }
    }
}

fn timed_out(cause: &str) -> ToolError {
    let message = "the call passed its time limit";
    ToolError::new(ToolReason::Timeout, message).cause(cause)
}

#[cfg(test)]
mod tests;
