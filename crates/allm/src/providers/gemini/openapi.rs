//! Schemas in the form that older versions of the API take: a part of OpenAPI 3.0.

use allm_core::Map;
use allm_core::json::in_order;
use serde_json::Value;

/// In which form schemas are sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum SchemaMode {
    /// As JSON Schema, unchanged.
    #[default]
    JsonSchema,
    /// As a part of OpenAPI 3.0, for servers that know nothing else: references are written out, keywords that it does
    /// not have are left out.
    OpenApi,
}

/// A schema in its other form.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Converted {
    pub(super) schema: Value,
    /// A keyword that said something about values and is gone.
    pub(super) lost: Option<String>,
}

/// What is kept as it is.
const KEPT: [&str; 16] = [
    "title",
    "description",
    "format",
    "nullable",
    "maxItems",
    "minItems",
    "required",
    "minProperties",
    "maxProperties",
    "minimum",
    "maximum",
    "minLength",
    "maxLength",
    "pattern",
    "default",
    "propertyOrdering",
];
/// What goes without loss, or is said in another way.
const SILENT: [&str; 15] = [
    "$schema",
    "$id",
    "$anchor",
    "$comment",
    "$defs",
    "definitions",
    "$ref",
    "additionalProperties",
    "type",
    "properties",
    "items",
    "anyOf",
    "oneOf",
    "enum",
    "const",
];
/// How much a schema may grow when its references are written out.
const MAX_NODES: usize = 20_000;
const MAX_DEPTH: usize = 100;

/// The schema as OpenAPI has it, or why it cannot be said so.
pub(super) fn converted(schema: &Value) -> Result<Converted, &'static str> {
    let schema = &*in_order(schema);
    let mut converter = Converter {
        root: schema,
        open: Vec::new(),
        nodes: 0,
        lost: None,
    };
    let schema = converter.schema(schema, 0)?;
    Ok(Converted {
        schema,
        lost: converter.lost,
    })
}

struct Converter<'a> {
    root: &'a Value,
    /// The references that are being written out.
    open: Vec<&'a str>,
    nodes: usize,
    lost: Option<String>,
}

impl<'a> Converter<'a> {
    fn schema(&mut self, schema: &'a Value, depth: usize) -> Result<Value, &'static str> {
        self.nodes += 1;
        if self.nodes > MAX_NODES || depth > MAX_DEPTH {
            return Err("its references cannot be written out: it becomes too large");
        }
        let Value::Object(schema) = schema else {
            // `true` and `false`: anything, as far as this form can say.
            return Ok(Value::Object(Map::new()));
        };
        let mut out = match schema.get("$ref").and_then(Value::as_str) {
            Some(target) => self.reference(target, depth)?,
            None => Map::new(),
        };
        for (keyword, value) in schema {
            if KEPT.contains(&keyword.as_str()) {
                out.insert(keyword.clone(), value.clone());
            } else if !SILENT.contains(&keyword.as_str()) && keyword != "allOf" {
                self.lost.get_or_insert_with(|| keyword.clone());
            }
        }
        self.types(schema, &mut out);
        self.values(schema, &mut out);
        if let Some(Value::Object(properties)) = schema.get("properties") {
            let mut converted = Map::new();
            for (name, property) in properties {
                converted.insert(name.clone(), self.schema(property, depth + 1)?);
            }
            out.insert("properties".to_owned(), converted.into());
        }
        if let Some(items) = schema.get("items") {
            out.insert("items".to_owned(), self.schema(items, depth + 1)?);
        }
        for keyword in ["anyOf", "oneOf"] {
            if let Some(Value::Array(choices)) = schema.get(keyword) {
                self.choices(choices, depth, &mut out)?;
            }
        }
        if let Some(Value::Array(all)) = schema.get("allOf") {
            match all.as_slice() {
                [only] => {
                    if let Value::Object(more) = self.schema(only, depth + 1)? {
                        for (keyword, value) in more {
                            out.entry(keyword).or_insert(value);
                        }
                    }
                }
                _ => drop(self.lost.get_or_insert_with(|| "allOf".to_owned())),
            }
        }
        Ok(out.into())
    }

    /// What a reference stands for.
    fn reference(&mut self, target: &'a str, depth: usize) -> Result<Map, &'static str> {
        if self.open.contains(&target) {
            return Err("it refers to itself");
        }
        let pointer = target.strip_prefix('#').ok_or("it refers elsewhere")?;
        let found = self.root.pointer(pointer).ok_or("it refers to nothing")?;
        self.open.push(target);
        let schema = self.schema(found, depth + 1)?;
        self.open.pop();
        match schema {
            Value::Object(schema) => Ok(schema),
            _ => Ok(Map::new()),
        }
    }

    /// `type`: one, and whether null is allowed.
    fn types(&mut self, schema: &Map, out: &mut Map) {
        match schema.get("type") {
            Some(Value::String(one)) => {
                out.insert("type".to_owned(), one.clone().into());
            }
            Some(Value::Array(types)) => {
                let named: Vec<&Value> = types.iter().filter(|name| *name != "null").collect();
                if named.len() < types.len() {
                    out.insert("nullable".to_owned(), true.into());
                }
                match named.as_slice() {
                    [one] => drop(out.insert("type".to_owned(), (*one).clone())),
                    several => {
                        let choices = several.iter().map(|name| {
                            let mut choice = Map::new();
                            choice.insert("type".to_owned(), (*name).clone());
                            Value::Object(choice)
                        });
                        out.insert("anyOf".to_owned(), choices.collect());
                    }
                }
            }
            _ => {}
        }
    }

    /// `enum` and `const`, which this form has for texts only.
    fn values(&mut self, schema: &Map, out: &mut Map) {
        let single;
        let (keyword, values) = match (schema.get("enum"), schema.get("const")) {
            (Some(Value::Array(values)), _) => ("enum", values.as_slice()),
            (_, Some(value)) => {
                single = [value.clone()];
                ("const", single.as_slice())
            }
            _ => return,
        };
        let texts: Vec<Value> = values.iter().filter(|v| !v.is_null()).cloned().collect();
        if !texts.iter().all(Value::is_string) {
            self.lost.get_or_insert_with(|| keyword.to_owned());
            return;
        }
        if texts.len() < values.len() {
            out.insert("nullable".to_owned(), true.into());
        }
        if !texts.is_empty() {
            out.entry("type").or_insert_with(|| "string".into());
            out.insert("enum".to_owned(), texts.into());
        }
    }

    /// `anyOf` and `oneOf`; a choice that is only null is said as `nullable`.
    fn choices(
        &mut self,
        choices: &'a [Value],
        depth: usize,
        out: &mut Map,
    ) -> Result<(), &'static str> {
        let is_null = |choice: &&Value| choice.get("type").is_some_and(|name| name == "null");
        if choices.iter().any(|choice| is_null(&choice)) {
            out.insert("nullable".to_owned(), true.into());
        }
        let mut converted = Vec::new();
        for choice in choices.iter().filter(|choice| !is_null(choice)) {
            converted.push(self.schema(choice, depth + 1)?);
        }
        match <[Value; 1]>::try_from(converted) {
            Ok([Value::Object(only)]) => {
                for (keyword, value) in only {
                    out.entry(keyword).or_insert(value);
                }
            }
            Ok(_) => {}
            Err(several) => drop(out.insert("anyOf".to_owned(), several.into())),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn schema(schema: Value) -> Value {
        converted(&schema).expect("convertible").schema
    }

    /// P116: keywords go by position; what is called like one stays.
    #[test]
    fn p116_properties_called_like_keywords() {
        let found = schema(json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "additionalProperties": false,
            "properties": {
                "additionalProperties": {"type": "string", "additionalProperties": true},
                "minimum": {"type": "integer", "minimum": 1},
                "format": {"type": "string", "format": "date-time"},
                "$ref": {"type": "string"}
            },
            "required": ["additionalProperties"]
        }));
        assert_eq!(
            found,
            json!({
                "type": "object",
                "properties": {
                    "additionalProperties": {"type": "string"},
                    "minimum": {"type": "integer", "minimum": 1},
                    "format": {"type": "string", "format": "date-time"},
                    "$ref": {"type": "string"}
                },
                "required": ["additionalProperties"]
            })
        );
    }

    #[test]
    fn references_are_written_out() {
        let found = schema(json!({
            "type": "object",
            "properties": {
                "a": {"$ref": "#/$defs/City", "description": "one"},
                "b": {"type": "array", "items": {"$ref": "#/$defs/City"}}
            },
            "$defs": {"City": {"type": "string", "description": "a city"}}
        }));
        assert_eq!(
            found,
            json!({
                "type": "object",
                "properties": {
                    "a": {"type": "string", "description": "one"},
                    "b": {"type": "array", "items": {"type": "string", "description": "a city"}}
                }
            })
        );
    }

    #[test]
    fn p117_what_refers_to_itself_is_refused() {
        let list = json!({
            "$ref": "#/$defs/Node",
            "$defs": {"Node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}}}
        });
        assert_eq!(converted(&list), Err("it refers to itself"));
        assert!(converted(&json!({"properties": {"a": {"$ref": "#"}}})).is_err());
        assert!(converted(&json!({"$ref": "#/nowhere"})).is_err());
    }

    /// References that double at every step end the work early.
    #[test]
    fn growth_is_bounded() {
        let mut defs = Map::new();
        for n in 0..60 {
            let next = format!("#/$defs/d{}", n + 1);
            let twice = json!({"properties": {"a": {"$ref": next}, "b": {"$ref": next}}});
            defs.insert(format!("d{n}"), twice);
        }
        defs.insert("d60".to_owned(), json!({"type": "string"}));
        let bomb = json!({"$ref": "#/$defs/d0", "$defs": defs});
        assert!(converted(&bomb).is_err());
    }

    #[test]
    fn null_choices_and_constants() {
        assert_eq!(
            schema(json!({"type": ["string", "null"]})),
            json!({"type": "string", "nullable": true})
        );
        assert_eq!(
            schema(json!({"anyOf": [{"type": "integer"}, {"type": "null"}]})),
            json!({"type": "integer", "nullable": true})
        );
        assert_eq!(
            schema(json!({"oneOf": [{"type": "integer"}, {"const": "x"}]})),
            json!({"anyOf": [{"type": "integer"}, {"type": "string", "enum": ["x"]}]})
        );
        assert_eq!(
            schema(json!({"type": ["string", "integer"]})),
            json!({"anyOf": [{"type": "string"}, {"type": "integer"}]})
        );
        let lost = converted(&json!({"type": "integer", "enum": [1, 2]})).expect("convertible");
        assert_eq!(lost.schema, json!({"type": "integer"}));
        assert_eq!(lost.lost.as_deref(), Some("enum"));
    }
}
