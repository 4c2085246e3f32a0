//! Functions and closures as handlers: L17, L19–L24 for typed handlers, L61.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    reason = "these are tests"
)]

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use allm_core::{
    ArgumentFault, HandlerStyle, Map, ReportedError, Tool, ToolCall, ToolContext, ToolError,
    ToolHandler, ToolReply,
};
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize)]
struct City {
    city: String,
    #[serde(default)]
    days: Option<u8>,
}

#[derive(Debug, PartialEq)]
struct NoSuchCity(u32);

impl std::fmt::Display for NoSuchCity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "no such city ({})", self.0)
    }
}

fn tool() -> Tool {
    Tool::new("t", "", json!({}))
}

fn object(value: Value) -> Map {
    value.as_object().unwrap().clone()
}

/// These handlers never wait.
fn reply(tool: &Tool, arguments: Value) -> Result<ToolReply, ToolError> {
    let handler = tool.handler.as_ref().expect("a handler");
    let context = ToolContext::new(ToolCall::new("c", "t", "{}"));
    let mut future = pin!(handler.call(object(arguments).into(), context));
    match future
        .as_mut()
        .poll(&mut Context::from_waker(Waker::noop()))
    {
        Poll::Ready(reply) => reply,
        Poll::Pending => panic!("it waits"),
    }
}

async fn forecast(city: City) -> Result<String, NoSuchCity> {
    Ok(format!("{} for {:?}", city.city, city.days))
}

async fn with_context(city: City, context: ToolContext) -> ToolReply {
    ToolReply::ask(format!("{} ({})?", city.city, context.tool_call.id))
}

#[test]
fn l17_functions_of_arguments_and_of_arguments_and_context() {
    let one = tool().handler(forecast);
    assert_eq!(
        reply(&one, json!({"city": "Rome"})),
        Ok(ToolReply::ok("Rome for None"))
    );
    let two = tool().handler(with_context);
    assert_eq!(
        reply(&two, json!({"city": "Rome"})),
        Ok(ToolReply::ask("Rome (c)?"))
    );
    let closure = tool().handler(|arguments: Map| async move { Ok::<_, String>(arguments.len()) });
    assert_eq!(
        reply(&closure, json!({"a": 1, "b": 2})),
        Ok(ToolReply::ok(&2))
    );
    let untyped =
        tool().handler(|value: Value, _: ToolContext| async move { Ok::<_, String>(value) });
    assert_eq!(
        reply(&untyped, json!({"a": 1})),
        Ok(ToolReply::ok(&json!({"a": 1})))
    );
}

#[test]
fn l18_blocking_functions_say_so() {
    let one = tool().blocking(|city: City| Ok::<_, NoSuchCity>(city.city));
    let two = tool().blocking(|city: City, _: ToolContext| ToolReply::halt("done", &city.city));
    for tool in [&one, &two] {
        assert_eq!(
            tool.handler.as_ref().map(|handler| handler.style()),
            Some(HandlerStyle::Blocking)
        );
    }
    assert_eq!(
        reply(&one, json!({"city": "Rome"})),
        Ok(ToolReply::ok("Rome"))
    );
    assert_eq!(
        reply(&two, json!({"city": "Rome"})),
        Ok(ToolReply::halt("done", "Rome"))
    );
}

#[test]
fn l21_an_error_is_reported_with_its_source() {
    let failing = tool().handler(|_: Map| async { Err::<(), _>(NoSuchCity(7)) });
    let Ok(ToolReply::Error(error)) = reply(&failing, json!({})) else {
        panic!()
    };
    assert_eq!(error.message, "no such city (7)");
    assert_eq!(error.source_ref::<NoSuchCity>(), Some(&NoSuchCity(7)));
}

#[test]
fn l24_a_result_of_a_reply_is_that_reply() {
    let asking = tool().handler(|_: Map| async { Ok::<_, String>(ToolReply::ask("why?")) });
    assert_eq!(reply(&asking, json!({})), Ok(ToolReply::ask("why?")));
}

#[test]
fn l61_arguments_that_do_not_fit_the_type_are_found_before_the_call() {
    let tool = tool().handler(forecast);
    let handler: &dyn ToolHandler = &**tool.handler.as_ref().expect("a handler");
    assert_eq!(
        handler.check(&object(json!({"city": "Rome", "days": 3}))),
        Ok(())
    );
    let faults = handler
        .check(&object(json!({"city": "Rome", "days": 300})))
        .expect_err("too many");
    assert_eq!(
        faults
            .iter()
            .map(|fault| fault.path.as_str())
            .collect::<Vec<_>>(),
        ["/days"]
    );
    let missing: Vec<ArgumentFault> = handler.check(&Map::new()).expect_err("no city");
    assert_eq!(missing[0].path, "/city");
}

/// L21, L23: a report that a handler returns as its error is not wrapped in another.
#[test]
fn l23_a_handler_may_return_a_report_with_details() {
    let report = || ReportedError::of(NoSuchCity(7)).details(json!({"near": ["Rome"]}));
    let typed = tool().handler(move |_: Map| async move { Err::<String, _>(report()) });
    let boxed = tool().handler(move |_: Map| async move {
        Err::<ToolReply, Box<dyn std::error::Error + Send + Sync>>(report().into())
    });
    for tool in [typed, boxed] {
        let Ok(ToolReply::Error(error)) = reply(&tool, json!({})) else {
            panic!("no report")
        };
        assert_eq!(error, report());
        assert_eq!(error.details, Some(json!({"near": ["Rome"]})));
        assert_eq!(error.source_ref(), Some(&NoSuchCity(7)));
    }
}

#[test]
fn l21_texts_are_reports_too() {
    let early = tool().handler(|_: Map| async {
        let number: u8 = "x".parse().map_err(ReportedError::of)?;
        if number > 3 {
            Err("too many")?;
        }
        Ok::<_, ReportedError>(number)
    });
    let Ok(ToolReply::Error(error)) = reply(&early, json!({})) else {
        panic!("no report")
    };
    assert!(error.source_ref::<std::num::ParseIntError>().is_some());
    assert_eq!(
        ToolReply::error("no"),
        ToolReply::Error(ReportedError::new("no"))
    );
    assert_eq!(error.to_string(), error.message);
}
