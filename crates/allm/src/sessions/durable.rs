//! A session in a store.

use std::ops::Deref;
use std::time::Duration;

use allm_core::session::{
    Annotated, Append, ApprovalRef, ApprovalToken, CallRef, Decision, Delivery, Denied, Edited,
    EntryBody, Operation, Outcome, Session as Data,
};
use allm_core::{
    AppendId, Content, InputId, Map, Message, SessionError, SessionReason, StoreReason,
};

use super::call::SessionCall;
use super::driver::checked_arguments;
use super::journal::Journal as _;
use super::registry::Sessions;
use super::store_journal::View;
use super::submitted::{SubmittedResult, error_content};
use super::taking::{Purpose, Taken};
use super::value::fresh_inputs;
use crate::engine::Engine;
use crate::random;

/// A session in a store, as it stood when it was last looked at. What happens to it is durable before anyone is told.
///
/// Everything that can be read from it is a method of [`session::Session`](crate::session::Session), to which it
/// dereferences. It holds no lease: a driving operation takes one and gives it back.
#[derive(Debug)]
pub struct DurableSession {
    sessions: Sessions,
    view: View,
    /// The name of the next input.
    input_id: Option<InputId>,
    /// Who gives the next inputs; recorded, not verified.
    by: Option<String>,
}

impl Deref for DurableSession {
    type Target = Data;

    fn deref(&self) -> &Data {
        &self.view.data
    }
}

/// How often an input is tried again when others write at the same time.
const TRIES: u32 = 16;

/// Waits a little when many write at once: longer each time, and each for another time, as what it has to say tells.
/// No dice are thrown, so that the same order of events is the same run.
async fn give_way(attempt: u32, bodies: &[EntryBody]) {
    use std::hash::{DefaultHasher, Hasher as _};
    let mut spread = DefaultHasher::new();
    spread.write(&allm_core::json::canonical(&bodies).unwrap_or_default());
    spread.write_u32(attempt);
    let longest = 8_u64 << attempt.min(8);
    let wait = spread.finish().checked_rem(longest).unwrap_or_default();
    tokio::time::sleep(Duration::from_millis(wait)).await;
}

impl DurableSession {
    pub(crate) fn new(sessions: Sessions, view: View) -> Self {
        Self {
            sessions,
            view,
            input_id: None,
            by: None,
        }
    }

    pub(crate) const fn view(&self) -> &View {
        &self.view
    }

    pub(crate) const fn view_mut(&mut self) -> &mut View {
        &mut self.view
    }

    /// The sessions that it belongs to.
    #[must_use]
    pub fn sessions(&self) -> &Sessions {
        &self.sessions
    }

    /// Looks at the store again.
    ///
    /// # Errors
    ///
    /// Those of [`Sessions::open`]; `lost_ownership` when it was deleted.
    pub async fn reload(&mut self) -> Result<(), SessionError> {
        self.view.refresh(self.sessions.asking_once()).await?;
        Ok(())
    }

    /// As [`reload`](Self::reload), with the patience of whoever has something to say.
    pub(super) async fn look_again(&mut self) -> Result<(), SessionError> {
        self.view.refresh(self.sessions.asking()).await?;
        Ok(())
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

    /// Goes on: runs the calls that are ready and, if nothing waits, asks the model. A run that a crash left unfinished
    /// goes on where it stands.
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

    /// A message for the model. It starts nothing; whoever drives the session delivers it.
    ///
    /// # Errors
    ///
    /// When the message breaks the rules; what the store cannot do.
    pub async fn send(
        &mut self,
        message: impl Into<Message>,
        delivery: Delivery,
    ) -> Result<(), SessionError> {
        let body = Data::message_entry(message.into(), delivery);
        self.input(move |_| Ok(vec![body.clone()])).await
    }

    /// Answers a question. It starts nothing.
    ///
    /// # Errors
    ///
    /// `unknown_call`, `wrong_wait`, `not_waiting`, or `already_answered` for another answer than before; what the store
    /// cannot do.
    pub async fn answer(
        &mut self,
        call: impl Into<CallRef>,
        answer: impl Into<Content>,
    ) -> Result<(), SessionError> {
        let call = self.named(call.into())?;
        let (answer, by) = (answer.into(), self.by.clone());
        self.input(move |data| {
            Ok(vec![data.answer_entry(
                &call,
                answer.clone(),
                by.clone(),
            )?])
        })
        .await
    }

    /// Gives the result of a call that waits for one. Text and parts are told as they are, any other value as compact
    /// JSON. It starts nothing.
    ///
    /// # Errors
    ///
    /// `unknown_call`, `wrong_wait`, `not_waiting`, or `already_answered` for another result than before; what the store
    /// cannot do.
    pub async fn submit_tool_result(
        &mut self,
        call: impl Into<CallRef>,
        result: impl Into<SubmittedResult>,
    ) -> Result<(), SessionError> {
        self.submit_tool_results([(call.into(), result.into())])
            .await
    }

    /// Gives the results of several calls: all of them, or none.
    ///
    /// # Errors
    ///
    /// Those of [`submit_tool_result`](Self::submit_tool_result).
    pub async fn submit_tool_results<C: Into<CallRef>, R: Into<SubmittedResult>>(
        &mut self,
        results: impl IntoIterator<Item = (C, R)>,
    ) -> Result<(), SessionError> {
        let mut given = Vec::new();
        for (call, result) in results {
            given.push((self.named(call.into())?, result.into().0));
        }
        let by = self.by.clone();
        self.input(move |data| {
            let entry = |(call, content): &(CallRef, Content)| {
                data.result_entry(call, Outcome::Ok, content.clone(), by.clone())
            };
            given.iter().map(entry).collect()
        })
        .await
    }

    /// Tells that a call failed outside. It starts nothing.
    ///
    /// # Errors
    ///
    /// Those of [`submit_tool_result`](Self::submit_tool_result).
    pub async fn submit_tool_error(
        &mut self,
        call: impl Into<CallRef>,
        message: impl Into<String>,
    ) -> Result<(), SessionError> {
        let call = self.named(call.into())?;
        let (content, by) = (error_content(message), self.by.clone());
        self.input(move |data| {
            let failed = Outcome::Failed;
            Ok(vec![data.result_entry(
                &call,
                failed,
                content.clone(),
                by.clone(),
            )?])
        })
        .await
    }

    /// Agrees to a call. It runs at the next [`resume`](Self::resume), or at once if somebody drives the turn.
    ///
    /// # Errors
    ///
    /// `unknown_call`, `wrong_wait`, `approval_mismatch`, `approval_expired`, or `already_decided` for another decision
    /// than before; what the store cannot do.
    pub async fn approve(&mut self, approval: impl Into<ApprovalRef>) -> Result<(), SessionError> {
        self.decide(approval.into(), Decision::Approved, None).await
    }

    /// Agrees to a call with other arguments, which must fit the tool's schema.
    ///
    /// # Errors
    ///
    /// Those of [`approve`](Self::approve); `invalid_arguments` with every fault.
    pub async fn approve_with(
        &mut self,
        engine: &Engine,
        approval: impl Into<ApprovalRef>,
        arguments: Map,
    ) -> Result<(), SessionError> {
        let decision = Decision::Edited(Edited { arguments });
        self.decide(approval.into(), decision, Some(engine)).await
    }

    /// Does not agree to a call; the model reads the reason.
    ///
    /// # Errors
    ///
    /// Those of [`approve`](Self::approve).
    pub async fn deny(
        &mut self,
        approval: impl Into<ApprovalRef>,
        reason: impl Into<String>,
    ) -> Result<(), SessionError> {
        let decision = Decision::Denied(Denied {
            reason: reason.into(),
        });
        self.decide(approval.into(), decision, None).await
    }

    /// The open approvals, signed for whoever shows them to a person. Empty without
    /// [`approval_secret`](crate::SessionsOptions::approval_secret).
    ///
    /// # Errors
    ///
    /// When the arguments cannot be written as JSON.
    pub fn approval_tokens(&self) -> Result<Vec<ApprovalToken>, SessionError> {
        match &self.sessions.0.options.approval_secret {
            None => Ok(Vec::new()),
            Some(secret) => Ok(self.view.data.approval_tokens(secret.bytes())?),
        }
    }

    /// With a secret, only what comes with a good token is believed.
    fn verified(&self, approval: ApprovalRef) -> Result<ApprovalRef, SessionError> {
        match (&self.sessions.0.options.approval_secret, approval) {
            (None, approval) => Ok(approval),
            (Some(secret), ApprovalRef::Token(token)) => {
                token.open(&self.view.data, secret.bytes())
            }
            (Some(_), _) => {
                let message = "a decision needs the token that the approval was given out with";
                Err(SessionError::new(SessionReason::ApprovalMismatch, message))
            }
        }
    }

    async fn decide(
        &mut self,
        approval: ApprovalRef,
        decision: Decision,
        engine: Option<&Engine>,
    ) -> Result<(), SessionError> {
        let seen = self.seen(approval, decision, engine).await;
        // The name was for this input and is not the next one's.
        let seen = seen.inspect_err(|_| self.input_id = None)?;
        self.input(move |_| Ok(vec![seen.clone()])).await
    }

    /// The decision about what the person saw: that stands in this view or came with the approval, and is not what
    /// somebody made of it since.
    async fn seen(
        &mut self,
        approval: ApprovalRef,
        decision: Decision,
        engine: Option<&Engine>,
    ) -> Result<EntryBody, SessionError> {
        let approval = self.verified(approval)?;
        let body = self
            .view
            .data
            .decision_entry(&approval, decision, self.by.clone())?;
        let Some(engine) = engine else {
            return Ok(body);
        };
        match checked_arguments(engine, &self.view.data, &body) {
            // The view may be older than the call.
            Err(error) if error.reason == SessionReason::UnknownCall => {
                self.look_again().await?;
                checked_arguments(engine, &self.view.data, &body)?;
            }
            checked => checked?,
        }
        Ok(body)
    }

    /// Says that a call of unknown outcome did not happen: it runs at the next [`resume`](Self::resume), with the same
    /// key.
    ///
    /// # Errors
    ///
    /// `unknown_call`, or `wrong_wait` for a call that waits for something else; what the store cannot do.
    pub async fn rerun(&mut self, call: impl Into<CallRef>) -> Result<(), SessionError> {
        let call = self.named(call.into())?;
        let by = self.by.clone();
        self.input(move |data| Ok(vec![data.rerun_entry(&call, by.clone())?]))
            .await
    }

    /// Changes the caller's own facts; what is absent stays.
    ///
    /// # Errors
    ///
    /// When a tag breaks the rules; what the store cannot do.
    pub async fn annotate(&mut self, changed: Annotated) -> Result<(), SessionError> {
        let body = Data::annotation_entry(changed);
        self.input(move |_| Ok(vec![body.clone()])).await
    }

    /// Ends what goes on or waits. A driver, on any machine, sees it within a second; a run that nobody drives is settled
    /// here. What was paid for is kept, and the conversation can be sent.
    ///
    /// # Errors
    ///
    /// What the store cannot do.
    pub async fn cancel(&mut self, reason: impl Into<String>) -> Result<(), SessionError> {
        let body = Data::stop_entry(reason, self.by.clone());
        self.input(move |_| Ok(vec![body.clone()])).await?;
        if self.view.data.run().is_none() {
            return Ok(());
        }
        match self.sessions.take(&self.view, Purpose::Settling).await {
            Ok(taken) => self.settle(taken).await,
            // Somebody drives it and is told.
            Err(error) if error.reason == SessionReason::Busy && error.held.is_some() => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Settles a run that nobody drives.
    async fn settle(&mut self, mut taken: Taken) -> Result<(), SessionError> {
        let run = self.view.data.run().map(|state| state.id);
        let settled = async {
            taken.refresh().await?;
            let session = taken.journal.session();
            let is_same = session.run().map(|state| state.id) == run;
            let bodies = session.cancel_entries("", None);
            // What was begun since is nobody's to cancel here.
            if is_same && !bodies.is_empty() {
                taken.journal.append(bodies, None).await?;
            }
            Ok(())
        };
        let settled = settled.await;
        self.view = taken.journal.view.clone();
        taken.lease.release().await;
        settled
    }

    /// Closes the waits that are over by the store's clock.
    ///
    /// # Errors
    ///
    /// What the store cannot do.
    pub async fn expire(&mut self) -> Result<(), SessionError> {
        let now = self.sessions.now().await?;
        self.input(move |data| Ok(data.expired_entries(now))).await
    }

    /// The call for ever: an id names a call of the turn that this view shows.
    fn named(&mut self, call: CallRef) -> Result<CallRef, SessionError> {
        let CallRef::Id(_) = call else {
            return Ok(call);
        };
        let found = self.view.data.find_call(&call);
        let named = found.map(|(key, _)| key.into());
        // The name was for this input and is not the next one's.
        named.inspect_err(|_| self.input_id = None)
    }

    /// Appends an input at whatever version the session is, if it is still possible there.
    pub(super) async fn input(
        &mut self,
        entries: impl Fn(&Data) -> Result<Vec<EntryBody>, SessionError>,
    ) -> Result<(), SessionError> {
        let input_id = self.input_id.take();
        let mut conflict = None;
        for attempt in 0..TRIES {
            let now = self.sessions.now().await?;
            let data = &self.view.data;
            let wanted = entries(data);
            let wanted =
                wanted.and_then(|bodies| fresh_inputs(data, bodies, input_id.as_ref(), now));
            let fresh = match wanted {
                Ok(fresh) => fresh,
                Err(error) if conflict.is_none() => {
                    // The view may be old.
                    conflict = Some(error);
                    self.look_again().await?;
                    continue;
                }
                Err(error) => return Err(error),
            };
            if fresh.is_empty() {
                // It was read again before every attempt but the first: an old view knows nothing of a newer run.
                if attempt > 0 {
                    return Ok(());
                }
                self.look_again().await?;
                continue;
            }
            let append = Append {
                id: AppendId::from_bytes(random::bytes()),
                writer: self.sessions.writer().clone(),
                at: now,
                input_id: input_id.clone(),
            };
            let sealed = self.view.seal(&fresh, append)?;
            let at = self.view.position()?;
            match sealed.persist(self.sessions.asking(), &at, None).await {
                Ok(_) => {
                    self.view = sealed.next;
                    return Ok(());
                }
                Err(error) if error.reason == StoreReason::Conflict => {
                    give_way(attempt, &fresh).await;
                    self.look_again().await?;
                    conflict = Some(error.into());
                }
                Err(error) => return Err(error.into()),
            }
        }
        Err(conflict.unwrap_or_else(SessionError::lost_ownership))
    }
}
