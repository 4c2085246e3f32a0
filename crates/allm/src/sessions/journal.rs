//! Where the entries of a session go.

use std::future::Future;
use std::task::{Context, Poll};
use std::time::{SystemTime, UNIX_EPOCH};

use allm_core::session::{Applied, EntryBody, EntryFacts, Session as Data};
use allm_core::{InputId, Response, SessionError, SessionReason, Timestamp, WriterId};

/// Where the entries of a session go, and how it stands with all of them applied.
///
/// The value form applies them and that is all; the stored form has them durable first.
pub(crate) trait Journal: Send {
    /// How the session stands.
    fn session(&self) -> &Data;

    /// Appends all or none. What was appended is durable when this is ready.
    fn append(
        &mut self,
        bodies: Vec<EntryBody>,
        input_id: Option<InputId>,
    ) -> impl Future<Output = Result<Appended, SessionError>> + Send;

    /// Takes an entry in without writing it: it goes with the next append, or, when others came first and it does not fit
    /// any more, not at all. Until then nothing may be done or told that follows from it. False where nothing is gained
    /// by that, and then nothing happened.
    fn stage(&mut self, body: &EntryBody) -> Result<bool, SessionError> {
        let _ = body;
        Ok(false)
    }

    /// Whether something was taken in that is not written.
    fn is_staged(&self) -> bool {
        false
    }

    /// From now on nothing is written after the entry that ends the run, so that what belongs to the end can be done with
    /// it.
    fn ends_with_the_run(&mut self) {}

    /// The time by the clock that counts.
    fn now(&mut self) -> impl Future<Output = Result<Timestamp, SessionError>> + Send;

    /// Ready when others may have appended something.
    fn poll_poked(&mut self, cx: &mut Context<'_>) -> Poll<()>;

    /// Takes in what others have appended.
    fn refresh(&mut self) -> impl Future<Output = Result<Applied, SessionError>> + Send;

    /// Who wrote last, if it is known.
    fn last_writer(&self) -> Option<WriterId>;

    /// Keeps what had come of an answer that nobody waits for any more.
    fn leave_partial(&mut self, partial: Response);
}

/// What an append brought about.
#[derive(Debug, Default)]
pub(crate) struct Appended {
    /// What can be told now, of one's own entries and of others' that came before them.
    pub(crate) applied: Applied,
    /// Whether others came first, and the machine no longer asks for what was to be appended: nothing was, but for what
    /// had been staged and still fits.
    pub(crate) superseded: bool,
}

/// What one entry brought about, added to another's.
pub(crate) fn extend(all: &mut Applied, next: Applied) {
    all.events.extend(next.events);
    if next.ended.is_some() {
        all.ended = next.ended;
    }
}

/// The journal of a session that nobody stores.
pub(crate) struct ValueJournal<'a>(pub(crate) &'a mut Data);

impl ValueJournal<'_> {
    /// Applies all or none.
    pub(crate) fn apply(
        &mut self,
        bodies: &[EntryBody],
        input_id: Option<&InputId>,
    ) -> Result<Applied, SessionError> {
        let mut next = self.0.clone();
        let mut all = Applied::default();
        for body in bodies {
            let last = next.updated_at();
            let now = machine_time();
            let facts = EntryFacts {
                input_id: input_id.cloned(),
                ..EntryFacts::at(last.map_or(now, |last| last.max(now)))
            };
            let applied = next.apply(body, &facts)?;
            extend(&mut all, applied);
        }
        *self.0 = next;
        Ok(all)
    }
}

impl Journal for ValueJournal<'_> {
    fn session(&self) -> &Data {
        self.0
    }

    async fn append(
        &mut self,
        bodies: Vec<EntryBody>,
        input_id: Option<InputId>,
    ) -> Result<Appended, SessionError> {
        let applied = self.apply(&bodies, input_id.as_ref())?;
        Ok(Appended {
            applied,
            superseded: false,
        })
    }

    async fn now(&mut self) -> Result<Timestamp, SessionError> {
        Ok(machine_time())
    }

    fn poll_poked(&mut self, _: &mut Context<'_>) -> Poll<()> {
        Poll::Pending
    }

    async fn refresh(&mut self) -> Result<Applied, SessionError> {
        Ok(Applied::default())
    }

    fn last_writer(&self) -> Option<WriterId> {
        None
    }

    fn leave_partial(&mut self, partial: Response) {
        self.0.leave_partial(partial);
    }
}

/// The time by this machine's clock.
pub(crate) fn machine_time() -> Timestamp {
    let millis = match SystemTime::now().duration_since(UNIX_EPOCH) {
        Ok(since) => i64::try_from(since.as_millis()).unwrap_or(i64::MAX),
        Err(before) => i64::try_from(before.duration().as_millis()).map_or(0, |ms| -ms),
    };
    // A clock that shows a year after 9999 shows the last moment of it.
    Timestamp::from_millis(millis).unwrap_or(LAST)
}

const LAST: Timestamp = match Timestamp::from_millis(253_402_300_799_999) {
    Ok(last) => last,
    Err(_) => unreachable!(),
};

/// The operation is not possible, because the entry does not fit; for what should not be.
pub(crate) fn misfit(message: &str) -> SessionError {
    SessionError::new(SessionReason::InvalidState, message)
}
