//! OpenAI Chat Completions.

use super::{Event, obfuscation, quoted};
use crate::answer::Answer;

const USAGE: &str = r#"{"prompt_tokens":21,"completion_tokens":400,"total_tokens":421,"prompt_tokens_details":{"cached_tokens":0,"audio_tokens":0},"completion_tokens_details":{"reasoning_tokens":0,"audio_tokens":0,"accepted_prediction_tokens":0,"rejected_prediction_tokens":0}}"#;

fn chunk(number: usize, choices: &str, usage: &str) -> Event {
    let hidden = obfuscation(number);
    Event::data(format!(
        r#"{{"id":"chatcmpl-C0123456789abcdefghijklmnopqr","object":"chat.completion.chunk","created":1760000000,"model":"gpt-4.1-mini-2025-04-14","service_tier":"default","system_fingerprint":"fp_0123456789","choices":{choices},"usage":{usage},"obfuscation":"{hidden}"}}"#
    ))
}

fn delta(number: usize, delta: &str, finish: &str) -> Event {
    let choice =
        format!(r#"[{{"index":0,"delta":{delta},"logprobs":null,"finish_reason":{finish}}}]"#);
    chunk(number, &choice, "null")
}

pub(super) fn stream(answer: &Answer) -> Vec<Event> {
    let calls = answer.calls();
    let content = if calls.is_empty() { r#""""# } else { "null" };
    let first = format!(r#"{{"role":"assistant","content":{content},"refusal":null}}"#);
    let mut events = vec![delta(0, &first, "null")];
    for text in answer.deltas() {
        let piece = format!(r#"{{"content":{}}}"#, quoted(text));
        events.push(delta(events.len(), &piece, "null"));
    }
    for (index, call) in calls.iter().enumerate() {
        let (id, name) = (&call.id, call.name);
        events.push(delta(events.len(), &format!(r#"{{"tool_calls":[{{"index":{index},"id":"{id}","type":"function","function":{{"name":"{name}","arguments":""}}}}]}}"#), "null"));
        for fragment in &call.fragments {
            let fragment = quoted(fragment);
            let piece = format!(
                r#"{{"tool_calls":[{{"index":{index},"function":{{"arguments":{fragment}}}}}]}}"#
            );
            events.push(delta(events.len(), &piece, "null"));
        }
    }
    let finish = finish(calls.is_empty());
    events.push(delta(events.len(), "{}", finish));
    events.push(chunk(events.len(), "[]", USAGE));
    events.push(Event::data("[DONE]"));
    events
}

fn finish(is_text: bool) -> &'static str {
    if is_text {
        r#""stop""#
    } else {
        r#""tool_calls""#
    }
}

pub(super) fn whole(answer: &Answer) -> String {
    let calls = answer.calls();
    let mut message = r#""role":"assistant","refusal":null,"annotations":[],"#.to_owned();
    if calls.is_empty() {
        let text: String = answer.deltas().collect();
        message.push_str(&format!(r#""content":{}"#, quoted(&text)));
    } else {
        let calls: Vec<String> = calls
            .iter()
            .map(|call| {
                format!(
                    r#"{{"id":"{}","type":"function","function":{{"name":"{}","arguments":{}}}}}"#,
                    call.id,
                    call.name,
                    quoted(&call.arguments())
                )
            })
            .collect();
        message.push_str(&format!(
            r#""content":null,"tool_calls":[{}]"#,
            calls.join(",")
        ));
    }
    let finish = finish(calls.is_empty());
    format!(
        r#"{{"id":"chatcmpl-C0123456789abcdefghijklmnopqr","object":"chat.completion","created":1760000000,"model":"gpt-4.1-mini-2025-04-14","choices":[{{"index":0,"message":{{{message}}},"logprobs":null,"finish_reason":{finish}}}],"usage":{USAGE},"service_tier":"default","system_fingerprint":"fp_0123456789"}}"#
    )
}
