//! That a connection has ended, and why.

use std::sync::{Arc, OnceLock};

use allm_core::{CancelToken, Cancelled};

use super::child::Tail;

/// Fires once, with the first reason that was given.
#[derive(Clone, Default)]
pub(super) struct End(Arc<Inner>);

#[derive(Default)]
struct Inner {
    reason: OnceLock<String>,
    said: OnceLock<Tail>,
    token: CancelToken,
}

impl End {
    pub(super) fn fire(&self, reason: impl Into<String>) {
        let _ = self.0.reason.set(reason.into());
        self.0.token.cancel();
    }

    /// Says why before it ends, so that whoever ends it later does not.
    pub(super) fn note(&self, reason: impl Into<String>) {
        let _ = self.0.reason.set(reason.into());
    }

    /// Where the last words of the server are.
    pub(super) fn listens_to(&self, said: Tail) {
        let _ = self.0.said.set(said);
    }

    /// The last words of a server that has ended, if it said any.
    pub(super) async fn last_words(&self) -> Option<String> {
        let said = self.0.said.get()?.last().await;
        (!said.is_empty()).then_some(said)
    }

    /// Why it ended, with the last words of the server.
    pub(super) async fn told(&self) -> String {
        let mut told = self.reason();
        if let Some(said) = self.last_words().await {
            told.push_str("; it said: ");
            told.push_str(&said);
        }
        told
    }

    /// Whether both are of one connection.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    pub(super) fn is_over(&self) -> bool {
        self.0.token.is_cancelled()
    }

    pub(super) fn wait(&self) -> Cancelled {
        self.0.token.cancelled()
    }

    pub(super) fn reason(&self) -> String {
        let reason = self.0.reason.get().map(String::as_str);
        reason.unwrap_or("the connection has ended").to_owned()
    }
}
