//! What can be wrong with a session that was read.

use super::call::{
    Approval, Approved, AwaitedResult, CallState, GoOn, Intent, Question, Wait, arguments_hash,
};
use super::form::{SessionForm, TurnForm};
use super::key::CallKey;
use super::ops::tag_faults;
use super::state::{Session, status_of};
use crate::data::{AnswerTo, Map, Message, Role, ToolCall, ToolCallId, Version};
use crate::error::{Fault, FaultCode, ValidationError};
use crate::limits::AWAITING_USER;
use crate::path::Path;
use crate::validate;

/// Every fault, in the order of the contract.
pub(super) fn faults_of(form: &SessionForm<'_>) -> Vec<Fault> {
    let calls = call_states(form);
    let mut faults = Vec::new();
    status(form, &calls, &mut faults);
    thread(form, &calls, &mut faults);
    if let Some(turn) = &form.open_turn {
        open_turn(form, turn, &calls, &mut faults);
    }
    for (index, queued) in form.inbox.iter().enumerate() {
        let path = Path::from("inbox").index(index).field("message");
        put_below(validate::message(&queued.message), &path, &mut faults);
        if queued.message.role != Role::User {
            faults.push(Fault::new(path.field("role"), FaultCode::NotAllowed));
        }
    }
    if form.recent_inputs.len() > Session::REMEMBERED_INPUTS {
        faults.push(Fault::new("recent_inputs", FaultCode::TooLarge));
    }
    if form.failure.is_some() && form.run.is_some() {
        let fault = Fault::new("failure", FaultCode::NotAllowed);
        faults.push(fault.detail("a run is unfinished"));
    }
    beginning(form, &mut faults);
    faults.extend(tag_faults(form.tags.iter()));
    faults
}

/// Where each call of the open turn stands; `None` where that cannot be said.
fn call_states(form: &SessionForm<'_>) -> Vec<Option<CallState>> {
    let calls = form.open_turn.iter().flat_map(|turn| &turn.calls);
    calls.map(|call| call.to_state().ok()).collect()
}

fn status(form: &SessionForm<'_>, calls: &[Option<CallState>], faults: &mut Vec<Fault>) {
    let states = || calls.iter().flatten();
    let waits = |kind| {
        states().any(|state| matches!(state, CallState::Waiting(wait) if wait.kind() == kind))
    };
    let is_ready =
        states().any(|state| matches!(state, CallState::Ready { .. } | CallState::Intended(_)));
    let found = status_of(
        form.failure.is_some(),
        form.run.is_some(),
        waits,
        form.last_halt.as_ref(),
        !form.inbox.is_empty() || is_ready,
    );
    if found != form.status {
        let fault = Fault::new("status", FaultCode::Contradiction);
        faults.push(fault.detail(format!("the data says {found}")));
    }
}

/// Each message, and their order; calls that are open may be without an answer.
fn thread(form: &SessionForm<'_>, calls: &[Option<CallState>], faults: &mut Vec<Fault>) {
    let root = Path::from("thread");
    put_below(validate::thread(&form.thread), &root, faults);
    if form.thread.is_empty() {
        return;
    }
    let Err(error) = validate::sendable(&form.thread.messages) else {
        return;
    };
    let open: Vec<Path> = match &form.open_turn {
        None => Vec::new(),
        Some(turn) => {
            let calls = calls.iter().enumerate();
            let open = calls.filter(|(_, state)| state.as_ref().is_some_and(needs_no_message));
            let message = Path::from("messages").index(turn.message);
            open.map(|(index, _)| message.clone().field("tool_calls").index(index))
                .collect()
        }
    };
    for fault in error.faults {
        let is_open = fault.code == FaultCode::UnansweredToolCall && open.contains(&fault.path);
        let fault = Fault {
            path: fault.path.below(&root),
            ..fault
        };
        if !is_open && !faults.contains(&fault) {
            faults.push(fault);
        }
    }
}

/// An open call has no message; one that asked for the model has the sentinel.
fn needs_no_message(state: &CallState) -> bool {
    match state {
        CallState::Closed(_) => false,
        CallState::Waiting(Wait::Question(question)) => question.answer_to() == AnswerTo::Tool,
        CallState::Waiting(_) => true,
        CallState::Ready { .. } | CallState::Intended(_) => true,
    }
}

fn open_turn(
    form: &SessionForm<'_>,
    turn: &TurnForm<'_>,
    calls: &[Option<CallState>],
    faults: &mut Vec<Fault>,
) {
    let root = Path::from("open_turn");
    let mut wrong = |path: Path, detail: &str| {
        faults.push(Fault::new(path, FaultCode::Contradiction).detail(detail));
    };
    if turn.turn != form.turn {
        wrong(root.clone().field("turn"), "it is not the last turn");
    }
    let message = form.thread.messages.get(turn.message);
    let Some(message) = message.filter(|message| message.role == Role::Assistant) else {
        return wrong(root.field("message"), "it is no assistant message");
    };
    if message.tool_calls.len() != turn.calls.len() {
        let detail = "there is not one for each call of the message";
        return wrong(root.field("calls"), detail);
    }
    let results: Vec<&Message> = form
        .thread
        .messages
        .iter_from(turn.message.saturating_add(1))
        .take_while(|message| message.role == Role::Tool)
        .map(|message| &**message)
        .collect();
    let entries = turn.calls.iter().zip(calls).zip(&message.tool_calls);
    for (index, ((entry, state), call)) in entries.enumerate() {
        let path = root.clone().field("calls").index(index);
        if usize::try_from(entry.index) != Ok(index) {
            wrong(path.clone().field("index"), "the calls are not in order");
        }
        let Some(state) = state else {
            let detail = "a call has the fields of its state and no others";
            wrong(path, detail);
            continue;
        };
        let result = result_of(&results, &call.id);
        match state {
            state if needs_no_message(state) && result.is_some() => {
                wrong(path, "an open call has no message");
            }
            CallState::Waiting(Wait::Question(Question { go_on: None, .. }))
                if result.is_some_and(|message| message.text() != AWAITING_USER) =>
            {
                wrong(path, "a call that asked has the sentinel as its message");
            }
            CallState::Waiting(Wait::Question(Question {
                go_on:
                    Some(GoOn {
                        approval: Some(approved),
                        ..
                    }),
                ..
            })) => check_approved(
                approved,
                call,
                path.field("wait").field("go_on"),
                &mut wrong,
            ),
            CallState::Ready {
                approval: Some(approved),
            } => check_approved(approved, call, path, &mut wrong),
            CallState::Intended(Intent {
                approval: Some(approved),
                ..
            }) => check_approved(approved, call, path.field("intent"), &mut wrong),
            CallState::Waiting(Wait::Result(AwaitedResult {
                approval: Some(approved),
                ..
            })) => check_approved(approved, call, path.field("wait"), &mut wrong),
            CallState::Waiting(Wait::Approval(approval)) => {
                let key = CallKey {
                    turn: turn.turn,
                    index: entry.index,
                };
                check_approval(approval, key, &path.field("wait"), &mut wrong);
            }
            _ => {}
        }
    }
}

fn result_of<'a>(results: &[&'a Message], id: &ToolCallId) -> Option<&'a Message> {
    let mut results = results.iter();
    results
        .find(|message| message.tool_call_id.as_ref() == Some(id))
        .copied()
}

fn check_approval(
    approval: &Approval,
    key: CallKey,
    path: &Path,
    wrong: &mut impl FnMut(Path, &str),
) {
    if approval.arguments_hash != arguments_hash(&approval.arguments) {
        let path = path.clone().field("arguments_hash");
        wrong(path, "it is not the hash of the arguments");
    }
    if approval.call != key {
        wrong(path.clone().field("call"), "it is about another call");
    }
}

/// What was agreed to is what will be run.
fn check_approved(
    approved: &Approved,
    call: &ToolCall,
    path: Path,
    wrong: &mut impl FnMut(Path, &str),
) {
    let arguments = approved.edited.as_ref().or(call.arguments.as_deref());
    let hash = arguments.map_or_else(|| arguments_hash(&Map::new()), arguments_hash);
    if approved.arguments_hash != hash {
        let path = path.field("approval").field("arguments_hash");
        wrong(path, "it is not the hash of the arguments");
    }
}

/// What the first entry sets is there from then on, and time does not go back.
fn beginning(form: &SessionForm<'_>, faults: &mut Vec<Fault>) {
    let has_begun = form.version > Version(0);
    let facts = [
        ("uid", form.uid.is_some()),
        ("created_at", form.created_at.is_some()),
        ("updated_at", form.updated_at.is_some()),
    ];
    for (name, is_there) in facts {
        match (has_begun, is_there) {
            (true, false) => faults.push(Fault::new(name, FaultCode::Required)),
            (false, true) => faults.push(Fault::new(name, FaultCode::NotAllowed)),
            _ => {}
        }
    }
    if let (Some(created), Some(updated)) = (form.created_at, form.updated_at)
        && updated < created
    {
        let fault = Fault::new("updated_at", FaultCode::OutOfRange);
        faults.push(fault.detail("it is before `created_at`"));
    }
}

fn put_below(result: Result<(), ValidationError>, parent: &Path, faults: &mut Vec<Fault>) {
    if let Err(error) = result {
        let below = error.faults.into_iter().map(|fault| Fault {
            path: fault.path.below(parent),
            ..fault
        });
        faults.extend(below);
    }
}
