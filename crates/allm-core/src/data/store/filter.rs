//! Which sessions a listing shows.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{Head, SessionStatus};
use crate::data::timestamp::Timestamp;

/// Whether a session is driven.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LeaseFilter {
    /// Nobody holds a live lease.
    Free,
    /// Somebody does.
    Held,
}

/// Which sessions a listing shows: those that meet every condition that is set. The default shows all.
///
/// Texts are matched literally, whatever characters they hold.
///
/// ```
/// use allm_core::{LeaseFilter, SessionFilter, SessionStatus};
///
/// let orphans = SessionFilter::new()
///     .status(SessionStatus::InProgress)
///     .lease(LeaseFilter::Free)
///     .tag("team", "support");
/// # assert_eq!(orphans.tags.len(), 1);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionFilter {
    /// Any of these statuses; empty is any status.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub statuses: BTreeSet<SessionStatus>,
    /// Whether a worker may resume it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runnable: Option<bool>,
    /// All of these tags, each with this value.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tags: BTreeMap<String, String>,
    /// The id begins with this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id_prefix: Option<String>,
    /// Created at this time or later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_from: Option<Timestamp>,
    /// Created before this time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_before: Option<Timestamp>,
    /// Last written to at this time or later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updated_from: Option<Timestamp>,
    /// Last written to before this time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updated_before: Option<Timestamp>,
    /// A wait expires before this time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_before: Option<Timestamp>,
    /// Whether it is driven.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease: Option<LeaseFilter>,
}

impl SessionFilter {
    /// Every session.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// With this status, or another one that was named.
    #[must_use]
    pub fn status(mut self, status: SessionStatus) -> Self {
        self.statuses.insert(status);
        self
    }

    /// Those that a worker may resume.
    #[must_use]
    pub fn runnable(mut self) -> Self {
        self.runnable = Some(true);
        self
    }

    /// Those that a worker may not resume.
    #[must_use]
    pub fn not_runnable(mut self) -> Self {
        self.runnable = Some(false);
        self
    }

    /// With this tag, and every other one that was named.
    #[must_use]
    pub fn tag(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.tags.insert(key.into(), value.into());
        self
    }

    /// With an id that begins so.
    #[must_use]
    pub fn id_prefix(mut self, prefix: impl Into<String>) -> Self {
        self.id_prefix = Some(prefix.into());
        self
    }

    /// Created at this time or later.
    #[must_use]
    pub fn created_from(mut self, time: Timestamp) -> Self {
        self.created_from = Some(time);
        self
    }

    /// Created before this time.
    #[must_use]
    pub fn created_before(mut self, time: Timestamp) -> Self {
        self.created_before = Some(time);
        self
    }

    /// Last written to at this time or later.
    #[must_use]
    pub fn updated_from(mut self, time: Timestamp) -> Self {
        self.updated_from = Some(time);
        self
    }

    /// Last written to before this time.
    #[must_use]
    pub fn updated_before(mut self, time: Timestamp) -> Self {
        self.updated_before = Some(time);
        self
    }

    /// With a wait that expires before this time.
    #[must_use]
    pub fn expires_before(mut self, time: Timestamp) -> Self {
        self.expires_before = Some(time);
        self
    }

    /// Driven, or not.
    #[must_use]
    pub fn lease(mut self, lease: LeaseFilter) -> Self {
        self.lease = Some(lease);
        self
    }

    /// Whether the listing shows this session. What a store does in its own language must agree with this.
    #[must_use]
    pub fn matches(&self, head: &Head) -> bool {
        let from = |limit: Option<Timestamp>, time| limit.is_none_or(|limit| limit <= time);
        let before = |limit: Option<Timestamp>, time| limit.is_none_or(|limit| time < limit);
        let lease = match head.lease {
            Some(_) => LeaseFilter::Held,
            None => LeaseFilter::Free,
        };
        (self.statuses.is_empty() || self.statuses.contains(&head.status))
            && self.runnable.is_none_or(|wanted| wanted == head.runnable)
            && self
                .tags
                .iter()
                .all(|(key, value)| head.tags.get(key) == Some(value))
            && self
                .id_prefix
                .as_ref()
                .is_none_or(|prefix| head.id.as_str().starts_with(prefix))
            && from(self.created_from, head.created_at)
            && before(self.created_before, head.created_at)
            && from(self.updated_from, head.updated_at)
            && before(self.updated_before, head.updated_at)
            && self
                .expires_before
                .is_none_or(|limit| head.next_expiry.is_some_and(|time| time < limit))
            && self.lease.is_none_or(|wanted| wanted == lease)
    }
}
