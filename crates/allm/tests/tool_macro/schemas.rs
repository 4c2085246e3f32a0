//! What the model is told of a function.

use std::collections::BTreeMap;

use allm::validate::not_strict_at;
use allm::{IntoTool, Tool, ToolReply, tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::*;

/// Returns the current weather for a city.
#[tool]
pub(super) async fn get_weather(city: String) -> Result<String, std::fmt::Error> {
    Ok(format!("sunny in {city}"))
}

#[test]
fn l16_name_doc_comment_and_schema() {
    let tool = get_weather();
    assert_eq!(
        tool,
        Tool::new(
            "get_weather",
            "Returns the current weather for a city.",
            json!({
                "type": "object",
                "properties": {"city": {"type": "string"}},
                "required": ["city"],
                "additionalProperties": false
            })
        )
    );
    assert_eq!(not_strict_at(&tool.schema), None);
    assert_eq!(
        reply(&tool, json!({"city": "Rome"})),
        ToolReply::ok("sunny in Rome")
    );
}

#[test]
fn a_tool_and_the_function_that_makes_it_are_both_taken() {
    fn take<M>(tool: impl IntoTool<M>) -> Tool {
        tool.into_tool()
    }
    assert_eq!(take(get_weather), get_weather());
    assert_eq!(take(get_weather()), get_weather());
    assert_eq!(take(|| get_weather().manual()), get_weather().manual());
}

#[tool]
pub(super) async fn ping() -> Result<&'static str, String> {
    Ok("pong")
}

#[test]
fn no_parameters() {
    let tool = ping();
    assert_eq!(
        tool,
        Tool::new("ping", "", json!({"type": "object", "properties": {}}))
    );
    assert_eq!(reply(&tool, json!({})), ToolReply::ok("pong"));
    // A placeholder does no harm.
    assert_eq!(reply(&tool, json!({"_": ""})), ToolReply::ok("pong"));
}

/// Looks for text.
///
/// Two kinds of wildcard:
///   - `*` for many
///   - `?` for one
#[tool]
pub(super) async fn find(
    /// What to look for,
    /// as a pattern.
    ///
    /// Case matters.
    pattern: String,
    limit: Option<u32>,
    #[tool(default = 2)] depth: u8,
    #[tool(default = "here")] place: String,
    #[tool(default)] tags: Vec<String>,
) -> Result<Value, String> {
    Ok(json!([pattern, limit, depth, place, tags]))
}

#[test]
fn options_defaults_and_doc_comments() {
    let tool = find();
    assert_eq!(
        tool.description,
        "Looks for text.\n\nTwo kinds of wildcard:\n  - `*` for many\n  - `?` for one"
    );
    assert_eq!(
        *tool.schema,
        json!({
            "type": "object",
            "properties": {
                "pattern": {
                    "type": "string",
                    "description": "What to look for,\nas a pattern.\n\nCase matters."
                },
                "limit": {"type": ["integer", "null"], "minimum": 0},
                "depth": {"type": "integer", "minimum": 0, "maximum": 255, "default": 2},
                "place": {"type": "string", "default": "here"},
                "tags": {"type": "array", "items": {"type": "string"}, "default": []}
            },
            "required": ["pattern"],
            "additionalProperties": false
        })
    );
    assert_eq!(
        reply(&tool, json!({"pattern": "x*"})),
        ToolReply::ok(&json!(["x*", null, 2, "here", []]))
    );
    assert_eq!(
        reply(
            &tool,
            json!({"pattern": "x*", "limit": 9, "depth": 1, "place": "there", "tags": ["a"]})
        ),
        ToolReply::ok(&json!(["x*", 9, 1, "there", ["a"]]))
    );
    assert_eq!(
        reply(&tool, json!({"pattern": "x*", "limit": null})),
        ToolReply::ok(&json!(["x*", null, 2, "here", []]))
    );
}

#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Unit {
    Celsius,
    Fahrenheit,
}

#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Speed {
    /// Minutes.
    Fast,
    /// Hours.
    Slow,
}

#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Shape {
    Circle { radius: f64 },
    Nothing,
}

#[tool]
pub(super) async fn convert(
    unit: Unit,
    perhaps: Option<Unit>,
    speed: Speed,
    shape: Shape,
) -> Result<Value, String> {
    Ok(json!([unit, perhaps, speed, shape]))
}

#[test]
fn enums() {
    let tool = convert();
    assert_eq!(
        *tool.schema,
        json!({
            "type": "object",
            "properties": {
                "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]},
                "perhaps": {"type": ["string", "null"], "enum": ["celsius", "fahrenheit", null]},
                "speed": {"anyOf": [
                    {"type": "string", "const": "fast", "description": "Minutes."},
                    {"type": "string", "const": "slow", "description": "Hours."}
                ]},
                "shape": {"anyOf": [
                    {
                        "type": "object",
                        "properties": {
                            "kind": {"type": "string", "const": "circle"},
                            "radius": {"type": "number"}
                        },
                        "required": ["kind", "radius"]
                    },
                    {
                        "type": "object",
                        "properties": {"kind": {"type": "string", "const": "nothing"}},
                        "required": ["kind"]
                    }
                ]}
            },
            "required": ["unit", "speed", "shape"],
            "additionalProperties": false
        })
    );
    assert_eq!(
        reply(
            &tool,
            json!({"unit": "celsius", "speed": "slow", "shape": {"kind": "circle", "radius": 1.5}})
        ),
        ToolReply::ok(&json!(["celsius", null, "slow", {"kind": "circle", "radius": 1.5}]))
    );
}

/// Where something is.
#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Place {
    /// The street with its number.
    street: String,
    /// Where it is on the map.
    point: Point,
}

/// A point on the map.
#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Point {
    north: f64,
    east: f64,
}

/// A folder and what is in it.
#[derive(Deserialize, Serialize, JsonSchema)]
struct Folder {
    name: String,
    folders: Vec<Folder>,
}

#[tool]
pub(super) async fn deliver(
    from: Place,
    /// Where it goes.
    to: Place,
) -> Result<Value, String> {
    Ok(json!([from.point, to.street]))
}

#[test]
fn structs_stand_in_place_with_their_doc_comments() {
    let tool = deliver();
    let place = |description: &str| {
        json!({
            "type": "object",
            "description": description,
            "properties": {
                "street": {"type": "string", "description": "The street with its number."},
                "point": {
                    "type": "object",
                    "description": "Where it is on the map.",
                    "properties": {"north": {"type": "number"}, "east": {"type": "number"}},
                    "required": ["north", "east"],
                    "additionalProperties": false
                }
            },
            "required": ["street", "point"],
            "additionalProperties": false
        })
    };
    assert_eq!(
        *tool.schema,
        json!({
            "type": "object",
            "properties": {"from": place("Where something is."), "to": place("Where it goes.")},
            "required": ["from", "to"],
            "additionalProperties": false
        })
    );
    assert_eq!(not_strict_at(&tool.schema), None);
    let there = json!({"street": "High Street 1", "point": {"north": 1.0, "east": 2.0}});
    assert_eq!(
        reply(&tool, json!({"from": there, "to": there})),
        ToolReply::ok(&json!([{"north": 1.0, "east": 2.0}, "High Street 1"]))
    );
}

#[tool]
pub(super) async fn collect(
    names: Vec<String>,
    counts: BTreeMap<String, i64>,
    pair: (f64, f64),
    anything: Value,
) -> Result<Value, String> {
    Ok(json!([names, counts, pair, anything]))
}

#[test]
fn lists_maps_tuples_and_anything() {
    let tool = collect();
    assert_eq!(
        *tool.schema,
        json!({
            "type": "object",
            "properties": {
                "names": {"type": "array", "items": {"type": "string"}},
                "counts": {"type": "object", "additionalProperties": {"type": "integer"}},
                "pair": {
                    "type": "array",
                    "prefixItems": [{"type": "number"}, {"type": "number"}],
                    "minItems": 2,
                    "maxItems": 2
                },
                "anything": {}
            },
            "required": ["names", "counts", "pair", "anything"],
            "additionalProperties": false
        })
    );
    let arguments =
        json!({"names": ["a"], "counts": {"b": -1}, "pair": [0.5, 1.5], "anything": [1]});
    assert_eq!(
        reply(&tool, arguments),
        ToolReply::ok(&json!([["a"], {"b": -1}, [0.5, 1.5], [1]]))
    );
}

#[tool]
pub(super) async fn walk(folder: Folder) -> Result<usize, String> {
    Ok(folder.folders.len() + folder.name.len())
}

#[test]
fn recursive_types_are_the_only_definitions() {
    let tool = walk();
    let folder = json!({
        "type": "object",
        "description": "A folder and what is in it.",
        "properties": {
            "name": {"type": "string"},
            "folders": {"type": "array", "items": {"$ref": "#/$defs/Folder"}}
        },
        "required": ["name", "folders"]
    });
    assert_eq!(
        *tool.schema,
        json!({
            "type": "object",
            "properties": {"folder": folder},
            "required": ["folder"],
            "additionalProperties": false,
            "$defs": {"Folder": folder}
        })
    );
    let inner = json!({"name": "b", "folders": []});
    assert_eq!(
        reply(&tool, json!({"folder": {"name": "a", "folders": [inner]}})),
        ToolReply::ok(&2)
    );
}

#[tool]
pub(super) async fn attributes(
    #[serde(rename = "type")]
    #[schemars(length(max = 8))]
    kind: String,
    #[schemars(range(min = 1, max = 10))] r#in: u64,
    #[allow(unused_mut, unused_variables, reason = "kept for the compiler")] mut unused: bool,
) -> Result<String, String> {
    Ok(format!("{kind} {in}", in = r#in))
}

#[test]
fn attributes_of_parameters_do_what_they_do_on_fields() {
    let tool = attributes();
    assert_eq!(
        *tool.schema,
        json!({
            "type": "object",
            "properties": {
                "type": {"type": "string", "maxLength": 8},
                "in": {"type": "integer", "minimum": 1, "maximum": 10},
                "unused": {"type": "boolean"}
            },
            "required": ["type", "in", "unused"],
            "additionalProperties": false
        })
    );
    assert_eq!(
        reply(&tool, json!({"type": "a", "in": 3, "unused": true})),
        ToolReply::ok("a 3")
    );
}

/// Neither read nor described by itself.
struct Limit(u64);

fn read_limit<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Limit, D::Error> {
    u64::deserialize(deserializer).map(Limit)
}

#[tool]
async fn foreign(
    #[serde(deserialize_with = "read_limit")]
    #[schemars(with = "u64")]
    limit: Limit,
) -> Result<u64, String> {
    Ok(limit.0)
}

#[test]
fn a_parameter_may_be_read_otherwise_than_by_its_type() {
    let tool = foreign();
    assert_eq!(
        tool.schema["properties"],
        json!({"limit": {"type": "integer", "minimum": 0}})
    );
    assert_eq!(reply(&tool, json!({"limit": 3})), ToolReply::ok(&3));
}

#[tool]
pub(super) async fn flat(#[serde(flatten)] point: Point, height: f64) -> Result<f64, String> {
    Ok(point.north + point.east + height)
}

#[test]
fn a_flattened_struct_stands_among_the_parameters() {
    let tool = flat();
    assert_eq!(
        tool.schema["properties"],
        json!({
            "north": {"type": "number"}, "east": {"type": "number"}, "height": {"type": "number"}
        })
    );
    assert_eq!(
        reply(&tool, json!({"north": 1.0, "east": 2.0, "height": 3.0})),
        ToolReply::ok(&6.0)
    );
}
