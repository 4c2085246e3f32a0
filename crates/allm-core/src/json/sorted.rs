//! The order of keys that are not ours: the caller's, a model's, a provider's.
//!
//! The maps of `serde_json` are sorted by their keys, unless any crate of a build turns on its feature `preserve_order`:
//! then they keep the order in which the keys came. What is written or hashed here must not depend on that, so each map
//! and each tree that becomes bytes does so by way of [`sorted`].

use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, LazyLock};

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::Value;

use crate::data::Map;

/// Whether the maps of this build keep the order in which their keys came. Found out once; features of other crates
/// cannot be seen.
static KEEPS_ORDER: LazyLock<bool> = LazyLock::new(|| {
    let mut fields = Map::new();
    for key in ["b", "a"] {
        fields.insert(key.to_owned(), Value::Null);
    }
    !fields.keys().is_sorted()
});

/// Writes a map or a tree with the keys of every object in the order of their code points, whatever order a build gives
/// to the maps of `serde_json`. For fields: `#[serde(serialize_with = "allm_core::json::sorted")]`.
///
/// Where maps are sorted anyway, it is written as it is.
///
/// # Errors
///
/// Those of the serializer.
pub fn sorted<T: Keyed + ?Sized, S: Serializer>(
    value: &T,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    if *KEEPS_ORDER {
        value.serialize_sorted(serializer)
    } else {
        value.serialize(serializer)
    }
}

/// The entries of a map in the order of the code points of its keys, whatever order the map itself has.
#[must_use]
pub fn sorted_entries(map: &Map) -> Vec<(&String, &Value)> {
    let mut entries: Vec<(&String, &Value)> = map.iter().collect();
    if *KEEPS_ORDER {
        // The order of UTF-8 bytes is the order of code points.
        entries.sort_unstable_by_key(|(key, _)| *key);
    }
    entries
}

/// A map or a tree, written by [`sorted`].
///
/// ```
/// use allm_core::json::Sorted;
/// use serde_json::json;
///
/// let tree = json!({"b": {"d": 1, "c": 2}, "a": null});
/// assert_eq!(Sorted(&tree).to_string(), r#"{"a":null,"b":{"c":2,"d":1}}"#);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Sorted<'a, T: ?Sized>(pub &'a T);

impl<T: Keyed + ?Sized> Serialize for Sorted<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        sorted(self.0, serializer)
    }
}

/// As compact JSON.
impl<T: Keyed + ?Sized> fmt::Display for Sorted<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = serde_json::to_string(self).map_err(|_| fmt::Error)?;
        f.write_str(&text)
    }
}

/// A tree whose objects give their keys in the order of code points. Where it is so already, it is the one given.
///
/// For what goes through a tree and tells what it finds in the order of its way.
#[must_use]
pub fn in_order(value: &Value) -> Cow<'_, Value> {
    if !*KEEPS_ORDER || is_in_order(value) {
        return Cow::Borrowed(value);
    }
    Cow::Owned(put_in_order(value))
}

fn is_in_order(value: &Value) -> bool {
    match value {
        Value::Object(fields) => fields.keys().is_sorted() && fields.values().all(is_in_order),
        Value::Array(entries) => entries.iter().all(is_in_order),
        _ => true,
    }
}

fn put_in_order(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let mut ordered = Map::new();
            for (key, value) in sorted_entries(fields) {
                ordered.insert(key.clone(), put_in_order(value));
            }
            Value::Object(ordered)
        }
        Value::Array(entries) => Value::Array(entries.iter().map(put_in_order).collect()),
        other => other.clone(),
    }
}

/// What [`sorted`] can write: a map, a tree, and what holds one.
pub trait Keyed: Serialize {
    /// Writes it where maps are not sorted by themselves.
    #[doc(hidden)]
    fn serialize_sorted<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error>;
}

impl Keyed for Map {
    fn serialize_sorted<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = serializer.serialize_map(Some(self.len()))?;
        for (key, value) in sorted_entries(self) {
            out.serialize_entry(key, &Sorted(value))?;
        }
        out.end()
    }
}

impl Keyed for Value {
    fn serialize_sorted<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Object(fields) => fields.serialize_sorted(serializer),
            Self::Array(entries) => serializer.collect_seq(entries.iter().map(Sorted)),
            other => other.serialize(serializer),
        }
    }
}

impl<T: Keyed> Keyed for Option<T> {
    fn serialize_sorted<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Some(value) => serializer.serialize_some(&Sorted(value)),
            None => serializer.serialize_none(),
        }
    }
}

impl<T: Keyed> Keyed for [T] {
    fn serialize_sorted<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter().map(Sorted))
    }
}

impl<T: Keyed + ?Sized> Keyed for &T {
    fn serialize_sorted<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (**self).serialize_sorted(serializer)
    }
}

impl<T: Keyed + ?Sized> Keyed for Box<T> {
    fn serialize_sorted<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (**self).serialize_sorted(serializer)
    }
}

impl<T: Keyed + ?Sized> Keyed for Arc<T> {
    fn serialize_sorted<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (**self).serialize_sorted(serializer)
    }
}

impl<T: Keyed + Clone> Keyed for Cow<'_, T> {
    fn serialize_sorted<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (**self).serialize_sorted(serializer)
    }
}
