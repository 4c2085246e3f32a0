//! What was found right once is not looked at again, and that changes no answer.

#![allow(clippy::expect_used, reason = "these are tests")]

use std::sync::Arc;

use allm_core::{Message, Messages, ProviderName, Request, ToolCall, validate};

/// Messages of every kind that the order of a conversation tells apart.
fn kinds() -> Vec<Arc<Message>> {
    let calls = |ids: &[&str]| {
        let calls = ids.iter().map(|id| ToolCall::new(*id, "look", "{}"));
        Message::assistant("").with_tool_calls(calls.collect())
    };
    let kinds = [
        Message::user("hi"),
        Message::user(""),
        Message::assistant("yes"),
        calls(&["a"]),
        calls(&["a", "b"]),
        Message::tool_result("a", "1"),
        Message::tool_result("b", "2"),
    ];
    kinds.map(Arc::new).into()
}

fn checked(messages: &Messages, provider: &str) -> String {
    let request = Request {
        messages: messages.clone(),
        ..Request::default()
    };
    let provider = ProviderName::from(provider);
    format!("{:?}", validate::request_for(&request, &provider))
}

fn afresh(messages: &Messages) -> Messages {
    messages.iter().cloned().collect()
}

/// Every list of three messages, checked, cut anywhere, and gone on with by two others.
#[test]
fn what_was_right_before_changes_no_answer() {
    let kinds = kinds();
    let lists = |length: u32| {
        let count = kinds.len();
        (0..count.pow(length)).map(move |number| {
            let places = (0..length).map(move |place| number / count.pow(place) % count);
            places.collect::<Vec<_>>()
        })
    };
    let of = |places: &[usize]| -> Vec<Arc<Message>> {
        let kinds = places.iter().filter_map(|place| kinds.get(*place));
        kinds.cloned().collect()
    };
    for begin in lists(3) {
        let whole: Messages = of(&begin).into_iter().collect();
        let first = checked(&whole, "p");
        assert_eq!(first, checked(&whole, "p"));
        for cut in 0..=3 {
            for more in lists(2) {
                let mut list = whole.clone();
                list.truncate(cut);
                list.extend(of(&more));
                assert_eq!(
                    checked(&list, "p"),
                    checked(&afresh(&list), "p"),
                    "{list:?}"
                );
                // The notes are those of the list before.
                assert_eq!(checked(&whole, "p"), first);
            }
        }
        assert_eq!(checked(&whole, "q"), checked(&afresh(&whole), "q"));
    }
}
