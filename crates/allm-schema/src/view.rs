//! A value as the checks see it.

use serde_json::{Map, Number, Value};

/// A value that is looked at, and not owned: an object need not be a [`Value`] for this, nor a property's name.
#[derive(Clone, Copy)]
pub(crate) enum View<'v> {
    Null,
    Bool(bool),
    Number(&'v Number),
    Text(&'v str),
    Array(&'v [Value]),
    Object(&'v Map<String, Value>),
}

impl<'v> View<'v> {
    pub(crate) fn of(value: &'v Value) -> Self {
        match value {
            Value::Null => View::Null,
            Value::Bool(bool) => View::Bool(*bool),
            Value::Number(number) => View::Number(number),
            Value::String(text) => View::Text(text),
            Value::Array(items) => View::Array(items),
            Value::Object(object) => View::Object(object),
        }
    }

    /// Tells containers apart that live at the same time. Others cost too little to be remembered.
    pub(crate) fn identity(self) -> Option<usize> {
        match self {
            View::Array(items) if !items.is_empty() => Some(items.as_ptr() as usize),
            View::Object(object) if !object.is_empty() => Some(std::ptr::from_ref(object) as usize),
            _ => None,
        }
    }
}

/// The properties of an object in the order of their names, whatever order the map keeps.
pub(crate) fn sorted(object: &Map<String, Value>) -> Vec<(&String, &Value)> {
    let mut entries: Vec<_> = object.iter().collect();
    entries.sort_unstable_by_key(|(name, _)| *name);
    entries
}
