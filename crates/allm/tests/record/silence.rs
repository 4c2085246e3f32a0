//! Recordings in their own time, on a paused clock.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use allm::{Pace, Recorder, Replay};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::answers::streamed;
use crate::folder;
use crate::providers::{Kind, Over, engine};
use crate::server::{Reply, Server};

/// A recording of an answer that begins after this time.
async fn silent(kind: Kind, test: &str, silence: Duration) -> (String, PathBuf) {
    let folder = folder(test);
    let server = Server::start(vec![Reply::new(200, streamed(kind))]).await;
    let recorder = Recorder::new(&folder).name(test);
    let recording = engine(kind, &server.url, Over::Record(&recorder));
    assert_eq!(recording.generate("hi").await.unwrap().text(), "Grüße 👋");
    let file = recorder.finish().unwrap();
    let mut written: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    let chunks = &mut written["data"]["interactions"][0]["response"]["chunks"];
    for chunk in chunks.as_array_mut().unwrap() {
        chunk[0] = json!(u64::try_from(silence.as_millis()).unwrap());
    }
    fs::write(&file, written.to_string()).unwrap();
    (server.url.clone(), file)
}

#[tokio::test]
async fn c132_fifty_seconds_of_silence_are_no_fault() {
    for kind in Kind::ALL {
        let silence = Duration::from_secs(50);
        let (url, file) = silent(kind, &format!("c132-{kind:?}"), silence).await;
        tokio::time::pause();
        let replay = Replay::open(&file).unwrap().pace(Pace::AsRecorded);
        let began = Instant::now();
        let response = engine(kind, &url, Over::Replay(&replay))
            .generate("hi")
            .await;
        assert_eq!(response.unwrap().text(), "Grüße 👋", "{kind:?}");
        // The clock counts whole milliseconds, and a timer never fires too early.
        let elapsed = began.elapsed();
        assert!(elapsed >= silence && elapsed < silence + Duration::from_millis(10));
        tokio::time::resume();
    }
}

/// C132: the limits hold for a recording as for a server; at once there is nothing to wait for.
#[tokio::test]
async fn c132_longer_silence_is_one() {
    let silence = Duration::from_secs(70);
    let (url, file) = silent(Kind::Responses, "c132-long", silence).await;
    tokio::time::pause();
    let replay = Replay::open(&file).unwrap().pace(Pace::AsRecorded);
    let replaying = engine(Kind::Responses, &url, Over::Replay(&replay));
    let call = replaying.generate("hi").retry(allm::RetryPolicy::none());
    assert_eq!(call.await.unwrap_err().reason(), "timeout");
    let replay = Replay::open(&file).unwrap();
    let began = Instant::now();
    let replaying = engine(Kind::Responses, &url, Over::Replay(&replay));
    assert!(replaying.generate("hi").await.is_ok());
    assert_eq!(began.elapsed(), Duration::ZERO);
}
