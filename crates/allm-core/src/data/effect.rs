//! What running a tool again would do.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::handler::EffectProbe;

/// What running a tool again would do. It decides what a durable driver may do after a crash; inside one process a call
/// is never run twice, whatever the class.
///
/// In JSON and in comparisons the probe has no part.
#[derive(Clone, Default)]
#[non_exhaustive]
pub enum Effect {
    /// Nothing changes outside: run again freely.
    Pure,
    /// The far side recognises the idempotency key: run again with the same one.
    Idempotent,
    /// The probe tells whether it happened. Without a probe it counts as `AtMostOnce`.
    Reconcile(Option<Arc<dyn EffectProbe>>),
    /// Never run again after an unknown outcome. The default.
    #[default]
    AtMostOnce,
}

impl Effect {
    /// The stable snake_case name.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Pure => "pure",
            Self::Idempotent => "idempotent",
            Self::Reconcile(_) => "reconcile",
            Self::AtMostOnce => "at_most_once",
        }
    }

    pub(crate) const fn is_at_most_once(&self) -> bool {
        matches!(self, Self::AtMostOnce)
    }

    /// Whether a call that was stopped half-way may have changed something.
    #[must_use]
    pub const fn may_have_acted(&self) -> bool {
        !matches!(self, Self::Pure)
    }
}

impl PartialEq for Effect {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for Effect {}

impl fmt::Debug for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Effect {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Effect {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "snake_case")]
        enum Name {
            Pure,
            Idempotent,
            Reconcile,
            AtMostOnce,
        }
        Ok(match Name::deserialize(deserializer)? {
            Name::Pure => Self::Pure,
            Name::Idempotent => Self::Idempotent,
            Name::Reconcile => Self::Reconcile(None),
            Name::AtMostOnce => Self::AtMostOnce,
        })
    }
}
