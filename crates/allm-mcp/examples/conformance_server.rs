//! The server that the conformance suite of MCP wants to find, as far as it is about tools.
//!
//! ```sh
//! cargo run -p allm-mcp --features server-http --example conformance_server        # prints its address
//! cargo run -p allm-mcp --features server-http --example conformance_server -- stdio
//! ```

use std::time::Duration;

use allm_core::{ApprovalRule, Effect, Map, Progress, Tool, ToolContext, ToolReply};
use allm_mcp::server::McpService;
use serde_json::{Value, json};

/// The smallest picture: one red point.
const PICTURE: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";

/// The shortest sound: a head without samples.
const SOUND: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=";

fn nothing() -> Value {
    json!({"type": "object", "properties": {}})
}

/// A tool that always gives this value.
fn gives(name: &str, description: &str, value: Value) -> Tool {
    Tool::new(name, description, nothing())
        .effect(Effect::Pure)
        .handler(move |_: Value| {
            let value = value.clone();
            async move { Ok::<_, std::fmt::Error>(value) }
        })
}

/// A tool that asks for a form, and tells what was filled in.
fn asks(name: &str, description: &str, arguments: Value, form: Value) -> Tool {
    let options = Map::from_iter([("schema".to_owned(), form)]);
    Tool::new(name, description, arguments).handler(move |said: Value, context: ToolContext| {
        let options = options.clone();
        async move {
            match context.answer {
                None => {
                    let question = said.get("message").and_then(Value::as_str);
                    let question = question.unwrap_or("Please fill this in.");
                    ToolReply::ask_and_go_on_with(question, options, None)
                }
                Some(answer) => {
                    let told = format!(
                        "Elicitation completed: action=accept, content={}",
                        answer.text()
                    );
                    ToolReply::ok(&told)
                }
            }
        }
    })
}

async fn progress(_: Value, context: ToolContext) -> Result<&'static str, std::fmt::Error> {
    for done in [0.0, 50.0, 100.0] {
        context.progress(Progress::new(done).total(100.0));
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Ok("The work is done.")
}

async fn fails(_: Value) -> Result<(), &'static str> {
    Err("This tool intentionally returns an error for testing")
}

async fn echo(said: Value) -> Result<Value, std::fmt::Error> {
    Ok(said)
}

/// Contents of every kind.
fn contents() -> Vec<Tool> {
    let picture = json!({"type": "image", "data": PICTURE, "mimeType": "image/png"});
    let sound = json!({"type": "audio", "data": SOUND, "mimeType": "audio/wav"});
    let resource = |uri: &str, kind: &str, text: &str| json!({"type": "resource", "resource": {"uri": uri, "mimeType": kind, "text": text}});
    let plain = resource(
        "test://embedded-resource",
        "text/plain",
        "This is an embedded resource content.",
    );
    let mixed = resource(
        "test://mixed-content-resource",
        "application/json",
        r#"{"test":"data","value":123}"#,
    );
    let text = json!({"type": "text", "text": "Multiple content types test:"});
    vec![
        gives(
            "test_simple_text",
            "Gives a text.",
            json!("This is a simple text response for testing."),
        ),
        gives(
            "test_image_content",
            "Gives a picture.",
            json!({"content": [picture.clone()]}),
        ),
        gives(
            "test_audio_content",
            "Gives a sound.",
            json!({"content": [sound]}),
        ),
        gives(
            "test_embedded_resource",
            "Gives a resource.",
            json!({"content": [plain]}),
        ),
        gives(
            "test_multiple_content_types",
            "Gives a text, a picture and a resource.",
            json!({"content": [text, picture, mixed]}),
        ),
    ]
}

/// Questions of every kind.
fn questions() -> Vec<Tool> {
    let message = json!({
        "type": "object",
        "properties": {"message": {"type": "string"}},
        "required": ["message"]
    });
    let person = json!({
        "type": "object",
        "properties": {
            "username": {"type": "string", "description": "User's response"},
            "email": {"type": "string", "description": "User's email address"}
        },
        "required": ["username", "email"]
    });
    let defaults = json!({
        "type": "object",
        "properties": {
            "name": {"type": "string", "default": "John Doe"},
            "age": {"type": "integer", "default": 30},
            "score": {"type": "number", "default": 95.5},
            "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
            "verified": {"type": "boolean", "default": true}
        }
    });
    let titled = json!([
        {"const": "value1", "title": "First Option"},
        {"const": "value2", "title": "Second Option"},
        {"const": "value3", "title": "Third Option"}
    ]);
    let enums = json!({
        "type": "object",
        "properties": {
            "untitledSingle": {"type": "string", "enum": ["option1", "option2", "option3"]},
            "titledSingle": {"type": "string", "oneOf": titled},
            "legacyEnum": {
                "type": "string",
                "enum": ["opt1", "opt2", "opt3"],
                "enumNames": ["Option One", "Option Two", "Option Three"]
            },
            "untitledMulti": {"type": "array", "items": {"type": "string", "enum": ["option1", "option2", "option3"]}},
            "titledMulti": {"type": "array", "items": {"anyOf": titled}}
        }
    });
    vec![
        asks("test_elicitation", "Asks for a person.", message, person),
        asks(
            "test_elicitation_sep1034_defaults",
            "Asks with defaults.",
            nothing(),
            defaults,
        ),
        asks(
            "test_elicitation_sep1330_enums",
            "Asks with choices.",
            nothing(),
            enums,
        ),
    ]
}

fn tools() -> Vec<Tool> {
    let address = json!({
        "type": "object",
        "properties": {"street": {"type": "string"}, "city": {"type": "string"}}
    });
    let modern = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {"address": address},
        "properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"}},
        "additionalProperties": false
    });
    let sums = json!({
        "type": "object",
        "properties": {"a": {"type": "number"}, "b": {"type": "number"}},
        "required": ["a", "b"]
    });
    let sum = |said: Value| async move {
        let number = |name: &str| said.get(name).and_then(Value::as_f64).unwrap_or(0.0);
        Ok::<_, std::fmt::Error>(json!({"sum": number("a") + number("b")}))
    };
    let mut tools = contents();
    tools.extend(questions());
    tools.extend([
        Tool::new("test_error_handling", "Always fails.", nothing()).handler(fails),
        Tool::new("test_tool_with_progress", "Tells how far it is.", nothing()).handler(progress),
        Tool::new(
            "json_schema_2020_12_tool",
            "Tool with JSON Schema 2020-12 features",
            modern,
        )
        .handler(echo),
        Tool::new("add", "Adds two numbers.", sums)
            .effect(Effect::Pure)
            .handler(sum),
        Tool::new("gated", "Runs after a person has agreed.", nothing())
            .approval(ApprovalRule::Always)
            .handler(echo),
    ]);
    tools
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let service = McpService::new("allm-conformance")
        .version("1.0.0")
        .tools(tools());
    if std::env::args().any(|word| word == "stdio") {
        service.stdio().await?;
        return Ok(());
    }
    let listening = service.http("127.0.0.1:0").bind().await?;
    #[expect(clippy::print_stdout, reason = "whoever starts it has to find it")]
    {
        println!("{}", listening.url());
    }
    listening.run().await?;
    Ok(())
}
