//! What must hold after every entry.

use std::collections::BTreeMap;

use allm_core::run::RunEnd;
use allm_core::session::{Applied, CallState, OpenWait, Session, Wait, read};
use allm_core::{AnswerTo, Entry, HaltReason, Map, Role, ToolCallId, json, validate};

use super::sim::Sim;

pub(crate) fn after_entry(sim: &mut Sim, before: &Session, entry: &Entry, applied: &Applied) {
    let session = &sim.session;
    stored_and_restored(session);

    // Another process that reads the journal comes to the same session, by the same events.
    let written = read(entry).expect("a sealed entry can be read");
    let replayed = sim
        .replica
        .replay(&written)
        .expect("a sealed entry replays");
    assert_eq!(&replayed, applied);
    assert_eq!(sim.replica, *session);
    assert_eq!(session.version(), before.version().next());
    assert!(session.updated_at() >= before.updated_at());
    assert!(
        session.turn() >= before.turn(),
        "a turn is never given back"
    );

    if let Some(end) = &applied.ended {
        assert!(session.run().is_none());
        thread_is_that_of_the_result(session, end);
    }
    thread_is_sendable(session);
    calls_have_their_messages(session);
    if !matches!(written.body.kind(), "created" | "annotated") {
        assert_eq!(facts(session), facts(before), "{}", written.body.kind());
    }
}

fn facts(session: &Session) -> (Map, Map, BTreeMap<String, String>) {
    (
        session.context().clone(),
        session.metadata().clone(),
        session.tags().clone(),
    )
}

/// S53: encode and decode change nothing.
pub(crate) fn stored_and_restored(session: &Session) {
    let bytes = json::to_vec(session).expect("a session can be written");
    let mut read = match Session::from_json(&bytes) {
        Ok(read) => read,
        Err(error) => panic!("{error:?}\n{}", String::from_utf8_lossy(&bytes)),
    };
    assert_eq!(read, *session);
    assert_eq!(json::to_vec(&read).unwrap(), bytes);
    let command = |session: &Session| session.run().map(|state| state.run().command());
    assert_eq!(command(&read), command(session));
    assert_eq!(
        read.state_hash().unwrap(),
        session.clone().state_hash().unwrap()
    );
    assert_eq!(read.head(), session.head());
}

/// The thread of the session equals that of the result, but for a failed turn, and for a question that is open beside
/// another halt.
fn thread_is_that_of_the_result(session: &Session, end: &RunEnd) {
    let RunEnd::Result(result) = end else { return };
    let mut thread = session.thread();
    if result.halted_reason == HaltReason::Error {
        let kept = thread.len();
        assert!(kept <= result.thread.len());
        let mut beginning = result.thread.clone();
        beginning.messages.truncate(kept);
        assert_eq!(thread, beginning);
        return;
    }
    let for_model = |wait: &OpenWait| asks_for_model(&wait.wait);
    if session.question().as_ref().is_some_and(for_model)
        && result.halted_reason != HaltReason::AskUser
    {
        let question = thread.messages.pop().expect("the question");
        assert_eq!(question.metadata.get("ask_user"), Some(&true.into()));
    }
    assert_eq!(thread, result.thread);
}

/// What is asked for a tool to go on is no part of the conversation.
fn asks_for_model(wait: &Wait) -> bool {
    matches!(wait, Wait::Question(question) if question.answer_to() == AnswerTo::Model)
}

/// S10, S13: every call of a closed turn has exactly one tool message; a thread without an open turn can be sent.
fn thread_is_sendable(session: &Session) {
    let mut thread = session.thread();
    if thread.is_empty() {
        return;
    }
    let open: Vec<ToolCallId> = match session.open_turn() {
        None => Vec::new(),
        Some(turn) => {
            let is_open = |call: &&allm_core::session::TurnCall| {
                let asks = call.wait().is_some_and(asks_for_model);
                call.outcome().is_none() && !asks
            };
            let open = turn.calls().filter(is_open);
            open.map(|call| call.call.id.clone()).collect()
        }
    };
    for id in open {
        thread.push(allm_core::Message::tool_result(id, "open"));
    }
    if let Err(error) = validate::sendable(&thread.messages) {
        panic!("{error}: {:#?}", session.thread());
    }
    validate::thread(&thread).expect("every message is good");
}

/// S10: of the last turn with calls, each closed call has one message, each open one none or the sentinel.
fn calls_have_their_messages(session: &Session) {
    let Some(turn) = session.open_turn() else {
        return;
    };
    assert_eq!(turn.turn, session.turn());
    let thread = session.thread();
    let place = thread
        .messages
        .iter()
        .rposition(|message| {
            message.role == Role::Assistant
                && message.tool_calls.len() == turn.calls().len()
                && message
                    .tool_calls
                    .iter()
                    .zip(turn.calls())
                    .all(|(call, known)| *call == *known.call)
        })
        .expect("the message of the turn stands in the thread");
    let results: Vec<_> = thread
        .messages
        .iter_from(place + 1)
        .take_while(|message| message.role == Role::Tool)
        .collect();
    let mut expected = Vec::new();
    for call in turn.calls() {
        match &call.state {
            CallState::Closed(_) => expected.push(call.call.id.clone()),
            CallState::Waiting(wait) if asks_for_model(wait) => {
                expected.push(call.call.id.clone());
            }
            _ => {}
        }
    }
    let found: Vec<ToolCallId> = results
        .iter()
        .filter_map(|message| message.tool_call_id.clone())
        .collect();
    assert_eq!(found, expected, "results in call order");
}
