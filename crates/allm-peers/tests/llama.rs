//! Three wires against the server of llama.cpp, with a small real model that takes the likeliest token each time.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "these are tests"
)]

use allm::{
    Anthropic, Api, Compat, Engine, Event, FinishReason, Fold, Message, OpenAi, Thread, ToolCall,
    ToolChoice, tool,
};
use allm_peers::Peer;

/// The weather in a city
#[tool]
async fn get_weather(city: String) -> Result<String, String> {
    Ok(if city == "Paris" { "raining" } else { "sunny" }.to_owned())
}

/// One engine for each wire that the server speaks.
fn engines(peer: &Peer) -> [(&'static str, Engine); 4] {
    let v1 = format!("{}/v1", peer.url);
    let openai = |api| {
        let provider = OpenAi::new().base_url(&v1).api_key("k").api(api);
        Engine::builder().provider(provider).model("openai:smollm2")
    };
    let anthropic = Anthropic::new().base_url(&peer.url).api_key("k");
    [
        (
            "llamacpp",
            Engine::builder()
                .provider(Compat::llamacpp().base_url(&v1))
                .model("llamacpp:smollm2"),
        ),
        ("chat", openai(Api::ChatCompletions)),
        ("responses", openai(Api::Responses)),
        (
            "anthropic",
            Engine::builder()
                .provider(anthropic)
                .model("anthropic:smollm2"),
        ),
    ]
    .map(|(wire, engine)| (wire, engine.max_tokens(48).build().unwrap()))
}

/// How such a conversation goes: without it the little model talks about the weather instead of asking.
fn worked(question: &str) -> Vec<Message> {
    let mut messages = Vec::new();
    for (id, city, weather) in [("c1", "Rome", "sunny"), ("c2", "Oslo", "snowing")] {
        let arguments = serde_json::json!({"city": city}).to_string();
        messages.push(Message::user(format!("What is the weather in {city}?")));
        messages.push(Message::assistant("").with_tool_calls(vec![ToolCall::new(
            id,
            "get_weather",
            arguments,
        )]));
        messages.push(Message::tool_result(id, weather));
        messages.push(Message::assistant(format!("In {city} it is {weather}.")));
    }
    messages.push(Message::user(question));
    messages
}

#[tokio::test]
async fn a_real_model_is_heard() {
    let Some(peer) = Peer::llama().await.unwrap() else {
        return;
    };
    for (wire, engine) in engines(&peer) {
        let mut events = engine.generate("Say hello.").max_tokens(16).stream();
        let (mut fold, mut pieces) = (Fold::new(), 0);
        while let Some(event) = events.next().await {
            pieces += usize::from(matches!(event, Event::TextDelta(_)));
            fold.push(&event);
        }
        let response = fold.response();
        assert!(pieces > 2, "{wire}: {}", response.text());
        // On this wire the server calls an answer complete that it has cut.
        let finish = match wire {
            "responses" => FinishReason::Stop,
            _ => FinishReason::Length,
        };
        assert_eq!(response.finish_reason, Some(finish), "{wire}");
        let usage = &response.usage;
        assert_eq!(usage.output_tokens, Some(16), "{wire}");
        assert!(usage.input_tokens > Some(10), "{wire}: {usage:?}");
    }
}

#[tokio::test]
async fn a_real_model_uses_a_tool() {
    let Some(peer) = Peer::llama().await.unwrap() else {
        return;
    };
    for (wire, engine) in engines(&peer) {
        let thread = Thread::from(worked("What is the weather in Paris?"));
        let result = engine.chat(thread).tool(get_weather).await.unwrap();
        assert_eq!(result.text(), "In Paris it is raining.", "{wire}");
        let [first, second] = &result.steps[..] else {
            panic!("{wire}: {result:?}")
        };
        assert_eq!(
            first.response.finish_reason,
            Some(FinishReason::ToolCalls),
            "{wire}"
        );
        let calls = first.response.tool_calls();
        assert_eq!(
            calls[0].arguments.as_ref().unwrap()["city"],
            "Paris",
            "{wire}"
        );
        assert_eq!(
            second.response.finish_reason,
            Some(FinishReason::Stop),
            "{wire}"
        );
    }
}

#[tokio::test]
async fn a_call_can_be_demanded() {
    let Some(peer) = Peer::llama().await.unwrap() else {
        return;
    };
    for (wire, engine) in engines(&peer) {
        let thread = Thread::from(worked("What is the weather in Lisbon?"));
        let call = engine
            .generate(thread)
            .tool(get_weather)
            .tool_choice(ToolChoice::Required);
        let response = call.await.unwrap();
        assert_eq!(
            response.tool_calls()[0].arguments.as_ref().unwrap()["city"],
            "Lisbon",
            "{wire}"
        );
    }
}

#[tokio::test]
async fn what_is_too_long_is_said() {
    let Some(peer) = Peer::llama().await.unwrap() else {
        return;
    };
    for (wire, engine) in engines(&peer) {
        let error = engine.generate("word ".repeat(9000)).await.unwrap_err();
        assert_eq!(error.reason(), "context_length_exceeded", "{wire}: {error}");
    }
}
