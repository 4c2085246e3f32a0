//! Answers that are held to a schema, and the limit of tokens.

use allm_core::{FinishReason, Request, Response, ResponseFormat, ToolChoice, ToolSpec};
use allm_local::Local;
use serde_json::{Value, json};

use crate::folders::TestFolder;
use crate::play::{ask, call};
use crate::tiny::{GO, Tiny, write_noise};

fn in_json(schema: &Value, limit: u32) -> Request {
    let mut request = Request::new("Do it");
    request.response_format = Some(ResponseFormat::json_schema("it", schema.clone()));
    request.max_tokens = Some(limit);
    request
}

fn codes(response: &Response) -> Vec<&str> {
    let warnings = response.warnings.iter();
    warnings.map(|warning| &*warning.code).collect()
}

/// P268: a model that never ends a text, and every limit there is.
#[tokio::test]
async fn p268_an_answer_ends_in_time_wherever_one_fits() {
    let folder = TestFolder::new();
    let model = Tiny::new().after("\"", "y").after("y", "y");
    let path = model.write(&folder.path().join("m.gguf"));
    let schema = json!({
        "type": "object",
        "properties": {"text": {"type": "string"}, "n": {"type": "number", "minimum": 0, "maximum": 1}},
        "required": ["text", "n"]
    });
    // Every byte is a token here.
    let shortest = r#"{"text": "", "n": 0}"#.len();
    let local = Local::new();
    for limit in 1..60 {
        let response = ask(&local, call(&path, in_json(&schema, limit))).await;
        let spare = usize::try_from(limit).unwrap().checked_sub(shortest);
        let written = response.usage.output_tokens.unwrap();
        assert_eq!(written, u64::from(limit), "{}", response.text());
        let Some(spare) = spare else {
            assert_eq!(response.finish_reason, Some(FinishReason::Length));
            assert!(serde_json::from_str::<Value>(&response.text()).is_err());
            assert_eq!(codes(&response), [""; 0]);
            continue;
        };
        let text = format!(r#"{{"text": "{}", "n": 0}}"#, "y".repeat(spare));
        assert_eq!(response.text(), text);
        assert_eq!(response.finish_reason, Some(FinishReason::Stop));
        assert_eq!(codes(&response), ["max_tokens_reached"]);
    }
    // The limit of the provider is told as such.
    let mut request = in_json(&schema, 1);
    request.max_tokens = None;
    let response = ask(&Local::new().max_tokens(30), call(&path, request)).await;
    assert_eq!(response.finish_reason, Some(FinishReason::Stop));
    assert_eq!(codes(&response), ["default_max_tokens_reached"]);
}

/// P268: the same with calls, which count as cut: they are not what the model would have called.
#[tokio::test]
async fn p268_a_call_ends_in_time_wherever_one_fits() {
    let folder = TestFolder::new();
    let model = Tiny::new().after(GO, "{").after("\"", "y").after("y", "y");
    let path = model.write(&folder.path().join("m.gguf"));
    let schema =
        json!({"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]});
    let local = Local::new();
    let shortest = r#"{"name": "find", "arguments": {"q": ""}}"#.len();
    for choice in [ToolChoice::Auto, ToolChoice::Required] {
        for spare in [0, 1, 2, 7] {
            let mut request = Request::new("Do it");
            request.tools = vec![ToolSpec::function("find", "Finds it.", schema.clone())];
            request.tool_choice = Some(choice.clone());
            request.max_tokens = u32::try_from(shortest + spare).ok();
            let response = ask(&local, call(&path, request)).await;
            assert_eq!(response.finish_reason, Some(FinishReason::Length));
            assert_eq!(codes(&response), ["max_tokens_reached"]);
            let [call] = response.tool_calls() else {
                panic!("one call: {response:?}")
            };
            let expected = json!({"q": "y".repeat(spare)});
            assert_eq!(json!(call.arguments), expected);
        }
    }
}

/// P268: a model that has no idea, and schemas whose answers need no end.
#[tokio::test]
async fn p268_whatever_is_written_fits() {
    let folder = TestFolder::new();
    let path = write_noise(&folder.path().join("noise.gguf"));
    let local = Local::new();
    let tree = json!({
        "$ref": "#/$defs/tree",
        "$defs": {"tree": {"anyOf": [
            {"type": "array", "items": {"$ref": "#/$defs/tree"}, "minItems": 1},
            {"type": "object", "properties": {"leaf": {"type": "number"}}, "required": ["leaf"]}
        ]}}
    });
    let schemas = [
        json!({"type": "string"}),
        json!({"type": "number"}),
        json!({"type": "number", "minimum": 0, "maximum": 1}),
        json!({"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}),
        json!({"type": "integer", "minimum": 7}),
        json!({"type": "array"}),
        json!({"type": "object"}),
        json!({"type": "string", "pattern": "^[a-y]*z$"}),
        json!({"type": "string", "minLength": 20}),
        json!({"type": "array", "items": {"type": "string", "format": "date"}, "minItems": 2}),
        json!({"type": "array", "items": {"type": ["string", "number", "null"]}}),
        json!({"type": "object", "additionalProperties": {"type": "array", "items": {"type": "number"}}}),
        json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {"enum": ["x", "yy"]}, "c": {"type": "number"}}, "required": ["b", "c"]}),
        tree,
    ];
    let mut faults = Vec::new();
    for schema in &schemas {
        let validator = jsonschema::validator_for(schema).unwrap();
        for seed in 0..6 {
            let mut request = in_json(schema, [40, 55, 90][usize::try_from(seed % 3).unwrap()]);
            request.temperature = Some(2.0);
            request.seed = Some(seed);
            let response = ask(&local, call(&path, request)).await;
            let text = response.text();
            let fits = serde_json::from_str(&text).is_ok_and(|value| validator.is_valid(&value));
            if !fits || response.finish_reason != Some(FinishReason::Stop) {
                faults.push(format!("{schema}: {text} ({:?})", response.finish_reason));
            }
        }
    }
    assert_eq!(faults, [""; 0]);
}

/// P269: a number ends of itself, long before the limit.
#[tokio::test]
async fn p269_a_number_has_no_more_digits_than_a_computer_knows() {
    let folder = TestFolder::new();
    let model = Tiny::new()
        .after(" ", "1")
        .after("1", "1")
        .weighted("1", "}", 0.5)
        .after("0", ".")
        .after(".", "1");
    let path = model.write(&folder.path().join("m.gguf"));
    let local = Local::new();
    let said = async |number: Value| {
        let schema = json!({"type": "object", "properties": {"n": number}, "required": ["n"]});
        let response = ask(&local, call(&path, in_json(&schema, 100))).await;
        assert_eq!(
            (response.finish_reason, codes(&response)),
            (Some(FinishReason::Stop), vec![])
        );
        response.text()
    };
    let ones = "1".repeat(15);
    for number in ["number", "integer"] {
        assert_eq!(
            said(json!({"type": number})).await,
            format!(r#"{{"n": {ones}}}"#)
        );
    }
    // Where the schema wants more, more come.
    let more = said(json!({"type": "integer", "minimum": 10_000_000_000_000_000_u64})).await;
    assert_eq!(more, format!(r#"{{"n": {ones}11}}"#));
}
