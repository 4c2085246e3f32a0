//! Whether a JSON Schema is well-formed and complete in itself.
//!
//! The keywords are those of draft 2020-12 and draft 07. A keyword that neither knows holds what it likes.

mod keyword;
pub(super) mod strict;
mod walk;

use std::collections::HashSet;

use serde_json::Value;

use crate::error::{Fault, FaultCode};
use crate::json::in_order;
use crate::path::Path;
use walk::{Node, Walk};

/// The deepest nesting of a schema; our JSON documents go no deeper either.
const MAX_DEPTH: usize = 128;

/// Keywords that point at another schema.
const REFERENCES: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];

/// What a schema may describe.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Root {
    /// An object, as arguments are.
    Object,
    /// Any value.
    Any,
}

/// A fault of a schema, wherever that stands.
pub(super) struct SchemaFault {
    code: FaultCode,
    detail: Option<String>,
}

impl SchemaFault {
    /// This fault of a schema that stands at `path`.
    pub(super) fn at(self, path: Path) -> Fault {
        Fault {
            path,
            code: self.code,
            detail: self.detail,
        }
    }
}

/// What is wrong with a schema. Details give the place inside it and never a value.
pub(super) fn faults(schema: &Value, root: Root) -> Vec<SchemaFault> {
    if !schema.is_object() {
        return vec![SchemaFault {
            code: FaultCode::NotAnObject,
            detail: None,
        }];
    }
    if is_deeper_than(schema, MAX_DEPTH) {
        return vec![invalid(format!("nested deeper than {MAX_DEPTH} levels"))];
    }

    let schema = &*in_order(schema);
    let mut found = Vec::new();
    let root_type = schema.get("type");
    if root == Root::Object && root_type.is_some_and(|name| keyword::is_other_type(name, "object"))
    {
        found.push(invalid("#/type: must be `object`".to_owned()));
    }
    let mut ids = HashSet::new();
    let mut references = Vec::new();
    let mut walk = Walk::new(schema);
    while let Some((node, value)) = walk.next() {
        let Value::Object(keywords) = value else {
            if !value.is_boolean() {
                let place = walk.pointer(node, None);
                found.push(invalid(format!(
                    "{place}: must be a schema, an object or a boolean"
                )));
            }
            continue;
        };
        for (keyword, value) in keywords {
            if let Some(wanted) = keyword::unmet(keyword, value) {
                let place = walk.pointer(node, Some(keyword));
                found.push(invalid(format!("{place}: must be {wanted}")));
            }
            match value {
                Value::String(target) if REFERENCES.contains(&keyword.as_str()) => {
                    references.push((node, keyword, target));
                }
                Value::String(id) if keyword == "$id" => {
                    ids.insert(document(id));
                }
                _ => {}
            }
        }
    }
    found.extend(remote(&walk, &ids, references));
    found
}

/// The references that lead out of the schema. One to the schema itself has no document, only a fragment.
fn remote<'a>(
    walk: &Walk<'_>,
    ids: &HashSet<&str>,
    references: Vec<(Node, &'a String, &'a String)>,
) -> Vec<SchemaFault> {
    references
        .into_iter()
        .filter(|(_, _, target)| {
            let document = document(target);
            !document.is_empty() && !ids.contains(document)
        })
        .map(|(node, keyword, _)| SchemaFault {
            code: FaultCode::RemoteReference,
            detail: Some(walk.pointer(node, Some(keyword))),
        })
        .collect()
}

/// A reference without its fragment.
fn document(reference: &str) -> &str {
    reference
        .split_once('#')
        .map_or(reference, |(document, _)| document)
}

fn invalid(detail: String) -> SchemaFault {
    SchemaFault {
        code: FaultCode::InvalidSchema,
        detail: Some(detail),
    }
}

/// Whether a value nests deeper than `limit`. Without recursion: it may be deeper than the stack.
fn is_deeper_than(value: &Value, limit: usize) -> bool {
    let mut open = vec![(value, 1)];
    while let Some((value, depth)) = open.pop() {
        let is_container = value.is_object() || value.is_array();
        if is_container && depth > limit {
            return true;
        }
        match value {
            Value::Array(values) => open.extend(values.iter().map(|value| (value, depth + 1))),
            Value::Object(map) => open.extend(map.values().map(|value| (value, depth + 1))),
            _ => {}
        }
    }
    false
}
