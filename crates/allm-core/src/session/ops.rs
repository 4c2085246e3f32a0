//! What may be done with a session, and what is to be appended for it. Nothing here changes anything.

use std::collections::BTreeMap;

use super::approval_ref::ApprovalRef;
use super::call::{AwaitedResult, Outcome, Wait, WaitKind, WaitReason, arguments_hash};
use super::entry::{
    Annotated, Answered, ApprovalDecided, Created, Decision, Delivery, EntryBody, Expired,
    Operation, RerunAllowed, ResultSubmitted, StopRequested, UserMessage,
};
use super::hash::input_hash;
use super::key::{CallKey, CallRef};
use super::state::Session;
use super::turn::TurnCall;
use crate::data::{
    Content, Hash, InputId, Map, Message, Role, SessionStatus, SessionUid, Thread, Timestamp,
};
use crate::error::{
    Fault, FaultCode, SessionError, SessionReason, ValidationError, ValidationReason,
};
use crate::path::Path;
use crate::run::Stop;
use crate::validate;

/// Whether an input is to be appended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// Yes.
    New,
    /// No: it is there already, or there is nothing that it would change.
    Known,
}

/// The longest key or value of a tag, in bytes.
pub const MAX_TAG_BYTES: usize = 200;

impl Session {
    /// The first entry of a session.
    #[must_use]
    pub fn created(
        uid: SessionUid,
        thread: Thread,
        context: Map,
        metadata: Map,
        tags: BTreeMap<String, String>,
    ) -> EntryBody {
        EntryBody::Created(Box::new(Created {
            uid,
            thread,
            context,
            metadata,
            tags,
        }))
    }

    /// Whether the status allows this operation.
    ///
    /// # Errors
    ///
    /// `invalid_state` naming the open waits, or `nothing_to_resume`.
    pub fn check_drive(&self, op: Operation) -> Result<(), SessionError> {
        let status = self.status();
        let waits: Vec<CallKey> = self.open_waits().map(|(key, _, _)| key).collect();
        let allowed = match (op, status) {
            (Operation::Reply, SessionStatus::Idle | SessionStatus::Completed) => true,
            (Operation::Reply, SessionStatus::AwaitingUser) => true,
            (Operation::Reply | Operation::Retry, SessionStatus::Error) => waits.is_empty(),
            (Operation::Resume | Operation::Step, SessionStatus::InProgress) => true,
            (
                Operation::Resume | Operation::Step,
                SessionStatus::Idle | SessionStatus::Completed,
            ) => {
                let something =
                    self.awaits_answer() || self.has_ready_call() || !self.inbox.is_empty();
                if !something {
                    let message = "the conversation ends in an answer and nothing waits for one";
                    let error = SessionError::new(SessionReason::NothingToResume, message);
                    return Err(error);
                }
                true
            }
            (
                Operation::Resume | Operation::Step,
                SessionStatus::AwaitingUser
                | SessionStatus::AwaitingApproval
                | SessionStatus::AwaitingTools,
            ) => self.has_ready_call(),
            _ => false,
        };
        if allowed {
            Ok(())
        } else {
            Err(SessionError::invalid_state(op, status, waits))
        }
    }

    /// Whether an input with this id was taken before.
    ///
    /// # Errors
    ///
    /// `input_id_reused` when it was, with other content.
    pub fn is_repeated(&self, id: &InputId, body: &EntryBody) -> Result<bool, SessionError> {
        let mut known = self.recent_inputs.iter().filter(|(known, _)| known == id);
        if known.clone().next().is_none() {
            return Ok(false);
        }
        // Several inputs may have come under one id.
        let hash = input_hash(body)?;
        if known.any(|(_, known)| *known == hash) {
            return Ok(true);
        }
        let message = "the input id was used for something else";
        Err(SessionError::new(SessionReason::InputIdReused, message))
    }

    /// Whether an input may be appended, and has to be.
    ///
    /// # Errors
    ///
    /// Why it may not.
    pub fn check_input(&self, body: &EntryBody, now: Timestamp) -> Result<Input, SessionError> {
        match body {
            EntryBody::UserMessage(entry) => {
                validate::message(&entry.message)?;
                if entry.message.role != Role::User {
                    // Any other message could tear a call from its result.
                    let path = Path::from("message").field("role");
                    input_error(vec![Fault::new(path, FaultCode::NotAllowed)])?;
                }
                Ok(Input::New)
            }
            EntryBody::Annotated(entry) => {
                check_tags(entry.tags.iter().flatten())?;
                Ok(Input::New)
            }
            EntryBody::Created(entry) => {
                check_tags(entry.tags.iter())?;
                validate::thread(&entry.thread)?;
                if !entry.thread.is_empty() {
                    validate::sendable(&entry.thread.messages)?;
                }
                Ok(Input::New)
            }
            EntryBody::LateOutcome(_) => Ok(Input::New),
            EntryBody::StopRequested(_) => Ok(self.check_stop()),
            EntryBody::Expired(entry) => Ok(self.check_expiry(entry, now)),
            EntryBody::Answered(entry) => {
                let answer = self.check_answer(entry.call, WaitKind::Question, body, now)?;
                validate::message(&Message::user(entry.content.clone()))?;
                Ok(answer)
            }
            EntryBody::ResultSubmitted(entry) => {
                let answer = self.check_answer(entry.call, WaitKind::Result, body, now)?;
                if !matches!(entry.outcome, Outcome::Ok | Outcome::Failed) {
                    input_error(vec![Fault::new("outcome", FaultCode::NotAllowed)])?;
                }
                validate::message(&Message::tool_result("-", entry.content.clone()))?;
                Ok(answer)
            }
            EntryBody::ApprovalDecided(entry) => {
                self.check_answer(entry.call, WaitKind::Approval, body, now)
            }
            EntryBody::RerunAllowed(entry) => {
                self.check_answer(entry.call, WaitKind::Result, body, now)
            }
            _ => {
                let message = "only whoever drives the session may append this";
                Err(SessionError::new(SessionReason::InvalidState, message))
            }
        }
    }

    pub(super) fn check_stop(&self) -> Input {
        let already = self
            .run()
            .is_some_and(|state| state.run().stop() == Some(Stop::Cancelled));
        let nothing =
            self.run.is_none() && self.failure.is_none() && self.unfinished_turn().is_none();
        if already || nothing {
            Input::Known
        } else {
            Input::New
        }
    }

    fn check_expiry(&self, entry: &Expired, now: Timestamp) -> Input {
        let wait = self.call(entry.call).and_then(TurnCall::wait);
        let due = wait.and_then(Wait::expires_at);
        if due == Some(entry.deadline) && entry.deadline <= now {
            Input::New
        } else {
            Input::Known
        }
    }

    fn check_answer(
        &self,
        key: CallKey,
        kind: WaitKind,
        body: &EntryBody,
        now: Timestamp,
    ) -> Result<Input, SessionError> {
        if let EntryBody::ApprovalDecided(decided) = body
            && !self.fits(decided)
        {
            return Err(mismatch());
        }
        let call = self
            .call(key)
            .ok_or_else(|| SessionError::unknown_call(&key.into()))?;
        let Some(wait) = call.wait() else {
            return self.check_answered(key, call, body);
        };
        if wait.kind() != kind {
            return Err(SessionError::wrong_wait(key, kind, wait.kind()));
        }
        if matches!(body, EntryBody::RerunAllowed(_))
            && !matches!(
                wait,
                Wait::Result(AwaitedResult {
                    reason: WaitReason::UnknownOutcome,
                    ..
                })
            )
        {
            let message = format!("the outcome of the call {key} is not unknown");
            return Err(SessionError::new(SessionReason::WrongWait, message));
        }
        if wait.expires_at().is_some_and(|limit| limit <= now) {
            return Err(match kind {
                WaitKind::Approval => {
                    let message = format!("it is too late to decide about the call {key}");
                    SessionError::new(SessionReason::ApprovalExpired, message)
                }
                _ => SessionError::not_waiting(key, Some(Outcome::Expired)),
            });
        }
        Ok(Input::New)
    }

    /// Whether a decision is about the approval that was asked for, and about the same arguments.
    fn fits(&self, decided: &ApprovalDecided) -> bool {
        let Some(call) = self.call(decided.call) else {
            return false;
        };
        // What stands in the session is looked at again, not believed.
        let seen = match call.wait() {
            Some(Wait::Approval(approval)) => {
                approval.arguments_hash == arguments_hash(&approval.arguments)
                    && approval.arguments_hash == decided.arguments_hash
            }
            _ => decided.arguments_hash == call_hash(call),
        };
        seen && call.approval_id == Some(decided.approval_id)
    }

    /// An answer to a wait that is closed: known if it is the one that closed it.
    fn check_answered(
        &self,
        key: CallKey,
        call: &TurnCall,
        body: &EntryBody,
    ) -> Result<Input, SessionError> {
        let by_nobody = matches!(call.outcome(), Some(Outcome::Cancelled | Outcome::Expired));
        let decides = matches!(body, EntryBody::ApprovalDecided(_));
        if decides && call.outcome() == Some(Outcome::Expired) {
            let message = format!("it is too late to decide about the call {key}");
            return Err(SessionError::new(SessionReason::ApprovalExpired, message));
        }
        match (call.decided, body) {
            (Some(decided), _) if decided == input_hash(body)? => Ok(Input::Known),
            (Some(_), _) if by_nobody => Err(SessionError::not_waiting(key, call.outcome())),
            (Some(_), EntryBody::ApprovalDecided(_)) => {
                let message = format!("the call {key} was decided otherwise");
                Err(SessionError::new(SessionReason::AlreadyDecided, message))
            }
            (Some(_), EntryBody::Answered(_) | EntryBody::ResultSubmitted(_)) => {
                let message = format!("the call {key} was answered otherwise");
                Err(SessionError::new(SessionReason::AlreadyAnswered, message))
            }
            _ => Err(SessionError::not_waiting(key, call.outcome())),
        }
    }

    /// The call of the last turn that this names.
    ///
    /// # Errors
    ///
    /// `unknown_call`.
    pub fn find_call(&self, call: &CallRef) -> Result<(CallKey, &TurnCall), SessionError> {
        let found = self.open_turn.as_ref().and_then(|turn| turn.find(call));
        found.ok_or_else(|| SessionError::unknown_call(call))
    }

    /// A message for the model.
    #[must_use]
    pub fn message_entry(message: Message, delivery: Delivery) -> EntryBody {
        EntryBody::UserMessage(Box::new(UserMessage { message, delivery }))
    }

    /// The answer to a question.
    ///
    /// # Errors
    ///
    /// `unknown_call`.
    pub fn answer_entry(
        &self,
        call: &CallRef,
        content: Content,
        by: Option<String>,
    ) -> Result<EntryBody, SessionError> {
        let (call, _) = self.find_call(call)?;
        Ok(EntryBody::Answered(Answered {
            call,
            content: content.into_parts(),
            by,
        }))
    }

    /// A result from outside.
    ///
    /// # Errors
    ///
    /// `unknown_call`.
    pub fn result_entry(
        &self,
        call: &CallRef,
        outcome: Outcome,
        content: Content,
        by: Option<String>,
    ) -> Result<EntryBody, SessionError> {
        let (call, _) = self.find_call(call)?;
        Ok(EntryBody::ResultSubmitted(ResultSubmitted {
            call,
            outcome,
            content: content.into_parts(),
            by,
        }))
    }

    /// A decision about a call.
    ///
    /// # Errors
    ///
    /// `unknown_call`; `wrong_wait` or `not_waiting` for a call that nobody was asked about.
    pub fn decision_entry(
        &self,
        approval: &ApprovalRef,
        decision: Decision,
        by: Option<String>,
    ) -> Result<EntryBody, SessionError> {
        let (approval_id, call, hash) = match approval {
            ApprovalRef::Seen {
                id,
                call,
                arguments_hash,
            } => (*id, *call, *arguments_hash),
            ApprovalRef::Token(token) => {
                let approval = &token.approval;
                (approval.approval_id, approval.call, approval.arguments_hash)
            }
            ApprovalRef::Call(call) => {
                let (key, call) = self.find_call(call)?;
                let id = match (call.approval_id, call.wait()) {
                    (Some(id), _) => id,
                    (None, Some(wait)) => {
                        let expected = WaitKind::Approval;
                        return Err(SessionError::wrong_wait(key, expected, wait.kind()));
                    }
                    (None, None) => return Err(SessionError::not_waiting(key, call.outcome())),
                };
                (id, key, call_hash(call))
            }
        };
        Ok(EntryBody::ApprovalDecided(Box::new(ApprovalDecided {
            approval_id,
            call,
            decision,
            arguments_hash: hash,
            by,
        })))
    }

    /// That a call of unknown outcome may be run again.
    ///
    /// # Errors
    ///
    /// `unknown_call`.
    pub fn rerun_entry(
        &self,
        call: &CallRef,
        by: Option<String>,
    ) -> Result<EntryBody, SessionError> {
        let (call, _) = self.find_call(call)?;
        Ok(EntryBody::RerunAllowed(RerunAllowed { call, by }))
    }

    /// That somebody wants the run to stop.
    #[must_use]
    pub fn stop_entry(reason: impl Into<String>, by: Option<String>) -> EntryBody {
        EntryBody::StopRequested(StopRequested {
            reason: reason.into(),
            by,
        })
    }

    /// That the caller's facts changed.
    #[must_use]
    pub fn annotation_entry(changed: Annotated) -> EntryBody {
        EntryBody::Annotated(Box::new(changed))
    }
}

/// The hash of the arguments as the model made them.
fn call_hash(call: &TurnCall) -> Hash {
    arguments_hash(&call.call.arguments.clone().unwrap_or_default())
}

pub(super) fn mismatch() -> SessionError {
    let message = "the decision is about another approval, or about other arguments";
    SessionError::new(SessionReason::ApprovalMismatch, message)
}

/// Tags can be filtered on, so they are kept short and plain.
pub(super) fn tag_faults<'a>(
    tags: impl Iterator<Item = (&'a String, &'a String)>,
) -> impl Iterator<Item = Fault> {
    let bad = |text: &str| {
        if text.len() > MAX_TAG_BYTES {
            Some(FaultCode::TooLarge)
        } else if text.chars().any(char::is_control) {
            Some(FaultCode::InvalidFormat)
        } else {
            None
        }
    };
    tags.enumerate().filter_map(move |(number, (key, value))| {
        let code = bad(key).or_else(|| bad(value))?;
        let path = Path::from("tags").index(number);
        Some(Fault::new(path, code).detail("up to 200 bytes, no control characters"))
    })
}

fn check_tags<'a>(
    tags: impl Iterator<Item = (&'a String, &'a String)>,
) -> Result<(), ValidationError> {
    input_error(tag_faults(tags).collect())
}

fn input_error(faults: Vec<Fault>) -> Result<(), ValidationError> {
    if faults.is_empty() {
        Ok(())
    } else {
        let reason = ValidationReason::InvalidSessionInput;
        Err(ValidationError::new(reason, faults))
    }
}
