//! Which values inside a schema are schemas.

use serde_json::{Map, Value};

use crate::draft::Draft;

/// What a keyword holds.
enum Holds {
    One,
    /// One, unless it is a boolean.
    OneObject,
    List,
    OneOrList,
    Map,
    /// Those of a map that are not lists of names.
    MapOfObjects,
}

fn holds(draft: Draft, keyword: &str) -> Option<Holds> {
    // Draft 4 has always been read with the keywords of later drafts.
    let modern = draft == Draft::Four || draft >= Draft::Nineteen;
    let old = draft < Draft::Twenty;
    Some(match keyword {
        "additionalItems" | "additionalProperties" if draft == Draft::Four => Holds::OneObject,
        "additionalProperties" | "contains" | "not" | "propertyNames" => Holds::One,
        "additionalItems" if old => Holds::One,
        "if" | "then" | "else" if draft != Draft::Six => Holds::One,
        "contentSchema" | "unevaluatedItems" | "unevaluatedProperties" if modern => Holds::One,
        "allOf" | "anyOf" | "oneOf" => Holds::List,
        "prefixItems" if draft == Draft::Four || !old => Holds::List,
        "items" if old => Holds::OneOrList,
        "items" => Holds::One,
        "definitions" | "patternProperties" | "properties" => Holds::Map,
        "$defs" | "dependentSchemas" if modern => Holds::Map,
        "dependencies" if old => Holds::MapOfObjects,
        _ => return None,
    })
}

/// Calls `each` with every schema directly inside a schema, the last first.
///
/// The caller keeps them on a stack: so they are taken from it in the order of their names.
pub(super) fn children<'s>(
    draft: Draft,
    schema: &'s Map<String, Value>,
    mut each: impl FnMut(&'s Value),
) {
    for (keyword, value) in crate::view::sorted(schema).into_iter().rev() {
        match (holds(draft, keyword), value) {
            (Some(Holds::List | Holds::OneOrList), Value::Array(schemas)) => {
                schemas.iter().rev().for_each(&mut each);
            }
            (Some(Holds::Map), Value::Object(schemas)) => {
                let schemas = crate::view::sorted(schemas).into_iter().rev();
                schemas.for_each(|(_, schema)| each(schema));
            }
            (Some(Holds::MapOfObjects), Value::Object(schemas)) => {
                let schemas = crate::view::sorted(schemas).into_iter().rev();
                schemas
                    .filter(|(_, schema)| schema.is_object())
                    .for_each(|(_, schema)| each(schema));
            }
            (Some(Holds::One | Holds::OneOrList), schema) => each(schema),
            (Some(Holds::OneObject), schema) if schema.is_object() => each(schema),
            _ => {}
        }
    }
}
