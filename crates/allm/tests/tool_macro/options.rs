//! Contexts, blocking functions, options and where tools may stand.

use std::sync::Arc;
use std::time::Duration;

use allm::{Effect, HandlerStyle, Tool, ToolContext, ToolReply, tool};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::schemas::{attributes, collect, convert, deliver, find, flat, get_weather, ping, walk};
use super::*;

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
        *tool.schema,
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
    assert_eq!(*tool.schema, json!({"type": "object", "properties": {}}));
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
        *tool.schema,
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
    approval,
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
            .approval(allm::ApprovalRule::Always)
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
