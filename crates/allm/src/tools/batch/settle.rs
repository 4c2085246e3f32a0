//! What becomes of a call that failed.

use std::sync::Arc;

use allm_core::run::{PolicyDecision, ToolOutcome};
use allm_core::{CallFailure, ReplyValue, ToolError, ToolFailure, ToolReason, encode};

use super::super::executor::joined;
use super::super::policy::{Decide, ErrorDecision, OnToolError};
use super::super::wait::{Owned, within};
use super::call::Call;
use super::encoding::{encoded, failure_text};
use crate::panics::caught;

impl Call {
    /// Asks the policy, and gives the call its content.
    ///
    /// The closure has the limit of the call once more, and so has the encoding of what it says.
    pub(super) async fn settle(&self, failure: ToolFailure) -> ToolOutcome {
        let failure = Arc::new(failure);
        let (content, decision) = match &self.shared.settings.on_tool_error {
            OnToolError::Continue => (self.told(&failure).await, PolicyDecision::Continue),
            OnToolError::Halt => (self.told(&failure).await, halt()),
            OnToolError::Decide(decide) => match self.ask(decide, &failure).await {
                Ok(ErrorDecision::Continue) => {
                    (self.told(&failure).await, PolicyDecision::Continue)
                }
                Ok(ErrorDecision::ContinueWith(value)) => match self.replacement(value).await {
                    Ok(content) => (content, PolicyDecision::Continue),
                    Err(error) => (self.told(&Arc::new(self.crashed(error))).await, halt()),
                },
                Ok(ErrorDecision::Halt) => (self.told(&failure).await, halt()),
                Err(exception) => {
                    let broken = Arc::new(self.crashed(misbehaved(&exception)));
                    let exception = Some(exception);
                    (self.told(&broken).await, PolicyDecision::Halt { exception })
                }
            },
        };
        ToolOutcome::Failed {
            // What happened before the policy.
            failure: self.report(&failure),
            content: encode::bound(content, self.shared.settings.max_tool_output),
            decision,
        }
    }

    /// What the closure decides, or how it failed to.
    async fn ask(
        &self,
        decide: &Arc<Decide>,
        failure: &Arc<ToolFailure>,
    ) -> Result<ErrorDecision, String> {
        let (decide, failure) = (Arc::clone(decide), Arc::clone(failure));
        let asked = self.clone();
        let ask = move || {
            // A thread may come free only after the call was stopped, and then the closure is not asked.
            if asked.shared.board.is_done(asked.place) {
                return Ok(ErrorDecision::Continue);
            }
            caught(|| decide(&asked.call, &failure))
        };
        match within(self.limit, Owned::blocking(ask)).await {
            Some(Ok(decision)) => decision,
            Some(Err(error)) => Err(joined(error).message),
            None => Err(format!(
                "the on_tool_error closure did not return within {:?}",
                self.limit
            )),
        }
    }

    async fn replacement(&self, value: ReplyValue) -> Result<String, ToolError> {
        let encoder = self.shared.settings.encoder.as_ref();
        match within(self.limit, encoded(encoder, value)).await {
            Some(Ok((_, content))) => Ok(content),
            // Whatever kept it from being encoded: it could not be.
            Some(Err(mut error)) => {
                error.reason = ToolReason::EncodingFailed;
                Err(error)
            }
            None => Err(ToolError::new(
                ToolReason::EncodingFailed,
                "the encoder did not return",
            )),
        }
    }

    /// What the model is told of a failure. There always is something.
    async fn told(&self, failure: &Arc<ToolFailure>) -> String {
        let report = self.report(failure);
        let stable = report.to_content();
        let Some(encoder) = &self.shared.settings.encoder else {
            return stable;
        };
        if let ToolFailure::Crashed(error) = &**failure
            && error.reason == ToolReason::EncodingFailed
        {
            return stable;
        }
        let text = failure_text(Arc::clone(encoder), Arc::clone(failure), report);
        within(self.limit, text).await.flatten().unwrap_or(stable)
    }

    fn report(&self, failure: &ToolFailure) -> CallFailure {
        let tool = &self.entry.tool;
        encode::report(failure, tool.name.as_str(), &tool.effect)
    }
}

fn halt() -> PolicyDecision {
    PolicyDecision::Halt { exception: None }
}

fn misbehaved(exception: &str) -> ToolError {
    let message = "the on_tool_error closure gave no decision";
    let mut error = ToolError::new(ToolReason::InvalidReturn, message).cause(exception);
    let mark = "on_tool_error_raised".to_owned();
    error.metadata.insert(mark, true.into());
    error
}
