//! The far side, which counts what was done to it, and a model that uses it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use allm::{
    BoxFuture, Effect, EffectProbe, Engine, EngineBuilder, Fake, Map, ProbeAnswer, Request, Role,
    Script, Tool, ToolContext, ToolError,
};
use serde_json::{Value, json};

use super::gates::Gates;

/// What was done to the far side.
#[derive(Default)]
struct Done {
    /// How often the handler of a tool was entered.
    entered: BTreeMap<&'static str, u32>,
    /// How often a tool had its effect, by the key that came with it.
    effects: BTreeMap<(&'static str, String), u32>,
}

/// The far side.
#[derive(Clone, Default)]
pub(crate) struct World(Arc<Mutex<Done>>);

pub(crate) const PURE: &str = "pure";
pub(crate) const IDEMPOTENT: &str = "idempotent";
pub(crate) const RECONCILE: &str = "reconcile";
pub(crate) const ONCE: &str = "once";
pub(crate) const ALL: [&str; 4] = [PURE, IDEMPOTENT, RECONCILE, ONCE];

impl World {
    fn done(&self) -> MutexGuard<'_, Done> {
        self.0.lock().expect("not poisoned")
    }

    pub(crate) fn entered(&self, tool: &str) -> u32 {
        self.done().entered.get(tool).copied().unwrap_or(0)
    }

    fn enter(&self, tool: &'static str) {
        *self.done().entered.entry(tool).or_default() += 1;
    }

    fn act(&self, tool: &'static str, key: &str) {
        let mut done = self.done();
        *done.effects.entry((tool, key.to_owned())).or_default() += 1;
    }

    /// How often a tool had its effect; for one that knows its keys, with how many of them.
    pub(crate) fn effects(&self, tool: &str) -> u32 {
        let done = self.done();
        let of_tool = done.effects.iter().filter(|((name, _), _)| *name == tool);
        of_tool
            .map(|(_, times)| if tool == IDEMPOTENT { 1 } else { *times })
            .sum()
    }

    /// The counts of S81, after a conversation in which each of these tools was called once.
    pub(crate) fn assert_counts(&self, tools: &[&str], place: &str) {
        for tool in tools {
            let effects = self.effects(tool);
            let right = match *tool {
                PURE => effects >= 1,
                IDEMPOTENT | RECONCILE => effects == 1,
                _ => effects <= 1,
            };
            assert!(right, "{tool} had {effects} effects: {place}");
        }
    }

    /// The upper counts of S81 for each call by itself, however many there were: a call is known by its key.
    pub(crate) fn assert_each_call(&self, place: &str) {
        for ((tool, _), times) in &self.done().effects {
            let right = [PURE, IDEMPOTENT].contains(tool) || *times <= 1;
            assert!(right, "a call of {tool} had {times} effects: {place}");
        }
    }

    /// The tools, as one machine has them. Effects wait at the gates, if there are any.
    pub(crate) fn tools(&self, who: &'static str, gates: Option<&Gates>) -> Vec<Tool> {
        let tool = |name: &'static str, effect: Effect| {
            let (world, gates) = (self.clone(), gates.cloned());
            Tool::new(name, "A tool.", json!({"type": "object"}))
                .effect(effect)
                .handler(move |_: Value, context: ToolContext| {
                    let (world, gates) = (world.clone(), gates.clone());
                    async move {
                        world.enter(name);
                        if let Some(gates) = gates {
                            gates.pass(who, &format!("effect {name}")).await;
                        }
                        world.act(name, &context.idempotency_key);
                        Ok::<_, std::fmt::Error>(name)
                    }
                })
        };
        vec![
            tool(PURE, Effect::Pure),
            tool(IDEMPOTENT, Effect::Idempotent),
            tool(RECONCILE, Effect::Reconcile(Some(Arc::new(self.clone())))),
            tool(ONCE, Effect::AtMostOnce),
        ]
    }

    /// An engine of one machine, with the tools and the model.
    pub(crate) fn engine(
        &self,
        who: &'static str,
        gates: Option<&Gates>,
        model: &Fake,
    ) -> EngineBuilder {
        Engine::builder()
            .provider(model.clone())
            .model("fake:any")
            .tools(self.tools(who, gates))
    }
}

impl EffectProbe for World {
    fn probe(&self, key: &str, _: Map) -> BoxFuture<'_, Result<ProbeAnswer, ToolError>> {
        let known = self
            .done()
            .effects
            .contains_key(&(RECONCILE, key.to_owned()));
        Box::pin(async move {
            Ok(if known {
                ProbeAnswer::Done(json!("found"))
            } else {
                ProbeAnswer::NotDone
            })
        })
    }
}

/// How many results of tools a model is sent.
pub(crate) fn results(request: &Request) -> usize {
    let messages = request.messages.iter();
    messages
        .filter(|message| message.role == Role::Tool)
        .count()
}

fn has_results(request: &Request) -> bool {
    results(request) > 0
}

/// A model that calls these tools at once and then says `done`, as often as it is asked.
pub(crate) fn model(tools: &[&str]) -> Fake {
    let mut calls = Script::new();
    for (number, name) in tools.iter().enumerate() {
        calls = calls.call_with_id(format!("call_{number}"), *name, json!({}));
    }
    let mut fake = Fake::new();
    for _ in 0..64 {
        fake = fake
            .reply_when(has_results, "done")
            .reply_when(|request| !has_results(request), calls.clone());
    }
    fake
}
