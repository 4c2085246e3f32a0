//! Where the tasks of a batch meet: who has started, who is done, and what the consumer has not yet been told.
//!
//! Whoever first says here what a call came to is right: its handler, its time limit or a stop. All that comes later
//! reaches nobody. The lock is never held while code of the caller's runs.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use allm_core::run::{Stop, ToolOutcome};
use allm_core::{CancelToken, Progress, Redactor, ToolCall, ToolExecutionStarted};
use tokio::task::AbortHandle;
use tokio::time::Instant;
use tracing::Span;

use crate::panics::caught;
use crate::telemetry::tool::ToolSpan;

/// What the consumer is told. Calls are named by their place in the batch.
pub(super) enum Note {
    Started(Box<ToolExecutionStarted>),
    Progress(usize, Progress),
    Done(usize, ToolOutcome),
}

/// What waits for the consumer. A report of progress waits in its slot, where a newer one replaces it.
enum Waiting {
    Started(Box<ToolExecutionStarted>),
    Progress(usize),
    Done(usize, ToolOutcome),
}

#[derive(Default)]
struct Slot {
    started: bool,
    done: bool,
    /// Between the start and the end of the handler.
    reports: bool,
    /// Somebody has the right to say what it came to: its own task, or whoever found it overdue.
    claimed: bool,
    progress: Option<Progress>,
    /// The task that works on it.
    task: Option<AbortHandle>,
    due: Option<Due>,
    span: ToolSpan,
}

/// When a call must have ended.
pub(super) struct Due {
    pub(super) at: Instant,
    /// Tells its handler.
    pub(super) cancel: CancelToken,
    /// What it is ended in.
    pub(super) span: Span,
}

/// A call whose time is over.
pub(super) struct Overdue {
    pub(super) place: usize,
    pub(super) task: Option<AbortHandle>,
    pub(super) due: Due,
}

/// What is left of a call when it is done.
struct Remains {
    task: Option<AbortHandle>,
    due: Option<Due>,
    span: ToolSpan,
}

#[derive(Default)]
struct State {
    slots: Vec<Slot>,
    waiting: VecDeque<Waiting>,
    /// How many calls the consumer has not been told the end of.
    untold: usize,
    waker: Option<Waker>,
    /// Who watches the clock, and the time that it waits for.
    watcher: Option<(Waker, Option<Instant>)>,
    /// How many calls are past the gate.
    running: usize,
    /// The call that passes the gate next.
    next: usize,
    /// Somebody is letting calls through.
    admitting: bool,
    /// Nothing passes the gate any more.
    shut: bool,
    /// What ended calls that had not ended on their own.
    stopped: Option<Stop>,
}

/// Room for notes that is made at once, at most.
const FIRST_NOTES: usize = 64;

pub(super) struct Board {
    state: Mutex<State>,
    at_once: usize,
    captures: Option<Redactor>,
}

impl Board {
    pub(super) fn new(calls: usize, at_once: usize, captures: Option<Redactor>) -> Self {
        let state = State {
            slots: std::iter::repeat_with(Slot::default).take(calls).collect(),
            // Each call says that it begins and what it came to.
            waiting: VecDeque::with_capacity(calls.saturating_mul(2).min(FIRST_NOTES)),
            untold: calls,
            ..State::default()
        };
        Self {
            state: Mutex::new(state),
            at_once,
            captures,
        }
    }

    /// The state is whole at any instant, so a panic elsewhere while it was locked does not matter.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets calls through the gate in their order, while it is `open`. `start` may end calls, at once or later, and others may end
    /// meanwhile: whoever is letting calls through goes on until there is no more room.
    pub(super) fn admit(&self, open: impl Fn() -> bool, start: impl Fn(usize)) {
        let mut state = self.state();
        if std::mem::replace(&mut state.admitting, true) {
            return;
        }
        while !state.shut
            && open()
            && state.running < self.at_once
            && state.next < state.slots.len()
        {
            let place = state.next;
            state.next += 1;
            state.running += 1;
            drop(state);
            start(place);
            state = self.state();
        }
        state.admitting = false;
    }

    /// Opens the span of a call; gives what its work is done in.
    pub(super) fn open_span(&self, place: usize, parent: &Span, call: &ToolCall) -> Span {
        // Whoever listens is the caller's. What he does not want to hear must still happen.
        let opened = caught(|| ToolSpan::open(parent, call, self.captures.as_ref()));
        let opened = opened.unwrap_or_default();
        let span = opened.span();
        if let Some(slot) = self.state().slots.get_mut(place).filter(|slot| !slot.done) {
            slot.span = opened;
        }
        span
    }

    /// Keeps hold of the task of a call, which is aborted at once if the call is done.
    pub(super) fn keep(&self, place: usize, task: AbortHandle) {
        let mut state = self.state();
        match state.slots.get_mut(place) {
            Some(slot) if !slot.done => slot.task = Some(task),
            _ => {
                drop(state);
                task.abort();
            }
        }
    }

    /// Says when a call must have ended.
    pub(super) fn due(&self, place: usize, due: Due) {
        let at = due.at;
        let mut state = self.state();
        let Some(slot) = state.slots.get_mut(place).filter(|slot| !slot.claimed) else {
            drop(state);
            return drop(due);
        };
        slot.due = Some(due);
        let sooner = |waits: Option<Instant>| waits.is_none_or(|waits| at < waits);
        let watcher = state.watcher.take_if(|(_, waits)| sooner(*waits));
        drop(state);
        if let Some((watcher, _)) = watcher {
            watcher.wake();
        }
    }

    /// When the next call must have ended; whoever asks is woken when there is a sooner time.
    pub(super) fn next_due(&self, cx: &mut Context<'_>) -> Option<Instant> {
        let mut state = self.state();
        let waiting = state.slots.iter().filter(|slot| !slot.claimed);
        let next = waiting.filter_map(|slot| Some(slot.due.as_ref()?.at)).min();
        state.watcher = Some((cx.waker().clone(), next));
        next
    }

    /// The calls that should have ended by now. Whoever gets them settles them.
    pub(super) fn overdue(&self, now: Instant) -> Vec<Overdue> {
        let mut state = self.state();
        let slots = state.slots.iter_mut().enumerate();
        slots
            .filter(|(_, slot)| !slot.claimed)
            .filter_map(|(place, slot)| {
                let due = slot.due.take_if(|due| due.at <= now)?;
                slot.claim();
                let task = slot.task.take();
                Some(Overdue { place, task, due })
            })
            .collect()
    }

    /// Asks for the right to say what a call came to; only the first gets it. From now on nobody hears of its handler.
    #[must_use]
    pub(super) fn claim(&self, place: usize) -> bool {
        let mut state = self.state();
        state.slots.get_mut(place).is_some_and(Slot::claim)
    }

    /// Says that a handler starts; `false` if it must not, because the call is done.
    #[must_use]
    pub(super) fn started(&self, place: usize, event: ToolExecutionStarted) -> bool {
        let mut state = self.state();
        match state.slots.get_mut(place) {
            Some(slot) if !slot.done => {
                slot.started = true;
                slot.reports = true;
            }
            _ => return false,
        }
        state.waiting.push_back(Waiting::Started(Box::new(event)));
        wake(state);
        true
    }

    /// Takes a report of progress, unless the handler has ended; says whether the consumer was woken for it.
    pub(super) fn report(&self, place: usize, progress: Progress) -> bool {
        let mut state = self.state();
        let Some(slot) = state.slots.get_mut(place).filter(|slot| slot.reports) else {
            return false;
        };
        let is_first = slot.progress.replace(progress).is_none();
        if is_first {
            state.waiting.push_back(Waiting::Progress(place));
            wake(state);
        }
        is_first
    }

    /// Says that a handler has ended: from now on nobody hears of it.
    pub(super) fn ended(&self, place: usize) {
        if let Some(slot) = self.state().slots.get_mut(place) {
            slot.reports = false;
        }
    }

    pub(super) fn is_done(&self, place: usize) -> bool {
        self.state().slots.get(place).is_none_or(|slot| slot.done)
    }

    /// Whether there is a call that is not done.
    pub(super) fn is_busy(&self) -> bool {
        self.state().slots.iter().any(|slot| !slot.done)
    }

    /// Says what a call came to, if nobody has.
    pub(super) fn finish(&self, place: usize, outcome: ToolOutcome) {
        let remains = self.state().finish(place);
        if let Some(remains) = remains {
            self.tell(place, outcome, remains);
        }
    }

    /// Tells the consumer what a call came to.
    fn tell(&self, place: usize, outcome: ToolOutcome, remains: Remains) {
        let Remains {
            task,
            due,
            mut span,
        } = remains;
        let _ = caught(|| {
            drop(due);
            span.end(&outcome, self.captures.as_ref());
        });
        let mut state = self.state();
        state.waiting.push_back(Waiting::Done(place, outcome));
        wake(state);
        abort(task);
    }

    /// Ends all calls that are not done with what `outcome` says, given whether the handler had started. Nothing passes
    /// the gate from now on.
    pub(super) fn stop(&self, stop: Stop, outcome: impl Fn(usize, bool) -> ToolOutcome) {
        let mut stopped = Vec::new();
        let mut state = self.state();
        state.shut = true;
        for place in 0..state.slots.len() {
            let started = state.slots.get(place).is_some_and(|slot| slot.started);
            let Some(remains) = state.finish(place) else {
                continue;
            };
            stopped.push((place, started, remains));
            state.stopped.get_or_insert(stop);
        }
        drop(state);
        for (place, started, remains) in stopped {
            self.tell(place, outcome(place, started), remains);
        }
    }

    /// What stopped calls that had not ended on their own.
    pub(super) fn stopped(&self) -> Option<Stop> {
        self.state().stopped
    }

    /// Ends everything: nobody listens any more.
    pub(super) fn close(&self) {
        let mut state = self.state();
        state.shut = true;
        state.untold = 0;
        let waiting = std::mem::take(&mut state.waiting);
        let places = 0..state.slots.len();
        let left: Vec<Remains> = places.filter_map(|place| state.finish(place)).collect();
        drop(state);
        for remains in left {
            abort(remains.task);
        }
        drop(waiting);
    }

    /// What the consumer has not yet been told, oldest first; `None` when it has been told all.
    pub(super) fn poll(&self, cx: &mut Context<'_>) -> Poll<Option<Note>> {
        let mut state = self.state();
        while let Some(waiting) = state.waiting.pop_front() {
            let note = match waiting {
                Waiting::Started(event) => Note::Started(event),
                Waiting::Progress(place) => {
                    let slot = state.slots.get_mut(place);
                    match slot.and_then(|slot| slot.progress.take()) {
                        Some(progress) => Note::Progress(place, progress),
                        None => continue,
                    }
                }
                Waiting::Done(place, outcome) => {
                    state.untold -= 1;
                    Note::Done(place, outcome)
                }
            };
            return Poll::Ready(Some(note));
        }
        if state.untold == 0 {
            return Poll::Ready(None);
        }
        match &mut state.waker {
            Some(waker) => waker.clone_from(cx.waker()),
            None => state.waker = Some(cx.waker().clone()),
        }
        Poll::Pending
    }
}

impl Slot {
    fn claim(&mut self) -> bool {
        self.reports = false;
        !std::mem::replace(&mut self.claimed, true)
    }
}

impl State {
    /// Marks a call as done, if it is not; gives what nobody needs any more.
    fn finish(&mut self, place: usize) -> Option<Remains> {
        let admitted = place < self.next;
        let slot = self.slots.get_mut(place).filter(|slot| !slot.done)?;
        slot.done = true;
        slot.claim();
        if admitted {
            self.running -= 1;
        }
        Some(Remains {
            task: slot.task.take(),
            due: slot.due.take(),
            span: std::mem::take(&mut slot.span),
        })
    }
}

fn wake(mut state: MutexGuard<'_, State>) {
    let waker = state.waker.take();
    drop(state);
    if let Some(waker) = waker {
        waker.wake();
    }
}

fn abort(task: Option<AbortHandle>) {
    if let Some(task) = task {
        task.abort();
    }
}
