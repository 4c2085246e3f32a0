//! Answers as values of Rust types: the format of a type, and reading it back.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "these are tests"
)]

use std::collections::BTreeMap;

use allm::validate::not_strict_at;
use allm::{
    AdapterReason, Engine, ErrorKind, Fake, FinishReason, JsonSchemaFormat, ResponseFormat, Script,
    Strict, ToolReply, response_format, tool,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
struct City {
    name: String,
    /// How many live there.
    people: Option<u64>,
    twin: Option<Box<Twin>>,
}

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
struct Twin {
    name: String,
}

fn format_of<T: JsonSchema>() -> JsonSchemaFormat {
    match response_format::<T>() {
        ResponseFormat::JsonSchema(format) => format,
        other => panic!("{other:?}"),
    }
}

fn engine(fake: &Fake) -> Engine {
    let builder = Engine::builder().provider(fake.clone()).model("fake:any");
    builder.tool(ask).build().expect("valid")
}

/// Asks.
#[tool]
async fn ask() -> ToolReply {
    ToolReply::ask("Which one?")
}

#[test]
fn a_type_is_a_format_that_can_be_kept_to_exactly() {
    let format = format_of::<City>();
    assert_eq!(format.name, "City");
    assert_eq!(format.strict, Strict::Auto);
    assert_eq!(not_strict_at(&format.schema), None, "{}", format.schema);
    assert_eq!(
        format.schema["properties"]["people"]["description"],
        "How many live there."
    );
    let mut required = format.schema["required"].as_array().unwrap().clone();
    required.sort_by_key(ToString::to_string);
    assert_eq!(required, ["name", "people", "twin"]);
}

#[test]
fn a_recursive_type_has_a_format() {
    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only its schema is looked at")]
    struct Tree {
        leaf: bool,
        branches: Vec<Tree>,
    }
    assert_eq!(not_strict_at(&format_of::<Tree>().schema), None);
}

#[test]
fn what_may_be_absent_or_hold_more_stays_so() {
    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only its schema is looked at")]
    struct Loose {
        #[serde(default)]
        size: u8,
        notes: BTreeMap<String, String>,
    }
    let schema = format_of::<Loose>().schema;
    assert_eq!(schema["required"], json!(["notes"]));
    assert_eq!(
        schema["properties"]["notes"]["additionalProperties"],
        json!({"type": "string"})
    );
    assert_eq!(schema["additionalProperties"], false);
}

/// A part that is closed would refuse the fields of the other parts.
#[test]
fn flattened_types_still_take_all_of_their_fields() {
    #[derive(Deserialize, JsonSchema)]
    #[serde(tag = "kind")]
    #[expect(dead_code, reason = "only its schema is looked at")]
    enum Shape {
        Circle { radius: f64 },
        Square { side: f64 },
    }
    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only its schema is looked at")]
    struct Drawn {
        colour: String,
        #[serde(flatten)]
        shape: Shape,
    }
    let drawn = json!({"colour": "red", "kind": "Circle", "radius": 1.0});
    let schema = format_of::<Drawn>().schema;
    assert!(jsonschema_takes(&schema, &drawn), "{schema}");
    let alone = format_of::<Shape>().schema;
    let circle = json!({"kind": "Circle", "radius": 1.0});
    assert!(jsonschema_takes(&alone, &circle), "{alone}");
    let more = json!({"kind": "Circle", "radius": 1.0, "more": 1});
    assert!(!jsonschema_takes(&alone, &more), "{alone}");
}

fn jsonschema_takes(schema: &Value, value: &Value) -> bool {
    jsonschema::validator_for(schema)
        .expect("a schema")
        .is_valid(value)
}

#[test]
fn names_are_names_of_formats() {
    #[derive(Deserialize, JsonSchema)]
    #[schemars(rename = "A city, \u{e9}t\u{e9}")]
    #[expect(dead_code, reason = "only its name is looked at")]
    struct Odd {
        x: u8,
    }
    assert_eq!(format_of::<Odd>().name, "A_city___t_");
    assert_eq!(format_of::<Vec<City>>().name, "Array_of_City");
}

/// C58.
#[tokio::test]
async fn c58_answers_are_read_as_types() {
    let fake = Fake::new().always(r#"{"name": "Oslo", "people": 7, "twin": null}"#);
    let oslo = || City {
        name: "Oslo".to_owned(),
        people: Some(7),
        twin: None,
    };
    let engine = engine(&fake);
    let format = response_format::<City>;
    let city: City = engine
        .generate("?")
        .response_format(format())
        .parse()
        .await
        .unwrap();
    assert_eq!(city, oslo());
    let city: City = engine
        .chat("?")
        .response_format(format())
        .parse()
        .await
        .unwrap();
    assert_eq!(city, oslo());
    let result = engine.chat("?").response_format(format()).await.unwrap();
    assert_eq!(result.parse::<City>().unwrap(), oslo());
    assert_eq!(fake.last_request().unwrap().response_format, Some(format()));

    let error = engine
        .chat("?")
        .parse::<Vec<City>>()
        .await
        .expect_err("no list");
    assert_eq!(error.kind(), ErrorKind::Json);
}

/// C58: whatever ended in another way is no answer, even if its text can be read.
#[tokio::test]
async fn c58_only_a_finished_answer_is_read() {
    let cut = || Script::new().text("{}").finish(FinishReason::Length);
    let fake = Fake::new()
        .reply(cut())
        .reply(cut())
        .reply(Script::new().text("{}").call("ask", ()))
        .reply(Script::new().text("{}").call("ask", ()))
        .reply(
            Script::new()
                .text("{}")
                .fail(AdapterReason::ProviderUnavailable),
        );
    let engine = engine(&fake);
    let reason = |result: Result<Value, allm::Error>| result.expect_err("not finished").reason();
    assert_eq!(reason(engine.generate("?").parse().await), "length");
    assert_eq!(reason(engine.chat("?").parse().await), "length");
    assert_eq!(reason(engine.generate("?").parse().await), "tool_calls");
    assert_eq!(reason(engine.chat("?").parse().await), "ask_user");
    assert_eq!(
        reason(engine.chat("?").parse().await),
        "provider_unavailable"
    );
}
