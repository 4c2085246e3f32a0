//! stub
#![allow(missing_docs, dead_code, missing_debug_implementations)]
use allm_core::run::*;
use allm_core::*;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
#[derive(Default)]
pub struct DefaultExecutor;
impl ToolExecutor for DefaultExecutor {
    fn execute<'a>(
        &'a self,
        _t: &'a Tool,
        _a: Map,
        _c: &'a ToolContext,
    ) -> BoxFuture<'a, Result<ToolReply, ToolError>> {
        Box::pin(async { Err(ToolError::new(ToolReason::NotFound, "")) })
    }
}
#[derive(Clone)]
pub enum OnToolError {
    Continue,
    Halt,
}
pub struct RunnerSettings {
    pub executor: Arc<dyn ToolExecutor>,
    pub encoder: Arc<dyn ToolResultEncoder>,
    pub on_tool_error: OnToolError,
    pub tool_timeout: Duration,
    pub max_concurrency: Option<usize>,
    pub max_tool_output: usize,
    pub max_tool_arguments: usize,
    pub context: Option<AnyValue>,
    pub session_id: Option<SessionId>,
    pub request_id: Option<RequestId>,
    pub engine: Option<AnyValue>,
    pub cancel: CancelToken,
    pub key_owner: Vec<u8>,
}
impl Default for RunnerSettings {
    fn default() -> Self {
        Self {
            executor: Arc::new(DefaultExecutor),
            encoder: Arc::new(JsonEncoder),
            on_tool_error: OnToolError::Continue,
            tool_timeout: Duration::MAX,
            max_concurrency: None,
            max_tool_output: 1,
            max_tool_arguments: 1,
            context: None,
            session_id: None,
            request_id: None,
            engine: None,
            cancel: CancelToken::new(),
            key_owner: vec![],
        }
    }
}
#[derive(Clone)]
pub struct ToolSet;
impl ToolSet {
    pub fn new(_t: &[Tool]) -> Result<Self, ValidationError> {
        Ok(Self)
    }
}
pub enum BatchItem {
    Event(Event),
    Done {
        index: u32,
        outcome: ToolOutcome,
        events: Vec<Event>,
    },
}
pub struct BatchRun;
impl BatchRun {
    pub fn start(_c: Vec<CallToRun>, _t: ToolSet, _s: Arc<RunnerSettings>, _turn: u32) -> Self {
        Self
    }
    pub fn stop(&mut self, _s: Stop) {}
}
impl futures_core::Stream for BatchRun {
    type Item = BatchItem;
    fn poll_next(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<Option<BatchItem>> {
        Poll::Ready(None)
    }
}
