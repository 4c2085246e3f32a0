//! Calls that wait for their client to call again with an answer.
//!
//! What a handler keeps with its question, and that a person has agreed, stays here: a client gets a handle only, which
//! is good once, for the same call, and for so long as a person may take to answer.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use allm_core::session::arguments_hash;
use allm_core::{Hash, Map};
use tokio::time::Instant;

use super::call::Wanted;

/// A call that waits.
pub(super) struct Kept {
    pub(super) tool: String,
    /// Of the arguments, which come again with the answer.
    pub(super) arguments: Hash,
    /// The id that the idempotency key is made of.
    pub(super) id: String,
    pub(super) is_approved: bool,
    pub(super) wanted: Wanted,
}

impl Kept {
    /// Whether it was the same tool with the same arguments.
    pub(super) fn is_of(&self, tool: &str, arguments: &Map) -> bool {
        self.tool == tool && self.arguments == arguments_hash(arguments)
    }
}

/// The calls that wait, by their handle.
pub(super) struct Rounds {
    kept: Mutex<HashMap<String, (Instant, Kept)>>,
    limit: Duration,
    most: usize,
}

impl Rounds {
    pub(super) fn new(limit: Duration, most: usize) -> Self {
        Self {
            kept: Mutex::default(),
            limit,
            most,
        }
    }

    /// Keeps a call; `None` if there are too many, or if the system has no random bytes.
    pub(super) fn keep(&self, kept: Kept) -> Option<String> {
        let handle = random()?;
        let now = Instant::now();
        let mut all = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|_, (until, _)| *until > now);
        if all.len() >= self.most {
            return None;
        }
        all.insert(handle.clone(), (now + self.limit, kept));
        Some(handle)
    }

    /// Takes a call up that was kept.
    pub(super) fn take(&self, handle: &str) -> Option<Kept> {
        let mut all = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let (until, kept) = all.remove(handle)?;
        (until > Instant::now()).then_some(kept)
    }
}

/// A text that nobody can guess.
pub(super) fn random() -> Option<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).ok()?;
    Some(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
