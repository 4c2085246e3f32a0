//! What becomes of recordings that do not come to a good end.

use std::fs;

use allm::{CassetteReason, FinishReason, OpenAi, Recorder, Replay, RetryPolicy};
use serde_json::Value;
use tokio::net::TcpListener;

use crate::answers::streamed;
use crate::providers::{Kind, Over, engine};
use crate::server::{Reply, Server};
use crate::{events, folder};

/// The first frames of an answer.
fn beginning(kind: Kind) -> String {
    let body = streamed(kind);
    let end = body.find("👋").unwrap();
    let frame = body[end..].find("\n\n").or(body[end..].find("\r\n\r\n"));
    body[..end + frame.unwrap() + 4].trim_end().to_owned() + "\r\n\r\n"
}

fn once(kind: Kind, url: &str, over: Over<'_>) -> allm::Engine {
    let engine = engine(kind, url, over);
    let once = engine.with(|builder| builder.retry(RetryPolicy::none()));
    once.unwrap()
}

fn end_in(file: &std::path::Path) -> Value {
    let written: Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    written["data"]["interactions"][0]["end"].clone()
}

/// C193: a connection that broke breaks again, in the same place.
#[tokio::test]
async fn c193_a_broken_connection() {
    let folder = folder("broken");
    for kind in Kind::ALL {
        let server = Server::start(vec![Reply::new(200, beginning(kind)).broken()]).await;
        let recorder = Recorder::new(&folder).name(format!("{kind:?}"));
        let recorded = once(kind, &server.url, Over::Record(&recorder))
            .generate("hi")
            .await;
        let recorded = recorded.unwrap();
        assert_eq!(recorded.text(), "Grüße 👋", "{kind:?}");
        assert_eq!(
            recorded.error.as_ref().unwrap().reason.as_str(),
            "network_error"
        );
        let file = recorder.finish().unwrap();
        assert_eq!(end_in(&file), "broken");
        let replay = Replay::open(&file).unwrap();
        let replayed = once(kind, &server.url, Over::Replay(&replay))
            .generate("hi")
            .await;
        let replayed = replayed.unwrap();
        assert_eq!(replayed.text(), recorded.text());
        assert_eq!(replayed.error.unwrap().reason.as_str(), "network_error");
        replay.assert_used();
    }
}

/// C193: a server that is not there is not there again.
#[tokio::test]
async fn c193_no_connection_at_all() {
    let folder = folder("refused");
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let recorder = Recorder::new(&folder).name("refused");
    let error = recorder.finish().unwrap_err();
    assert_eq!(error.reason(), CassetteReason::Empty);
    let recorded = once(Kind::Chat, &url, Over::Record(&recorder))
        .generate("hi")
        .await;
    assert_eq!(recorded.unwrap_err().reason(), "network_error");
    let replay = Replay::open(recorder.finish().unwrap()).unwrap();
    let replayed = once(Kind::Chat, &url, Over::Replay(&replay))
        .generate("hi")
        .await;
    assert_eq!(replayed.unwrap_err().reason(), "network_error");
    replay.assert_used();
}

/// C193: a stream that was dropped is kept as far as it was read; whoever reads on is told.
#[tokio::test]
async fn c193_a_reader_who_left() {
    let folder = folder("left");
    for kind in Kind::ALL {
        let server = Server::start(vec![Reply::new(200, beginning(kind)).open()]).await;
        let recorder = Recorder::new(&folder).name(format!("{kind:?}"));
        let recording = once(kind, &server.url, Over::Record(&recorder));
        let mut stream = recording.generate("hi").request_id("r").stream();
        let mut seen = Vec::new();
        for _ in 0..3 {
            seen.push(stream.next().await.unwrap());
        }
        drop(stream);
        let file = recorder.finish().unwrap();
        assert_eq!(end_in(&file), "left", "{kind:?}");
        let replay = Replay::open(&file).unwrap();
        let replayed = events(&once(kind, &server.url, Over::Replay(&replay))).await;
        assert_eq!(replayed[..3], seen, "{kind:?}");
        let replay = Replay::open(&file).unwrap();
        let replaying = once(kind, &server.url, Over::Replay(&replay));
        let response = replaying.generate("hi").await.unwrap();
        assert_eq!(response.finish_reason, Some(FinishReason::Error));
        let error = response.error.unwrap();
        assert_eq!(error.reason.as_str(), "no_recorded_response");
        assert!(
            error.message.contains("record it again"),
            "{}",
            error.message
        );
    }
}

/// C196: nothing is written before `finish`, nothing but the file is left, and its text is always whole.
#[tokio::test]
async fn c196_only_finish_writes() {
    let folder = folder("finish");
    let replies = vec![Reply::new(200, streamed(Kind::Chat)); 2];
    let server = Server::start(replies).await;
    let files = || -> Vec<String> {
        let entries = fs::read_dir(&folder).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name());
        names.map(|name| name.into_string().unwrap()).collect()
    };
    let recorder = Recorder::new(folder.join("deep")).name("a test");
    let recording = engine(Kind::Chat, &server.url, Over::Record(&recorder));
    events(&recording).await;
    assert!(files().is_empty());
    let file = recorder.finish().unwrap();
    assert_eq!(file, folder.join("deep").join("a_test.json"));
    assert_eq!(Replay::open(&file).unwrap().unused(), 1);
    events(&recording).await;
    assert_eq!(recorder.finish().unwrap(), file);
    assert_eq!(Replay::open(&file).unwrap().unused(), 2);
    assert_eq!(files(), ["deep"]);
    assert_eq!(fs::read_dir(folder.join("deep")).unwrap().count(), 1);
}

/// A folder that cannot be, a file that is not there, and a recorder without a name are told as such.
#[tokio::test]
async fn what_cannot_be_written_or_read() {
    let folder = folder("faults");
    fs::write(folder.join("file"), "").unwrap();
    let server = Server::start(vec![Reply::new(200, streamed(Kind::Chat))]).await;
    let recorder = Recorder::new(folder.join("file")).name("x");
    events(&engine(Kind::Chat, &server.url, Over::Record(&recorder))).await;
    let error = recorder.finish().unwrap_err();
    assert_eq!(error.reason(), CassetteReason::Unwritable);
    assert_eq!(error.file(), folder.join("file").join("x.json"));
    let error = Replay::open(folder.join("none.json")).unwrap_err();
    assert_eq!(error.reason(), CassetteReason::NotFound);
    assert!(error.to_string().contains("record it first"), "{error}");
    let nameless = std::thread::spawn(|| {
        let recorder = Recorder::new("c");
        let engine = allm::Engine::builder().provider(OpenAi::new().record(&recorder));
        let refused = engine.model("openai:gpt-4o").build().unwrap_err();
        (refused, recorder.finish().unwrap_err())
    });
    let (refused, error) = nameless.join().unwrap();
    assert_eq!(refused.reason.as_str(), "invalid_config");
    assert!(refused.message.contains("`name`"), "{refused}");
    assert_eq!(error.reason(), CassetteReason::NoName);
}
