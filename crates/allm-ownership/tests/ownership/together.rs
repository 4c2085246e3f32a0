//! S211: what goes together in one append, and what becomes of it when others come first.

use std::sync::{Arc, Mutex};

use allm::session::{Delivery, Outcome};
use allm::{ApprovalAnswer, BoxFuture, HaltReason, LoadFrom, SessionStore, Sessions};

use crate::support::stores::{paused, sessions};
use crate::support::world::{IDEMPOTENT, ONCE, World, model};
use crate::support::wrapped::{Call, Fate, Op, Rule, Wrapped};

/// What somebody else does.
type Deed = fn(Sessions) -> BoxFuture<'static, ()>;

/// Notes appends, and lets somebody else come before the one that has this.
#[derive(Clone, Default)]
struct Meeting(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    appends: Vec<String>,
    other: Option<(&'static str, Sessions, Deed)>,
}

impl Meeting {
    fn before(&self, kind: &'static str, other: Sessions, deed: Deed) {
        self.0.lock().expect("not poisoned").other = Some((kind, other, deed));
    }

    fn appends(&self) -> Vec<String> {
        self.0.lock().expect("not poisoned").appends.clone()
    }
}

impl Rule for Meeting {
    fn judge<'a>(&'a self, call: &'a Call) -> BoxFuture<'a, Fate> {
        let other = {
            let mut state = self.0.lock().expect("not poisoned");
            if call.op == Op::Append {
                state.appends.push(call.kinds.join("+"));
            }
            let comes = |(kind, ..): &mut (&'static str, Sessions, Deed)| call.kinds.contains(kind);
            state.other.take_if(comes)
        };
        Box::pin(async move {
            if let Some((_, sessions, deed)) = other {
                deed(sessions).await;
            }
            Fate::Done
        })
    }

    fn is_plain(&self) -> bool {
        false
    }
}

const TOGETHER: &str = "model_responded+calls_planned+tool_intent";

/// A stop that came first: the answer is kept, and nothing of it was begun.
#[tokio::test(start_paused = true)]
async fn s211_a_stop_that_comes_first_leaves_the_answer() {
    for ground in paused() {
        let rule = Meeting::default();
        let store = Wrapped::around(ground.machine(0), "a", &Arc::new(rule.clone()));
        let (world, fake) = (World::default(), model(&[ONCE]));
        let engine = world.engine("a", None, &fake).build().expect("an engine");
        let mut session = sessions(&store).create("s").await.expect("created");
        rule.before("calls_planned", sessions(ground.machine(0)), |sessions| {
            Box::pin(async move {
                let mut other = sessions.open("s").await.expect("opened");
                other.cancel("enough").await.expect("told");
            })
        });
        let result = session.reply(&engine, "Go").await.expect("stopped");
        let place = ground.name;
        assert_eq!(result.halted_reason, HaltReason::Cancelled, "{place}");
        assert_eq!(world.entered(ONCE), 0, "{place}");
        assert_eq!(fake.calls().len(), 1, "{place}");
        let turn = session.open_turn().expect("the answer's turn");
        let outcomes: Vec<_> = turn.calls().map(|call| call.outcome()).collect();
        assert_eq!(outcomes, [Some(Outcome::Cancelled)], "{place}");
        let usage = &session.usage();
        assert_eq!(usage.lost_calls, 0, "{place}");
        let tried = ["acquire+user_message+run_started", TOGETHER];
        assert_eq!(rule.appends()[..2], tried, "{place}");
        assert!(!has(&**ground.machine(0), "tool_intent").await, "{place}");
    }
}

/// A message that came first is behind nothing that was lost: all of it is written after it, and the call is run.
#[tokio::test(start_paused = true)]
async fn s211_what_still_fits_is_written_behind_what_came_first() {
    for ground in paused() {
        let rule = Meeting::default();
        let store = Wrapped::around(ground.machine(0), "a", &Arc::new(rule.clone()));
        let (world, fake) = (World::default(), model(&[IDEMPOTENT]));
        let engine = world.engine("a", None, &fake).build().expect("an engine");
        let mut session = sessions(&store).create("s").await.expect("created");
        rule.before("calls_planned", sessions(ground.machine(0)), |sessions| {
            Box::pin(async move {
                let mut other = sessions.open("s").await.expect("opened");
                let sent = other.send("And this.", Delivery::NextTurn);
                sent.await.expect("told");
            })
        });
        session.reply(&engine, "Go").await.expect("done");
        let place = ground.name;
        assert_eq!(world.entered(IDEMPOTENT), 1, "{place}");
        let appends = rule.appends();
        let expected = [
            "acquire+user_message+run_started",
            TOGETHER,
            TOGETHER,
            "tool_outcome",
        ];
        assert_eq!(appends[..4], expected, "{place}");
        let last = &fake.calls()[1].request;
        let told = last
            .messages
            .iter()
            .any(|message| message.text() == "And this.");
        assert!(told, "{place}");
    }
}

/// A policy sees an answer that is durable; what it decides and what begins then go together.
#[tokio::test(start_paused = true)]
async fn s211_a_policy_is_asked_when_the_answer_is_durable() {
    for ground in paused() {
        let rule = Meeting::default();
        let store = Wrapped::around(ground.machine(0), "a", &Arc::new(rule.clone()));
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (seen, appends) = (Arc::clone(&asked), rule.clone());
        let engine = World::default()
            .engine("a", None, &model(&[IDEMPOTENT]))
            .approval_policy(move |_| {
                seen.lock().expect("not poisoned").push(appends.appends());
                ApprovalAnswer::Run
            });
        let engine = engine.build().expect("an engine");
        let mut session = sessions(&store).create("s").await.expect("created");
        session.reply(&engine, "Go").await.expect("done");
        let expected = [
            "acquire+user_message+run_started",
            "model_responded",
            "calls_planned+tool_intent",
            "tool_outcome",
            "model_responded+release",
        ];
        let place = ground.name;
        assert_eq!(rule.appends(), expected, "{place}");
        let asked = asked.lock().expect("not poisoned");
        assert_eq!(*asked, [expected[..2].to_vec()], "{place}");
    }
}

/// Whether the journal has an entry of this kind.
async fn has(store: &dyn SessionStore, kind: &str) -> bool {
    let id = "s".parse().expect("an id");
    let from = LoadFrom::After(allm::Version(0));
    let loaded = store.load(&id, from).await.expect("loaded");
    let mut entries = loaded.entries.iter();
    entries.any(|entry| {
        let entry = allm::session::read(entry).expect("readable");
        entry.body.kind() == kind
    })
}
