//! The operations that add input.

use allm::session::{Annotated, ApprovalRef, CallRef, Delivery};
use allm::{Content, Engine, InputId, Map, Message, SessionError, SubmittedResult};
use serde_json::json;

use super::{Form, Talk};

/// An input is the same in both forms but for the waiting.
macro_rules! input {
    ($talk:ident.$method:ident($($argument:expr),*)) => {{
        let result = match $talk.form {
            Form::Durable => {
                let mut session = $talk.open().await;
                $talk.next_id.take().map(|id| session.name_input(id));
                let result = session.$method($($argument),*).await;
                $talk.look(Some(&session)).await;
                result
            }
            _ => {
                $talk.read_back();
                let named = $talk.next_id.take();
                named.map(|id| $talk.value.name_input(id));
                let result = $talk.value.$method($($argument),*);
                $talk.look(None).await;
                result
            }
        };
        $talk.note(stringify!($method), result.as_ref().err(), json!(null));
        result
    }};
}

impl Talk {
    pub(crate) async fn send(
        &mut self,
        message: impl Into<Message>,
        delivery: Delivery,
    ) -> Result<(), SessionError> {
        input!(self.send(message, delivery))
    }

    /// Names the next input.
    pub(crate) fn name(&mut self, id: &str) -> &mut Self {
        self.next_id = Some(InputId::new(id).unwrap());
        self
    }

    pub(crate) async fn answer(
        &mut self,
        call: impl Into<CallRef>,
        answer: impl Into<Content>,
    ) -> Result<(), SessionError> {
        input!(self.answer(call, answer))
    }

    pub(crate) async fn submit(
        &mut self,
        call: impl Into<CallRef>,
        result: impl Into<SubmittedResult>,
    ) -> Result<(), SessionError> {
        input!(self.submit_tool_result(call, result))
    }

    pub(crate) async fn submit_all(
        &mut self,
        results: Vec<(CallRef, SubmittedResult)>,
    ) -> Result<(), SessionError> {
        input!(self.submit_tool_results(results))
    }

    pub(crate) async fn submit_error(
        &mut self,
        call: impl Into<CallRef>,
        message: &str,
    ) -> Result<(), SessionError> {
        input!(self.submit_tool_error(call, message))
    }

    pub(crate) async fn approve(
        &mut self,
        approval: impl Into<ApprovalRef>,
    ) -> Result<(), SessionError> {
        input!(self.approve(approval))
    }

    pub(crate) async fn approve_with(
        &mut self,
        engine: &Engine,
        approval: impl Into<ApprovalRef>,
        arguments: Map,
    ) -> Result<(), SessionError> {
        input!(self.approve_with(engine, approval, arguments))
    }

    pub(crate) async fn deny(
        &mut self,
        approval: impl Into<ApprovalRef>,
        reason: &str,
    ) -> Result<(), SessionError> {
        input!(self.deny(approval, reason))
    }

    pub(crate) async fn rerun(&mut self, call: impl Into<CallRef>) -> Result<(), SessionError> {
        input!(self.rerun(call))
    }

    pub(crate) async fn cancel(&mut self) -> Result<(), SessionError> {
        input!(self.cancel("enough"))
    }

    pub(crate) async fn annotate(&mut self, changed: Annotated) -> Result<(), SessionError> {
        input!(self.annotate(changed))
    }

    pub(crate) async fn expire(&mut self) -> Result<(), SessionError> {
        input!(self.expire())
    }
}
