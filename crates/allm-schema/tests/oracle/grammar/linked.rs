//! Schemas with references.

use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use super::{DRAFTS, NAMES, map_of, schema, with_draft};

/// A schema with references between its parts.
pub(crate) fn linked_document() -> BoxedStrategy<Value> {
    (1..DRAFTS.len())
        .prop_flat_map(|draft| {
            let defs = if draft >= 3 { "$defs" } else { "definitions" };
            let reference = move || {
                let mut targets = vec![
                    "#".to_owned(),
                    format!("#/{defs}/x"),
                    format!("#/{defs}/y"),
                    format!("#/{defs}/z"),
                    format!("#/{defs}/z/{defs}/x"),
                    "#x".to_owned(),
                    "z".to_owned(),
                    "z#x".to_owned(),
                    format!("z#/{defs}/x"),
                    "https://example.com/root".to_owned(),
                    "#/unknown/x".to_owned(),
                    DRAFTS[draft].to_owned(),
                    format!("#/{defs}/a~1b%7E0"),
                    "elsewhere".to_owned(),
                ];
                // The rarer, the later: most documents should compile.
                let common = targets[..4].to_vec();
                targets.extend((0..4).flat_map(|_| common.clone()));
                select(targets).prop_map(|target| json!({"$ref": target})).boxed()
            };
            let place = move || {
                // Never in place: what a schema that means itself means is another question.
                let inside = move || prop_oneof![2 => reference(), 1 => schema(draft)];
                prop_oneof![
                    2 => schema(draft),
                    1 => map_of(select(&NAMES[..]), inside().boxed()).prop_map(|map| json!({"properties": map})),
                    1 => inside().prop_map(|schema| json!({"items": schema})),
                    1 => inside().prop_map(|schema| json!({"additionalProperties": schema})),
                    1 => (inside(), schema(draft)).prop_map(|(inside, schema)| {
                        json!({"anyOf": [schema, {"additionalProperties": inside}]})
                    }),
                ]
                .boxed()
            };
            let anchor = move |name: &str| {
                if draft >= 3 { json!({"$anchor": name}) } else { json!({"$id": format!("#{name}")}) }
            };
            (place(), place(), place(), place(), reference(), any::<bool>()).prop_map(
                move |(root, x, y, z, inner, named)| {
                    let with = |schema: Value, more: Value| match (schema, more) {
                        (Value::Object(mut schema), Value::Object(more)) => {
                            schema.extend(more);
                            Value::Object(schema)
                        }
                        (schema, _) => schema,
                    };
                    let z = with(z, json!({"$id": "z", defs: {
                        "x": with(anchor("x"), json!({"properties": {"a": inner}})),
                    }}));
                    let x = with(x, anchor("x"));
                    let root = with(root, json!({
                        defs: {"x": x, "y": y.clone(), "z": z, "a/b~": {"type": "string"}},
                        "unknown": {"x": y},
                    }));
                    let root = if named {
                        with(root, json!({"$id": "https://example.com/root"}))
                    } else {
                        root
                    };
                    with_draft(root, draft)
                },
            )
        })
        .boxed()
}
