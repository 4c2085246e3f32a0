//! S15: which operation is legal in which status.

use allm::session::{Annotated, Delivery};
use allm::{
    ApprovalRule, Engine, Fake, OnToolError, Script, SessionReason, SessionStatus, StreamReason,
};
use serde_json::json;

use crate::form::{Op, Talk, on_every_form, reply};
use crate::support::{asking, failing, giving, key, manual, map};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scene {
    New,
    CutShort,
    Queued,
    Completed,
    InProgress,
    Asked,
    AskedAndReady,
    Gated,
    GatedAndReady,
    Manual,
    Failed,
    FailedAndManual,
}

const SCENES: [Scene; 12] = [
    Scene::New,
    Scene::CutShort,
    Scene::Queued,
    Scene::Completed,
    Scene::InProgress,
    Scene::Asked,
    Scene::AskedAndReady,
    Scene::Gated,
    Scene::GatedAndReady,
    Scene::Manual,
    Scene::Failed,
    Scene::FailedAndManual,
];

/// What an operation comes to.
type Cell = Result<(), SessionReason>;

const OK: Cell = Ok(());
const STATE: Cell = Err(SessionReason::InvalidState);
const NOTHING: Cell = Err(SessionReason::NothingToResume);

impl Scene {
    /// The status; what `reply`, `resume` and `retry` come to; and what cancelling makes of the status, if it does.
    fn row(self) -> (SessionStatus, [Cell; 3], Option<SessionStatus>) {
        use SessionStatus::{
            AwaitingApproval, AwaitingTools, AwaitingUser, Completed, Error, Idle, InProgress,
        };
        match self {
            Self::New => (Idle, [OK, NOTHING, STATE], None),
            Self::CutShort | Self::Queued => (Idle, [OK, OK, STATE], None),
            Self::Completed => (Completed, [OK, NOTHING, STATE], None),
            Self::InProgress => (InProgress, [STATE, OK, STATE], Some(Idle)),
            Self::Asked => (AwaitingUser, [OK, STATE, STATE], Some(Idle)),
            Self::AskedAndReady => (AwaitingUser, [OK, OK, STATE], Some(Idle)),
            Self::Gated => (AwaitingApproval, [STATE, STATE, STATE], Some(Idle)),
            Self::GatedAndReady => (AwaitingApproval, [STATE, OK, STATE], Some(Idle)),
            Self::Manual => (AwaitingTools, [STATE, STATE, STATE], Some(Idle)),
            Self::Failed => (Error, [OK, STATE, OK], Some(Idle)),
            Self::FailedAndManual => (Error, [STATE, STATE, STATE], Some(Idle)),
        }
    }

    /// The calls of the first answer.
    fn calls(self) -> &'static [&'static str] {
        match self {
            Self::CutShort => &["a"],
            Self::Asked => &["ask"],
            Self::AskedAndReady => &["ask", "gated"],
            Self::Gated => &["gated"],
            Self::GatedAndReady => &["gated", "gated"],
            Self::Manual => &["m"],
            Self::FailedAndManual => &["fails", "m"],
            _ => &[],
        }
    }

    /// Brings a session there. The model has answers left for whatever comes.
    async fn bring(self, talk: &mut Talk) -> (Fake, Engine) {
        let calls = self.calls().iter();
        let calling = calls.fold(Script::new(), |script, name| script.call(*name, json!({})));
        let first = match self {
            Self::InProgress => Script::new().hang(),
            Self::Failed => Script::new()
                .text("half")
                .stream_fail(StreamReason::Interrupted),
            Self::Completed => Script::from("done"),
            _ => calling,
        };
        let fake = match self {
            Self::New | Self::Queued => Fake::new(),
            _ => Fake::new().reply(first),
        };
        let fake = fake.always("more");
        let tools = vec![
            giving("a", json!(1)),
            asking("ask", "Sure?"),
            giving("gated", json!(2)).approval(ApprovalRule::Always),
            manual("m"),
            failing("fails"),
        ];
        let engine = talk.engine(&fake, tools);
        let go = reply("Go");
        match self {
            Self::New => {}
            Self::Queued => talk.send("Go", Delivery::NextRun).await.unwrap(),
            Self::CutShort => {
                talk.drive(&engine, go, |call| call.max_turns(1))
                    .await
                    .unwrap();
            }
            Self::InProgress => {
                let model = fake.clone();
                talk.crash(&engine, go, move |_| model.open_streams() == 1)
                    .await;
            }
            _ => {
                talk.drive(&engine, go, |call| call.on_tool_error(OnToolError::Halt))
                    .await
                    .unwrap();
            }
        }
        if matches!(self, Self::AskedAndReady | Self::GatedAndReady) {
            talk.approve(key(1, 1)).await.unwrap();
        }
        (fake, engine)
    }
}

/// S15: each cell of the matrix; a refusal names what waits and leaves no trace.
#[tokio::test(start_paused = true)]
async fn s15_every_cell_of_the_matrix() {
    for scene in SCENES {
        let (status, [on_reply, on_resume, on_retry], _) = scene.row();
        let cells = [
            (reply("More"), on_reply),
            (Op::Resume, on_resume),
            (Op::Step, on_resume),
            (Op::Retry, on_retry),
        ];
        for (op, expected) in cells {
            on_every_form(async |talk| {
                let (fake, engine) = scene.bring(talk).await;
                assert_eq!(talk.status(), status, "{scene:?}");
                let waits: Vec<_> = talk.waits().into_iter().map(|wait| wait.call).collect();
                let before = ((**talk).clone(), fake.calls().len());
                let result = talk.drive(&engine, op.clone(), |call| call).await;
                match (result, expected) {
                    (Ok(_), Ok(())) => {}
                    (Err(error), Err(reason)) => {
                        assert_eq!(error.reason, reason, "{scene:?}, {op:?}");
                        if reason == SessionReason::InvalidState {
                            assert_eq!(error.status, Some(status));
                            assert_eq!(error.waits, waits);
                        }
                        assert_eq!(((**talk).clone(), fake.calls().len()), before);
                    }
                    (result, _) => panic!("{scene:?}, {op:?}: {result:?}"),
                }
            })
            .await;
        }
    }
}

/// S15: cancelling is legal everywhere, and where there is nothing to end it adds nothing.
#[tokio::test(start_paused = true)]
async fn s15_s159_cancel_in_every_status() {
    for scene in SCENES {
        on_every_form(async |talk| {
            let (fake, engine) = scene.bring(talk).await;
            let (before, calls) = (talk.version(), fake.calls().len());
            talk.cancel().await.unwrap();
            match scene.row().2 {
                None => assert_eq!(talk.version(), before, "{scene:?}"),
                Some(status) => {
                    assert_eq!(talk.status(), status, "{scene:?}");
                    assert!(talk.version() > before, "{scene:?}");
                    assert!(talk.waits().is_empty() && talk.failure().is_none());
                    assert_eq!(talk.last_halt().unwrap().as_str(), "cancelled");
                    let again = talk.version();
                    talk.cancel().await.unwrap();
                    assert_eq!(talk.version(), again, "{scene:?}, twice");
                }
            }
            assert_eq!(fake.calls().len(), calls, "{scene:?}");
            talk.reply(&engine, "Go on").await.unwrap();
        })
        .await;
    }
}

/// S15: what only adds input is legal in every status, and drives nothing.
#[tokio::test(start_paused = true)]
async fn s15_send_and_annotate_in_every_status() {
    for scene in SCENES {
        on_every_form(async |talk| {
            let (fake, _) = scene.bring(talk).await;
            let (calls, inbox) = (fake.calls().len(), talk.inbox().len());
            for delivery in [Delivery::NextTurn, Delivery::NextRun, Delivery::Interrupt] {
                talk.send("More", delivery).await.unwrap();
            }
            assert_eq!(talk.inbox().len(), inbox + 3, "{scene:?}");
            let changed = Annotated {
                context: Some(map(json!({"a": 1}))),
                metadata: Some(map(json!({"b": 2}))),
                tags: Some([("c".to_owned(), "d".to_owned())].into()),
            };
            talk.annotate(changed).await.unwrap();
            assert_eq!(talk.context()["a"], json!(1));
            assert_eq!(talk.metadata()["b"], json!(2));
            assert_eq!(talk.tags()["c"], "d");
            talk.submit_all(Vec::new()).await.unwrap();
            assert_eq!(fake.calls().len(), calls);
        })
        .await;
    }
}
