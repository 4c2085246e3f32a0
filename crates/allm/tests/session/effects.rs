//! Section G, in one process: what becomes of a call that a crash interrupted. A crash is a dropped stream of a value, or
//! the end of the process that drove a stored session.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use allm::session::{EntryBody, Outcome, OutcomeSource, ToolOutcomeEntry};
use allm::{
    BoxFuture, Effect, EffectProbe, Engine, Event, Fake, Map, ProbeAnswer, Script, SessionStatus,
    Tool, ToolError,
};
use serde_json::json;

use crate::form::{Form, Talk, on_every_form, reply};
use crate::support::{World, sent, texts};

/// A probe that says these, one after the other, and notes when it was asked about what.
#[derive(Clone)]
pub(crate) struct Probe {
    answers: Arc<Mutex<Vec<Result<ProbeAnswer, ToolError>>>>,
    asked: Arc<Mutex<Vec<(String, Map, tokio::time::Instant)>>>,
}

impl Probe {
    pub(crate) fn saying(
        answers: impl IntoIterator<Item = Result<ProbeAnswer, ToolError>>,
    ) -> Self {
        Self {
            answers: Arc::new(Mutex::new(answers.into_iter().collect())),
            asked: Arc::default(),
        }
    }

    pub(crate) fn effect(&self) -> Effect {
        Effect::Reconcile(Some(Arc::new(self.clone())))
    }

    pub(crate) fn asked(&self) -> Vec<(String, Map, tokio::time::Instant)> {
        self.asked.lock().unwrap().clone()
    }
}

impl EffectProbe for Probe {
    fn probe(&self, key: &str, arguments: Map) -> BoxFuture<'_, Result<ProbeAnswer, ToolError>> {
        let now = tokio::time::Instant::now();
        self.asked
            .lock()
            .unwrap()
            .push((key.to_owned(), arguments, now));
        let answer = self.answers.lock().unwrap().remove(0);
        Box::pin(async move { answer })
    }
}

/// One call of `act`, during which the process ends.
pub(crate) async fn crashed_in(talk: &mut Talk, fake: &Fake, world: &World, tool: Tool) -> Engine {
    let engine = talk.engine(fake, vec![tool]);
    let before = world.clone();
    talk.crash(&engine, reply("Go"), move |_| before.count("act") == 1)
        .await;
    assert_eq!(talk.status(), SessionStatus::InProgress);
    engine
}

pub(crate) fn acting() -> Fake {
    Fake::new()
        .reply(Script::new().call("act", json!({"x": 1})))
        .reply("done")
}

/// The outcomes in the journal; of the stored form alone.
async fn recorded(talk: &Talk) -> Vec<ToolOutcomeEntry> {
    let entries = talk.entries().await.into_iter();
    let outcomes = entries.filter_map(|entry| match entry {
        EntryBody::ToolOutcome(outcome) => Some(*outcome),
        _ => None,
    });
    outcomes.collect()
}

pub(crate) fn told_unknown(texts: &[String]) -> bool {
    texts
        .iter()
        .any(|text| text.contains(r#""reason":"unknown_outcome""#))
}

#[tokio::test(start_paused = true)]
async fn s85_a_tool_that_declares_nothing_is_not_run_again() {
    on_every_form(async |talk| {
        let (fake, world) = (acting(), World::default());
        let plain = world.stuck("act", Effect::default());
        let engine = crashed_in(talk, &fake, &world, plain).await;
        talk.resume(&engine).await.unwrap();
        assert_eq!(world.count("act"), 1);
        assert!(told_unknown(&sent(&fake, 1)), "{:?}", sent(&fake, 1));
        assert_eq!(talk.status(), SessionStatus::Completed);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn s86_an_idempotent_tool_is_run_again_with_the_same_key() {
    on_every_form(async |talk| {
        let (fake, world) = (acting(), World::default());
        let engine = crashed_in(talk, &fake, &world, world.stuck("act", Effect::Idempotent)).await;
        talk.resume(&engine).await.unwrap();
        let keys = world.keys("act");
        assert_eq!(keys.len(), 2);
        assert_eq!(keys[0], keys[1]);
        assert_eq!(texts(talk)[2], r#"tool: {"times":2}"#);
        if talk.form == Form::Durable {
            let entries = talk.entries().await.into_iter();
            let intents: Vec<_> = entries
                .filter_map(|entry| match entry {
                    EntryBody::ToolIntent(intent) => Some((intent.attempt, intent.key)),
                    _ => None,
                })
                .collect();
            assert_eq!(intents, [(1, keys[0].clone()), (2, keys[0].clone())]);
        }
    })
    .await;
}

/// S90: `Pure` needs no intent and is run again.
#[tokio::test(start_paused = true)]
async fn s90_a_pure_tool_is_run_again_without_an_intent() {
    on_every_form(async |talk| {
        let (fake, world) = (acting(), World::default());
        let engine = crashed_in(talk, &fake, &world, world.stuck("act", Effect::Pure)).await;
        talk.resume(&engine).await.unwrap();
        assert_eq!(world.count("act"), 2);
        if talk.form == Form::Durable {
            let entries = talk.entries().await;
            let is_intent = |entry: &&EntryBody| matches!(entry, EntryBody::ToolIntent(_));
            assert_eq!(entries.iter().filter(is_intent).count(), 0);
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn s87_a_probe_that_knows_the_value() {
    on_every_form(async |talk| {
        let (fake, world) = (acting(), World::default());
        let probe = Probe::saying([Ok(ProbeAnswer::Done(json!({"id": 7})))]);
        let act = world.stuck("act", probe.effect());
        let engine = crashed_in(talk, &fake, &world, act).await;
        talk.resume(&engine).await.unwrap();
        assert_eq!(world.count("act"), 1);
        assert_eq!(texts(talk)[2], r#"tool: {"id":7}"#);
        let asked = probe.asked();
        assert_eq!(asked.len(), 1);
        assert_eq!(asked[0].0, world.keys("act")[0]);
        assert_eq!(asked[0].1["x"], json!(1));
        if talk.form == Form::Durable {
            let outcomes = recorded(talk).await;
            assert_eq!(outcomes.len(), 1);
            assert_eq!(outcomes[0].outcome, Outcome::Ok);
            assert_eq!(outcomes[0].source, OutcomeSource::Probe);
            assert_eq!(outcomes[0].value, Some(json!({"id": 7})));
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn s88_a_probe_that_knows_that_nothing_happened() {
    on_every_form(async |talk| {
        let (fake, world) = (acting(), World::default());
        let probe = Probe::saying([Ok(ProbeAnswer::NotDone)]);
        let act = world.stuck("act", probe.effect());
        let engine = crashed_in(talk, &fake, &world, act).await;
        talk.resume(&engine).await.unwrap();
        let keys = world.keys("act");
        assert_eq!(keys.len(), 2);
        assert_eq!(keys[0], keys[1]);
        assert_eq!(texts(talk)[2], r#"tool: {"times":2}"#);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn s88_a_probe_that_cannot_tell() {
    let failed = || Err(ToolError::new(allm::ToolReason::HandlerRaised, "down"));
    let cases = [
        (vec![Ok(ProbeAnswer::Unknown)], 1),
        (vec![failed(), failed(), failed()], 3),
    ];
    for (answers, asked) in cases {
        on_every_form(async |talk| {
            let (fake, world) = (acting(), World::default());
            let probe = Probe::saying(answers.clone());
            let act = world.stuck("act", probe.effect());
            let engine = crashed_in(talk, &fake, &world, act).await;
            talk.resume(&engine).await.unwrap();
            assert_eq!(world.count("act"), 1);
            assert_eq!(probe.asked().len(), asked);
            assert!(told_unknown(&sent(&fake, 1)));
        })
        .await;
    }
}

/// S88: a probe that fails is asked again.
#[tokio::test(start_paused = true)]
async fn s88_a_probe_is_asked_three_times() {
    on_every_form(async |talk| {
        let (fake, world) = (acting(), World::default());
        let failed = || Err(ToolError::new(allm::ToolReason::HandlerRaised, "down"));
        let probe = Probe::saying([failed(), failed(), Ok(ProbeAnswer::Done(json!(1)))]);
        let act = world.stuck("act", probe.effect());
        let engine = crashed_in(talk, &fake, &world, act).await;
        talk.resume(&engine).await.unwrap();
        assert_eq!(texts(talk)[2], "tool: 1");
    })
    .await;
}

/// S89: the intent's time is its limit and five seconds; siblings do not wait for it.
#[tokio::test(start_paused = true)]
async fn s89_the_probe_waits_for_the_deadline_and_siblings_do_not() {
    on_every_form(async |talk| {
        let script = Script::new()
            .call("act", json!({}))
            .call("other", json!({}));
        let fake = Fake::new().reply(script).reply("done");
        let world = World::default();
        let probe = Probe::saying([Ok(ProbeAnswer::Done(json!("it did")))]);
        let act = world
            .stuck("act", probe.effect())
            .timeout(Duration::from_secs(100));
        let other = world.stuck("other", Effect::Idempotent);
        let engine = talk.engine(&fake, vec![act, other]);
        let before = world.clone();
        talk.crash(&engine, reply("Go"), move |_| {
            before.count("act") == 1 && before.count("other") == 1
        })
        .await;
        let begun = tokio::time::Instant::now();
        talk.resume(&engine).await.unwrap();
        let waited = probe.asked()[0].2 - begun;
        // Of 105 s a stored session has waited 31 s until the lease was gone.
        let least = match talk.form {
            Form::Durable => 105 - 31 - 1,
            _ => 105 - 2,
        };
        assert!(waited >= Duration::from_secs(least), "{waited:?}");
        assert!(waited <= Duration::from_secs(105), "{waited:?}");
        assert_eq!(texts(talk)[2..4], ["tool: it did", r#"tool: {"times":2}"#]);
        if talk.form == Form::Durable {
            let order: Vec<_> = recorded(talk).await.iter().map(|o| o.call.index).collect();
            assert_eq!(order, [1, 0]);
        }
    })
    .await;
}

/// S90, S91
#[tokio::test(start_paused = true)]
async fn s91_of_five_calls_two_were_done() {
    on_every_form(async |talk| {
        let names = ["done", "act", "idem", "pure", "idem_done"];
        let script = names
            .iter()
            .fold(Script::new(), |script, name| script.call(*name, json!({})));
        let fake = Fake::new().reply(script).reply("done");
        let world = World::default();
        let tools = vec![
            world.tool("done"),
            world.stuck("act", Effect::AtMostOnce),
            world.stuck("idem", Effect::Idempotent),
            world.stuck("pure", Effect::Pure),
            world.tool("idem_done").effect(Effect::Idempotent),
        ];
        talk.watch(&fake);
        let engine = Engine::builder()
            .provider(fake.clone())
            .model("fake:any")
            .tools(tools)
            .max_concurrency(5)
            .build()
            .unwrap();
        let before = world.clone();
        let is_result = |event: &&Event| matches!(event, Event::ToolResultEncoded(_));
        talk.crash(&engine, reply("Go"), move |events| {
            let done = events.iter().filter(is_result).count();
            done == 2 && before.entered().len() == 5
        })
        .await;
        talk.resume(&engine).await.unwrap();
        let counts: Vec<_> = names.iter().map(|name| world.count(name)).collect();
        assert_eq!(counts, [1, 1, 2, 2, 1]);
        let texts = texts(talk);
        assert_eq!(texts[2], "tool: {}");
        assert!(told_unknown(&texts[3..4]), "{texts:?}");
        let rest = [r#"tool: {"times":2}"#, r#"tool: {"times":2}"#, "tool: {}"];
        assert_eq!(texts[4..7], rest);
    })
    .await;
}

/// A tool that passes its limit of a second.
fn slow(world: &World, effect: Effect) -> Tool {
    world.stuck("act", effect).timeout(Duration::from_secs(1))
}

#[tokio::test(start_paused = true)]
async fn s96_a_tool_that_timed_out_is_probed_once() {
    let cases: [(ProbeAnswer, Outcome); 3] = [
        (ProbeAnswer::Done(json!("it did")), Outcome::Ok),
        (ProbeAnswer::NotDone, Outcome::TimedOut),
        (ProbeAnswer::Unknown, Outcome::TimedOut),
    ];
    for (answer, outcome) in cases {
        on_every_form(async |talk| {
            let (fake, world) = (acting(), World::default());
            let probe = Probe::saying([Ok(answer.clone())]);
            let engine = talk.engine(&fake, vec![slow(&world, probe.effect())]);
            talk.reply(&engine, "Go").await.unwrap();
            assert_eq!(probe.asked().len(), 1);
            assert_eq!(world.count("act"), 1);
            let told = &texts(talk)[2];
            match outcome {
                Outcome::Ok => assert_eq!(told, "tool: it did"),
                _ => assert!(told.contains(r#""reason":"timeout""#), "{told}"),
            }
            if talk.form == Form::Durable {
                assert_eq!(recorded(talk).await[0].outcome, outcome);
            }
        })
        .await;
    }
}

/// S96: a probe that fails is not asked again in the process.
#[tokio::test(start_paused = true)]
async fn s96_a_failing_probe_leaves_the_time_out() {
    on_every_form(async |talk| {
        let (fake, world) = (acting(), World::default());
        let failed = Err(ToolError::new(allm::ToolReason::HandlerRaised, "down"));
        let probe = Probe::saying([failed]);
        let engine = talk.engine(&fake, vec![slow(&world, probe.effect())]);
        talk.reply(&engine, "Go").await.unwrap();
        assert_eq!(probe.asked().len(), 1);
        assert!(texts(talk)[2].contains("timeout"));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn s97_a_tool_that_timed_out_may_have_acted() {
    for (effect, may) in [(Effect::AtMostOnce, true), (Effect::Pure, false)] {
        on_every_form(async |talk| {
            let (fake, world) = (acting(), World::default());
            let engine = talk.engine(&fake, vec![slow(&world, effect.clone())]);
            talk.reply(&engine, "Go").await.unwrap();
            let told = &sent(&fake, 1)[2];
            assert!(told.contains("timeout"), "{told}");
            assert_eq!(told.contains("may have taken effect"), may, "{told}");
        })
        .await;
    }
}
