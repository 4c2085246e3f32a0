//! Driving a stored session: a task of its own, whoever listens.

use allm_core::session::{Append, Operation, Session as Data};
use allm_core::{AppendId, BoxFuture, CancelToken, ChatResult, Event, SessionError, SessionReason};
use tokio::sync::{mpsc, oneshot};

use super::asking::Asking;
use super::call::Target;
use super::driver::{
    APPROVAL_MISMATCH, Drive, Orders, Outcome as Driven, Prepared, Preparing, Signals,
};
use super::durable::DurableSession;
use super::emit::{Queue, Sink};
use super::journal::Journal as _;
use super::late;
use super::reading::Places;
use super::registry::Sessions;
use super::store_journal::{Ending, Refreshed, View};
use super::taking::{First, Live, Purpose, Taken};
use crate::engine::Engine;
use crate::random;

/// The events of a driver for whoever began the run and for everyone else who listens in this process.
pub(crate) struct Broadcast {
    to_caller: Option<mpsc::UnboundedSender<Event>>,
    live: Live,
    places: Places,
}

impl Sink for Broadcast {
    /// Nobody is waited for.
    async fn emit(&mut self, event: Event) {
        if let Some(heard) = self.places.place(&event, self.live.is_heard()) {
            self.live.tell(heard);
        }
        if let Some(caller) = &self.to_caller
            && caller.send(event).is_err()
        {
            self.to_caller = None;
        }
    }

    fn begin(&mut self, turn: u32, attempt: u32) {
        self.places.begin(turn, attempt);
    }
}

/// What a driver leaves when it is done.
pub(crate) struct Finished {
    pub(crate) result: Result<Driven, SessionError>,
    pub(crate) view: View,
}

/// Drives a session that was taken, to its end; then gives it back.
pub(crate) async fn drive_taken(
    sessions: Sessions,
    mut taken: Taken,
    engine: Engine,
    orders: Orders,
    cancel: Option<CancelToken>,
    to_caller: Option<mpsc::UnboundedSender<Event>>,
) -> Finished {
    let noted = taken.noted.take();
    let mut sink = Broadcast {
        to_caller,
        live: noted
            .as_ref()
            .map_or_else(Live::default, |noted| noted.live.clone()),
        places: Places::default(),
    };
    let begun = taken.begun.take();
    let from = match &begun {
        Some(begun) => begun.from,
        None => taken.journal.session().version(),
    };
    let tenure = Some(taken.journal.tenure.clone());
    let data = &taken.journal.view.data;
    let attempts = taken.journal.attempts.clone();
    attempts.note(data);
    let on_late = data
        .uid()
        .and_then(|uid| late::keeper(&sessions, data.id(), uid, attempts));
    let drive = Drive {
        journal: &mut taken.journal,
        sink: &mut sink,
        engine: &engine,
        orders,
        limits: sessions.0.options.limits(),
        signals: Signals {
            cancel,
            closing: sessions.0.closing.clone(),
            leave: sessions.0.leave.clone(),
            tenure,
            on_late,
        },
    };
    let result = match begun {
        Some(begun) => drive.go_on(begun.plan, begun.applied).await,
        None => drive.run().await,
    };
    let reason = result.as_ref().err().map(|error| error.reason);
    match (&result, reason) {
        (Err(error), Some(SessionReason::LostOwnership)) => {
            let mut late = DurableSession::new(sessions.clone(), taken.journal.view.clone());
            late.keep_evidence(&error.unsaved).await;
        }
        // It would be tried in vain.
        (_, Some(SessionReason::Store)) => {}
        // Nobody would believe a snapshot of what somebody has altered.
        _ if is_altered(taken.journal.session()) => {}
        // A run that was refused on its way has ended, too; an operation that was refused has written nothing.
        _ if taken.journal.session().version() != from => taken.journal.snapshot().await,
        _ => {}
    }
    match taken.journal.ending {
        Ending::Done => taken.lease.forget(),
        Ending::Apart | Ending::WithTheRun => taken.lease.release().await,
    }
    drop(noted);
    Finished {
        result,
        view: taken.journal.view,
    }
}

/// Whether the driver found that what was to be run is not what was approved.
pub(crate) fn is_altered(session: &Data) -> bool {
    let failure = session.failure();
    failure.is_some_and(|failure| failure.kind == APPROVAL_MISMATCH)
}

impl<'a> Target<'a> for &'a mut DurableSession {
    fn drive(
        self: Box<Self>,
        engine: Engine,
        orders: Orders,
        cancel: Option<CancelToken>,
        mut queue: Queue,
    ) -> BoxFuture<'a, Result<ChatResult, SessionError>> {
        Box::pin(async move {
            let session = *self;
            let (to_caller, mut events) = mpsc::unbounded_channel();
            // Who waits for the result alone is woken once.
            let to_caller = Some(to_caller).filter(|_| queue.is_heard());
            let (finish, finished) = oneshot::channel();
            let (sessions, view) = (session.sessions().clone(), session.view().clone());
            // The run does not depend on whoever began it, from the first step on.
            tokio::spawn(async move {
                let driven = take_and_drive(sessions, view, engine, orders, cancel, to_caller);
                let _ = finish.send(driven.await);
            });
            while let Some(event) = events.recv().await {
                queue.emit(event).await;
            }
            let Finished { result, view } = finished.await.map_err(|_| crashed())?;
            *session.view_mut() = view;
            match result? {
                Driven::Result(result) => Ok(*result),
                Driven::Left => {
                    let message = "this process is shutting down; the run goes on elsewhere";
                    Err(SessionError::new(SessionReason::Busy, message))
                }
            }
        })
    }
}

/// A driver that is gone without a word.
pub(crate) fn crashed() -> SessionError {
    let message = "the driver of the session crashed; resume it";
    SessionError::new(SessionReason::LostOwnership, message)
}

/// Takes a session and does what is asked of it.
async fn take_and_drive(
    sessions: Sessions,
    view: View,
    engine: Engine,
    orders: Orders,
    cancel: Option<CancelToken>,
    to_caller: Option<mpsc::UnboundedSender<Event>>,
) -> Finished {
    let refused = |view, error| Finished {
        result: Err(error),
        view,
    };
    let first = || sessions.first(&view, &engine, &orders);
    let taken = sessions.take_and_begin(&view, Purpose::Driving, first);
    let mut taken = match taken.await {
        Ok(taken) => taken,
        Err(error) => return refused(view, error),
    };
    if taken.begun.is_none() {
        let caught_up = taken.catch_up(orders.op).await;
        // Who came to shut down meanwhile finds nothing begun.
        if let Err(error) = caught_up.and_then(|()| sessions.may(Purpose::Driving)) {
            taken.lease.release().await;
            return refused(view, error);
        }
    }
    drive_taken(sessions, taken, engine, orders, cancel, to_caller).await
}

impl Sessions {
    /// What a run of this begins with, when it is known what time it is by the store's clock and nothing else is to be
    /// written before. What speaks against it is told once the session is taken and read again.
    fn first(&self, view: &View, engine: &Engine, orders: &Orders) -> Option<First> {
        let now = self.0.clock.now()?;
        // Whether a wait is over is for the store's clock to tell, at this moment.
        if view.data.next_expiry().is_some() {
            return None;
        }
        let preparing = Preparing {
            session: &view.data,
            last_writer: view.last_writer.clone(),
            engine,
            orders,
            limits: self.0.options.limits(),
            now,
        };
        let Ok(Prepared::Run(bodies, plan)) = preparing.prepare() else {
            return None;
        };
        let append = Append {
            id: AppendId::from_bytes(random::bytes()),
            writer: self.0.writer.clone(),
            at: now,
            input_id: orders.input_id.clone(),
        };
        let sealed = view.seal(&bodies, append).ok()?;
        // What ends at once goes with what belongs to an end.
        if sealed.applied.ended.is_some() {
            return None;
        }
        Some(First {
            at: view.position().ok()?,
            sealed,
            bodies,
            plan,
        })
    }
}

impl Taken {
    /// Takes in what others did. Who knew the session as it was when it was taken has nothing to take in; what comes later
    /// is met at the next append.
    pub(crate) async fn refresh(&mut self) -> Result<Refreshed, SessionError> {
        let journal = &mut self.journal;
        if self.taken_at.take() == Some(journal.session().version()) {
            return Ok(Refreshed::default());
        }
        let asking = Asking::again(&*journal.store, journal.retry_for);
        journal.view.refresh(asking).await
    }

    /// Takes in what others did since this view. Who replies must have seen what is replied to.
    async fn catch_up(&mut self, op: Operation) -> Result<(), SessionError> {
        let seen = self.journal.session().version();
        self.refresh().await?;
        let found = self.journal.session().version();
        if op == Operation::Reply && found != seen {
            return Err(SessionError::conflict(seen, found));
        }
        Ok(())
    }
}
