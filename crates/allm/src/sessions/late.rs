//! What handlers come to after their call was closed without them.

use std::sync::Arc;

use allm_core::session::{CallKey, EntryBody, Outcome, OutcomeSource, ToolOutcomeEntry};
use allm_core::{SessionId, SessionUid};
use tokio::runtime::Handle;
use tokio::time::timeout;

use super::lease::LOOK_EVERY;
use super::registry::Sessions;
use crate::tools::{LateReply, OnLate};

/// How often it is looked whether a call was closed, before what its handler came to is kept anyway.
const LOOKS: u32 = 10;

/// Keeps what handlers come to too late, as evidence in the journal.
pub(super) fn keeper(sessions: &Sessions, id: &SessionId, uid: SessionUid) -> Option<OnLate> {
    let runtime = Handle::try_current().ok()?;
    let (sessions, id) = (sessions.clone(), id.clone());
    Some(Arc::new(move |late| {
        drop(runtime.spawn(keep(sessions.clone(), id.clone(), uid, late)));
    }))
}

async fn keep(sessions: Sessions, id: SessionId, uid: SessionUid, late: LateReply) {
    let key = CallKey {
        turn: late.turn,
        index: late.index,
    };
    let Ok(mut session) = sessions.open(id.as_str()).await else {
        return;
    };
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
        if session.reload().await.is_err() {
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
    if call.and_then(|call| call.outcome()).is_some_and(is_heard) {
        return;
    }
    let attempt = call.map_or(1, |call| call.attempts.max(1));
    if call.is_some_and(|call| call.has_evidence(attempt)) {
        return;
    }
    let source = OutcomeSource::Handler;
    let entry = ToolOutcomeEntry::new(key, attempt, late.outcome().await, source);
    session
        .keep_evidence(&[EntryBody::ToolOutcome(Box::new(entry))])
        .await;
}
