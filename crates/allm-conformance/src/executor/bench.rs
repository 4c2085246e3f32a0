//! What the checks of an executor work with.

use std::sync::Arc;

use allm_core::{Map, Tool, ToolCall, ToolContext, ToolError, ToolExecutor, ToolReason, ToolReply};
use serde_json::Value;

use super::{Behaviour, ExecutorSubject, Witness};
use crate::finding::{Checked, Finding, expect};
use crate::wait;

pub(super) type Outcome = Result<ToolReply, ToolError>;

pub(super) struct Bench<'a> {
    pub(super) subject: &'a dyn ExecutorSubject,
}

/// A tool that is ready to be run.
pub(super) struct Prepared {
    pub(super) tool: Tool,
    pub(super) witness: Witness,
    pub(super) executor: Arc<dyn ToolExecutor>,
}

impl Bench<'_> {
    /// A tool without its executor, where several share one.
    pub(super) fn tool(&self, behaviour: Behaviour) -> Result<(Tool, Witness), Finding> {
        let witness = Witness::new(self.subject.patience());
        let tool = self.subject.tool(behaviour, witness.clone())?;
        Ok((tool, witness))
    }

    pub(super) fn prepare(&self, behaviour: Behaviour) -> Result<Prepared, Finding> {
        let (tool, witness) = self.tool(behaviour)?;
        Ok(Prepared {
            tool,
            witness,
            executor: self.subject.executor(),
        })
    }

    /// A tool that tells its witness.
    pub(super) fn prepare_seen(&self, behaviour: Behaviour) -> Result<Prepared, Finding> {
        let prepared = self.prepare(behaviour)?;
        if prepared.witness.is_kept() {
            return Ok(prepared);
        }
        Err(Finding::skipped("the tool does not keep its witness"))
    }

    /// What the tool comes to.
    pub(super) async fn run(&self, behaviour: Behaviour) -> Result<Outcome, Finding> {
        let prepared = self.prepare(behaviour)?;
        let context = context(&prepared.tool, 0);
        self.outcome(&prepared, Map::new(), &context).await
    }

    pub(super) async fn outcome(
        &self,
        prepared: &Prepared,
        arguments: Map,
        context: &ToolContext,
    ) -> Result<Outcome, Finding> {
        let Prepared { tool, executor, .. } = prepared;
        let run = wait::caught(async { executor.execute(tool, arguments.into(), context).await });
        let outcome = self.soon("an outcome of the call", run).await?;
        outcome.map_err(|panic| Finding::failed("an outcome of the call", panic))
    }

    /// What `future` comes to within the subject's patience.
    pub(super) async fn soon<F: Future>(
        &self,
        expected: &str,
        future: F,
    ) -> Result<F::Output, Finding> {
        let patience = self.subject.patience();
        let output = wait::before(self.subject.sleep(patience), future).await;
        output.ok_or_else(|| {
            Finding::failed(expected, format!("nothing of the kind within {patience:?}"))
        })
    }

    /// Nothing of the tool goes on.
    pub(super) async fn is_over(&self, witness: &Witness) -> Checked {
        let over = self.soon("nothing of the call goes on", witness.is_over());
        over.await
    }
}

/// A context of which only the call is known.
pub(super) fn context(tool: &Tool, number: usize) -> ToolContext {
    ToolContext::new(ToolCall::new(
        format!("call-{number}"),
        tool.name.as_str(),
        "{}",
    ))
}

/// The value of a successful reply.
pub(super) fn value(outcome: &Outcome) -> Result<&Value, Finding> {
    match outcome {
        Ok(ToolReply::Ok(value)) => value
            .get()
            .map_err(|error| Finding::failed("a value", error.to_string())),
        other => Err(Finding::failed("a successful reply", format!("{other:?}"))),
    }
}

/// The error, if it has this reason.
pub(super) fn error(outcome: Outcome, reason: ToolReason) -> Result<ToolError, Finding> {
    match outcome {
        Err(error) if error.reason == reason => Ok(error),
        other => Err(Finding::failed(
            format!("Err with the reason `{reason}`"),
            format!("{other:?}"),
        )),
    }
}

/// An error has a cause that says something.
pub(super) fn has_cause(error: &ToolError) -> Checked {
    let cause = error.cause.as_ref();
    let says = cause.is_some_and(|cause| !cause.message.trim().is_empty());
    expect(says, "a cause that says something", || format!("{error:?}"))
}
