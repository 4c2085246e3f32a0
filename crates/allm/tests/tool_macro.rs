//! `#[tool]`: L16, L17 and L29 as far as the macro has a part in them, and L8 for its names.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    reason = "these are tests"
)]

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use allm::validate::not_strict_at;
use allm::{Effect, HandlerStyle, IntoTool, Map, Tool, ToolCall, ToolContext, ToolReply, tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

fn object(value: Value) -> Map {
    value.as_object().unwrap().clone()
}

/// What the handler replies; those here never wait.
fn reply_in(tool: &Tool, arguments: Value, context: ToolContext) -> ToolReply {
    let handler = tool.handler.as_ref().expect("a handler");
    let arguments = object(arguments);
    assert_eq!(handler.check(&arguments), Ok(()));
    let mut future = pin!(handler.call(arguments, context));
    match future
        .as_mut()
        .poll(&mut Context::from_waker(Waker::noop()))
    {
        Poll::Ready(reply) => reply.expect("a reply"),
        Poll::Pending => panic!("it waits"),
    }
}

fn context() -> ToolContext {
    ToolContext::new(ToolCall::new("call-1", "t", "{}"))
}

fn reply(tool: &Tool, arguments: Value) -> ToolReply {
    reply_in(tool, arguments, context())
}

fn fault_paths(tool: &Tool, arguments: &Value) -> Vec<String> {
    let handler = tool.handler.as_ref().expect("a handler");
    let faults = handler.check(&object(arguments.clone()));
    let faults = faults.expect_err("faults").into_iter();
    faults.map(|fault| fault.path).collect()
}

fn assert_valid(tool: &Tool) {
    assert_eq!(allm::validate::tool(tool), Ok(()), "{}", tool.name);
}

/// Returns the current weather for a city.
#[tool]
async fn get_weather(city: String) -> Result<String, std::fmt::Error> {
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
async fn ping() -> Result<&'static str, String> {
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
async fn find(
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
        tool.schema,
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
async fn convert(
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
        tool.schema,
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
async fn deliver(
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
        tool.schema,
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
async fn collect(
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
        tool.schema,
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
async fn walk(folder: Folder) -> Result<usize, String> {
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
        tool.schema,
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
async fn attributes(
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
        tool.schema,
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
async fn flat(#[serde(flatten)] point: Point, height: f64) -> Result<f64, String> {
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

#[derive(Debug, PartialEq)]
struct Account(u32);

#[tool]
async fn owner(ctx: ToolContext, greeting: String) -> ToolReply {
    match ctx.get::<Account>() {
        Some(Account(number)) => ToolReply::ask(format!("{greeting}, {number}?")),
        None => ToolReply::halt("no_account", &ctx.tool_call.id),
    }
}

#[tool]
async fn only_context(_: allm::context::ToolContext) -> Result<ToolReply, String> {
    Err("not now".to_owned())
}

#[test]
fn l17_l29_the_context_is_recognised_and_no_part_of_the_schema() {
    let tool = owner();
    assert_eq!(
        tool.schema,
        json!({
            "type": "object",
            "properties": {"greeting": {"type": "string"}},
            "required": ["greeting"],
            "additionalProperties": false
        })
    );
    let mut known = context();
    known.context = Some(Arc::new(Account(7)));
    assert_eq!(
        reply_in(&tool, json!({"greeting": "Hello"}), known),
        ToolReply::ask("Hello, 7?")
    );
    assert_eq!(
        reply(&tool, json!({"greeting": "Hello"})),
        ToolReply::halt("no_account", "call-1")
    );

    let tool = only_context();
    assert_eq!(tool.schema, json!({"type": "object", "properties": {}}));
    let ToolReply::Error(error) = reply(&tool, json!({})) else {
        panic!("no error")
    };
    assert_eq!(error.message, "not now");
}

/// Counts words.
#[tool(blocking)]
fn count_words(text: String, ctx: ToolContext) -> Result<usize, std::num::TryFromIntError> {
    assert_eq!(ctx.tool_call.id, "call-1");
    Ok(text.split_whitespace().count())
}

#[tool(blocking)]
fn nothing() -> Result<(), String> {
    Ok(())
}

#[test]
fn l18_a_blocking_function_is_a_blocking_handler() {
    let tool = count_words();
    let style = |tool: &Tool| tool.handler.as_ref().map(|handler| handler.style());
    assert_eq!(style(&tool), Some(HandlerStyle::Blocking));
    assert_eq!(style(&nothing()), Some(HandlerStyle::Blocking));
    assert_eq!(style(&get_weather()), Some(HandlerStyle::Async));
    assert_eq!(
        tool.schema,
        json!({
            "type": "object",
            "properties": {"text": {"type": "string"}},
            "required": ["text"],
            "additionalProperties": false
        })
    );
    assert_eq!(reply(&tool, json!({"text": "a b c"})), ToolReply::ok(&3));
    assert_eq!(reply(&nothing(), json!({})), ToolReply::ok(&()));
}

/// Not this text.
#[tool(
    name = "cancel-order",
    description = concat!("Cancels ", "an order."),
    manual,
    compact,
    summary = "Cancels.",
    effect = idempotent,
    timeout = "90s"
)]
async fn cancel_order() -> Result<(), String> {
    Ok(())
}

#[tool(effect = pure, timeout_ms = 500)]
async fn quick() -> Result<(), String> {
    Ok(())
}

#[tool(effect = at_most_once, timeout = "2h")]
async fn r#match() -> Result<(), String> {
    Ok(())
}

#[test]
fn options_of_the_tool() {
    let none = json!({"type": "object", "properties": {}});
    assert_eq!(
        cancel_order(),
        Tool::new("cancel-order", "Cancels an order.", none.clone())
            .manual()
            .compact()
            .summary("Cancels.")
            .effect(Effect::Idempotent)
            .timeout(Duration::from_secs(90))
    );
    assert_eq!(
        quick(),
        Tool::new("quick", "", none.clone())
            .effect(Effect::Pure)
            .timeout(Duration::from_millis(500))
    );
    assert_eq!(
        r#match(),
        Tool::new("match", "", none).timeout(Duration::from_secs(7_200))
    );
}

#[test]
fn arguments_that_the_function_cannot_take() {
    let place = json!({"street": "High Street 1", "point": {"north": 1.0, "east": "far"}});
    for (tool, arguments, path) in [
        (get_weather(), json!({}), "/city"),
        (get_weather(), json!({"city": 3}), "/city"),
        (get_weather(), json!({"city": "Rome", "days": 3}), "/days"),
        (find(), json!({"pattern": "x", "depth": 256}), "/depth"),
        (find(), json!({"pattern": "x", "place": null}), "/place"),
        (
            deliver(),
            json!({"from": place, "to": place}),
            "/from/point/east",
        ),
        (count_words(), json!({"text": []}), "/text"),
    ] {
        assert_eq!(fault_paths(&tool, &arguments), [path], "{arguments}");
    }
}

mod elsewhere {
    use allm::tool;

    #[derive(Debug)]
    struct Hidden;

    impl std::fmt::Display for Hidden {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("hidden")
        }
    }

    /// A function may use what is private to its module, and have any name of its own for anything.
    #[tool]
    pub(super) async fn visible(arguments: String, context: u8, value: u8) -> Result<(), Hidden> {
        let _ = (arguments, context, value);
        Err(Hidden)
    }
}

#[test]
fn visibility_is_that_of_the_function() {
    let tool = elsewhere::visible();
    let arguments = json!({"arguments": "", "context": 1, "value": 2});
    let ToolReply::Error(error) = reply(&tool, arguments) else {
        panic!("no error")
    };
    assert_eq!(error.message, "hidden");
}

macro_rules! make {
    ($name:ident, $value:ty, $context:ty) => {
        #[tool]
        async fn $name(value: $value, context: $context) -> Result<$value, String> {
            drop(context);
            Ok(value)
        }
    };
}

make!(made_by_a_macro, Vec<u8>, ToolContext);

#[test]
fn tools_made_by_macros_and_inside_functions_and_types() {
    struct Shop;

    impl Shop {
        #[tool]
        async fn close(reason: String) -> Result<String, String> {
            Ok(reason)
        }
    }

    #[tool]
    async fn local(number: Number) -> Result<i8, String> {
        Ok(number.0)
    }

    #[derive(Deserialize, JsonSchema)]
    struct Number(i8);

    assert_eq!(
        reply(&made_by_a_macro(), json!({"value": [1]})),
        ToolReply::ok(&[1])
    );
    assert_eq!(
        reply(&Shop::close(), json!({"reason": "late"})),
        ToolReply::ok("late")
    );
    assert_eq!(
        local().schema["properties"],
        json!({"number": {"type": "integer", "minimum": -128, "maximum": 127}})
    );
    assert_eq!(reply(&local(), json!({"number": -3})), ToolReply::ok(&-3));
}

#[test]
fn l8_every_tool_here_is_valid() {
    let tools = [
        get_weather(),
        ping(),
        find(),
        convert(),
        deliver(),
        collect(),
        walk(),
        attributes(),
        flat(),
        owner(),
        only_context(),
        count_words(),
        nothing(),
        cancel_order(),
        quick(),
        r#match(),
        made_by_a_macro(),
    ];
    for tool in &tools {
        assert_valid(tool);
    }
}
