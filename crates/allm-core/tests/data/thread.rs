//! Where a message goes in a conversation (loop.md §23, L158, L199).

use allm_core::{Message, Role, Thread, ToolCall};

fn asking(ids: &[&str]) -> Message {
    let calls = ids
        .iter()
        .map(|id| ToolCall::new(*id, "look", ""))
        .collect();
    Message::assistant("").with_tool_calls(calls)
}

/// Each message in short: the id that it answers, or its text.
fn shape(thread: &Thread) -> Vec<String> {
    let short = |message: &Message| match (&message.tool_call_id, message.role) {
        (Some(id), _) => id.to_string(),
        (None, Role::Assistant) if !message.tool_calls.is_empty() => "calls".to_owned(),
        _ => message.text(),
    };
    thread
        .messages
        .iter()
        .map(|message| short(message))
        .collect()
}

fn answer(id: &str) -> Message {
    Message::tool_result(id, "ok")
}

#[test]
fn l199_answers_land_in_call_order_however_they_come() {
    let orders = [
        ["m1", "a", "m2"],
        ["m1", "m2", "a"],
        ["a", "m1", "m2"],
        ["a", "m2", "m1"],
        ["m2", "m1", "a"],
        ["m2", "a", "m1"],
    ];
    for order in orders {
        let mut thread = Thread::from("hi").with(asking(&["m1", "a", "m2"]));
        for id in order {
            thread.push(answer(id));
        }
        assert_eq!(
            shape(&thread),
            ["hi", "calls", "m1", "a", "m2"],
            "{order:?}"
        );
    }
}

#[test]
fn l158_an_answer_after_a_question_goes_before_it() {
    let thread = Thread::from("hi")
        .with(asking(&["m", "a"]))
        .with(answer("a"))
        .with(Message::assistant("Which Boston?"))
        .with_user("The one in MA")
        .with(answer("m"));
    assert_eq!(
        shape(&thread),
        ["hi", "calls", "m", "a", "Which Boston?", "The one in MA"]
    );
}

#[test]
fn l158_the_latest_unanswered_call_of_an_id_is_answered() {
    let thread = Thread::from("hi")
        .with(asking(&["c1"]))
        .with(answer("c1"))
        .with(asking(&["c1", "c2"]))
        .with(Message::user("well?"))
        .with(answer("c2"))
        .with(answer("c1"));
    assert_eq!(
        shape(&thread),
        ["hi", "calls", "c1", "calls", "c1", "c2", "well?"]
    );
}

#[test]
fn l158_an_earlier_turn_is_answered_when_the_later_one_is() {
    let thread = Thread::from("hi")
        .with(asking(&["c1"]))
        .with(asking(&["c1"]))
        .with(answer("c1"))
        .with(answer("c1"));
    assert_eq!(shape(&thread), ["hi", "calls", "c1", "calls", "c1"]);
}

#[test]
fn l158_an_answer_to_nothing_goes_to_the_end() {
    let thread = Thread::from("hi")
        .with(asking(&["c1"]))
        .with(answer("c1"))
        .with_user("more")
        .with(answer("c1"))
        .with(answer("c9"));
    assert_eq!(shape(&thread), ["hi", "calls", "c1", "more", "c1", "c9"]);
}

#[test]
fn l158_two_calls_of_one_id_take_two_answers() {
    let thread = Thread::from("hi")
        .with(asking(&["c1", "c1"]))
        .with_user("?")
        .with(answer("c1"))
        .with(answer("c1"));
    assert_eq!(shape(&thread), ["hi", "calls", "c1", "c1", "?"]);
}

#[test]
fn l199_only_tool_messages_are_moved() {
    let odd = Message {
        tool_call_id: Some("c1".into()),
        ..Message::user("x")
    };
    let thread = Thread::from("hi")
        .with(asking(&["c1"]))
        .with_user("?")
        .with(odd);
    assert_eq!(shape(&thread), ["hi", "calls", "?", "c1"]);
}

#[test]
fn l199_a_push_does_not_change_a_clone() {
    let before = Thread::from("hi").with(asking(&["c1"])).with_user("?");
    let after = before.clone().with(answer("c1"));
    assert_eq!(shape(&before), ["hi", "calls", "?"]);
    assert_eq!(shape(&after), ["hi", "calls", "c1", "?"]);
}
