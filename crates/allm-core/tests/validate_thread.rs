//! The order of messages: C32 to C37, C50 and L282.

mod support;

use allm_core::validate::{self, OpenCall};
use allm_core::{
    Fault, FaultCode, Message, Messages, Path, Request, Role, Thread, ToolCall, ValidationError,
    ValidationReason,
};
use proptest::prelude::*;
use support::told;

fn calling<const N: usize>(ids: [&str; N]) -> Message {
    let calls = ids.map(|id| ToolCall::new(id, "f", "{}"));
    Message::assistant("").with_tool_calls(calls.into())
}

fn answer(id: &str) -> Message {
    Message::tool_result(id, "done")
}

fn thread<const N: usize>(messages: [Message; N]) -> Thread {
    Thread::from(Vec::from(messages))
}

fn told_of<const N: usize>(messages: [Message; N]) -> Vec<String> {
    let thread = thread(messages);
    let told_by_order = told(validate::sendable(&thread.messages));
    // The whole check says the same of a thread in which nothing but the order is wrong.
    assert_eq!(
        told(validate::request(&Request::new(thread))),
        told_by_order
    );
    told_by_order
}

#[test]
fn c32_unanswered_call_is_storable_and_not_sendable() {
    let waiting = [Message::user("hi"), calling(["a", "b"]), answer("a")];
    assert_eq!(told(validate::thread(&thread(waiting.clone()))), [""; 0]);
    assert_eq!(
        told_of(waiting),
        [
            "invalid_thread",
            "messages[1].tool_calls[1]: unanswered_tool_call"
        ]
    );
}

#[test]
fn c33_a_result_of_no_call_is_an_orphan() {
    assert_eq!(
        told_of([
            Message::user("hi"),
            calling(["a"]),
            answer("a"),
            answer("x")
        ]),
        ["invalid_thread", "messages[3]: orphan_tool_result"]
    );
    assert_eq!(
        told_of([answer("x")]),
        ["invalid_thread", "messages[0]: orphan_tool_result"]
    );
}

#[test]
fn c33_a_second_answer_is_a_duplicate() {
    assert_eq!(
        told_of([
            Message::user("hi"),
            calling(["a", "b"]),
            answer("a"),
            answer("b"),
            answer("a")
        ]),
        ["invalid_thread", "messages[4]: duplicate_tool_result"]
    );
}

#[test]
fn c33_an_answer_after_a_user_message_is_misplaced() {
    assert_eq!(
        told_of([calling(["a"]), Message::user("wait"), answer("a")]),
        [
            "invalid_thread",
            "messages[0].tool_calls[0]: unanswered_tool_call",
            "messages[2]: misplaced_tool_result"
        ]
    );
}

#[test]
fn c33_an_answer_in_the_block_of_another_call_is_misplaced() {
    assert_eq!(
        told_of([calling(["a"]), answer("a"), calling(["b"]), answer("a")]),
        [
            "invalid_thread",
            "messages[2].tool_calls[0]: unanswered_tool_call",
            "messages[3]: misplaced_tool_result"
        ]
    );
}

#[test]
fn c34_results_in_any_order_are_accepted() {
    let mut thread = Thread::from(vec![
        calling(["a", "b", "c"]),
        answer("c"),
        answer("a"),
        answer("b"),
    ]);
    assert_eq!(validate::sendable(&thread.messages), Ok(()));
    thread.push(Message::user("thanks"));
    assert_eq!(validate::request(&Request::new(thread)), Ok(()));
}

#[test]
fn c35_an_id_may_come_again_in_a_later_turn() {
    assert_eq!(
        told_of([
            calling(["a"]),
            answer("a"),
            calling(["a"]),
            answer("a"),
            Message::user("hi"),
            calling(["a"]),
            answer("a"),
        ]),
        [""; 0]
    );
    assert_eq!(
        told_of([calling(["a"]), answer("a"), calling(["a"])]),
        [
            "invalid_thread",
            "messages[2].tool_calls[0]: unanswered_tool_call"
        ]
    );
}

#[test]
fn c36_an_id_twice_in_one_message_is_a_duplicate() {
    let twice = thread([
        calling(["a", "a", "b"]),
        answer("a"),
        answer("a"),
        answer("b"),
    ]);
    let expected = ["invalid_message", "messages[0].tool_calls[1].id: duplicate"];
    assert_eq!(told(validate::thread(&twice)), expected);
    assert_eq!(told(validate::request(&Request::new(twice))), expected);
}

#[test]
fn c37_an_empty_thread_is_good_data_and_not_sendable() {
    assert_eq!(validate::thread(&Thread::new()), Ok(()));
    let expected = Err(ValidationError::new(
        ValidationReason::InvalidThread,
        vec![Fault::new("messages", FaultCode::Empty)],
    ));
    assert_eq!(validate::sendable(&Messages::new()), expected);
    assert_eq!(validate::request(&Request::default()), expected);
}

#[test]
fn l282_each_fault_of_the_order_has_its_code_and_its_message() {
    assert_eq!(
        told_of([
            Message::user("hi"),
            calling(["a", "b", "c"]),
            answer("a"),
            answer("a"),
            answer("x"),
            Message::user("and"),
            answer("b"),
        ]),
        [
            "invalid_thread",
            "messages[1].tool_calls[1]: unanswered_tool_call",
            "messages[1].tool_calls[2]: unanswered_tool_call",
            "messages[3]: duplicate_tool_result",
            "messages[4]: orphan_tool_result",
            "messages[6]: misplaced_tool_result",
        ]
    );
}

#[test]
fn l178_a_tool_message_without_an_id_is_a_fault_of_the_thread() {
    let nameless = || Message {
        tool_call_id: None,
        ..answer("a")
    };
    assert_eq!(
        told_of([calling(["a"]), answer("a"), nameless()]),
        ["invalid_thread", "messages[2].tool_call_id: required"]
    );
    assert_eq!(
        told(validate::message(&nameless())),
        ["invalid_message", "tool_call_id: required"]
    );
}

#[test]
fn open_calls_are_those_of_the_last_message_with_calls() {
    let open = |index, id: &str| OpenCall {
        message: 2,
        index,
        id: id.into(),
    };
    let mut thread = thread([
        calling(["a"]),
        Message::user("never answered"),
        calling(["a", "b", "c", "d"]),
        answer("c"),
        answer("x"),
        answer("a"),
        Message::user("go on"),
    ]);
    assert_eq!(
        validate::open_calls(&thread.messages),
        [open(1, "b"), open(3, "d")]
    );
    thread.push(answer("d"));
    assert_eq!(validate::open_calls(&thread.messages), [open(1, "b")]);
    thread.push(answer("b"));
    assert_eq!(validate::open_calls(&thread.messages), []);
    assert_eq!(validate::open_calls(&Messages::new()), []);
}

// Work that grew with the square of these sizes would take minutes.

#[test]
fn c50_a_very_long_thread() {
    let turn = |_| {
        [
            Message::user("hi"),
            calling(["a"]),
            answer("a"),
            answer("x"),
        ]
    };
    let request = Request::new(Thread::from((0..50_000).flat_map(turn).collect::<Vec<_>>()));
    assert_eq!(request.messages.len(), 200_000);
    let error = validate::request(&request).unwrap_err();
    assert_eq!(error.faults.len(), 50_000);
    assert_eq!(validate::open_calls(&request.messages), []);
}

#[test]
fn c50_very_many_calls_in_one_message() {
    let ids: Vec<String> = (0..20_000).map(|number| format!("call-{number}")).collect();
    let calls = ids.iter().map(|id| ToolCall::new(id.as_str(), "f", "{}"));
    let assistant = Message::assistant("").with_tool_calls(calls.collect());
    let answers = ids.iter().rev().map(|id| answer(id));
    let messages: Messages = std::iter::once(assistant).chain(answers).collect();
    assert_eq!(validate::request(&Request::new(messages.clone())), Ok(()));

    let unanswered: Messages = messages.iter().take(1).cloned().collect();
    let error = validate::sendable(&unanswered).unwrap_err();
    assert_eq!(error.faults.len(), 20_000);
    assert_eq!(validate::open_calls(&unanswered).len(), 20_000);
}

#[test]
fn c50_very_many_results_out_of_place() {
    let ids: Vec<String> = (0..20_000).map(|number| format!("call-{number}")).collect();
    let turns = ids.iter().map(|id| calling([id]));
    let answers = ids.iter().map(|id| answer(id));
    let messages: Messages = turns.chain(answers).collect();
    let error = validate::sendable(&messages).unwrap_err();
    // The last call is answered by its block; every other one is open, and its answer stands elsewhere.
    assert_eq!(error.faults.len(), 2 * 19_999);
}

/// The rule of the contract word for word, looking everywhere for everything.
fn naive(messages: &[Message]) -> Vec<Fault> {
    let at = |index| Path::from("messages").index(index);
    let named = |message: &Message| message.tool_call_id.clone().filter(|id| !id.is_empty());
    let mut faults = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        if message.role == Role::Tool && named(message).is_none() {
            faults.push(Fault::new(
                at(index).field("tool_call_id"),
                FaultCode::Required,
            ));
        }
    }
    if messages.is_empty() {
        faults.push(Fault::new("messages", FaultCode::Empty));
    }
    for (index, message) in messages.iter().enumerate() {
        if message.role == Role::Assistant {
            let block = messages.iter().skip(index + 1);
            let block: Vec<_> = block.take_while(|m| m.role == Role::Tool).collect();
            for (number, call) in message.tool_calls.iter().enumerate() {
                let answers = block.iter().filter(|m| named(m).as_ref() == Some(&call.id));
                let before = message.tool_calls.iter().take(number);
                if answers.count() <= before.filter(|other| other.id == call.id).count() {
                    let path = at(index).field("tool_calls").index(number);
                    faults.push(Fault::new(path, FaultCode::UnansweredToolCall));
                }
            }
        }
        let (Role::Tool, Some(id)) = (message.role, named(message)) else {
            continue;
        };
        let before = messages.iter().take(index).rev();
        let owner = before.clone().find(|m| m.role != Role::Tool);
        let earlier = before
            .take_while(|m| m.role == Role::Tool)
            .filter(|m| named(m).as_ref() == Some(&id))
            .count();
        let calls_of = |m: &Message| match m.role {
            Role::Assistant => m.tool_calls.iter().filter(|call| call.id == id).count(),
            _ => 0,
        };
        let code = match owner.map_or(0, calls_of) {
            0 if messages.iter().any(|m| calls_of(m) > 0) => FaultCode::MisplacedToolResult,
            0 => FaultCode::OrphanToolResult,
            calls if earlier >= calls => FaultCode::DuplicateToolResult,
            _ => continue,
        };
        faults.push(Fault::new(at(index), code));
    }
    faults
}

fn id() -> impl Strategy<Value = &'static str> + Clone {
    prop_oneof![1 => Just(""), 8 => Just("a"), 8 => Just("b"), 8 => Just("c")]
}

fn any_message() -> impl Strategy<Value = Message> {
    let calls = prop::collection::vec(id(), 0..4).prop_map(|ids| {
        let calls = ids.into_iter().map(|id| ToolCall::new(id, "f", "{}"));
        Message::assistant("").with_tool_calls(calls.collect())
    });
    prop_oneof![
        2 => Just(Message::user("hi")),
        // Calls where they have no meaning open no block.
        1 => calls.clone().prop_map(|message| Message { role: Role::User, ..message }),
        4 => calls,
        8 => id().prop_map(answer),
        1 => Just(Message { tool_call_id: None, ..answer("a") }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn l282_sendable_agrees_with_the_naive_rule(
        messages in prop::collection::vec(any_message(), 0..14)
    ) {
        let expected = naive(&messages);
        let found = validate::sendable(&Messages::from(messages));
        let faults = found.map_or_else(|error| error.faults, |()| Vec::new());
        prop_assert_eq!(faults, expected);
    }

    #[test]
    fn l282_pushing_an_answer_for_every_open_call_makes_a_thread_sendable(
        turns in prop::collection::vec(prop::collection::hash_set("[a-d]", 0..4), 1..5),
        order in any::<bool>(),
    ) {
        let mut thread = Thread::new();
        for ids in turns {
            let calls = ids.iter().map(|id| ToolCall::new(id.as_str(), "f", "{}"));
            thread.push(Message::assistant("").with_tool_calls(calls.collect()));
            let mut open = validate::open_calls(&thread.messages);
            if order {
                open.reverse();
            }
            thread.push(Message::user("wait"));
            for call in open {
                thread.push(Message::tool_result(call.id, "done"));
            }
        }
        prop_assert_eq!(validate::sendable(&thread.messages), Ok(()));
    }
}
