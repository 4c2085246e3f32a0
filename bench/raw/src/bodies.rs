//! The bodies of requests, written once.

use bench_common::{PROMPT, Plan, Scenario, Wire, looked_up, message};

const NOTE: &str =
    r#"{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}"#;
const ADD: &str = r#"{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}},"required":["a","b"]}"#;
const LOOKUP: &str =
    r#"{"type":"object","properties":{"key":{"type":"string"}},"required":["key"]}"#;

/// One question; with the tool `note` where its arguments are asked for.
pub(crate) fn question(plan: &Plan) -> Vec<u8> {
    let has_tool = plan.scenario == Scenario::Arguments;
    let user = format!(r#"{{"role":"user","content":"{PROMPT}"}}"#);
    let body = match plan.wire {
        Wire::Chat => {
            let tools = if has_tool {
                chat_tools("note", NOTE)
            } else {
                String::new()
            };
            format!(r#"{{"model":"gpt-4.1-mini","messages":[{user}],{tools}"stream":true}}"#)
        }
        Wire::Responses => {
            let tool = format!(
                r#""tools":[{{"type":"function","name":"note","description":"Keeps a text.","parameters":{NOTE}}}],"#
            );
            let tools = if has_tool { &tool } else { "" };
            format!(r#"{{"model":"gpt-4.1-mini","input":[{user}],{tools}"stream":true}}"#)
        }
        Wire::Anthropic => {
            let tool = format!(
                r#""tools":[{{"name":"note","description":"Keeps a text.","input_schema":{NOTE}}}],"#
            );
            let tools = if has_tool { &tool } else { "" };
            format!(
                r#"{{"model":"claude-sonnet-4-5","max_tokens":4096,"messages":[{user}],{tools}"stream":true}}"#
            )
        }
        Wire::Gemini => {
            let tool = format!(
                r#","tools":[{{"functionDeclarations":[{{"name":"note","description":"Keeps a text.","parameters":{NOTE}}}]}}]"#
            );
            let tools = if has_tool { &tool } else { "" };
            format!(r#"{{"contents":[{{"role":"user","parts":[{{"text":"{PROMPT}"}}]}}]{tools}}}"#)
        }
    };
    body.into_bytes()
}

fn chat_tools(name: &str, schema: &str) -> String {
    format!(
        r#""tools":[{{"type":"function","function":{{"name":"{name}","description":"Does what it does.","parameters":{schema}}}}}],"#
    )
}

/// S3: the long thread.
pub(crate) fn thread() -> Vec<u8> {
    let mut messages: Vec<String> = (0..199)
        .map(|index| {
            let role = if index % 2 == 0 { "user" } else { "assistant" };
            let text = message(index).replace('\n', r"\n").replace('"', "\\\"");
            format!(r#"{{"role":"{role}","content":"{text}"}}"#)
        })
        .collect();
    messages.push(format!(r#"{{"role":"user","content":"{PROMPT}"}}"#));
    let messages = messages.join(",");
    format!(r#"{{"model":"gpt-4.1-mini","messages":[{messages}],"stream":false}}"#).into_bytes()
}

/// S4: the request that is answered with calls, and the one with their results.
pub(crate) fn calls() -> (Vec<u8>, Vec<u8>) {
    let tools = chat_tools("add", ADD);
    let user = format!(r#"{{"role":"user","content":"{PROMPT}"}}"#);
    let calls: Vec<String> = (0..8)
        .map(|index| {
            format!(
                r#"{{"id":"call_0123456789abcdef{index:06}","type":"function","function":{{"name":"add","arguments":"{{\"a\":{index},\"b\":7}}"}}}}"#
            )
        })
        .collect();
    let results: Vec<String> = (0..8)
        .map(|index| {
            let sum = index + 7;
            format!(
                r#"{{"role":"tool","tool_call_id":"call_0123456789abcdef{index:06}","content":"{{\"sum\":{sum}}}"}}"#
            )
        })
        .collect();
    let (calls, results) = (calls.join(","), results.join(","));
    let first = format!(r#"{{"model":"gpt-4.1-mini","messages":[{user}],{tools}"stream":true}}"#);
    let second = format!(
        r#"{{"model":"gpt-4.1-mini","messages":[{user},{{"role":"assistant","tool_calls":[{calls}]}},{results}],{tools}"stream":true}}"#
    );
    (first.into_bytes(), second.into_bytes())
}

/// S6: a conversation that grows.
pub(crate) struct History {
    begin: String,
    end: String,
}

impl History {
    pub(crate) fn new() -> Self {
        let tools = chat_tools("lookup", LOOKUP);
        Self {
            begin: format!(
                r#"{{"model":"gpt-4.1-mini","messages":[{{"role":"user","content":"{PROMPT}"}}"#
            ),
            end: format!(r#"],{tools}"stream":true}}"#),
        }
    }

    pub(crate) fn body(&self) -> Vec<u8> {
        [self.begin.as_bytes(), self.end.as_bytes()].concat()
    }

    /// A call and its result.
    pub(crate) fn turn(&mut self, turn: usize) {
        let key = format!("{turn:06} {}", "the key of a thing ".repeat(4));
        let told = looked_up(&key);
        let call = format!(
            r#",{{"role":"assistant","tool_calls":[{{"id":"call_0123456789abcdef{turn:06}","type":"function","function":{{"name":"lookup","arguments":"{{\"key\":\"{key}\"}}"}}}}]}}"#
        );
        let result = format!(
            r#",{{"role":"tool","tool_call_id":"call_0123456789abcdef{turn:06}","content":"{told}"}}"#
        );
        self.begin.push_str(&call);
        self.begin.push_str(&result);
    }
}
