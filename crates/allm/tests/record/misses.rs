//! What was not recorded, and what was not asked.

use allm::{Error, Recorder, Replay};
use serde_json::json;

use crate::answers::streamed;
use crate::providers::{Kind, Over, engine};
use crate::server::{Reply, Server};
use crate::{folder, panic_of};

async fn recorded(kind: Kind, test: &str) -> (Server, Replay) {
    let folder = folder(test);
    let server = Server::start(vec![Reply::new(200, streamed(kind))]).await;
    let recorder = Recorder::new(&folder).name(test);
    let recording = engine(kind, &server.url, Over::Record(&recorder));
    assert_eq!(recording.generate("hi").await.unwrap().text(), "Grüße 👋");
    let replay = Replay::open(recorder.finish().unwrap()).unwrap();
    (server, replay)
}

/// The error names the nearest interaction and every difference; it is not retried and holds no more of the body.
#[tokio::test]
async fn c195_a_changed_request_is_told_with_its_differences() {
    for kind in Kind::ALL {
        let (server, replay) = recorded(kind, &format!("c195-{kind:?}")).await;
        let replaying = engine(kind, &server.url, Over::Replay(&replay));
        let error = replaying
            .generate("hello")
            .max_tokens(100)
            .await
            .unwrap_err();
        let told = error.to_string();
        let Error::Adapter(error) = error else {
            panic!("{kind:?}: {error:?}")
        };
        assert_eq!(error.reason.as_str(), "no_recorded_response", "{told}");
        assert_eq!(error.attempts, Some(1), "{kind:?}");
        assert!(told.contains("nearest is interactions[0]"), "{told}");
        assert!(told.contains(r#"recorded "hi", sent "hello""#), "{told}");
        assert_eq!(error.details["nearest"], json!(0));
        let differences = error.details["differences"].as_array().unwrap();
        assert_eq!(differences.len(), 2, "{differences:?}");
        let text = differences
            .iter()
            .find(|it| it["sent"] == json!("\"hello\""));
        assert_eq!(text.unwrap()["recorded"], json!("\"hi\""));
        assert!(text.unwrap()["path"].as_str().unwrap().starts_with("body."));
    }
}

#[tokio::test]
async fn c195_an_unused_interaction_fails_the_test() {
    let (_server, replay) = recorded(Kind::Chat, "c195-unused").await;
    let asked = replay.clone();
    let said = panic_of(async move { asked.assert_used() }).await;
    assert!(
        said.contains("interactions[0] was not used: POST 127.0.0.1:"),
        "{said}"
    );
    replay.clone().allow_unused().assert_used();
}

/// C195: a program that passes over a miss does not pass its test.
#[tokio::test]
async fn c195_a_miss_fails_the_test() {
    let (server, replay) = recorded(Kind::Chat, "c195-miss").await;
    let replaying = engine(Kind::Chat, &server.url, Over::Replay(&replay));
    assert!(replaying.generate("hello").await.is_err());
    let asked = replay.clone().allow_unused();
    let said = panic_of(async move { asked.assert_used() }).await;
    assert!(said.contains("no interaction of"), "{said}");
    assert!(said.contains(r#"recorded "hi", sent "hello""#), "{said}");
}

/// C195: another address is another request.
#[tokio::test]
async fn c195_the_address_counts() {
    let (server, replay) = recorded(Kind::Chat, "c195-address").await;
    for (url, place) in [
        (
            server.url.replace("/v1", "/v2"),
            "path: recorded \"/v1/chat",
        ),
        ("https://h.example/v1".to_owned(), "host: recorded \"127."),
        (
            server.url.clone() + "?a=1",
            "query: recorded \"\", sent \"a=1\"",
        ),
    ] {
        let error = engine(Kind::Chat, &url, Over::Replay(&replay))
            .generate("hi")
            .await;
        let told = error.unwrap_err().to_string();
        assert!(told.contains(place), "{told}");
    }
}
