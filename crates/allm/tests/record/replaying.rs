//! What was recorded is replayed: the same events, in the recorded order.

use std::fs;

use allm::{Event, FinishReason, Recorder, Replay, RetryPolicy};
use serde_json::Value;

use crate::answers::{streamed, whole};
use crate::providers::{Kind, Over, engine};
use crate::server::{Reply, Server};
use crate::{events, folder};

/// The server is gone when the recording is played, and whoever is asked for a key fails.
#[tokio::test]
async fn c193_the_same_events_without_network_and_key() {
    let folder = folder("c193");
    for kind in Kind::ALL {
        for (form, body) in [("streamed", streamed(kind)), ("whole", whole(kind))] {
            let server = Server::start(vec![Reply::new(200, body)]).await;
            let recorder = Recorder::new(&folder).name(format!("{kind:?}-{form}"));
            let recorded = events(&engine(kind, &server.url, Over::Record(&recorder))).await;
            assert!(
                matches!(recorded.last(), Some(Event::MessageCompleted(_))),
                "{kind:?} {form}: {recorded:?}"
            );
            assert_eq!(server.heads().len(), 1);
            let file = recorder.finish().unwrap();
            let replay = Replay::open(&file).unwrap();
            // C104
            let shown = format!("{recorder:?} {replay:?}");
            assert!(shown.contains("interactions: 1"), "{shown}");
            assert!(
                !shown.contains("weather") && !shown.contains("secret"),
                "{shown}"
            );
            let replayed = events(&engine(kind, &server.url, Over::Replay(&replay))).await;
            assert_eq!(replayed, recorded, "{kind:?} {form}");
            replay.assert_used();
            let written: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
            let body = &written["data"]["interactions"][0]["response"]["body"];
            let expected = if form == "whole" { "json" } else { "events" };
            assert!(body.get(expected).is_some(), "{kind:?}: {body}");
        }
    }
}

/// Each attempt is an interaction of its own; the wait between them is played too.
#[tokio::test]
async fn c193_attempts_are_interactions() {
    let folder = folder("c193-attempts");
    for kind in Kind::ALL {
        let busy =
            Reply::new(429, r#"{"error": {"message": "slow down"}}"#).header("retry-after", "0");
        let replies = vec![busy, Reply::new(200, streamed(kind))];
        let server = Server::start(replies).await;
        let retry = RetryPolicy {
            jitter: std::time::Duration::ZERO,
            ..RetryPolicy::default()
        };
        let recorder = Recorder::new(&folder).name(format!("{kind:?}"));
        let with = |over| {
            let engine = engine(kind, &server.url, over);
            engine.with(|builder| builder.retry(retry.clone())).unwrap()
        };
        let recorded = events(&with(Over::Record(&recorder))).await;
        let replay = Replay::open(recorder.finish().unwrap()).unwrap();
        assert_eq!(replay.unused(), 2);
        assert_eq!(events(&with(Over::Replay(&replay))).await, recorded);
        replay.assert_used();
    }
}

#[tokio::test]
async fn c197_equal_requests_in_recorded_order_and_no_more() {
    let folder = folder("c197");
    let bodies = [
        streamed(Kind::Chat),
        streamed(Kind::Chat).replace("Grü", "Fü"),
    ];
    let replies = bodies.map(|body| Reply::new(200, body)).to_vec();
    let server = Server::start(replies).await;
    let recorder = Recorder::new(&folder).name("c197");
    let recording = engine(Kind::Chat, &server.url, Over::Record(&recorder));
    for expected in ["Grüße 👋", "Füße 👋"] {
        assert_eq!(recording.generate("hi").await.unwrap().text(), expected);
    }
    let replay = Replay::open(recorder.finish().unwrap()).unwrap();
    let replaying = engine(Kind::Chat, &server.url, Over::Replay(&replay));
    for expected in ["Grüße 👋", "Füße 👋"] {
        let response = replaying.generate("hi").await.unwrap();
        assert_eq!(response.text(), expected);
        assert_eq!(response.finish_reason, Some(FinishReason::ToolCalls));
    }
    let error = replaying.generate("hi").await.unwrap_err();
    assert_eq!(error.reason(), "no_recorded_response");
    let told = error.to_string();
    assert!(told.contains("was recorded 2 times"), "{told}");
}

/// C197: two engines share what was used.
#[tokio::test]
async fn c197_clones_share_what_was_used() {
    let folder = folder("c197-clones");
    let server = Server::start(vec![Reply::new(200, streamed(Kind::Chat))]).await;
    let recorder = Recorder::new(&folder).name("once");
    events(&engine(Kind::Chat, &server.url, Over::Record(&recorder))).await;
    let replay = Replay::open(recorder.finish().unwrap()).unwrap();
    let first = engine(Kind::Chat, &server.url, Over::Replay(&replay));
    let second = engine(Kind::Chat, &server.url, Over::Replay(&replay.clone()));
    assert!(first.generate("hi").await.is_ok());
    assert!(second.generate("hi").await.is_err());
    assert_eq!(replay.unused(), 0);
}
