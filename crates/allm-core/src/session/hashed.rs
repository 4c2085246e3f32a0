//! A part of the state with its hash.

use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use serde::Serialize;

use super::hash::hash_of;
use crate::data::Hash;
use crate::error::JsonError;

/// A part of the state that most entries leave as it is: shared by clones, and hashed once for each change.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Hashed<T>(Arc<Part<T>>);

#[derive(Debug, Default)]
struct Part<T> {
    value: T,
    hash: OnceLock<Hash>,
}

impl<T> Hashed<T> {
    pub(super) fn new(value: T) -> Self {
        Self(Arc::new(Part {
            value,
            hash: OnceLock::new(),
        }))
    }

    /// The hash that `of` gives of it, asked for once. It must depend on nothing else that can change.
    pub(super) fn hash_by(
        &self,
        of: impl FnOnce(&T) -> Result<Hash, JsonError>,
    ) -> Result<Hash, JsonError> {
        if let Some(known) = self.0.hash.get() {
            return Ok(*known);
        }
        let hash = of(&self.0.value)?;
        Ok(*self.0.hash.get_or_init(|| hash))
    }
}

impl<T: Serialize> Hashed<T> {
    pub(super) fn hash(&self) -> Result<Hash, JsonError> {
        self.hash_by(hash_of)
    }
}

impl<T: Clone> Hashed<T> {
    /// To change it, so that its hash is not known any more. Clones keep what they have.
    pub(super) fn change(&mut self) -> &mut T {
        let part = Arc::make_mut(&mut self.0);
        part.hash.take();
        &mut part.value
    }
}

impl<T> Deref for Hashed<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0.value
    }
}

impl<T: Clone> Clone for Part<T> {
    /// It is cloned to be changed.
    fn clone(&self) -> Self {
        Self {
            value: self.value.clone(),
            hash: OnceLock::new(),
        }
    }
}

impl<T: PartialEq> PartialEq for Part<T> {
    /// Whether the hash is known is no part of it.
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}
