//! A session as a value, and what can be read from it.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::call::{Approval, CallState, Wait, WaitKind};
use super::entry::QueuedMessage;
use super::hash::RunningHash;
use super::hashed::Hashed;
use super::key::CallKey;
use super::run_state::RunState;
use super::turn::{OpenTurn, TurnCall};
use crate::data::{
    HaltReason, Hash, HeadUpdate, InputId, Map, Message, Position, Response, Role, SessionId,
    SessionStatus, SessionUid, Thread, Timestamp, ToolCallId, Usage, Version,
};
use crate::error::{Failure, ValidationError};
use crate::run::{Command, PARTIAL, Run};

/// A conversation as a plain value: no engine, no handler, no key. It can be written as JSON between any two operations
/// and goes on from there, here or elsewhere.
///
/// Everything that happens to it is an [`EntryBody`](super::EntryBody) that is applied with
/// [`apply`](Self::apply); applying the same entries to an empty session gives the same session, on every platform.
#[derive(Clone, Debug)]
pub struct Session {
    pub(super) id: SessionId,
    pub(super) uid: Option<SessionUid>,
    pub(super) version: Version,
    pub(super) machine: u32,
    pub(super) created_at: Option<Timestamp>,
    pub(super) updated_at: Option<Timestamp>,
    /// What was said, without the open turn as long as a call of it is open. While a run goes on, the run has it.
    pub(super) thread: Thread,
    pub(super) turn: u32,
    pub(super) open_turn: Option<Arc<OpenTurn>>,
    pub(super) inbox: Vec<QueuedMessage>,
    pub(super) recent_inputs: Hashed<VecDeque<(InputId, Hash)>>,
    pub(super) run: Option<Box<RunState>>,
    pub(super) failure: Option<Arc<SessionFailure>>,
    pub(super) last_halt: Option<HaltReason>,
    pub(super) usage: SessionUsage,
    pub(super) notes: Hashed<Notes>,
    pub(super) history: RunningHash,
}

/// The caller's own facts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Notes {
    #[serde(serialize_with = "crate::json::sorted")]
    pub(super) context: Map,
    #[serde(serialize_with = "crate::json::sorted")]
    pub(super) metadata: Map,
    pub(super) tags: BTreeMap<String, String>,
}

/// Why a session's status is `error`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionFailure {
    /// The snake_case code: that of the error, or `tool_error`, `crash_loop`, `approval_mismatch`.
    pub kind: String,
    /// In one line.
    pub message: String,
    /// Whether the same may succeed later.
    pub retryable: bool,
    /// The turn that failed.
    pub turn: u32,
    /// The whole error, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Failure>,
    /// What had come of the answer; not part of the conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partial: Option<Response>,
}

/// What a session has used.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionUsage {
    /// What its model calls used, as far as that is known. In JSON these fields stand beside `lost_calls`.
    pub models: Usage,
    /// Model calls whose answer a crash destroyed.
    pub lost_calls: u64,
}

impl SessionUsage {
    pub(super) fn add(&mut self, usage: &Usage) {
        if self.models.is_empty() {
            self.models = usage.clone();
        } else if !usage.is_empty() {
            self.models = std::mem::take(&mut self.models) + usage.clone();
        }
    }
}

/// An open wait, and the call that waits.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenWait {
    /// The call, for ever.
    pub call: CallKey,
    /// Its id in the open turn.
    pub tool_call_id: ToolCallId,
    /// The tool.
    pub tool: String,
    /// What it waits for.
    pub wait: Wait,
}

impl Session {
    /// How many input ids are remembered.
    pub const REMEMBERED_INPUTS: usize = 256;

    /// A new session with nothing in it.
    ///
    /// # Errors
    ///
    /// A fault at `id` when it is empty, over 200 bytes or holds a control character.
    pub fn new(id: impl Into<Arc<str>>) -> Result<Self, ValidationError> {
        Ok(Self::empty(SessionId::new(id)?))
    }

    /// A new session with nothing in it.
    #[must_use]
    pub fn empty(id: SessionId) -> Self {
        Self {
            id,
            uid: None,
            version: Version(0),
            machine: Run::MACHINE,
            created_at: None,
            updated_at: None,
            thread: Thread::new(),
            turn: 0,
            open_turn: None,
            inbox: Vec::new(),
            recent_inputs: Hashed::default(),
            run: None,
            failure: None,
            last_halt: None,
            usage: SessionUsage::default(),
            notes: Hashed::default(),
            history: RunningHash::default(),
        }
    }

    /// The caller's id.
    #[must_use]
    pub const fn id(&self) -> &SessionId {
        &self.id
    }

    /// Tells it from any other with its id; `None` before the first entry.
    #[must_use]
    pub const fn uid(&self) -> Option<SessionUid> {
        self.uid
    }

    /// How many entries were applied.
    #[must_use]
    pub const fn version(&self) -> Version {
        self.version
    }

    /// Where it stands in its store; `None` before the first entry.
    #[must_use]
    pub fn position(&self) -> Option<Position> {
        Some(Position {
            id: self.id.clone(),
            uid: self.uid?,
            version: self.version,
        })
    }

    /// The number of the rules by which the last run began.
    #[must_use]
    pub const fn machine(&self) -> u32 {
        self.machine
    }

    /// When it began; `None` before the first entry.
    #[must_use]
    pub const fn created_at(&self) -> Option<Timestamp> {
        self.created_at
    }

    /// When it was last written to; `None` before the first entry.
    #[must_use]
    pub const fn updated_at(&self) -> Option<Timestamp> {
        self.updated_at
    }

    /// The conversation as it stands, an open turn included.
    #[must_use]
    pub fn thread(&self) -> Thread {
        let mut thread = self.settled().clone();
        if let Some(turn) = self.unfinished_turn() {
            turn.lay_out(&mut thread);
        }
        thread
    }

    /// The conversation without an open turn.
    pub(super) fn settled(&self) -> &Thread {
        match &self.run {
            Some(state) => state.run.thread(),
            None => &self.thread,
        }
    }

    /// The open turn, if one of its calls is open.
    pub(super) fn unfinished_turn(&self) -> Option<&Arc<OpenTurn>> {
        self.open_turn.as_ref().filter(|turn| !turn.is_closed())
    }

    /// How many answers of a model were accepted, over the whole life of the session.
    #[must_use]
    pub const fn turn(&self) -> u32 {
        self.turn
    }

    /// The last turn with calls, as long as the model has not answered again.
    #[must_use]
    pub fn open_turn(&self) -> Option<&OpenTurn> {
        self.open_turn.as_deref()
    }

    /// Messages that are not delivered yet.
    #[must_use]
    pub fn inbox(&self) -> &[QueuedMessage] {
        &self.inbox
    }

    /// The run that has not ended.
    #[must_use]
    pub fn run(&self) -> Option<&RunState> {
        self.run.as_deref()
    }

    /// Why the status is `error`.
    #[must_use]
    pub fn failure(&self) -> Option<&SessionFailure> {
        self.failure.as_deref()
    }

    /// Why the last run stopped.
    #[must_use]
    pub const fn last_halt(&self) -> Option<&HaltReason> {
        self.last_halt.as_ref()
    }

    /// What it has used.
    #[must_use]
    pub const fn usage(&self) -> &SessionUsage {
        &self.usage
    }

    /// What handlers are told.
    #[must_use]
    pub fn context(&self) -> &Map {
        &self.notes.context
    }

    /// The caller's own.
    #[must_use]
    pub fn metadata(&self) -> &Map {
        &self.notes.metadata
    }

    /// What listings can be filtered by.
    #[must_use]
    pub fn tags(&self) -> &BTreeMap<String, String> {
        &self.notes.tags
    }

    /// How it stands. Computed from the data, never set.
    #[must_use]
    pub fn status(&self) -> SessionStatus {
        let waits = |kind| self.open_waits().any(|(_, _, wait)| wait.kind() == kind);
        status_of(
            self.failure.is_some(),
            self.run.is_some(),
            waits,
            self.last_halt.as_ref(),
            !self.inbox.is_empty() || self.has_ready_call(),
        )
    }

    /// What an unfinished run wants done next; `Finish` when there is none.
    #[must_use]
    pub fn command(&self) -> Command {
        match &self.run {
            Some(state) => state.run.command(),
            None => Command::Finish,
        }
    }

    /// Whether a worker may resume it: an unfinished run; or, with no failure and no open wait, something to do.
    #[must_use]
    pub fn is_runnable(&self) -> bool {
        if self.failure.is_some() {
            return false;
        }
        if self.run.is_some() {
            return true;
        }
        let stopped_for_outside = matches!(
            self.last_halt,
            Some(HaltReason::AskUser | HaltReason::ManualToolCalls)
        );
        self.open_waits().next().is_none()
            && (!self.inbox.is_empty() || self.has_ready_call() || stopped_for_outside)
    }

    /// Whether a call is to be run at the next resume.
    #[must_use]
    pub fn has_ready_call(&self) -> bool {
        let is_ready = |call: &TurnCall| {
            matches!(call.state, CallState::Ready { .. } | CallState::Intended(_))
        };
        self.unfinished_turn()
            .is_some_and(|turn| turn.calls().any(is_ready))
    }

    pub(super) fn open_waits(&self) -> impl Iterator<Item = (CallKey, &TurnCall, &Wait)> {
        let calls = self.open_turn.iter().flat_map(|turn| turn.keyed());
        calls.filter_map(|(key, call)| Some((key, call, call.wait()?)))
    }

    /// All open waits in call order, in every status.
    #[must_use]
    pub fn waits(&self) -> Vec<OpenWait> {
        let waits = self.open_waits().map(|(key, call, wait)| OpenWait {
            call: key,
            tool_call_id: call.call.id.clone(),
            tool: call.call.original_name().to_owned(),
            wait: wait.clone(),
        });
        waits.collect()
    }

    /// The open question with the lowest index.
    #[must_use]
    pub fn question(&self) -> Option<OpenWait> {
        self.waits()
            .into_iter()
            .find(|wait| wait.wait.kind() == WaitKind::Question)
    }

    /// The open requests for agreement, in call order.
    #[must_use]
    pub fn approvals(&self) -> Vec<Approval> {
        let approvals = self.open_waits().filter_map(|(_, _, wait)| match wait {
            Wait::Approval(approval) => Some((**approval).clone()),
            _ => None,
        });
        approvals.collect()
    }

    /// The calls that wait for a result from outside, in call order.
    #[must_use]
    pub fn pending_tool_calls(&self) -> Vec<Arc<crate::data::ToolCall>> {
        let results = self
            .open_waits()
            .filter(|(_, _, wait)| wait.kind() == WaitKind::Result);
        results.map(|(_, call, _)| Arc::clone(&call.call)).collect()
    }

    /// When the next wait expires.
    #[must_use]
    pub fn next_expiry(&self) -> Option<Timestamp> {
        self.open_waits()
            .filter_map(|(_, _, wait)| wait.expires_at())
            .min()
    }

    /// What a store keeps beside the journal.
    #[must_use]
    pub fn head(&self) -> HeadUpdate {
        HeadUpdate {
            status: self.status(),
            runnable: self.is_runnable(),
            tags: self.notes.tags.clone(),
            next_expiry: self.next_expiry(),
        }
    }

    /// Whether the conversation ends in something that the model may answer.
    pub(super) fn awaits_answer(&self) -> bool {
        let last = self.settled().last();
        last.is_some_and(|message| matches!(message.role, Role::User | Role::Tool))
    }
}

impl PartialEq for Session {
    /// How far the history has been hashed is no part of the state.
    fn eq(&self, other: &Self) -> bool {
        let Self {
            id,
            uid,
            version,
            machine,
            created_at,
            updated_at,
            thread,
            turn,
            open_turn,
            inbox,
            recent_inputs,
            run,
            failure,
            last_halt,
            usage,
            notes,
            history: _,
        } = self;
        *id == other.id
            && *uid == other.uid
            && *version == other.version
            && *machine == other.machine
            && *created_at == other.created_at
            && *updated_at == other.updated_at
            && (run.is_some() || *thread == other.thread)
            && *turn == other.turn
            && *open_turn == other.open_turn
            && *inbox == other.inbox
            && *recent_inputs == other.recent_inputs
            && *run == other.run
            && *failure == other.failure
            && *last_halt == other.last_halt
            && *usage == other.usage
            && *notes == other.notes
    }
}

/// The first that fits.
pub(super) fn status_of(
    has_failed: bool,
    is_running: bool,
    waits: impl Fn(WaitKind) -> bool,
    last_halt: Option<&HaltReason>,
    has_something_to_do: bool,
) -> SessionStatus {
    let ended_on_purpose = matches!(
        last_halt,
        Some(HaltReason::Completed | HaltReason::HaltWhen | HaltReason::Custom(_))
    );
    if has_failed {
        SessionStatus::Error
    } else if is_running {
        SessionStatus::InProgress
    } else if waits(WaitKind::Question) {
        SessionStatus::AwaitingUser
    } else if waits(WaitKind::Approval) {
        SessionStatus::AwaitingApproval
    } else if waits(WaitKind::Result) {
        SessionStatus::AwaitingTools
    } else if ended_on_purpose && !has_something_to_do {
        SessionStatus::Completed
    } else {
        SessionStatus::Idle
    }
}

/// A message that had not come to its end, as it stands in the conversation.
pub(super) fn marked_partial(mut message: Message) -> Message {
    message.metadata.insert(PARTIAL.to_owned(), true.into());
    message
}
