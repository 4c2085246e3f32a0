//! The executor and the encoder of a service, as the runner takes them.

use std::sync::{Arc, Mutex, PoisonError};

use allm_core::{
    Answer, AnyValue, ArgumentFault, BoxFuture, CallFailure, EncodeError, Map, Tool, ToolContext,
    ToolError, ToolExecutor, ToolFailure, ToolReply, ToolResultEncoder,
};
use serde_json::Value;

/// The executor of a service, for one call: it tells the handler what the client told.
pub(super) struct Amended {
    pub(super) inner: Arc<dyn ToolExecutor>,
    /// The value of the service.
    pub(super) context: Option<AnyValue>,
    /// The key that the client gave.
    pub(super) idempotency_key: Option<String>,
    /// What a person answered the handler.
    pub(super) answer: Option<Answer>,
    /// What the handler keeps with its question.
    pub(super) kept: Keeps,
}

/// What a handler keeps with its question: nobody else sees it.
#[derive(Clone, Default)]
pub(super) struct Keeps(Arc<Mutex<Option<Value>>>);

impl Keeps {
    pub(super) fn take(&self) -> Option<Value> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn put(&self, state: Option<Value>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = state;
    }
}

impl ToolExecutor for Amended {
    fn check(&self, tool: &Tool, arguments: &Map) -> Result<(), Vec<ArgumentFault>> {
        self.inner.check(tool, arguments)
    }

    fn execute<'a>(
        &'a self,
        tool: &'a Tool,
        arguments: Arc<Map>,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, Result<ToolReply, ToolError>> {
        let mut context = context.clone();
        context.context.clone_from(&self.context);
        if let Some(key) = &self.idempotency_key {
            context.idempotency_key = key.as_str().into();
        }
        context.answer.clone_from(&self.answer);
        Box::pin(async move {
            let reply = self.inner.execute(tool, arguments, &context).await;
            if let Ok(ToolReply::AskAndGoOn { state, .. }) = &reply {
                self.kept.put(state.clone());
            }
            reply
        })
    }
}

/// The encoder of a service.
pub(super) struct Shared(pub(super) Arc<dyn ToolResultEncoder>);

impl ToolResultEncoder for Shared {
    fn encode(&self, value: &Value) -> Result<String, EncodeError> {
        self.0.encode(value)
    }

    fn encode_failure(
        &self,
        failure: &ToolFailure,
        report: &CallFailure,
    ) -> Result<String, EncodeError> {
        self.0.encode_failure(failure, report)
    }
}
