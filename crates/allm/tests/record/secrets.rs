//! What no cassette holds.

use std::fs;

use allm::{Anthropic, CassetteReason, Engine, OpenAi, Recorder, Redactor, Replay};

use crate::answers::streamed;
use crate::providers::{KEY, Kind, Over, engine};
use crate::server::{Reply, Server};
use crate::{events, folder};

fn knows_the_key() -> Redactor {
    Redactor::new().with_key(&allm::ApiKey::new(KEY).unwrap().unwrap())
}

#[tokio::test]
async fn c196_no_key_no_account_no_cookie() {
    let folder = folder("c196");
    for kind in Kind::ALL {
        // Servers like to repeat what they were sent.
        let body = streamed(kind).replace("Grü", KEY);
        let reply = Reply::new(200, body)
            .header("set-cookie", "session=of-alice")
            .header("openai-organization", "alice-inc")
            .header("openai-project", "alice-project")
            .header("anthropic-organization-id", "alice-inc")
            .header("x-echo", KEY)
            .header("x-kept", "kept");
        let server = Server::start(vec![reply]).await;
        let recorder = Recorder::new(&folder).name(format!("{kind:?}"));
        let recording = engine(kind, &server.url, Over::Record(&recorder));
        let call = recording.generate("hi").query("key", KEY).query("alt", "x");
        let call = call.header("cookie", "session=of-alice");
        assert!(call.await.unwrap().text().contains(KEY));
        assert!(server.heads()[0].contains("session=of-alice"));
        let text = fs::read_to_string(recorder.finish().unwrap()).unwrap();
        for secret in ["alice", "cookie", "authorization", "api-key", "key="] {
            assert!(!text.contains(secret), "{kind:?} {secret}: {text}");
        }
        assert!(!knows_the_key().finds_key_in(text.as_bytes()), "{text}");
        assert!(
            text.contains("[REDACTED]") && text.contains("kept"),
            "{text}"
        );
        assert!(text.contains("alt=x"), "{text}");
    }
}

/// C196: an organisation and a project that were configured go out, and are in no file.
#[tokio::test]
async fn c196_configured_accounts() {
    let folder = folder("c196-accounts");
    let replies = vec![
        Reply::new(200, streamed(Kind::Chat)),
        Reply::new(200, streamed(Kind::Anthropic)),
    ];
    let server = Server::start(replies).await;
    let recorder = Recorder::new(&folder).name("accounts");
    let openai = OpenAi::new()
        .organization("alice-inc")
        .project("alice-project");
    let openai = openai.base_url(&server.url).api_key(KEY).record(&recorder);
    let claude = Anthropic::new().header("x-organization", "alice-inc");
    let claude = claude.base_url(&server.url).api_key(KEY).record(&recorder);
    let engine = Engine::builder()
        .provider(openai)
        .provider(claude)
        .build()
        .unwrap();
    for model in ["openai:gpt-4o", "anthropic:claude-sonnet-4-5"] {
        let response = engine.generate("hi").model(model).await.unwrap();
        assert_eq!(response.text(), "Grüße 👋");
    }
    assert!(server.heads().iter().all(|head| head.contains("alice")));
    let file = recorder.finish().unwrap();
    let text = fs::read_to_string(&file).unwrap();
    assert!(!text.contains("alice"), "{text}");
    assert_eq!(Replay::open(file).unwrap().unused(), 2);
}

/// The key is in bytes that are no text, or a scrub function puts it there: nothing is written, and what was there stays.
#[tokio::test]
async fn c196_a_recording_with_the_key_is_not_written() {
    let folder = folder("c196-refused");
    let mut bytes = KEY.as_bytes().to_vec();
    bytes.push(0xFF);
    let url_encoded = KEY
        .replace('/', "%2F")
        .replace('+', "%2B")
        .replace(' ', "%20");
    let named = || Recorder::new(&folder).name("c196");
    let plain = |put: String| named().scrub(move |text| text.replace("Grü", &put));
    let base64 = "c2VjcmV0L2tleStvZiBub2JvZHk=".to_owned();
    let old = folder.join("c196.json");
    for (what, recorder, body) in [
        ("bytes", named(), bytes.clone()),
        (
            "plain",
            plain(KEY.to_owned()),
            streamed(Kind::Chat).into_bytes(),
        ),
        ("url", plain(url_encoded), streamed(Kind::Chat).into_bytes()),
        ("base64", plain(base64), streamed(Kind::Chat).into_bytes()),
    ] {
        fs::write(&old, "old").unwrap();
        let server = Server::start(vec![Reply::new(200, body)]).await;
        let recording = engine(Kind::Chat, &server.url, Over::Record(&recorder));
        let _ = recording.generate("hi").await;
        let error = recorder.finish().unwrap_err();
        assert_eq!(error.reason(), CassetteReason::HoldsKey, "{what}");
        let told = format!("{error} {error:?}");
        assert!(
            told.contains("nothing was written") && told.contains("interactions[0]"),
            "{told}"
        );
        assert!(!knows_the_key().finds_key_in(told.as_bytes()), "{told}");
        assert_eq!(fs::read_to_string(&old).unwrap(), "old", "{what}");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "{what}");
    }
}

/// C196: the user's function runs last and over both sides; what it changed is matched again and the pieces still fit.
#[tokio::test]
async fn c196_scrubbed_on_both_sides() {
    let folder = folder("c196-scrub");
    for kind in Kind::ALL {
        let body = streamed(kind).replace("Grü", "Alice, grü");
        let server = Server::start(vec![Reply::new(200, body)]).await;
        let scrub = |text: &str| text.replace("Alice", "[a very long name]");
        let recorder = Recorder::new(&folder)
            .name(format!("{kind:?}"))
            .scrub(scrub);
        let recording = engine(kind, &server.url, Over::Record(&recorder));
        let response = recording.generate("I am Alice").await.unwrap();
        assert_eq!(response.text(), "Alice, grüße 👋");
        let file = recorder.finish().unwrap();
        assert!(!fs::read_to_string(&file).unwrap().contains("Alice"));
        let replay = Replay::open(&file).unwrap();
        let replaying = engine(kind, &server.url, Over::Replay(&replay));
        assert!(replaying.generate("I am Alice").await.is_err(), "{kind:?}");
        let replay = Replay::open(&file).unwrap().scrub(scrub);
        let replaying = engine(kind, &server.url, Over::Replay(&replay));
        let response = replaying.generate("I am Alice").await.unwrap();
        assert_eq!(response.text(), "[a very long name], grüße 👋", "{kind:?}");
        replay.assert_used();
    }
}

/// C196: a word that a local server wants in the place of a key is no secret.
#[tokio::test]
async fn c196_a_word_is_no_key() {
    let folder = folder("c196-word");
    let body = streamed(Kind::Chat).replace("m-1", "ollama-m-1");
    let server = Server::start(vec![Reply::new(200, body)]).await;
    let recorder = Recorder::new(&folder).name("word");
    let recording = engine(Kind::Chat, &server.url, Over::Record(&recorder));
    let word = allm::ApiKey::new("ollama").unwrap().unwrap();
    let response = recording.generate("hi").api_key(word).await.unwrap();
    assert_eq!(response.model.as_deref(), Some("ollama-m-1"));
    let replay = Replay::open(recorder.finish().unwrap()).unwrap();
    let replayed = events(&engine(Kind::Chat, &server.url, Over::Replay(&replay))).await;
    assert!(format!("{replayed:?}").contains("ollama-m-1"));
}
