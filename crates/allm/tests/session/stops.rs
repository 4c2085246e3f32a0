//! A stop that comes while it is found out what calls came to.

use std::sync::Arc;
use std::time::Duration;

use allm::session::Outcome;
use allm::{
    BoxFuture, CancelToken, Effect, EffectProbe, HaltReason, Map, OnUnknownOutcome, ProbeAnswer,
    SessionStatus, SessionStore, Sessions, SessionsOptions, ToolError,
};

use crate::effects::{acting, crashed_in};
use crate::form::{Op, on_durable, on_every_form, reply};
use crate::support::{World, outcomes, texts};

/// S204: a person is not asked about a run that is being stopped: what nobody knows is told as unknown.
#[tokio::test(start_paused = true)]
async fn s204_a_stop_asks_nobody_what_became_of_a_call() {
    on_every_form(async |talk| {
        let (fake, world) = (acting(), World::default());
        let act = world.stuck("act", Effect::AtMostOnce);
        let engine = crashed_in(talk, &fake, &world, act).await;
        let engine = engine
            .with(|builder| builder.on_unknown_outcome(OnUnknownOutcome::AskPerson))
            .unwrap();
        let fired = CancelToken::new();
        fired.cancel();
        let result = talk
            .drive(&engine, Op::Resume, |call| call.cancel(fired))
            .await;
        assert_eq!(result.unwrap().halted_reason, HaltReason::Cancelled);
        assert_eq!(outcomes(talk), [Some(Outcome::UnknownOutcome)]);
        assert_eq!(talk.status(), SessionStatus::Idle);
        assert!(
            texts(talk)[2].contains("unknown_outcome"),
            "{:?}",
            texts(talk)
        );
    })
    .await;
}

/// A probe that says this after it has done something.
struct Acting<F>(ProbeAnswer, F);

impl<F: Fn() -> BoxFuture<'static, ()> + Send + Sync + 'static> Acting<F> {
    fn effect(answer: ProbeAnswer, action: F) -> Effect {
        Effect::Reconcile(Some(Arc::new(Self(answer, action))))
    }
}

impl<F: Fn() -> BoxFuture<'static, ()> + Send + Sync> EffectProbe for Acting<F> {
    fn probe(&self, _: &str, _: Map) -> BoxFuture<'_, Result<ProbeAnswer, ToolError>> {
        let done = (self.1)();
        Box::pin(async move {
            done.await;
            Ok(self.0.clone())
        })
    }
}

/// S205: a stop between the word that nothing happened and the next attempt: there is none.
#[tokio::test(start_paused = true)]
async fn s205_a_stop_before_another_attempt() {
    on_durable(async |talk| {
        let (fake, world) = (acting(), World::default());
        let store: Arc<dyn SessionStore> = talk.store.clone();
        let cancels = move || -> BoxFuture<'static, ()> {
            let store = Arc::clone(&store);
            Box::pin(async move {
                let there = Sessions::with(store, SessionsOptions::default());
                let mut session = there.open("order-42").await.unwrap();
                session.cancel("enough").await.unwrap();
            })
        };
        let effect = Acting::effect(ProbeAnswer::NotDone, cancels);
        let act = world.stuck("act", effect);
        let engine = crashed_in(talk, &fake, &world, act).await;
        let result = talk.resume(&engine).await.unwrap();
        assert_eq!(result.halted_reason, HaltReason::Cancelled);
        assert_eq!(world.count("act"), 1, "it was not run again");
        assert_eq!(outcomes(talk), [Some(Outcome::UnknownOutcome)]);
        assert_eq!(talk.status(), SessionStatus::Idle);
    })
    .await;
}

/// S205: a stop while the far side is asked a second time leaves what was known before.
#[tokio::test(start_paused = true)]
async fn s205_a_stop_during_a_second_look() {
    on_every_form(async |talk| {
        let (fake, world) = (acting(), World::default());
        let token = CancelToken::new();
        let fires = token.clone();
        let never = move || -> BoxFuture<'static, ()> {
            fires.cancel();
            Box::pin(std::future::pending())
        };
        let effect = Acting::effect(ProbeAnswer::Unknown, never);
        let slow = world.stuck("act", effect).timeout(Duration::from_secs(1));
        let engine = talk.engine(&fake, vec![slow]);
        let result = talk
            .drive(&engine, reply("Go"), |call| call.cancel(token))
            .await;
        assert_eq!(result.unwrap().halted_reason, HaltReason::Cancelled);
        assert_eq!(outcomes(talk), [Some(Outcome::TimedOut)]);
        assert!(texts(talk)[2].contains("timeout"), "{:?}", texts(talk));
    })
    .await;
}
