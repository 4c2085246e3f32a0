//! Sessions that nobody drives: found, driven, expired, swept.

use std::collections::BTreeSet;
use std::time::Duration;

use allm_core::session::{OpenTurn, Operation, Outcome as CallOutcome, Session as Data};
use allm_core::{
    ChatResult, DeleteIf, Head, LeaseFilter, PageRequest, SessionError, SessionFilter, SessionId,
    SessionReason, SessionStatus, StoreReason, Timestamp,
};
use tokio::task::JoinSet;

use super::driver::{Orders, Outcome};
use super::registry::Sessions;
use super::running::{Finished, crashed, drive_taken};
use super::store_journal::View;
use super::taking::Purpose;
use crate::engine::Engine;
use crate::engine::settings::Settings;

/// How many sessions are recovered at once.
const AT_ONCE: usize = 16;

/// What came of a session that was recovered.
#[derive(Debug)]
#[non_exhaustive]
pub struct Recovery {
    /// The session.
    pub id: SessionId,
    /// The result of its run; `None` when it was left unfinished because this process is shutting down.
    pub result: Result<Option<ChatResult>, SessionError>,
}

/// Which sessions a sweep deletes. Nothing is ever deleted without one.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RetentionPolicy {
    /// Those with one of these statuses.
    pub statuses: BTreeSet<SessionStatus>,
    /// Those that nobody has written to for so long.
    pub unused_for: Duration,
}

impl RetentionPolicy {
    /// Sessions that are idle, completed or failed, and that nobody has written to for so long.
    #[must_use]
    pub fn unused_for(time: Duration) -> Self {
        Self {
            statuses: [
                SessionStatus::Idle,
                SessionStatus::Completed,
                SessionStatus::Error,
            ]
            .into(),
            unused_for: time,
        }
    }

    /// Only those with one of these statuses.
    #[must_use]
    pub fn statuses(mut self, statuses: impl IntoIterator<Item = SessionStatus>) -> Self {
        self.statuses = statuses.into_iter().collect();
        self
    }
}

impl Sessions {
    /// Finds the sessions that can go on and that nobody drives, and drives each of them with this engine to where it
    /// stops. Sessions that wait, that have failed or that somebody else drives are left alone.
    ///
    /// Each is driven by a task of its own, which goes on when this is dropped.
    ///
    /// # Errors
    ///
    /// When the store cannot list them: told when those that were found are done. What happens to one session is told in
    /// its [`Recovery`].
    pub async fn recover(&self, engine: &Engine) -> Result<Vec<Recovery>, SessionError> {
        self.recover_with(|_| Some(engine.clone())).await
    }

    /// As [`recover`](Self::recover), with an engine for each session; sessions without one are left alone.
    ///
    /// # Errors
    ///
    /// Those of `recover`.
    pub async fn recover_with(
        &self,
        engine: impl Fn(&Head) -> Option<Engine> + Send,
    ) -> Result<Vec<Recovery>, SessionError> {
        let filter = SessionFilter::new().runnable().lease(LeaseFilter::Free);
        let mut heads = Heads::new(self, filter);
        // Who waits may be gone; who drives goes on.
        let mut waiting = JoinSet::new();
        let mut done = Vec::new();
        let listed = loop {
            let head = match heads.next().await {
                Ok(Some(head)) if !self.0.closing.is_cancelled() => head,
                Ok(_) => break Ok(()),
                Err(error) => break Err(error),
            };
            let Some(engine) = engine(&head) else {
                continue;
            };
            if waiting.len() >= AT_ONCE {
                done.extend(waiting.join_next().await.and_then(flat));
            }
            let id = head.id.clone();
            let driver = tokio::spawn(self.clone().recover_one(head.id, engine));
            waiting.spawn(async move {
                let crashed = |_| {
                    let result = Err(crashed());
                    Some(Recovery { id, result })
                };
                driver.await.unwrap_or_else(crashed)
            });
        };
        while let Some(recovered) = waiting.join_next().await {
            done.extend(flat(recovered));
        }
        listed.map(|()| done)
    }

    /// `None` when somebody else was faster, or it is not there any more.
    async fn recover_one(self, id: SessionId, engine: Engine) -> Option<Recovery> {
        let recovered = |result| {
            Some(Recovery {
                id: id.clone(),
                result,
            })
        };
        let view = match View::load(self.asking(), &id).await {
            Ok(view) => view,
            Err(error) if is_gone(&error) => return None,
            Err(error) => return recovered(Err(error)),
        };
        if !view.data.is_runnable() {
            return None;
        }
        let mut taken = match self.take(&view, Purpose::Driving).await {
            Ok(taken) => taken,
            Err(error) if is_gone(&error) || error.reason == SessionReason::Busy => return None,
            Err(error) => return recovered(Err(error)),
        };
        let refreshed = taken.refresh().await;
        // Who came to shut down meanwhile finds nothing begun.
        let may_begin = self.may(Purpose::Driving).is_ok();
        if refreshed.is_err() || !may_begin || !taken.journal.view.data.is_runnable() {
            taken.lease.release().await;
            return match refreshed {
                Err(error) if !is_gone(&error) => recovered(Err(error)),
                _ => None,
            };
        }
        let orders = Orders {
            op: Operation::Resume,
            message: None,
            input_id: None,
            settings: Settings::default(),
        };
        let Finished { result, .. } =
            drive_taken(self.clone(), taken, engine, orders, None, None).await;
        recovered(match result {
            Ok(Outcome::Result(result)) => Ok(Some(*result)),
            Ok(Outcome::Left) => Ok(None),
            Err(error) => Err(error),
        })
    }

    /// Closes the waits that are over, in at most `limit` sessions; gives how many had some. A session that cannot be
    /// read, or that others write to all the time, is left alone: the rest does not wait for it.
    ///
    /// # Errors
    ///
    /// What the store cannot do.
    pub async fn expire(&self, limit: usize) -> Result<usize, SessionError> {
        let now = self.asking_once().now().await?;
        let mut heads = Heads::new(self, SessionFilter::new().expires_before(now));
        let mut expired = 0;
        while expired < limit
            && let Some(head) = heads.next().await?
        {
            match self.expire_one(&head.id).await {
                Ok(()) => expired += 1,
                Err(error) if is_gone(&error) || is_unreadable(&error) => {}
                Err(error) if error.reason == SessionReason::Conflict => {}
                Err(error) => return Err(error),
            }
        }
        Ok(expired)
    }

    async fn expire_one(&self, id: &SessionId) -> Result<(), SessionError> {
        self.open(id.as_str()).await?.expire().await
    }

    /// Deletes what the policy names, at most `limit` sessions; gives how many. Sessions that are driven, in progress or
    /// waiting stay, unless the policy names their status. Sessions with messages that are not delivered stay, those with
    /// an answer or an approved call that nobody has gone on with, and failed ones in which something waits. One that
    /// cannot be read stays if such a thing may be in it.
    ///
    /// # Errors
    ///
    /// What the store cannot do.
    pub async fn sweep(
        &self,
        policy: &RetentionPolicy,
        limit: usize,
    ) -> Result<usize, SessionError> {
        let now = self.asking_once().now().await?;
        let age = i64::try_from(policy.unused_for.as_millis()).unwrap_or(i64::MAX);
        let before = Timestamp::from_millis(now.as_millis().saturating_sub(age));
        let Ok(before) = before else {
            return Ok(0);
        };
        let mut filter = SessionFilter::new()
            .updated_before(before)
            .lease(LeaseFilter::Free);
        for status in &policy.statuses {
            filter = filter.status(*status);
        }
        if policy.statuses.is_empty() {
            return Ok(0);
        }
        let mut heads = Heads::new(self, filter);
        let mut deleted = 0;
        while deleted < limit
            && let Some(head) = heads.next().await?
        {
            if self.is_wanted(&head).await? {
                continue;
            }
            match self.delete(&head.id, DeleteIf::Version(head.version)).await {
                Ok(()) => deleted += 1,
                Err(error) if is_gone(&error) => {}
                Err(error)
                    if matches!(error.reason, SessionReason::Conflict | SessionReason::Busy) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(deleted)
    }

    /// Whether something was given to a session that nobody has gone on with, or is still asked for.
    async fn is_wanted(&self, head: &Head) -> Result<bool, SessionError> {
        // It has nothing of the kind.
        if head.status == SessionStatus::Completed {
            return Ok(false);
        }
        match View::load(self.asking_once(), &head.id).await {
            Ok(View { data, .. }) => {
                let is_waiting = !data.waits().is_empty();
                let is_ready = data.run().is_none() && data.has_ready_call();
                Ok(!data.inbox().is_empty()
                    || is_ready
                    || data.status() == SessionStatus::Error && is_waiting
                    || data.status() == SessionStatus::Idle && was_answered(&data))
            }
            Err(error) if is_gone(&error) || is_unreadable(&error) => Ok(true),
            Err(error) => Err(error),
        }
    }
}

/// Whether the last wait was closed by somebody, and the model has not heard of it. What expired was given by nobody.
fn was_answered(session: &Data) -> bool {
    let turn = session.open_turn();
    let calls = turn.into_iter().flat_map(OpenTurn::calls);
    let mut outcomes = calls.filter_map(|call| call.outcome());
    session.is_runnable() && outcomes.all(|outcome| outcome != CallOutcome::Expired)
}

/// The heads of a listing, one after the other.
struct Heads<'a> {
    sessions: &'a Sessions,
    filter: SessionFilter,
    /// `None` once the last page was read.
    page: Option<PageRequest>,
    read: std::vec::IntoIter<Head>,
}

impl<'a> Heads<'a> {
    fn new(sessions: &'a Sessions, filter: SessionFilter) -> Self {
        Self {
            sessions,
            filter,
            page: Some(PageRequest::default()),
            read: Vec::new().into_iter(),
        }
    }

    async fn next(&mut self) -> Result<Option<Head>, SessionError> {
        loop {
            if let Some(head) = self.read.next() {
                return Ok(Some(head));
            }
            let Some(page) = self.page.take() else {
                return Ok(None);
            };
            let found = self.sessions.list(&self.filter, page).await?;
            self.page = found
                .next
                .map(|cursor| PageRequest::default().after(cursor));
            self.read = found.items.into_iter();
        }
    }
}

/// Who waits neither crashes nor is stopped.
fn flat(joined: Result<Option<Recovery>, tokio::task::JoinError>) -> Option<Recovery> {
    joined.ok().flatten()
}

/// Whether the journal of a session is damaged, or of a library that this one does not know. That is not over soon, and
/// it is no reason to leave other sessions waiting.
fn is_unreadable(error: &SessionError) -> bool {
    let reasons = [
        SessionReason::ReplayDiverged,
        SessionReason::UnsupportedVersion,
        SessionReason::UnsupportedMachine,
        SessionReason::Invalid,
    ];
    reasons.contains(&error.reason) || error.store_reason() == Some(StoreReason::Corrupt)
}

pub(crate) fn is_gone(error: &SessionError) -> bool {
    matches!(
        error.store_reason(),
        Some(StoreReason::NotFound | StoreReason::Gone)
    )
}
