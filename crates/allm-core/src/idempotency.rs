//! The key by which the far side of a tool recognises a call that is made again.

use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, LazyLock};

use serde::{Serialize, Serializer};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::data::{Map, hex};
use crate::json::canonical_value;

/// What every key begins with.
const PREFIX: &str = "allm1-";

/// An [idempotency key](idempotency_key) as a handler meets it: text that is made when it is first read, because most
/// handlers never do.
///
/// ```
/// use allm_core::IdempotencyKey;
///
/// let key = IdempotencyKey::when_read(|| "allm1-0123".to_owned());
/// assert_eq!(&key[..6], "allm1-");
/// assert_eq!(key.to_string(), "allm1-0123");
/// ```
#[derive(Clone)]
pub struct IdempotencyKey(Arc<LazyLock<String, Make>>);

type Make = Box<dyn FnOnce() -> String + Send>;

impl IdempotencyKey {
    /// A key that `make` gives when it is first read.
    pub fn when_read(make: impl FnOnce() -> String + Send + 'static) -> Self {
        Self(Arc::new(LazyLock::new(Box::new(make))))
    }

    /// The key's text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for IdempotencyKey {
    /// No key: the empty text.
    fn default() -> Self {
        Self::when_read(String::new)
    }
}

impl From<String> for IdempotencyKey {
    fn from(key: String) -> Self {
        Self::when_read(move || key)
    }
}

impl From<&str> for IdempotencyKey {
    fn from(key: &str) -> Self {
        key.to_owned().into()
    }
}

impl PartialEq for IdempotencyKey {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for IdempotencyKey {}

impl PartialEq<str> for IdempotencyKey {
    fn eq(&self, other: &str) -> bool {
        self.as_str() == other
    }
}

impl PartialEq<&str> for IdempotencyKey {
    fn eq(&self, other: &&str) -> bool {
        self.as_str() == *other
    }
}

impl Deref for IdempotencyKey {
    type Target = str;

    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl fmt::Display for IdempotencyKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self)
    }
}

impl fmt::Debug for IdempotencyKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

impl Serialize for IdempotencyKey {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self)
    }
}

/// The idempotency key of a call: equal on every repetition of it, on every platform.
///
/// `owner` is the 16 bytes of the session's uid; in a call without a session, the bytes of the request id. `turn` and
/// `index` are the call's place in the run, and `arguments` are those that the handler gets. Provider ids, attempts
/// and the time have no part in it.
///
/// ```
/// use allm_core::{Map, idempotency_key};
///
/// let key = idempotency_key(&[0; 16], 0, 0, "charge", &Map::new());
/// assert!(key.starts_with("allm1-"));
/// ```
#[must_use]
pub fn idempotency_key(
    owner: &[u8],
    turn: u32,
    index: u32,
    tool_name: &str,
    arguments: &Map,
) -> String {
    let arguments = canonical_value(&Value::Object(arguments.clone()));
    let fields: [&[u8]; 6] = [
        b"allm-effect-1",
        owner,
        &turn.to_be_bytes(),
        &index.to_be_bytes(),
        tool_name.as_bytes(),
        &arguments,
    ];
    let mut hash = Sha256::new();
    for field in fields {
        // With the length before it no field can be mistaken for the end of the one before.
        hash.update((field.len() as u64).to_be_bytes());
        hash.update(field);
    }
    let mut key = String::with_capacity(PREFIX.len() + 64);
    key.push_str(PREFIX);
    hex::push(&mut key, &hash.finalize());
    key
}
