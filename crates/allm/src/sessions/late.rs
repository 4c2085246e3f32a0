//! What handlers come to after their call was closed without them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use allm_core::session::{
    CallKey, EntryBody, Outcome, OutcomeSource, Session as Data, ToolOutcomeEntry, TurnCall,
};
use allm_core::{SessionId, SessionUid};
use tokio::runtime::Handle;
use tokio::time::timeout;

use super::durable::DurableSession;
use super::lease::LOOK_EVERY;
use super::registry::Sessions;
use super::store_journal::View;
use crate::tools::{Late, LateReply, OnLate};

/// How often it is looked whether a call was closed, before what its handler came to is kept anyway.
const LOOKS: u32 = 10;

/// At which attempt the calls of the last turn are, as their driver knows it.
#[derive(Clone, Default)]
pub(crate) struct Attempts(Arc<Mutex<BTreeMap<CallKey, u32>>>);

impl Attempts {
    /// The session has come so far.
    pub(crate) fn note(&self, session: &Data) {
        let Some(turn) = session.open_turn() else {
            return;
        };
        let of_call = |(index, call): (u32, &TurnCall)| {
            let turn = turn.turn;
            (CallKey { turn, index }, call.attempts)
        };
        let attempts = (0..).zip(turn.calls()).map(of_call).collect();
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = attempts;
    }

    fn of(&self, call: CallKey) -> u32 {
        let attempts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        attempts.get(&call).copied().unwrap_or(1).max(1)
    }
}

/// Keeps what handlers come to too late, as evidence in the journal.
struct Keeper {
    runtime: Handle,
    sessions: Sessions,
    id: SessionId,
    uid: SessionUid,
    attempts: Attempts,
}

/// Whoever keeps what the handlers of this session come to too late.
pub(super) fn keeper(
    sessions: &Sessions,
    id: &SessionId,
    uid: SessionUid,
    attempts: Attempts,
) -> Option<OnLate> {
    Some(Arc::new(Keeper {
        runtime: Handle::try_current().ok()?,
        sessions: sessions.clone(),
        id: id.clone(),
        uid,
        attempts,
    }))
}

impl Late for Keeper {
    fn attempt(&self, turn: u32, index: u32) -> u32 {
        self.attempts.of(CallKey { turn, index })
    }

    fn keep(&self, late: LateReply) {
        let kept = keep(self.sessions.clone(), self.id.clone(), self.uid, late);
        drop(self.runtime.spawn(kept));
    }
}

async fn keep(sessions: Sessions, id: SessionId, uid: SessionUid, late: LateReply) {
    let key = CallKey {
        turn: late.turn,
        index: late.index,
    };
    let Ok(view) = View::load(sessions.asking(), &id).await else {
        return;
    };
    let mut session = DurableSession::new(sessions.clone(), view);
    for _ in 0..LOOKS {
        if session.uid() != Some(uid) {
            return;
        }
        let call = session.open_turn().and_then(|turn| turn.get(key));
        if call.is_none_or(|call| call.outcome().is_some()) {
            break;
        }
        // Whoever drives it may be about to take the reply, or to close the call without it.
        let _ = timeout(LOOK_EVERY, sessions.store().changed(&id)).await;
        if session.look_again().await.is_err() {
            return;
        }
    }
    let call = session.open_turn().and_then(|turn| turn.get(key));
    let is_heard = |outcome| {
        matches!(
            outcome,
            Outcome::Ok | Outcome::Failed | Outcome::Asked | Outcome::Halted
        )
    };
    let attempt = late.attempt;
    // What a later attempt came to is not what this one did.
    let is_last = call.is_none_or(|call| call.attempts.max(1) == attempt);
    if is_last && call.and_then(|call| call.outcome()).is_some_and(is_heard) {
        return;
    }
    if call.is_some_and(|call| call.has_evidence(attempt)) {
        return;
    }
    let source = OutcomeSource::Handler;
    let entry = ToolOutcomeEntry::new(key, attempt, late.outcome().await, source);
    session
        .keep_evidence(&[EntryBody::ToolOutcome(Box::new(entry))])
        .await;
}
