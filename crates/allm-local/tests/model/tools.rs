//! Whether a small model calls the tool that a question needs, and answers with its result.

use allm_core::{FinishReason, Message, Request, ToolSpec};
use serde_json::{Value, json};

use crate::play::{ask, call, request};
use crate::{local, model};

fn tools() -> Vec<ToolSpec> {
    let function = |name: &str, about: &str, properties: Value| {
        let required: Vec<_> = properties.as_object().unwrap().keys().cloned().collect();
        let schema = json!({"type": "object", "properties": properties, "required": required});
        ToolSpec::function(name, about, schema)
    };
    let operations = json!(["add", "subtract", "multiply", "divide"]);
    vec![
        function(
            "calculator",
            "Calculates with two numbers.",
            json!({"a": {"type": "number"}, "operation": {"enum": operations}, "b": {"type": "number"}}),
        ),
        function("clock", "Tells the current time.", json!({})),
        function(
            "weather",
            "Tells the weather of a city.",
            json!({"city": {"type": "string"}}),
        ),
    ]
}

/// A question, the tool that it needs and the arguments; no tool where none helps.
fn questions() -> Vec<(&'static str, Option<(&'static str, Value)>)> {
    let calculate = |a: f64, operation: &str, b: f64| {
        Some((
            "calculator",
            json!({"a": a, "operation": operation, "b": b}),
        ))
    };
    let weather = |city: &str| Some(("weather", json!({"city": city})));
    let clock = || Some(("clock", json!({})));
    vec![
        ("What is 17 times 23?", calculate(17.0, "multiply", 23.0)),
        ("What is 5 plus 9?", calculate(5.0, "add", 9.0)),
        (
            "Calculate 144 divided by 12.",
            calculate(144.0, "divide", 12.0),
        ),
        (
            "How much is 1000 minus 37?",
            calculate(1000.0, "subtract", 37.0),
        ),
        ("What is 8 * 7?", calculate(8.0, "multiply", 7.0)),
        ("Please multiply 31 by 4.", calculate(31.0, "multiply", 4.0)),
        ("What is 3.5 + 2.25?", calculate(3.5, "add", 2.25)),
        ("What time is it?", clock()),
        ("Can you tell me the time?", clock()),
        ("What is the current time?", clock()),
        ("How late is it now?", clock()),
        ("What is the weather in Paris?", weather("Paris")),
        ("How is the weather in Boston?", weather("Boston")),
        ("Is it raining in London?", weather("London")),
        ("Tell me the weather in Tokyo.", weather("Tokyo")),
        (
            "What's the weather like in Berlin today?",
            weather("Berlin"),
        ),
        ("Hello!", None),
        ("Who wrote Romeo and Juliet?", None),
        ("Tell me a joke.", None),
        ("Thank you very much.", None),
    ]
}

fn same(found: &Value, expected: &Value) -> bool {
    match (found, expected) {
        (Value::Object(found), Value::Object(expected)) => {
            let all = expected.iter();
            found.len() == expected.len()
                && all
                    .clone()
                    .all(|(key, value)| found.get(key).is_some_and(|found| same(found, value)))
        }
        (Value::Number(found), Value::Number(expected)) => found.as_f64() == expected.as_f64(),
        (Value::String(found), Value::String(expected)) => found.eq_ignore_ascii_case(expected),
        (found, expected) => found == expected,
    }
}

/// P264
#[tokio::test]
async fn p264_a_small_model_calls_the_right_tool() {
    let Some(path) = model() else { return };
    let (mut right_tool, mut right_arguments, mut calls) = (0, 0, 0);
    for (question, expected) in questions() {
        let mut request = Request::new(question);
        request.tools = tools();
        request.max_tokens = Some(80);
        let response = ask(&local(), call(&path, request)).await;
        let called = response.tool_calls().first();
        let called = called.map(|call| (&*call.name, json!(call.arguments)));
        let is_tool =
            called.as_ref().map(|(name, _)| *name) == expected.as_ref().map(|(name, _)| *name);
        let fits = match (&called, &expected) {
            (Some((_, found)), Some((_, expected))) => is_tool && same(found, expected),
            (found, expected) => found.is_none() && expected.is_none(),
        };
        right_tool += usize::from(is_tool);
        right_arguments += usize::from(fits);
        calls += usize::from(called.is_some());
        println!(
            "{} {} {question} -> {called:?} {:?}",
            u8::from(is_tool),
            u8::from(fits),
            response.text()
        );
    }
    println!(
        "right tool or none: {right_tool} of 20; right arguments, too: {right_arguments}; called: {calls}"
    );
    assert!(right_tool >= 15, "{right_tool} of 20");
    assert!(right_arguments >= 12, "{right_arguments} of 20");
}

/// P264
#[tokio::test]
async fn p264_a_small_model_uses_the_result() {
    let Some(path) = model() else { return };
    let results = [
        (
            "What is 17 times 23?",
            "calculator",
            r#"{"a": 17, "operation": "multiply", "b": 23}"#,
            "391",
            "391",
        ),
        (
            "What is 5 plus 9?",
            "calculator",
            r#"{"a": 5, "operation": "add", "b": 9}"#,
            "14",
            "14",
        ),
        ("What time is it?", "clock", "{}", "14:35", "14:35"),
        ("Can you tell me the time?", "clock", "{}", "08:10", "08:10"),
        (
            "What is the weather in Paris?",
            "weather",
            r#"{"city": "Paris"}"#,
            "sunny, 24 degrees",
            "24",
        ),
        (
            "How is the weather in Boston?",
            "weather",
            r#"{"city": "Boston"}"#,
            "rain, 12 degrees",
            "rain",
        ),
    ];
    let mut right = 0;
    for (question, tool, arguments, result, expected) in results {
        let called = allm_core::ToolCall::new("c", tool, arguments);
        let messages = vec![
            Message::user(question),
            Message::assistant("").with_tool_calls(vec![called]),
            Message::tool_result("c", result),
        ];
        let mut request = request(messages);
        request.tools = tools();
        request.max_tokens = Some(60);
        let response = ask(&local(), call(&path, request)).await;
        let is_right = response.text().contains(expected)
            && response.finish_reason == Some(FinishReason::Stop);
        right += usize::from(is_right);
        println!(
            "{} {question} -> {:?} {:?}",
            u8::from(is_right),
            response.text(),
            response.tool_calls()
        );
    }
    println!("used the result: {right} of 6");
    assert!(right >= 4, "{right} of 6");
}
