//! The schemas inside a schema.

use serde_json::Value;

use super::keyword::{Subschemas, subschemas};
use crate::error::text;

/// The longest place that is shown, in bytes.
const MAX_POINTER: usize = 256;

/// Names a schema of a walk.
pub(super) type Node = usize;

/// Goes through a schema and all schemas inside it, outer ones first.
///
/// Only places that hold a schema by the meaning of their keyword count: a property that is called `$ref`, or an object
/// among the values of an `enum`, is none.
pub(super) struct Walk<'a> {
    /// Visited or to be visited, each after the one it stands in.
    nodes: Vec<Inside<'a>>,
    next: Node,
}

struct Inside<'a> {
    schema: &'a Value,
    parent: Node,
    keyword: &'a str,
    step: Step<'a>,
}

/// The way from a keyword to a schema.
#[derive(Clone, Copy)]
enum Step<'a> {
    None,
    Name(&'a str),
    Index(usize),
}

impl<'a> Walk<'a> {
    pub(super) fn new(schema: &'a Value) -> Self {
        let root = Inside {
            schema,
            parent: 0,
            keyword: "",
            step: Step::None,
        };
        Self {
            nodes: vec![root],
            next: 0,
        }
    }

    /// The next schema, or what stands where one should.
    pub(super) fn next(&mut self) -> Option<(Node, &'a Value)> {
        let node = self.next;
        let schema = self.nodes.get(node)?.schema;
        self.next += 1;
        for (keyword, value) in schema.as_object().into_iter().flatten() {
            let mut put = |step, schema| {
                self.nodes.push(Inside {
                    schema,
                    parent: node,
                    keyword,
                    step,
                });
            };
            match (subschemas(keyword), value) {
                (Some(Subschemas::List | Subschemas::OneOrList), Value::Array(schemas)) => {
                    for (index, schema) in schemas.iter().enumerate() {
                        put(Step::Index(index), schema);
                    }
                }
                (Some(Subschemas::One | Subschemas::OneOrList), schema) => put(Step::None, schema),
                (Some(Subschemas::Map), Value::Object(schemas)) => {
                    for (name, schema) in schemas {
                        put(Step::Name(name), schema);
                    }
                }
                (Some(Subschemas::MapOrNames), Value::Object(entries)) => {
                    for (name, schema) in entries.iter().filter(|(_, entry)| !entry.is_array()) {
                        put(Step::Name(name), schema);
                    }
                }
                // A container of the wrong kind is a fault of the keyword.
                _ => {}
            }
        }
        Some((node, schema))
    }

    /// The place of a schema, or of a keyword of it, as a JSON Pointer in the form of a fragment; `#` for the root.
    pub(super) fn pointer(&self, node: Node, keyword: Option<&str>) -> String {
        let mut steps: Vec<Step<'_>> = keyword.map(Step::Name).into_iter().collect();
        let mut at = node;
        // Every schema stands behind the one it is in, so this ends at the root.
        while let Some(inside) = self.nodes.get(at).filter(|_| at > 0) {
            steps.extend([inside.step, Step::Name(inside.keyword)]);
            at = inside.parent;
        }
        let mut pointer = "#".to_owned();
        for step in steps.into_iter().rev() {
            match step {
                Step::None => {}
                Step::Index(index) => pointer.push_str(&format!("/{index}")),
                Step::Name(name) => {
                    pointer.push('/');
                    push_escaped(&mut pointer, name);
                }
            }
            if pointer.len() > MAX_POINTER {
                pointer.truncate(text::boundary(&pointer, MAX_POINTER));
                pointer.push('…');
                break;
            }
        }
        pointer
    }
}

/// Adds a name with the escapes of JSON Pointer. Control characters would break the line that errors are shown on.
fn push_escaped(pointer: &mut String, name: &str) {
    // A name may be of any length; more than is shown is not copied.
    for c in name.chars().take(MAX_POINTER + 1) {
        match c {
            '~' => pointer.push_str("~0"),
            '/' => pointer.push_str("~1"),
            c if c.is_control() => pointer.push(char::REPLACEMENT_CHARACTER),
            c => pointer.push(c),
        }
    }
}
