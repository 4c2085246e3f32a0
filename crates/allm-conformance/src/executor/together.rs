//! Calls side by side, and after one another.

use std::sync::Arc;

use allm_core::{BoxFuture, Map, Tool, ToolContext, ToolExecutor};
use serde_json::{Value, json};

use super::bench::{Bench, Outcome, context, value};
use super::replies::part;
use super::{Behaviour, Look};
use crate::finding::{Checked, Finding, Rule, expect_eq};
use crate::wait;

pub(super) const RULES: &[(Rule, Look)] = &[
    (
        Rule {
            name: "parallel_calls",
            contract: "L39, L86",
            behaviour: "calls side by side each get their own arguments, context and reply",
        },
        |bench| Box::pin(parallel(bench)),
    ),
    (
        Rule {
            name: "crash_beside_a_call",
            contract: "L98",
            behaviour: "a crash leaves a call beside it unharmed",
        },
        |bench| Box::pin(beside(bench)),
    ),
    (
        Rule {
            name: "call_after_a_crash",
            contract: "L98, L103",
            behaviour: "the executor works after a crash",
        },
        |bench| Box::pin(after(bench)),
    ),
];

fn execute<'a>(
    executor: &'a Arc<dyn ToolExecutor>,
    tool: &'a Tool,
    arguments: Map,
    context: &'a ToolContext,
) -> BoxFuture<'a, Result<Outcome, String>> {
    let run = async move { executor.execute(tool, arguments.into(), context).await };
    Box::pin(wait::caught(run))
}

fn numbered(number: usize) -> Map {
    Map::from_iter([("number".to_owned(), json!(number))])
}

/// A call that echoes says which it is.
fn is_own(number: usize, outcome: Option<Result<Outcome, String>>) -> Checked {
    let outcome = match outcome {
        Some(Ok(outcome)) => outcome,
        Some(Err(panic)) => return Err(Finding::failed("an outcome of the call", panic)),
        None => return Err(Finding::failed("an outcome of the call", "none")),
    };
    let told = value(&outcome)?;
    let found = ["arguments", "call_id", "idempotency_key"]
        .map(|name| told.as_object().map(|told| part(told, name).clone()));
    let expected = [
        Value::Object(numbered(number)),
        format!("call-{number}").into(),
        format!("key-{number}").into(),
    ];
    expect_eq(&found, &expected.map(Some))
}

async fn parallel(bench: &Bench<'_>) -> Checked {
    const CALLS: usize = 16;
    let prepared = bench.prepare(Behaviour::Echo)?;
    let contexts: Vec<_> = (0..CALLS)
        .map(|number| keyed(&prepared.tool, number))
        .collect();
    let runs = contexts.iter().enumerate().map(|(number, context)| {
        let arguments = numbered(number);
        execute(&prepared.executor, &prepared.tool, arguments, context)
    });
    let all = bench.soon("all calls end", wait::all(runs.collect()));
    for (number, outcome) in all.await?.into_iter().enumerate() {
        is_own(number, Some(outcome)).map_err(|finding| finding.at(&format!("call {number}")))?;
    }
    Ok(())
}

fn keyed(tool: &Tool, number: usize) -> ToolContext {
    let mut context = context(tool, number);
    context.idempotency_key = format!("key-{number}").into();
    context
}

/// A tool that crashes here, in whichever way it can.
fn crashing(bench: &Bench<'_>) -> Result<Tool, Finding> {
    let tool = bench.tool(Behaviour::Panic);
    let tool = tool.or_else(|_| bench.tool(Behaviour::Exit));
    tool.map(|(tool, _)| tool)
}

async fn beside(bench: &Bench<'_>) -> Checked {
    let (crashing, echo) = (crashing(bench)?, bench.tool(Behaviour::Echo)?.0);
    let executor = bench.subject.executor();
    let contexts = (keyed(&crashing, 0), keyed(&echo, 1));
    let runs = vec![
        execute(&executor, &crashing, Map::new(), &contexts.0),
        execute(&executor, &echo, numbered(1), &contexts.1),
    ];
    let mut outcomes = bench.soon("both calls end", wait::all(runs)).await?;
    is_own(1, outcomes.pop())
}

async fn after(bench: &Bench<'_>) -> Checked {
    let (crashing, echo) = (crashing(bench)?, bench.tool(Behaviour::Echo)?.0);
    let executor = bench.subject.executor();
    let contexts = (keyed(&crashing, 0), keyed(&echo, 1));
    let crash = execute(&executor, &crashing, Map::new(), &contexts.0);
    // What comes of it is the business of other rules.
    let _ = bench.soon("the first call ends", crash).await?;
    let next = execute(&executor, &echo, numbered(1), &contexts.1);
    is_own(1, Some(bench.soon("the second call ends", next).await?))
}
