//! JSON Pointers: to values while they are walked, and to parts of a schema.

use std::fmt::Write as _;

use serde_json::Value;

/// The way from the root to a value, on the stack: it is written out only for a fault.
#[derive(Clone, Copy)]
pub(crate) enum Path<'p> {
    Root,
    Name(&'p Path<'p>, &'p str),
    Index(&'p Path<'p>, usize),
}

impl Path<'_> {
    pub(crate) fn pointer(&self) -> String {
        let mut steps = Vec::new();
        let mut at = self;
        loop {
            at = match at {
                Path::Root => break,
                Path::Name(parent, _) | Path::Index(parent, _) => {
                    steps.push(at);
                    parent
                }
            };
        }
        let mut pointer = String::new();
        for step in steps.iter().rev() {
            match step {
                Path::Root => {}
                Path::Name(_, name) => push_name(&mut pointer, name),
                Path::Index(_, index) => push_index(&mut pointer, *index),
            }
        }
        pointer
    }
}

pub(crate) fn push_name(pointer: &mut String, name: &str) {
    pointer.push('/');
    for character in name.chars() {
        match character {
            '~' => pointer.push_str("~0"),
            '/' => pointer.push_str("~1"),
            other => pointer.push(other),
        }
    }
}

pub(crate) fn push_index(pointer: &mut String, index: usize) {
    // Writing to a string cannot fail.
    let _ = write!(pointer, "/{index}");
}

/// A step of a JSON Pointer as the name that it means.
pub(crate) fn unescape(step: &str) -> String {
    step.replace("~1", "/").replace("~0", "~")
}

/// The place of a part of a document, found by where it lies in memory. Only errors need it.
pub(crate) fn place_of(document: &Value, part: &Value) -> String {
    let mut open = vec![(document, String::new())];
    while let Some((value, place)) = open.pop() {
        if std::ptr::eq(value, part) {
            return place;
        }
        match value {
            Value::Object(object) => open.extend(object.iter().map(|(name, child)| {
                let mut below = place.clone();
                push_name(&mut below, name);
                (child, below)
            })),
            Value::Array(items) => open.extend(items.iter().enumerate().map(|(index, child)| {
                let mut below = place.clone();
                push_index(&mut below, index);
                (child, below)
            })),
            _ => {}
        }
    }
    String::new()
}
