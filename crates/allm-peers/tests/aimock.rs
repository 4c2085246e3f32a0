//! The wires of OpenAI, Anthropic and Gemini against a server that others wrote: aimock.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "these are tests"
)]

use allm::{Anthropic, Api, Engine, Event, FinishReason, Fold, Gemini, OpenAi, tool};
use allm_peers::Peer;
use serde_json::{Value, json};

/// Tells the weather of a city.
#[tool]
async fn weather(city: String) -> Result<String, String> {
    Ok(format!("rain in {city}"))
}

/// One engine for each wire.
fn engines(peer: &Peer) -> [(&'static str, Engine); 4] {
    let openai = |api| {
        let provider = OpenAi::new().base_url(format!("{}/v1", peer.url));
        Engine::builder()
            .provider(provider.api_key("k").api(api))
            .model("openai:gpt-5")
    };
    let anthropic = Anthropic::new().base_url(&peer.url).api_key("k");
    let gemini = Gemini::new()
        .base_url(format!("{}/v1beta", peer.url))
        .api_key("k");
    [
        ("chat", openai(Api::ChatCompletions)),
        ("responses", openai(Api::Responses)),
        (
            "anthropic",
            Engine::builder()
                .provider(anthropic)
                .model("anthropic:claude-sonnet-4-5"),
        ),
        (
            "gemini",
            Engine::builder()
                .provider(gemini)
                .model("gemini:gemini-2.5-flash"),
        ),
    ]
    .map(|(wire, engine)| (wire, engine.tool(weather).build().unwrap()))
}

#[tokio::test]
async fn text_is_streamed() {
    let Some(peer) = Peer::aimock().await.unwrap() else {
        return;
    };
    for (wire, engine) in engines(&peer) {
        let mut events = engine.generate("Say hello").stream();
        let (mut fold, mut pieces) = (Fold::new(), 0);
        while let Some(event) = events.next().await {
            pieces += usize::from(matches!(event, Event::TextDelta(_)));
            fold.push(&event);
        }
        let response = fold.response();
        assert_eq!(response.text(), "Hello, \"wörld\" \\ and 你好.", "{wire}");
        assert_eq!(response.finish_reason, Some(FinishReason::Stop), "{wire}");
        assert!(pieces > 5, "{wire}: {pieces} pieces");
        assert_eq!(
            engine.generate("Say hello").await.unwrap().text(),
            response.text(),
            "{wire}"
        );
    }
}

#[tokio::test]
async fn two_calls_at_once_are_run_and_answered() {
    let Some(peer) = Peer::aimock().await.unwrap() else {
        return;
    };
    for (wire, engine) in engines(&peer) {
        let result = engine.chat("Compare Paris and Rome").await.unwrap();
        assert_eq!(result.text(), "Both are wet.", "{wire}");
        let steps = &result.steps;
        assert_eq!(steps.len(), 2, "{wire}");
        let cities: Vec<_> = steps[0]
            .response
            .tool_calls()
            .iter()
            .map(|call| &*call.raw_arguments)
            .collect();
        let cities: Vec<Value> = cities
            .iter()
            .map(|text| serde_json::from_str(text).unwrap())
            .collect();
        assert_eq!(
            cities,
            [json!({"city": "Paris"}), json!({"city": "Rome"})],
            "{wire}"
        );
    }
}

#[tokio::test]
async fn reasoning_is_not_text() {
    let Some(peer) = Peer::aimock().await.unwrap() else {
        return;
    };
    for (wire, engine) in engines(&peer) {
        let response = engine.generate("Think first").await.unwrap();
        assert_eq!(response.text(), "Forty-two.", "{wire}");
        assert_eq!(response.reasoning(), "Six times seven.", "{wire}");
    }
}

#[tokio::test]
async fn a_cut_stream_is_no_answer() {
    let Some(peer) = Peer::aimock().await.unwrap() else {
        return;
    };
    for (wire, engine) in engines(&peer) {
        match engine
            .generate("Break off")
            .retry(allm::RetryPolicy::none())
            .await
        {
            Ok(response) => {
                assert_eq!(response.finish_reason, Some(FinishReason::Error), "{wire}");
                assert!(
                    "This sentence is cut before".starts_with(&response.text()),
                    "{wire}"
                );
            }
            Err(error) => assert!(
                matches!(error.reason(), "interrupted" | "network_error"),
                "{wire}: {error}"
            ),
        }
    }
}

#[tokio::test]
async fn failures_have_their_reasons() {
    let Some(peer) = Peer::aimock().await.unwrap() else {
        return;
    };
    for (wire, engine) in engines(&peer) {
        let error = engine.generate("Be wrong").await.unwrap_err();
        assert_eq!(error.reason(), "invalid_request", "{wire}");
        assert!(
            error.to_string().contains("No such thing"),
            "{wire}: {error}"
        );
    }
}

#[tokio::test]
async fn a_limit_of_rate_is_waited_for() {
    for wire in 0..4 {
        // It counts the calls, whatever their wire.
        let Some(peer) = Peer::aimock().await.unwrap() else {
            return;
        };
        let (wire, engine) = engines(&peer).into_iter().nth(wire).unwrap();
        let response = engine.generate("Too much").await.unwrap();
        assert_eq!(response.text(), "Now.", "{wire}");
    }
}
