//! A streamed and a whole recording of one answer.

use allm::{Recorder, Replay};

use crate::answers::{streamed, whole};
use crate::providers::{Kind, Over, engine};
use crate::server::{Reply, Server};
use crate::{folder, panic_of};

/// A cassette of these answers, and an engine that replays it.
async fn recorded(kind: Kind, test: &str, answers: &[String]) -> (allm::Engine, Replay) {
    let folder = folder(test);
    let replies = answers.iter().map(|body| Reply::new(200, body));
    let server = Server::start(replies.collect()).await;
    let recorder = Recorder::new(&folder).name(test);
    let recording = engine(kind, &server.url, Over::Record(&recorder));
    for _ in answers {
        assert_eq!(recording.generate("hi").await.unwrap().text(), "Grüße 👋");
    }
    let replay = Replay::open(recorder.finish().unwrap()).unwrap();
    (engine(kind, &server.url, Over::Replay(&replay)), replay)
}

#[tokio::test]
async fn c198_streamed_and_whole_fold_to_the_same() {
    for kind in Kind::ALL {
        let answers = [streamed(kind), whole(kind)];
        let (engine, replay) = recorded(kind, &format!("c198-{kind:?}"), &answers).await;
        replay.assert_stream_equals_whole(&engine).await;
        replay.assert_used();
    }
}

/// C198: it can fail.
#[tokio::test]
async fn c198_a_difference_is_told() {
    for kind in Kind::ALL {
        let answers = [streamed(kind), whole(kind).replace("Oslo", "Rome")];
        let (engine, replay) = recorded(kind, &format!("c198-differ-{kind:?}"), &answers).await;
        let said = panic_of(async move { replay.assert_stream_equals_whole(&engine).await }).await;
        let place = "response.tool_calls[0].arguments.city\n    - \"Oslo\"\n    + \"Rome\"";
        assert!(said.contains(place), "{kind:?}: {said}");
    }
    let answers = [streamed(Kind::Chat)];
    let (engine, replay) = recorded(Kind::Chat, "c198-one", &answers).await;
    let said = panic_of(async move { replay.assert_stream_equals_whole(&engine).await }).await;
    assert!(said.contains("1 streamed and 0 whole"), "{said}");
    let (_, replay) = recorded(Kind::Chat, "c198-other", &answers).await;
    let other = allm::Engine::builder().provider(allm::Fake::new().reply("x"));
    let other = other.model("fake:any").build().unwrap();
    let said = panic_of(async move { replay.assert_stream_equals_whole(&other).await }).await;
    assert!(said.contains("did not ask"), "{said}");
}
