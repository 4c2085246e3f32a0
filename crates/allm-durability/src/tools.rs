//! The tools of all scenarios. The first word of a name is the effect.

use std::sync::Arc;
use std::time::Duration;

use allm::{
    ApprovalRule, BoxFuture, Effect, EffectProbe, Map, ProbeAnswer, Tool, ToolContext, ToolError,
    ToolHandler, ToolReason, ToolReply,
};
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};

use crate::far_side::FarSide;
use crate::points::Points;
use crate::scenario::{MEANWHILE, answer_to};
use crate::world::{Hit, Word};

/// What a tool, or the model, makes the user do.
#[derive(Debug)]
pub(crate) enum Wish {
    /// The user loses patience.
    Cancel,
    /// The user says something meanwhile; the tool waits until it was said.
    Say(&'static str, oneshot::Sender<()>),
}

/// What all tools share.
#[derive(Debug)]
pub(crate) struct Bench {
    pub(crate) far_side: FarSide,
    pub(crate) points: Arc<Points>,
    pub(crate) session: String,
    pub(crate) wishes: mpsc::UnboundedSender<Wish>,
}

#[derive(Debug)]
struct Handler {
    tool: &'static str,
    bench: Arc<Bench>,
}

impl ToolHandler for Handler {
    fn call(
        &self,
        arguments: Arc<Map>,
        context: ToolContext,
    ) -> BoxFuture<'_, Result<ToolReply, ToolError>> {
        Box::pin(async move {
            let bench = &self.bench;
            let id = context.tool_call.id.to_string();
            let session = context.session_id.map(|id| id.to_string());
            let hit = Hit {
                session: session.unwrap_or_else(|| bench.session.clone()),
                tool: self.tool.to_owned(),
                call_id: id.clone(),
                key: context.idempotency_key.to_string(),
            };
            bench.far_side.say(&Word::Enter(hit.clone())).await;
            let again = context.answer.as_ref().map_or("", |_| " with the answer");
            bench.points.pass(&format!("entered {id}{again}"));
            match self.tool {
                tool if tool.ends_with("going") => {
                    let Some(answer) = context.answer else {
                        let place = arguments.get("place").cloned();
                        return Ok(ToolReply::ask_and_go_on_with("Sure?", Map::new(), place));
                    };
                    // S189: each call has its own answer and its own state.
                    let place = arguments.get("place").and_then(Value::as_u64);
                    let own = place.and_then(|place| u32::try_from(place).ok());
                    let is_own = answer.state == place.map(Value::from)
                        && own.is_some_and(|place| answer.text() == answer_to(place));
                    if !is_own {
                        let told = format!("{id} was given {:?}", answer.text());
                        bench.far_side.say(&Word::Violation(told)).await;
                    }
                }
                "pure_ask" => return Ok(ToolReply::ask("Sure?")),
                "pure_failing" => return Ok(ToolReply::error("broken")),
                // S161: it is on its way when the user loses patience, and nobody can know how far it came.
                "once_hang" => std::future::pending::<()>().await,
                "pure_hang" => {
                    let _ = bench.wishes.send(Wish::Cancel);
                    std::future::pending::<()>().await;
                }
                "pure_meanwhile" => {
                    let (said, heard) = oneshot::channel();
                    let _ = bench.wishes.send(Wish::Say(MEANWHILE, said));
                    let _ = heard.await;
                }
                _ => {}
            }
            let value = bench.far_side.say(&Word::Act(hit)).await;
            bench.points.pass(&format!("acted {id}"));
            Ok(ToolReply::ok(&value))
        })
    }
}

#[derive(Debug)]
struct Probe(Arc<Bench>);

impl EffectProbe for Probe {
    fn probe(&self, key: &str, _: Map) -> BoxFuture<'_, Result<ProbeAnswer, ToolError>> {
        let word = Word::Probe {
            key: key.to_owned(),
        };
        Box::pin(async move {
            self.0.points.pass("before probe");
            let answer = self.0.far_side.say(&word).await;
            self.0.points.pass("after probe");
            match (answer.as_str(), answer.get("done")) {
                (_, Some(value)) => Ok(ProbeAnswer::Done(value.clone())),
                (Some("not_done"), _) => Ok(ProbeAnswer::NotDone),
                (Some("unknown"), _) => Ok(ProbeAnswer::Unknown),
                _ => Err(ToolError::new(ToolReason::InvalidReturn, "no answer")),
            }
        })
    }
}

/// How long a call of `recon` may take: so long a program that takes over waits before it asks.
pub(crate) const RECONCILE_LIMIT: Duration = Duration::from_millis(1500);

pub(crate) fn all(bench: &Arc<Bench>) -> Vec<Tool> {
    let names = [
        "pure",
        "pure_ask",
        "pure_failing",
        "pure_going",
        "pure_hang",
        "pure_meanwhile",
        "idem",
        "idem_gated",
        "idem_going",
        "recon",
        "recon_gated",
        "recon_going",
        "recon_slow",
        "once",
        "once_gated",
        "once_going",
        "once_denied",
        "once_hang",
    ];
    let tool = |name: &'static str| {
        let tool = Tool::new(name, "A tool.", json!({"type": "object"}));
        let tool = match name.split('_').next() {
            Some("pure") => tool.effect(Effect::Pure),
            Some("idem") => tool.effect(Effect::Idempotent),
            Some("recon") => {
                let probe: Arc<dyn EffectProbe> = Arc::new(Probe(Arc::clone(bench)));
                let tool = tool.effect(Effect::Reconcile(Some(probe)));
                tool.timeout(match name {
                    "recon_slow" => RECONCILE_LIMIT * 4,
                    _ => RECONCILE_LIMIT,
                })
            }
            // S85: what says nothing is run once at the most.
            _ => tool,
        };
        let tool = match name.ends_with("gated") || name.ends_with("denied") {
            true => tool.approval(ApprovalRule::Always),
            false => tool,
        };
        tool.with_handler(Arc::new(Handler {
            tool: name,
            bench: Arc::clone(bench),
        }))
    };
    let manual = Tool::new("manual", "A tool.", json!({"type": "object"})).manual();
    names.into_iter().map(tool).chain([manual]).collect()
}
