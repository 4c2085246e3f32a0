//! OpenAI Responses.

use super::{Event, obfuscation, quoted};
use crate::answer::{Answer, Call};

const MESSAGE: &str = "msg_0123456789abcdef0123456789abcdef";
const USAGE: &str = r#"{"input_tokens":21,"input_tokens_details":{"cached_tokens":0},"output_tokens":400,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":421}"#;

fn response(status: &str, output: &str, usage: &str) -> String {
    format!(
        r#"{{"id":"resp_0123456789abcdef0123456789abcdef","object":"response","created_at":1760000000,"status":"{status}","background":false,"error":null,"incomplete_details":null,"instructions":null,"max_output_tokens":null,"max_tool_calls":null,"model":"gpt-4.1-mini-2025-04-14","output":[{output}],"parallel_tool_calls":true,"previous_response_id":null,"prompt_cache_key":null,"reasoning":{{"effort":null,"summary":null}},"safety_identifier":null,"service_tier":"default","store":false,"temperature":1.0,"text":{{"format":{{"type":"text"}},"verbosity":"medium"}},"tool_choice":"auto","tools":[],"top_logprobs":0,"top_p":1.0,"truncation":"disabled","usage":{usage},"user":null,"metadata":{{}}}}"#
    )
}

fn part(text: &str) -> String {
    format!(r#"{{"type":"output_text","annotations":[],"logprobs":[],"text":{text}}}"#)
}

fn message(status: &str, parts: &str) -> String {
    format!(
        r#"{{"id":"{MESSAGE}","type":"message","status":"{status}","content":[{parts}],"role":"assistant"}}"#
    )
}

fn function(status: &str, call: &Call, arguments: &str) -> String {
    let (id, name) = (&call.id, call.name);
    format!(
        r#"{{"id":"fc_{id}","type":"function_call","status":"{status}","arguments":{arguments},"call_id":"{id}","name":"{name}"}}"#
    )
}

/// Events with the number that each has.
#[derive(Default)]
struct Events(Vec<Event>);

impl Events {
    fn push(&mut self, kind: &'static str, rest: &str) {
        let number = self.0.len();
        let data = format!(r#"{{"type":"{kind}","sequence_number":{number},{rest}}}"#);
        self.0.push(Event::named(kind, data));
    }
}

/// The items of a whole answer.
fn output(answer: &Answer) -> String {
    let calls = answer.calls();
    if calls.is_empty() {
        let text: String = answer.deltas().collect();
        return message("completed", &part(&quoted(&text)));
    }
    let item = |call: &Call| function("completed", call, &quoted(&call.arguments()));
    calls.iter().map(item).collect::<Vec<_>>().join(",")
}

pub(super) fn stream(answer: &Answer) -> Vec<Event> {
    let mut events = Events::default();
    let begun = response("in_progress", "", "null");
    events.push("response.created", &format!(r#""response":{begun}"#));
    events.push("response.in_progress", &format!(r#""response":{begun}"#));
    let calls = answer.calls();
    if calls.is_empty() {
        text(answer, &mut events);
    }
    for (index, call) in calls.iter().enumerate() {
        let item = function("in_progress", call, r#""""#);
        events.push(
            "response.output_item.added",
            &format!(r#""output_index":{index},"item":{item}"#),
        );
        let place = format!(r#""item_id":"fc_{}","output_index":{index}"#, call.id);
        for fragment in &call.fragments {
            let fragment = quoted(fragment);
            let hidden = obfuscation(events.0.len());
            events.push(
                "response.function_call_arguments.delta",
                &format!(r#"{place},"delta":{fragment},"obfuscation":"{hidden}""#),
            );
        }
        let arguments = quoted(&call.arguments());
        events.push(
            "response.function_call_arguments.done",
            &format!(r#"{place},"arguments":{arguments}"#),
        );
        let item = function("completed", call, &arguments);
        events.push(
            "response.output_item.done",
            &format!(r#""output_index":{index},"item":{item}"#),
        );
    }
    let ended = response("completed", &output(answer), USAGE);
    events.push("response.completed", &format!(r#""response":{ended}"#));
    events.0
}

fn text(answer: &Answer, events: &mut Events) {
    let item = message("in_progress", "");
    events.push(
        "response.output_item.added",
        &format!(r#""output_index":0,"item":{item}"#),
    );
    let place = format!(r#""item_id":"{MESSAGE}","output_index":0,"content_index":0"#);
    events.push(
        "response.content_part.added",
        &format!(r#"{place},"part":{}"#, part(r#""""#)),
    );
    for delta in answer.deltas() {
        let delta = quoted(delta);
        let hidden = obfuscation(events.0.len());
        events.push(
            "response.output_text.delta",
            &format!(r#"{place},"delta":{delta},"logprobs":[],"obfuscation":"{hidden}""#),
        );
    }
    let whole = quoted(&answer.deltas().collect::<String>());
    events.push(
        "response.output_text.done",
        &format!(r#"{place},"text":{whole},"logprobs":[]"#),
    );
    let part = part(&whole);
    events.push(
        "response.content_part.done",
        &format!(r#"{place},"part":{part}"#),
    );
    let item = message("completed", &part);
    events.push(
        "response.output_item.done",
        &format!(r#""output_index":0,"item":{item}"#),
    );
}

pub(super) fn whole(answer: &Answer) -> String {
    response("completed", &output(answer), USAGE)
}
