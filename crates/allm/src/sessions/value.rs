//! A session as a plain value.

use std::ops::Deref;

use allm_core::json::Document;
use allm_core::session::{
    Annotated, ApprovalRef, CallRef, Decision, Delivery, Denied, Edited, EntryBody, Input,
    Operation, Outcome, Session as Data,
};
use allm_core::{
    BoxFuture, CancelToken, ChatResult, Content, InputId, Map, Message, SessionError, SessionUid,
    Thread, Timestamp, ValidationError,
};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::call::{SessionCall, Target};
use super::driver::{Drive, Limits, Orders, Signals, checked_arguments, preview};
use super::emit::Queue;
use super::journal::{Journal as _, ValueJournal, machine_time};
use super::registry::Beginning;
use super::submitted::{SubmittedResult, error_content};
use crate::engine::Engine;
use crate::random;

/// A conversation as a plain value: no engine, no handler, no key.
///
/// It can be written as JSON between any two operations ([`json::to_vec`](crate::json::to_vec)) and goes on from there,
/// here or elsewhere. What the caller saved is what there is: for a session that survives a crash, store it.
///
/// Everything that can be read from it is a method of [`session::Session`](crate::session::Session), to which it
/// dereferences.
///
/// ```
/// use allm::{Engine, Fake, Session, SessionStatus};
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// let fake = Fake::new().reply("Hello!").reply("You are welcome.");
/// let engine = Engine::builder().provider(fake).model("fake:any").build()?;
/// let mut session = Session::new("order-42")?;
/// let result = session.reply(&engine, "Hi").await?;
/// assert_eq!(result.text(), "Hello!");
///
/// let saved = allm::json::to_vec(&session)?;
/// let mut session: Session = allm::json::from_slice(&saved)?;
/// let _ = session.reply(&engine, "Thanks").await?;
/// assert_eq!(session.status(), SessionStatus::Completed);
/// assert_eq!(session.thread().len(), 4);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Session {
    data: Data,
    /// The name of the next input.
    input_id: Option<InputId>,
    /// Who gives the next inputs; recorded, not verified, and no part of the document.
    by: Option<String>,
}

impl Deref for Session {
    type Target = Data;

    fn deref(&self) -> &Data {
        &self.data
    }
}

impl From<Data> for Session {
    fn from(data: Data) -> Self {
        Self {
            data,
            input_id: None,
            by: None,
        }
    }
}

impl From<Session> for Data {
    fn from(session: Session) -> Self {
        session.data
    }
}

impl Document for Session {
    const TYPE: &'static str = Data::TYPE;

    fn verify(&self) -> Result<(), allm_core::JsonError> {
        self.data.verify()
    }
}

impl Serialize for Session {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.data.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Session {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Data::deserialize(deserializer).map(Self::from)
    }
}

impl Session {
    /// A new session with nothing in it.
    ///
    /// # Errors
    ///
    /// A fault at `id` when it is empty, over 200 bytes or holds a control character.
    pub fn new(id: impl Into<std::sync::Arc<str>>) -> Result<Self, ValidationError> {
        Data::new(id).map(Self::from)
    }

    /// What was said before. Only a session without an entry takes it.
    #[must_use]
    pub fn with_thread(mut self, thread: impl Into<Thread>) -> Self {
        let thread = thread.into();
        self.given(|given| given.thread = thread);
        self
    }

    /// What handlers are told. Only a session without an entry takes it; later [`annotate`](Self::annotate) does.
    #[must_use]
    pub fn with_context(mut self, context: Map) -> Self {
        self.given(|given| given.context = context);
        self
    }

    /// The caller's own facts. Only a session without an entry takes them; later [`annotate`](Self::annotate) does.
    #[must_use]
    pub fn with_metadata(mut self, metadata: Map) -> Self {
        self.given(|given| given.metadata = metadata);
        self
    }

    /// What listings can be filtered by. Only a session without an entry takes it; later
    /// [`annotate`](Self::annotate) does.
    #[must_use]
    pub fn with_tag(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.given(|given| {
            given.tags.insert(key.into(), value.into());
        });
        self
    }

    /// Changes what the first entry will say.
    fn given(&mut self, change: impl FnOnce(&mut Beginning)) {
        let mut given = self.beginning();
        change(&mut given);
        let Beginning {
            thread,
            context,
            metadata,
            tags,
        } = given;
        self.data.begin_with(thread, context, metadata, tags);
    }

    fn beginning(&self) -> Beginning {
        Beginning {
            thread: self.data.thread(),
            context: self.data.context().clone(),
            metadata: self.data.metadata().clone(),
            tags: self.data.tags().clone(),
        }
    }

    /// Names the next input of `answer`, `send` and the like, so that giving it again is not a second one.
    pub fn name_input(&mut self, id: InputId) -> &mut Self {
        self.input_id = Some(id);
        self
    }

    /// Who gives the inputs from now on; recorded, not verified.
    pub fn set_author(&mut self, by: impl Into<String>) {
        self.by = Some(by.into());
    }

    /// The user says something, or answers the open question, and the model goes on.
    pub fn reply<'a>(
        &'a mut self,
        engine: &Engine,
        message: impl Into<Message>,
    ) -> SessionCall<'a> {
        SessionCall::new(self, engine, Operation::Reply, Some(message.into()))
    }

    /// Goes on: runs the calls that are ready and, if nothing waits, asks the model.
    pub fn resume<'a>(&'a mut self, engine: &Engine) -> SessionCall<'a> {
        SessionCall::new(self, engine, Operation::Resume, None)
    }

    /// Goes on for one turn.
    pub fn step<'a>(&'a mut self, engine: &Engine) -> SessionCall<'a> {
        SessionCall::new(self, engine, Operation::Step, None)
    }

    /// Tries again after a failure.
    pub fn retry<'a>(&'a mut self, engine: &Engine) -> SessionCall<'a> {
        SessionCall::new(self, engine, Operation::Retry, None)
    }

    /// A message for the model. It starts nothing.
    ///
    /// # Errors
    ///
    /// When the message breaks the rules.
    pub fn send(
        &mut self,
        message: impl Into<Message>,
        delivery: Delivery,
    ) -> Result<(), SessionError> {
        self.input(|_| Ok(Data::message_entry(message.into(), delivery)))
    }

    /// Answers a question. It starts nothing.
    ///
    /// # Errors
    ///
    /// `unknown_call`, `wrong_wait`, `not_waiting`, or `already_answered` for another answer than before.
    pub fn answer(
        &mut self,
        call: impl Into<CallRef>,
        answer: impl Into<Content>,
    ) -> Result<(), SessionError> {
        let by = self.by.clone();
        self.input(|data| data.answer_entry(&call.into(), answer.into(), by))
    }

    /// Gives the result of a call that waits for one. Text and parts are told as they are, any other value as compact
    /// JSON. It starts nothing.
    ///
    /// # Errors
    ///
    /// `unknown_call`, `wrong_wait`, `not_waiting`, or `already_answered` for another result than before.
    pub fn submit_tool_result(
        &mut self,
        call: impl Into<CallRef>,
        result: impl Into<SubmittedResult>,
    ) -> Result<(), SessionError> {
        self.submit_tool_results([(call.into(), result.into())])
    }

    /// Gives the results of several calls: all of them, or none.
    ///
    /// # Errors
    ///
    /// Those of [`submit_tool_result`](Self::submit_tool_result).
    pub fn submit_tool_results<C: Into<CallRef>, R: Into<SubmittedResult>>(
        &mut self,
        results: impl IntoIterator<Item = (C, R)>,
    ) -> Result<(), SessionError> {
        let by = self.by.clone();
        self.inputs(|data| {
            let entry = |(call, result): (C, R)| {
                data.result_entry(&call.into(), Outcome::Ok, result.into().0, by.clone())
            };
            results.into_iter().map(entry).collect()
        })
    }

    /// Tells that a call failed outside. It starts nothing.
    ///
    /// # Errors
    ///
    /// Those of [`submit_tool_result`](Self::submit_tool_result).
    pub fn submit_tool_error(
        &mut self,
        call: impl Into<CallRef>,
        message: impl Into<String>,
    ) -> Result<(), SessionError> {
        let (content, by) = (error_content(message), self.by.clone());
        self.input(|data| data.result_entry(&call.into(), Outcome::Failed, content, by))
    }

    /// Agrees to a call. It runs at the next [`resume`](Self::resume).
    ///
    /// # Errors
    ///
    /// `unknown_call`, `wrong_wait`, `approval_mismatch`, `approval_expired`, or `already_decided` for another decision
    /// than before.
    pub fn approve(&mut self, approval: impl Into<ApprovalRef>) -> Result<(), SessionError> {
        let by = self.by.clone();
        self.input(|data| data.decision_entry(&approval.into(), Decision::Approved, by))
    }

    /// Agrees to a call with other arguments, which must fit the tool's schema.
    ///
    /// # Errors
    ///
    /// Those of [`approve`](Self::approve); `invalid_arguments` with every fault.
    pub fn approve_with(
        &mut self,
        engine: &Engine,
        approval: impl Into<ApprovalRef>,
        arguments: Map,
    ) -> Result<(), SessionError> {
        let (decision, by) = (Decision::Edited(Edited { arguments }), self.by.clone());
        self.input(|data| {
            let body = data.decision_entry(&approval.into(), decision, by)?;
            checked_arguments(engine, data, &body)?;
            Ok(body)
        })
    }

    /// Does not agree to a call; the model reads the reason.
    ///
    /// # Errors
    ///
    /// Those of [`approve`](Self::approve).
    pub fn deny(
        &mut self,
        approval: impl Into<ApprovalRef>,
        reason: impl Into<String>,
    ) -> Result<(), SessionError> {
        let decision = Decision::Denied(Denied {
            reason: reason.into(),
        });
        let by = self.by.clone();
        self.input(|data| data.decision_entry(&approval.into(), decision, by))
    }

    /// Says that a call of unknown outcome did not happen: it runs at the next [`resume`](Self::resume), with the same
    /// key.
    ///
    /// # Errors
    ///
    /// `unknown_call`, or `wrong_wait` for a call that waits for something else.
    pub fn rerun(&mut self, call: impl Into<CallRef>) -> Result<(), SessionError> {
        let by = self.by.clone();
        self.input(|data| data.rerun_entry(&call.into(), by))
    }

    /// Ends what goes on or waits. What was paid for is kept, and the conversation can be sent.
    ///
    /// # Errors
    ///
    /// None at present; a stored session's can fail.
    pub fn cancel(&mut self, reason: impl Into<String>) -> Result<(), SessionError> {
        let bodies = self.data.cancel_entries(reason, self.by.clone());
        if !bodies.is_empty() {
            ValueJournal(&mut self.data).apply(&bodies, None)?;
        }
        Ok(())
    }

    /// Changes the caller's own facts; what is absent stays.
    ///
    /// # Errors
    ///
    /// When a tag breaks the rules.
    pub fn annotate(&mut self, changed: Annotated) -> Result<(), SessionError> {
        self.input(|_| Ok(Data::annotation_entry(changed)))
    }

    /// Closes the waits that are over by the machine's clock.
    ///
    /// # Errors
    ///
    /// None at present; a stored session's can fail.
    pub fn expire(&mut self) -> Result<(), SessionError> {
        let bodies = self.data.expired_entries(machine_time());
        ValueJournal(&mut self.data).apply(&bodies, None)?;
        Ok(())
    }

    /// The first entry, if there is none yet.
    fn begin(&mut self) -> Result<(), SessionError> {
        if self.data.uid().is_some() {
            return Ok(());
        }
        let Beginning {
            thread,
            context,
            metadata,
            tags,
        } = self.beginning();
        let uid = SessionUid::from_bytes(random::bytes());
        let body = Data::created(uid, thread, context, metadata, tags);
        self.data.check_input(&body, machine_time())?;
        ValueJournal(&mut self.data).apply(&[body], None)?;
        Ok(())
    }

    fn input(
        &mut self,
        entry: impl FnOnce(&Data) -> Result<EntryBody, SessionError>,
    ) -> Result<(), SessionError> {
        self.inputs(|data| Ok(vec![entry(data)?]))
    }

    /// Takes all inputs or none.
    fn inputs(
        &mut self,
        entries: impl FnOnce(&Data) -> Result<Vec<EntryBody>, SessionError>,
    ) -> Result<(), SessionError> {
        let id = self.input_id.take();
        let bodies = entries(&self.data)?;
        let fresh = fresh_inputs(&self.data, bodies, id.as_ref(), machine_time())?;
        if fresh.is_empty() {
            return Ok(());
        }
        self.begin()?;
        ValueJournal(&mut self.data).apply(&fresh, id.as_ref())?;
        Ok(())
    }
}

/// The inputs that are to be appended, each checked as it will be met: after those before it.
pub(crate) fn fresh_inputs(
    data: &Data,
    bodies: Vec<EntryBody>,
    id: Option<&InputId>,
    now: Timestamp,
) -> Result<Vec<EntryBody>, SessionError> {
    let mut fresh = Vec::with_capacity(bodies.len());
    let mut next = std::borrow::Cow::Borrowed(data);
    let count = bodies.len();
    for (place, body) in bodies.into_iter().enumerate() {
        if let Some(id) = id
            && data.is_repeated(id, &body)?
        {
            continue;
        }
        if next.check_input(&body, now)? == Input::Known {
            continue;
        }
        if place + 1 < count {
            preview(next.to_mut(), std::slice::from_ref(&body), now)?;
        }
        fresh.push(body);
    }
    Ok(fresh)
}

impl<'a> Target<'a> for &'a mut Session {
    fn drive(
        self: Box<Self>,
        engine: Engine,
        orders: Orders,
        cancel: Option<CancelToken>,
        mut queue: Queue,
    ) -> BoxFuture<'a, Result<ChatResult, SessionError>> {
        Box::pin(async move {
            let session = *self;
            if session.data.uid().is_none() {
                // Refused operations leave no trace, the first entry included.
                let mut copy = session.clone();
                copy.begin()?;
                copy.data.check_drive(orders.op)?;
                *session = copy;
            }
            let mut journal = ValueJournal(&mut session.data);
            let drive = Drive {
                journal: &mut journal,
                sink: &mut queue,
                engine: &engine,
                orders,
                limits: Limits::default(),
                signals: Signals {
                    cancel,
                    ..Signals::default()
                },
            };
            match drive.run().await? {
                super::driver::Outcome::Result(result) => Ok(*result),
                super::driver::Outcome::Left => Ok(journal.session().standing_result()),
            }
        })
    }
}
