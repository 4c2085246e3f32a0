//! The span of a tool call.

use allm_core::run::ToolOutcome;
use allm_core::{Redactor, ToolCall};
use serde_json::Value;
use tracing::field::Empty;
use tracing::{Level, Span, event, span};

use super::{content, failed, names};

/// What is told of one tool call, from its place in the line to its outcome.
#[derive(Default)]
pub(crate) struct ToolSpan(Option<Open>);

struct Open {
    span: Span,
    /// What it was called with, if content is wanted.
    arguments: Option<Value>,
}

impl ToolSpan {
    /// Opens the span of a call below `parent`. With a redactor, content is told too.
    pub(crate) fn open(parent: &Span, call: &ToolCall, captures: Option<&Redactor>) -> Self {
        let span = span!(
            parent: parent,
            Level::INFO,
            names::TOOL,
            { names::OTEL_NAME } = format!("execute_tool {}", call.original_name()),
            { names::OTEL_STATUS_CODE } = Empty,
            { names::OPERATION_NAME } = "execute_tool",
            { names::TOOL_NAME } = call.original_name(),
            { names::TOOL_TYPE } = "function",
            { names::TOOL_CALL_ID } = call.id.as_str(),
            { names::ERROR_TYPE } = Empty,
        );
        let arguments = captures.filter(|_| !span.is_disabled()).map(|_| {
            let arguments = call.arguments.as_deref().cloned();
            arguments.map_or_else(|| (*call.raw_arguments).into(), Value::Object)
        });
        Self(Some(Open { span, arguments }))
    }

    /// What the work of the call is done in.
    pub(crate) fn span(&self) -> Span {
        self.0
            .as_ref()
            .map_or_else(Span::none, |open| open.span.clone())
    }

    /// Tells what the call came to, and closes the span.
    pub(crate) fn end(&mut self, outcome: &ToolOutcome, captures: Option<&Redactor>) {
        let Some(open) = self.0.take() else { return };
        let told = match outcome {
            ToolOutcome::Failed {
                failure, content, ..
            } => {
                failed(&open.span, failure.reason.as_str());
                Some(content.as_str())
            }
            ToolOutcome::NotStarted => {
                failed(&open.span, "cancelled");
                None
            }
            ToolOutcome::Replied { content, .. } | ToolOutcome::Halted { content, .. } => {
                Some(content.as_str())
            }
            ToolOutcome::Asked { question, .. } | ToolOutcome::AskedToGoOn { question, .. } => {
                Some(question.as_str())
            }
            _ => None,
        };
        let (Some(redactor), Some(arguments)) = (captures, open.arguments) else {
            return;
        };
        let arguments = content::text(redactor, arguments);
        let result = told.map(|told| redactor.text(told).into_owned());
        open.span.in_scope(|| {
            event!(
                name: names::CONTENT,
                Level::INFO,
                gen_ai.tool.call.arguments = arguments,
                gen_ai.tool.call.result = result,
            );
        });
    }
}

impl Drop for ToolSpan {
    /// A call that nobody waits for any more was cancelled.
    fn drop(&mut self) {
        if let Some(open) = &self.0 {
            failed(&open.span, "cancelled");
        }
    }
}
