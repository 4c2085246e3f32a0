//! Schemas that no model can be held to, told before a model is there.

use allm_core::{
    Adapter as _, FaultCode, Image, Message, ModelCall, ModelRef, Part, Request, ResponseFormat,
    ToolSpec, ValidationError,
};
use allm_local::Local;
use serde_json::{Value, json};

fn check(request: Request) -> Result<(), ValidationError> {
    let model = ModelRef::new("local", "/nowhere/m.gguf");
    Local::new().check(&ModelCall::new(request, model, "r"))
}

fn with_tools(schemas: Vec<Value>) -> Request {
    let mut request = Request::new("Hi");
    let tools = schemas.into_iter().enumerate();
    request.tools = tools
        .map(|(number, schema)| ToolSpec::function(format!("tool_{number}"), "", schema))
        .collect();
    request
}

fn faults(error: ValidationError) -> Vec<(String, FaultCode, String)> {
    let faults = error.faults.into_iter();
    faults
        .map(|fault| {
            (
                fault.path.to_string(),
                fault.code,
                fault.detail.unwrap_or_default(),
            )
        })
        .collect()
}

/// P253
#[test]
fn p253_a_schema_that_cannot_be_done_is_told_with_its_tool_and_its_place() {
    let good = json!({"type": "object", "properties": {"a": {"type": "integer", "minimum": 1}}});
    assert_eq!(
        check(with_tools(vec![
            good.clone(),
            json!({}),
            json!({"type": "object"})
        ])),
        Ok(())
    );
    let bad = json!({
        "type": "object",
        "properties": {
            "fine": {"type": "string"},
            "list": {"type": "array", "items": {"type": "object", "properties": {
                "x": {"type": "string", "not": {"const": "y"}}
            }}}
        }
    });
    let faults = faults(check(with_tools(vec![good, bad])).unwrap_err());
    assert_eq!(faults.len(), 1);
    let (path, code, detail) = &faults[0];
    assert_eq!(path, "tools[1].schema.properties.list.items.properties.x");
    assert_eq!(*code, FaultCode::InvalidSchema);
    assert!(
        detail.starts_with("tool tool_1: ") && detail.contains("not"),
        "{detail}"
    );
}

/// P253
#[test]
fn references_are_followed() {
    let schema = |inner: Value| {
        json!({
            "type": "object",
            "properties": {"a": {"$ref": "#/$defs/thing"}},
            "$defs": {"thing": inner}
        })
    };
    let tree = json!({"type": "object", "properties": {"next": {"$ref": "#/$defs/thing"}}});
    assert_eq!(check(with_tools(vec![schema(tree)])), Ok(()));
    let bad = json!({"type": "string", "if": {"const": "x"}, "then": false});
    let faults = faults(check(with_tools(vec![schema(bad)])).unwrap_err());
    assert_eq!(faults[0].0, "tools[0].schema.properties.a");
}

/// P253
#[test]
fn the_schema_of_an_answer_is_looked_at_too() {
    let mut request = Request::new("Hi");
    let schema = json!({
        "type": "object",
        "properties": {"n": {"type": "integer", "minimum": 5, "maximum": 2}},
        "required": ["n"]
    });
    request.response_format = Some(ResponseFormat::json_schema("answer", schema));
    let faults = faults(check(request).unwrap_err());
    assert_eq!(faults[0].0, "response_format.schema.properties.n");
    assert!(
        faults[0].2.starts_with("format answer: "),
        "{}",
        faults[0].2
    );
}

/// P253
#[test]
fn pictures_are_refused() {
    let image = Image::from_bytes(vec![1, 2, 3], "image/png");
    let message = Message::user(vec![Part::text("Look"), Part::image(image)]);
    let mut request = Request::new("Hi");
    request.messages.push(message);
    let faults = faults(check(request).unwrap_err());
    let expected = (
        "messages[1].content[1]".to_owned(),
        FaultCode::VisionUnsupported,
        String::new(),
    );
    assert_eq!(faults, [expected]);
}
