//! Headers of calls, and several configurations of one provider.

use std::fmt::Debug;

use allm::{Adapter, Anthropic, Auth, Azure, Compat, Engine, Gemini, OpenAi};
use serde_json::json;

use crate::server::Server;

fn chat_answer() -> String {
    let frame = json!({"choices": [{"delta": {"content": "ok"}, "finish_reason": "stop"}]});
    format!("data: {frame}\n\ndata: [DONE]\n\n")
}

/// P85: in any case of the name; what neither says is the configuration's, and the next call is as before.
#[tokio::test]
async fn p85_a_header_of_the_call_beats_the_configuration() {
    let server = Server::start(chat_answer()).await;
    let openai = OpenAi::new().base_url(&server.url).api_key("key-of-nobody");
    let openai = openai
        .header("X-Team", "of-the-provider")
        .header("x-other", "kept");
    let engine = Engine::builder()
        .provider(openai)
        .model("openai:gpt-4o")
        .build()
        .unwrap();
    let call = engine.generate("hi").header("x-team", "of-the-call");
    assert_eq!(call.text().await.unwrap(), "ok");
    let head = server.last().head;
    assert!(head.contains("x-team: of-the-call"), "{head}");
    assert!(!head.contains("of-the-provider"), "{head}");
    assert!(head.contains("x-other: kept"), "{head}");
    assert_eq!(engine.generate("hi").text().await.unwrap(), "ok");
    assert!(server.last().head.contains("x-team: of-the-provider"));
}

/// P85
#[test]
fn p85_debug_shows_no_value() {
    fn check(provider: impl Adapter + Debug + 'static) {
        let shown = format!("{provider:?} {provider:#?}");
        let engine = Engine::builder().provider(provider).build().unwrap();
        let call = engine.generate("hi").header("x-call", "hidden-in-the-call");
        let shown = format!("{shown} {engine:?} {call:?}");
        assert!(!shown.contains("hidden"), "{shown}");
    }
    macro_rules! check {
        ($($provider:expr),+) => {$(
            check(
                $provider
                    .header("x-own", "hidden-header")
                    .query("own", "hidden-query")
                    .api_key("hidden-key")
                    .auth(Auth::Header("x-auth".to_owned())),
            );
        )+};
    }
    check!(
        OpenAi::new().organization("org").project("project"),
        Azure::new("res"),
        Compat::new("mine", "https://h.example"),
        Anthropic::new(),
        Gemini::new()
    );
}

/// P86: at the same time, each with its own key and its own address.
#[tokio::test]
async fn p86_two_configurations_side_by_side() {
    let answers = [chat_answer(), chat_answer()];
    let [first, second] = answers.map(|answer| async { Server::start(answer).await });
    let (first, second) = (first.await, second.await);
    let named = |name: &str, server: &Server| {
        let openai = OpenAi::new().named(name).base_url(&server.url);
        openai
            .api_key(format!("key-of-{name}"))
            .header("x-name", name)
    };
    let engine = Engine::builder()
        .provider(named("first", &first))
        .provider(named("second", &second))
        .build()
        .unwrap();
    let ask = |name: &str| {
        let call = engine
            .generate("hi")
            .model(format!("{name}:gpt-4o").as_str());
        tokio::spawn(async move { call.await.unwrap() })
    };
    let calls: Vec<_> = (0..10)
        .flat_map(|_| [ask("first"), ask("second")])
        .collect();
    for (at, call) in calls.into_iter().enumerate() {
        let response = call.await.unwrap();
        let name = if at % 2 == 0 { "first" } else { "second" };
        assert_eq!(response.provider.unwrap().as_str(), name);
    }
    for (name, server) in [("first", first), ("second", second)] {
        let sent = server.sent();
        assert_eq!(sent.len(), 10);
        for request in sent {
            let head = request.head;
            assert!(
                head.contains(&format!("authorization: bearer key-of-{name}\r\n")),
                "{head}"
            );
            assert!(head.contains(&format!("x-name: {name}")), "{head}");
        }
    }
}
