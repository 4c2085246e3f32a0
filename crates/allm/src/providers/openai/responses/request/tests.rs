//! Bodies against the contract.

mod back;
mod media;
mod settings;

use allm_core::{Message, ModelRef, Opaque, RawJson, Request, Thread, ToolCall, ValidationError};
use serde_json::{Value, json};

use super::super::{WIRE, check};
use super::*;
use crate::Auth;
use crate::providers::connection::Connection;

fn call(request: Request, model: &str) -> ModelCall {
    let model = ModelRef {
        provider: "openai".into(),
        model: model.to_owned(),
    };
    ModelCall::new(request, model, "r")
}

fn bytes(call: &ModelCall) -> (Vec<u8>, Vec<Warning>) {
    let family = Family::of(&call.model.model);
    let (body, warnings) = body(&"openai".into(), call, family).expect("a body");
    (body.to_vec(), warnings)
}

/// The body, and the codes and paths of the warnings.
fn written(call: &ModelCall) -> (Value, Vec<String>) {
    let (bytes, warnings) = bytes(call);
    let told = warnings
        .into_iter()
        .map(|w| format!("{} {}", w.code, w.path.unwrap_or_default()))
        .collect();
    (serde_json::from_slice(&bytes).expect("JSON"), told)
}

/// The body for a model that thinks, of a request without faults.
fn sent(request: Request) -> Value {
    let call = call(request, "gpt-5");
    let connection = Connection::new("openai", "https://h/v1", Auth::Bearer);
    check(&connection, &call).expect("no faults");
    let (body, warnings) = written(&call);
    assert_eq!(warnings, [""; 0]);
    body
}

fn input(messages: Vec<Message>) -> Value {
    sent(Request::new(Thread::from(messages)))["input"].take()
}

fn refused(request: Request) -> ValidationError {
    let connection = Connection::new("openai", "https://h/v1", Auth::Bearer);
    check(&connection, &call(request, "gpt-5")).expect_err("a fault")
}

fn opaque(kind: &str, data: &str) -> Opaque {
    Opaque {
        provider: "openai".into(),
        wire: WIRE.to_owned(),
        kind: kind.to_owned(),
        data: RawJson::new(data).expect("JSON"),
    }
}

fn looked(ids: &[&str]) -> Vec<ToolCall> {
    let call = |id: &&str| ToolCall::new(*id, "look", format!("{{\"at\":\"{id}\"}}"));
    ids.iter().map(call).collect()
}

fn look(id: &str) -> Value {
    json!({
        "type": "function_call", "call_id": id, "name": "look",
        "arguments": format!("{{\"at\":\"{id}\"}}")
    })
}

fn output(id: &str, output: impl Into<Value>) -> Value {
    json!({"type": "function_call_output", "call_id": id, "output": output.into()})
}
