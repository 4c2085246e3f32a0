//! Content, only when asked for.

use allm::{AdapterReason, ApiKey, Fake, Map, Script, Toggle, Tool};
use serde_json::json;

use super::builder;
use super::collector::Collector;

const WORDS: [&str; 6] = [
    "PROMPT",
    "THOUGHT",
    "ARGUMENT",
    "RESULT",
    "ANSWER",
    "COMPLAINT",
];

/// A run in which each word is said once, with a key of ours and one of theirs in each saying.
async fn talk(capture: Option<Toggle>) -> Collector {
    let (told, guard) = Collector::start();
    let said = |word: &str| format!("{word} my-own-secret sk-abcdefgh12345678");
    let result = said("RESULT");
    let tool = Tool::new("look", "", json!({})).handler(move |_: Map| {
        let result = result.clone();
        async move { Ok::<_, String>(result) }
    });
    let complain = Tool::new("complain", "", json!({})).handler({
        let complaint = said("COMPLAINT");
        move |_: Map| {
            let complaint = complaint.clone();
            async move { Err::<(), _>(complaint) }
        }
    });
    let fake = Fake::new()
        .reply(
            Script::new()
                .reasoning(said("THOUGHT"))
                .call("look", json!({"x": said("ARGUMENT")}))
                .call("complain", json!({})),
        )
        .reply(Script::new().text(said("ANSWER")));
    let engine = builder(&fake)
        .tool(tool)
        .tool(complain)
        .build()
        .expect("valid");
    let key = ApiKey::new("my-own-secret").expect("valid").expect("a key");
    let mut chat = engine.chat(said("PROMPT")).api_key(key);
    if let Some(capture) = capture {
        chat = chat.capture_content(capture);
    }
    let result = chat.await.expect("a result");
    assert!(
        result.text().contains("my-own-secret"),
        "only what is told is redacted"
    );
    drop(guard);
    told
}

#[tokio::test]
async fn c160_nothing_is_told_of_content() {
    for capture in [None, Some(Toggle::Off)] {
        let all = talk(capture).await.all();
        for word in WORDS {
            assert!(!all.contains(word), "{word} in {all}");
        }
    }
}

#[tokio::test]
async fn c161_content_without_secrets() {
    let told = talk(Some(Toggle::On)).await;
    let all = told.all();
    for word in WORDS {
        assert!(
            all.contains(&format!("{word} [REDACTED] [REDACTED]")),
            "{word} in {all}"
        );
    }
    assert!(
        !all.contains("my-own-secret") && !all.contains("sk-abc"),
        "{all}"
    );
    let spans = told.spans();
    let last = spans
        .iter()
        .rfind(|span| span.name == "allm.model_call")
        .unwrap();
    let (name, fields) = &last.events[0];
    assert_eq!(name, "gen_ai.client.inference.operation.details");
    let output: serde_json::Value =
        serde_json::from_str(&fields["gen_ai.output.messages"]).unwrap();
    assert_eq!(
        output,
        json!([{
            "role": "assistant",
            "parts": [{"type": "text", "content": "ANSWER [REDACTED] [REDACTED]"}],
            "finish_reason": "stop",
        }])
    );
    let input: serde_json::Value = serde_json::from_str(&fields["gen_ai.input.messages"]).unwrap();
    let kinds: Vec<&str> = input
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|message| message["parts"].as_array().unwrap())
        .map(|part| part["type"].as_str().unwrap())
        .collect();
    assert_eq!(
        kinds,
        [
            "text",
            "reasoning",
            "tool_call",
            "tool_call",
            "tool_call_response",
            "tool_call_response"
        ]
    );
}

/// Keys that a provider repeats in its complaint reach neither the error nor what is told.
#[tokio::test]
async fn c105_a_provider_that_repeats_the_key() {
    use allm::AdapterError;
    let echo = || {
        AdapterError::new(
            "fake",
            AdapterReason::AuthenticationFailed,
            "bad key my-own-secret",
        )
    };
    for script in [
        Script::new().fail_with(echo()),
        Script::new().text("half").fail_with(echo()),
    ] {
        let (told, _guard) = Collector::start();
        let fake = Fake::new().reply(script);
        let engine = builder(&fake).build().expect("valid");
        let key = ApiKey::new("my-own-secret").expect("valid").expect("a key");
        let answer = engine.generate("hi").api_key(key).await;
        let shown = match &answer {
            Ok(response) => format!("{response:?}"),
            Err(error) => format!("{error} {error:?}"),
        };
        assert!(
            shown.contains("bad key [REDACTED]") && !shown.contains("own-secret"),
            "{shown}"
        );
        assert!(!told.all().contains("own-secret"));
    }
}
