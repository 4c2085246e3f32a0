//! What a run had done and could not store.

use allm_core::session::{EntryBody, LateOutcome, read};
use allm_core::{EntryClass, LoadFrom, SessionError, SessionReason, Version};

use super::durable::DurableSession;
use super::journal::Journal as _;
use super::taking::{Purpose, Taken};

impl DurableSession {
    /// Appends what a run had done when its store failed, and could not store: the `unsaved` of its error.
    ///
    /// # Errors
    ///
    /// `lost_ownership` when somebody else has driven the session since; what its calls came to is then kept as evidence.
    pub async fn save(&mut self, unsaved: Vec<EntryBody>) -> Result<(), SessionError> {
        let taken = self.sessions().take(self.view(), Purpose::Settling);
        let saved = match taken.await {
            Ok(mut taken) => {
                let saved = taken.save(&unsaved).await;
                *self.view_mut() = taken.journal.view.clone();
                taken.lease.release().await;
                saved
            }
            Err(error) if error.reason == SessionReason::Busy && error.held.is_some() => {
                Err(SessionError::lost_ownership())
            }
            Err(error) => Err(error),
        };
        let is_lost = |error: &SessionError| error.reason == SessionReason::LostOwnership;
        if saved.as_ref().is_err_and(is_lost) {
            self.keep_evidence(&unsaved).await;
        }
        saved
    }

    /// Keeps what calls came to after somebody else took the session over.
    pub(super) async fn keep_evidence(&mut self, unsaved: &[EntryBody]) {
        let late = unsaved.iter().filter_map(late_outcome);
        for body in late {
            // It is evidence only; who cannot store it has nothing to tell.
            let _ = self.input(move |_| Ok(vec![body.clone()])).await;
        }
    }
}

impl Taken {
    async fn save(&mut self, unsaved: &[EntryBody]) -> Result<(), SessionError> {
        let seen = self.journal.session().version();
        let refreshed = self.refresh().await?;
        let mut left = unsaved;
        if refreshed.is_driven {
            // What was thought to be lost may be what is there.
            let there = self.driven_since(seen).await?;
            left = unsaved
                .strip_prefix(there.as_slice())
                .ok_or_else(SessionError::lost_ownership)?;
        }
        // Nothing was begun under an intent that is not there: whoever goes on writes his own.
        let is_result = |body: &&EntryBody| !matches!(body, EntryBody::ToolIntent(_));
        let left: Vec<EntryBody> = left.iter().filter(is_result).cloned().collect();
        if left.is_empty() {
            return Ok(());
        }
        match self.journal.append(left, None).await {
            Ok(appended) if !appended.superseded => Ok(()),
            Err(error) if error.reason != SessionReason::ReplayDiverged => Err(error),
            // It does not fit what others have put in.
            Ok(_) | Err(_) => Err(SessionError::lost_ownership()),
        }
    }

    /// What drivers have written since, and what came with the first of it.
    async fn driven_since(&self, seen: Version) -> Result<Vec<EntryBody>, SessionError> {
        let id = self.journal.session().id();
        let asking = self.journal.asking();
        let loaded = asking.load(id, LoadFrom::After(seen)).await?;
        let mut entries = loaded.entries.iter();
        let Some(first) = entries.find(|entry| entry.class == EntryClass::Progress) else {
            return Ok(Vec::new());
        };
        let append = read(first)?.append_id;
        let mut bodies = Vec::new();
        for entry in &loaded.entries {
            let is_progress = entry.class == EntryClass::Progress;
            let entry = read(entry)?;
            if is_progress || entry.append_id == append {
                bodies.push(entry.body);
            }
        }
        Ok(bodies)
    }
}

/// What a call came to, as evidence.
fn late_outcome(body: &EntryBody) -> Option<EntryBody> {
    let EntryBody::ToolOutcome(entry) = body else {
        return None;
    };
    Some(EntryBody::LateOutcome(LateOutcome {
        call: entry.call,
        attempt: entry.attempt,
        outcome: entry.outcome,
        content: entry.content.clone(),
    }))
}
