//! The turn whose calls are not all closed, and how it stands in the conversation.

use std::sync::Arc;

use serde_json::json;

use super::call::{CallState, Evidence, GoOn, Intent, Outcome, Question, Wait};
use super::hashed::Hashed;
use super::key::{CallKey, CallRef};
use crate::data::{Answer, ApprovalId, Hash, Map, Message, Part, Response, Thread, ToolCall};
use crate::limits::AWAITING_USER;
use crate::run::{OpenBatch, OpenSlot, question_message};

/// The last turn with calls: where each of them stands. It stays until the model answers again, so that an answer that
/// is given twice is recognised.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenTurn {
    /// The turn.
    pub turn: u32,
    /// In call order.
    pub(super) calls: Vec<Hashed<TurnCall>>,
    /// The assistant message.
    pub(super) message: Hashed<Arc<Message>>,
    /// Its place in the conversation.
    pub(super) position: usize,
}

/// A call of a turn.
#[derive(Clone, Debug, PartialEq)]
pub struct TurnCall {
    /// The call, as the model made it.
    pub call: Arc<ToolCall>,
    /// Where it stands.
    pub state: CallState,
    /// How often it was begun.
    pub attempts: u32,
    /// Its tool message.
    pub(super) message: Option<Arc<Message>>,
    /// The question that it asked, as long as the question stands in the conversation.
    pub(super) question: Option<Arc<Message>>,
    /// The answer to it.
    pub(super) answer: Option<Arc<Message>>,
    /// The approval that was asked for, if one was.
    pub(super) approval_id: Option<ApprovalId>,
    /// The hash of the input that closed or decided it.
    pub(super) decided: Option<Hash>,
    /// The arguments that a person put in place of the model's.
    pub(super) edited: Option<Map>,
    /// What a person answered the handler, for its next attempts.
    pub(super) given: Option<Answer>,
    /// Results of drivers that had lost the session, which came before anyone asked for them.
    pub(super) evidence: Vec<Evidence>,
}

impl TurnCall {
    pub(super) fn new(call: &ToolCall) -> Self {
        Self {
            call: Arc::new(call.clone()),
            state: CallState::Ready { approval: None },
            attempts: 0,
            message: None,
            question: None,
            answer: None,
            approval_id: None,
            decided: None,
            edited: None,
            given: None,
            evidence: Vec::new(),
        }
    }

    /// What it waits for.
    #[must_use]
    pub const fn wait(&self) -> Option<&Wait> {
        match &self.state {
            CallState::Waiting(wait) => Some(wait),
            _ => None,
        }
    }

    /// What it came to.
    #[must_use]
    pub const fn outcome(&self) -> Option<Outcome> {
        match &self.state {
            CallState::Closed(outcome) => Some(*outcome),
            _ => None,
        }
    }

    /// The intent that is written, while its outcome is not.
    #[must_use]
    pub const fn intent(&self) -> Option<&Intent> {
        match &self.state {
            CallState::Intended(intent) => Some(intent),
            _ => None,
        }
    }

    /// Whether what this attempt came to is known, though it came too late to count.
    #[must_use]
    pub fn has_evidence(&self, attempt: u32) -> bool {
        let waiting = match &self.state {
            CallState::Waiting(Wait::Result(wait)) => wait.evidence.as_slice(),
            _ => &[],
        };
        let mut evidence = self.evidence.iter().chain(waiting);
        evidence.any(|evidence| evidence.attempt == attempt)
    }

    /// What it is run with: the person's arguments, or the model's.
    #[must_use]
    pub fn arguments(&self) -> Arc<Map> {
        match &self.edited {
            Some(edited) => Arc::new(edited.clone()),
            None => self.call.arguments.clone().unwrap_or_default(),
        }
    }

    /// What a person answered the handler, which asked to go on; it gets it whenever it is run.
    #[must_use]
    pub const fn answer(&self) -> Option<&Answer> {
        self.given.as_ref()
    }

    /// What the model is told before the result, when a person changed the arguments.
    pub(super) fn note(&self) -> Option<String> {
        let edited = self.edited.as_ref()?;
        Some(json!({"edited_arguments": edited}).to_string())
    }

    /// Closes it with this message in place of whatever stood there.
    pub(super) fn close(&mut self, outcome: Outcome, message: Message) {
        self.state = CallState::Closed(outcome);
        self.message = Some(Arc::new(message));
        self.question = None;
        self.answer = None;
        self.given = None;
        self.evidence.clear();
    }

    /// It asks a person. What is asked for a tool to go on is no part of the conversation.
    pub(super) fn ask(&mut self, mut question: Question) {
        let id = &self.call.id;
        match &mut question.go_on {
            None => {
                self.message = Some(Arc::new(Message::tool_result(id.clone(), AWAITING_USER)));
                self.question = Some(Arc::new(question_message(&question.question, id)));
            }
            Some(go_on) => {
                if let Some(approved) = self.state.approved() {
                    go_on.approval = Some(approved.clone());
                }
                self.given = None;
            }
        }
        self.state = CallState::Waiting(Wait::Question(question));
    }

    /// The person has answered.
    pub(super) fn answered(&mut self, content: Vec<Part>) {
        let go_on = match &mut self.state {
            CallState::Waiting(Wait::Question(question)) => question.go_on.take(),
            _ => None,
        };
        if let Some(GoOn { state, approval }) = go_on {
            self.given = Some(Answer { content, state });
            self.state = CallState::Ready { approval };
        } else {
            self.state = CallState::Closed(Outcome::Asked);
            self.answer = Some(Arc::new(Message::user(content)));
        }
    }

    /// The question and its answer, as they stand after the results.
    pub(super) fn tail(&self) -> Vec<Arc<Message>> {
        match (&self.question, &self.answer) {
            (Some(question), Some(answer)) => vec![Arc::clone(question), Arc::clone(answer)],
            _ => Vec::new(),
        }
    }

    fn is_closed(&self) -> bool {
        matches!(self.state, CallState::Closed(_))
    }
}

impl OpenTurn {
    pub(super) fn new(turn: u32, message: Message, position: usize) -> Self {
        Self {
            turn,
            position,
            calls: (message.tool_calls.iter())
                .map(|call| Hashed::new(TurnCall::new(call)))
                .collect(),
            message: Hashed::new(Arc::new(message)),
        }
    }

    /// Whether every call has its outcome.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.calls().all(TurnCall::is_closed)
    }

    /// The key of a call.
    #[must_use]
    pub const fn key(&self, index: u32) -> CallKey {
        CallKey {
            turn: self.turn,
            index,
        }
    }

    /// The calls, in call order.
    pub fn calls(&self) -> impl DoubleEndedIterator<Item = &TurnCall> + ExactSizeIterator {
        self.calls.iter().map(|call| &**call)
    }

    pub(super) fn calls_mut(&mut self) -> impl Iterator<Item = &mut TurnCall> {
        self.calls.iter_mut().map(Hashed::change)
    }

    /// The calls with their keys, in call order.
    pub fn keyed(&self) -> impl DoubleEndedIterator<Item = (CallKey, &TurnCall)> {
        let turn = self.turn;
        let place = move |(index, call)| {
            let index = u32::try_from(index).unwrap_or(u32::MAX);
            (CallKey { turn, index }, call)
        };
        self.calls().enumerate().map(place)
    }

    /// The call that this names.
    #[must_use]
    pub fn find(&self, call: &CallRef) -> Option<(CallKey, &TurnCall)> {
        match call {
            CallRef::Key(key) => Some((*key, self.get(*key)?)),
            CallRef::Id(id) => self.keyed().find(|(_, call)| call.call.id == *id),
        }
    }

    /// The call with this key.
    #[must_use]
    pub fn get(&self, key: CallKey) -> Option<&TurnCall> {
        let place = usize::try_from(key.index).ok()?;
        let call = self.calls.get(place).filter(|_| key.turn == self.turn)?;
        Some(call)
    }

    pub(super) fn get_mut(&mut self, key: CallKey) -> Option<&mut TurnCall> {
        let place = usize::try_from(key.index).ok()?;
        let turn = self.turn;
        let call = self.calls.get_mut(place).filter(|_| key.turn == turn)?;
        Some(call.change())
    }

    /// Whether messages are kept here.
    pub(super) fn has_messages(&self) -> bool {
        self.calls().any(|call| call.message.is_some())
    }

    /// The messages stand in the conversation for good and need not be kept here.
    pub(super) fn settle(&mut self) {
        for call in self.calls_mut() {
            call.message = None;
            call.question = None;
            call.answer = None;
        }
    }

    /// Puts the turn behind what was said before: the answer, the results in call order, the answered questions with
    /// their answers in call order, then the first question that is not answered, if the answer goes to the model.
    pub(super) fn lay_out(&self, thread: &mut Thread) {
        let messages = &mut thread.messages;
        messages.push(Arc::clone(&self.message));
        messages.extend(self.calls().filter_map(|call| call.message.clone()));
        messages.extend(self.calls().flat_map(TurnCall::tail));
        let asks = |call: &&TurnCall| matches!(call.wait(), Some(Wait::Question(_)));
        let first = self.calls().find(asks);
        messages.extend(first.and_then(|call| call.question.clone()));
    }

    /// What a run goes on from.
    pub(super) fn to_batch(&self) -> OpenBatch {
        let slot = |call: &TurnCall| match (&call.state, &call.message) {
            (CallState::Closed(_), Some(message)) => OpenSlot::Closed {
                message: Arc::clone(message),
                tail: call.tail(),
            },
            (CallState::Waiting(Wait::Question(question)), Some(message)) => OpenSlot::Asked {
                message: Arc::clone(message),
                question: question.question.clone(),
                opts: question.options.clone(),
            },
            (CallState::Waiting(Wait::Question(question)), None) => OpenSlot::AskedToGoOn {
                question: question.question.clone(),
                opts: question.options.clone(),
            },
            (CallState::Waiting(_), _) => OpenSlot::Waiting,
            _ => OpenSlot::Ready,
        };
        OpenBatch {
            response: Response {
                finish_reason: self.message.finish_reason,
                ..Response::new(Message::clone(&self.message))
            },
            calls: self.calls().map(slot).collect(),
        }
    }
}
