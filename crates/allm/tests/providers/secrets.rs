//! A request that holds the key it is sent with is not sent.

use allm::{Anthropic, Azure, Compat, Engine, Gemini, Map, OpenAi, Request, RetryPolicy, ToolSpec};
use serde_json::json;

use crate::nowhere;

const KEY: &str = "secret/key+of \"nobody\"";

/// The key as it is, URL-encoded, and inside base64.
const FORMS: [&str; 3] = [
    KEY,
    "https://h.example/?k=secret%2Fkey%2Bof%20%22nobody%22",
    // `user:` and the key.
    "dXNlcjpzZWNyZXQva2V5K29mICJub2JvZHki",
];

async fn engine() -> Engine {
    let url = nowhere().await;
    Engine::builder()
        .provider(OpenAi::new().base_url(&url).api_key(KEY))
        .provider(Azure::new("res").base_url(&url).api_key(KEY))
        .provider(Compat::new("mine", &url).api_key(KEY))
        .provider(Anthropic::new().base_url(&url).api_key(KEY))
        .provider(Gemini::new().base_url(&url).api_key(KEY))
        .retry(RetryPolicy::none())
        .build()
        .unwrap()
}

/// In a message, in a tool and in `extra`, by every provider and wire.
#[tokio::test]
async fn c108_the_key_in_a_body_is_refused_before_anything_is_sent() {
    let engine = engine().await;
    for model in [
        "openai:gpt-4o",
        "openai:gpt-5",
        "azure:gpt-4o",
        "mine:m",
        "anthropic:claude-sonnet-4-5",
        "gemini:gemini-3-pro-preview",
    ] {
        for form in FORMS {
            let schema = json!({"type": "object", "properties": {"a": {"const": form}}});
            let tool = ToolSpec::function("look", "Looks.", schema);
            let tools = Request {
                tools: vec![tool],
                ..Request::new("hi")
            };
            let extra = Map::from_iter([("note".to_owned(), json!({"deep": [form]}))]);
            for (place, call) in [
                ("message", engine.generate(format!("my key is {form}"))),
                ("tool", engine.generate(tools)),
                ("extra", engine.generate("hi").extra(extra)),
            ] {
                let error = call.model(model).await.unwrap_err();
                assert_eq!(error.reason(), "secret_in_body", "{model} {place} {form}");
                let told = format!("{error} {error:?}");
                assert!(!told.contains("nobody"), "{told}");
            }
        }
        // Without the key it would have been sent.
        let error = engine.generate("hi").model(model).await.unwrap_err();
        assert_eq!(error.reason(), "network_error", "{model}");
    }
}
