//! However a body is cut, its events are the same.

use allm::{Chunking, Event, Recorder, Replay};
use proptest::prelude::*;
use serde_json::json;

use crate::answers::{streamed, whole};
use crate::providers::{Kind, Over, engine};
use crate::server::{Reply, Server};
use crate::{cassette, events, folder};

const CHUNKINGS: [Chunking; 5] = [
    Chunking::AsRecorded,
    Chunking::OneByte,
    Chunking::Random(1),
    Chunking::Random(2),
    Chunking::Whole,
];

#[tokio::test]
async fn c194_every_cut_gives_the_same_events() {
    let folder = folder("c194");
    for kind in Kind::ALL {
        for (form, body) in [("streamed", streamed(kind)), ("whole", whole(kind))] {
            let server = Server::start(vec![Reply::new(200, body)]).await;
            let recorder = Recorder::new(&folder).name(format!("{kind:?}-{form}"));
            let recorded = events(&engine(kind, &server.url, Over::Record(&recorder))).await;
            let file = recorder.finish().unwrap();
            for chunking in CHUNKINGS {
                let replay = Replay::open(&file).unwrap().chunking(chunking);
                let replayed = events(&engine(kind, &server.url, Over::Replay(&replay))).await;
                assert_eq!(replayed, recorded, "{kind:?} {form} {chunking:?}");
            }
        }
    }
}

/// Pieces of which bodies are made: good ones, and what a bad server may send.
fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => Just("data: {\"choices\": [{\"delta\": {\"content\": \"é👋\"}}]}\n\n".to_owned()),
        2 => Just("data: {\"choices\": [{\"delta\": {}, \"finish_reason\": \"stop\"}]}\r\n\r\n".to_owned()),
        1 => Just("data: [DONE]\r\r".to_owned()),
        1 => Just(": ping\n\n".to_owned()),
        1 => Just("data: {\"choices\": [\ndata: {\"delta\": {\"content\": \"x\"}}]}\n\n".to_owned()),
        1 => Just("event: error\ndata: {\"error\": {\"message\": \"no\"}}\n\n".to_owned()),
        1 => Just("\u{FEFF}".to_owned()),
        1 => Just("{\"choices\": [{\"message\": {\"content\": \"whole\"}, \"finish_reason\": \"stop\"}]}".to_owned()),
        1 => "[ -~\r\n]{0,12}",
    ]
}

/// The events of a body of a Chat Completions server.
fn replayed(body: &str, chunking: Chunking) -> Vec<Event> {
    let file = folder("c194-any").join("any.json");
    cassette(
        &file,
        &[json!({
            "request": {"method": "POST", "host": "h.example", "path": "/chat/completions", "body": {"json": {
                "model": "gpt-4o", "messages": [{"role": "user", "content": "hi"}], "stream": true,
                "stream_options": {"include_usage": true}}}},
            "response": {"status": 200, "body": {"text": [body]}},
        })],
    );
    let replay = Replay::open(&file).unwrap().chunking(chunking);
    let engine = engine(Kind::Chat, "https://h.example", Over::Replay(&replay));
    let engine = engine.with(|builder| builder.retry(allm::RetryPolicy::none()));
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_time().build().unwrap();
    let events = runtime.block_on(events(&engine.unwrap()));
    replay.assert_used();
    events
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// C194: for any body, good or bad.
    #[test]
    fn c194_any_body_in_any_cut(pieces in prop::collection::vec(piece(), 0..8), seed: u64) {
        let body = pieces.concat();
        let whole = replayed(&body, Chunking::Whole);
        prop_assert_eq!(&replayed(&body, Chunking::OneByte), &whole);
        prop_assert_eq!(&replayed(&body, Chunking::Random(seed)), &whole);
    }
}
