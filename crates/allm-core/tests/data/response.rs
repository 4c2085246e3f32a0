//! Answers (core.md, C52 to C58) and results (loop.md, L149).

use allm_core::{
    AdapterError, AdapterReason, ChatResult, Error, ErrorKind, Failure, FinishReason, HaltReason,
    HasCalls, Interrupted, JsonReason, Map, Message, Part, Path, Response, StreamError, Thread,
    ToolCall, Unfinished, json,
};
use serde::Deserialize;

const ALL: [Option<FinishReason>; 7] = [
    None,
    Some(FinishReason::Stop),
    Some(FinishReason::Length),
    Some(FinishReason::ToolCalls),
    Some(FinishReason::ContentFilter),
    Some(FinishReason::Error),
    Some(FinishReason::Other),
];

fn answer(text: &str, reason: Option<FinishReason>) -> Response {
    Response {
        finish_reason: reason,
        ..Response::new(Message::assistant(text))
    }
}

fn overloaded() -> Error {
    AdapterError::new("openai", AdapterReason::ProviderUnavailable, "Overloaded").into()
}

fn failed() -> Response {
    Response {
        error: Some(Failure::from(overloaded())),
        ..answer("I thi", Some(FinishReason::Error))
    }
}

#[test]
fn c52_a_failed_answer_keeps_its_text_and_is_interrupted() {
    let response = failed();
    assert_eq!(response.text(), "I thi");
    let expected = Error::from(Interrupted {
        partial: response.clone(),
        source: overloaded(),
    });
    assert_eq!(response.clone().into_result(), Err(expected.clone()));
    assert_eq!(response.into_text(), Err(expected));
}

#[test]
fn c52_a_failed_answer_without_a_failure_was_interrupted() {
    let response = answer("I thi", Some(FinishReason::Error));
    let expected = Interrupted {
        partial: response.clone(),
        source: StreamError::interrupted().into(),
    };
    assert_eq!(response.into_result(), Err(expected.into()));
}

#[test]
fn c52_an_answer_that_did_not_fail_is_ok() {
    for reason in ALL
        .into_iter()
        .filter(|reason| *reason != Some(FinishReason::Error))
    {
        let response = answer("hi", reason);
        assert_eq!(response.clone().into_result(), Ok(response));
    }
}

#[test]
fn c53_only_stop_gives_the_text() {
    for reason in ALL {
        let response = answer("hi", reason);
        let expected = match reason {
            Some(FinishReason::Stop) => Ok("hi".to_owned()),
            Some(FinishReason::Error) => Err(Interrupted::new(response.clone()).into()),
            _ => Err(Unfinished::new(response.clone()).into()),
        };
        assert_eq!(response.into_text(), expected);
    }
    assert_eq!(
        answer("", Some(FinishReason::Stop)).into_text(),
        Ok(String::new())
    );
}

#[test]
fn c53_an_unfinished_answer_names_its_reason() {
    let error = answer("hi", Some(FinishReason::Length))
        .into_text()
        .unwrap_err();
    assert_eq!(
        (error.kind(), error.reason()),
        (ErrorKind::Unfinished, "length")
    );
    let error = answer("hi", None).into_text().unwrap_err();
    assert_eq!(
        (error.kind(), error.reason()),
        (ErrorKind::Unfinished, "unfinished")
    );
}

#[test]
fn c54_c55_c56_the_finish_reason_fits_the_calls() {
    use FinishReason::{ContentFilter, Error, Length, Other, Stop, ToolCalls};
    let with_calls = [
        (None, Some(ToolCalls)),
        (Some(Stop), Some(ToolCalls)),
        (Some(Length), Some(Length)),
        (Some(ToolCalls), Some(ToolCalls)),
        (Some(ContentFilter), Some(ContentFilter)),
        (Some(Error), Some(Error)),
        (Some(Other), Some(ToolCalls)),
    ];
    for (said, settled) in with_calls {
        assert_eq!(
            FinishReason::settled(said, HasCalls::Yes),
            settled,
            "{said:?} with calls"
        );
    }
    let without = [
        (None, None),
        (Some(Stop), Some(Stop)),
        (Some(Length), Some(Length)),
        (Some(ToolCalls), Some(Other)),
        (Some(ContentFilter), Some(ContentFilter)),
        (Some(Error), Some(Error)),
        (Some(Other), Some(Other)),
    ];
    for (said, settled) in without {
        assert_eq!(
            FinishReason::settled(said, HasCalls::No),
            settled,
            "{said:?} without calls"
        );
    }
}

#[test]
fn c54_the_word_of_a_reason_is_its_json() {
    for reason in ALL.into_iter().flatten() {
        assert_eq!(
            json::value_to_string(&reason),
            Ok(format!("\"{}\"", reason.as_str()))
        );
    }
}

#[test]
fn c57_a_refusal_is_a_part_beside_the_partial_text() {
    let response = Response {
        finish_reason: Some(FinishReason::ContentFilter),
        ..Response::new(Message::assistant([
            Part::text("I"),
            Part::refusal("I cannot."),
        ]))
    };
    assert_eq!(response.text(), "I");
    assert_eq!(response.refusal(), Some("I cannot."));
    assert_eq!(answer("hi", None).refusal(), None);
}

#[derive(Debug, Deserialize, PartialEq)]
struct City {
    names: Vec<String>,
}

#[test]
fn c58_parse_reads_the_text_as_it_is() {
    let response = answer(" {\"names\": [\"Boston\"]}\n", Some(FinishReason::Stop));
    assert_eq!(
        response.parse::<City>(),
        Ok(City {
            names: vec!["Boston".to_owned()]
        })
    );
    for text in [
        "```json\n{\"names\":[]}\n```",
        "{\"names\":[],}",
        "",
        "{\"names\":[]} ok",
    ] {
        let error = answer(text, Some(FinishReason::Stop))
            .parse::<City>()
            .unwrap_err();
        assert_eq!(
            (error.kind(), error.reason()),
            (ErrorKind::Json, "malformed"),
            "{text}"
        );
    }
}

#[test]
fn c58_parse_names_the_path_of_the_first_fault() {
    let error = answer("{\"names\":[\"a\",7]}", Some(FinishReason::Stop))
        .parse::<City>()
        .unwrap_err();
    let Error::Json(error) = error else {
        panic!("{error:?}");
    };
    assert_eq!(
        (error.reason, error.path),
        (JsonReason::InvalidValue, Path::from("names").index(1))
    );
}

#[test]
fn c58_parse_refuses_a_cut_or_failed_answer() {
    for reason in [FinishReason::Length, FinishReason::ContentFilter] {
        let response = answer("{\"names\":[]}", Some(reason));
        assert_eq!(
            response.parse::<City>(),
            Err(Unfinished::new(response).into())
        );
    }
    let response = failed();
    assert_eq!(
        response.parse::<City>(),
        Err(Interrupted::new(response).into())
    );
}

fn ended(reason: HaltReason) -> ChatResult {
    ChatResult {
        thread: Thread::from("hi"),
        final_response: None,
        steps: Vec::new(),
        halted_reason: reason,
        pending_question: None,
        pending_tool_call_id: None,
        metadata: Map::new(),
    }
}

#[test]
fn l149_a_custom_reason_survives_json() {
    let text =
        r#"{"v":1,"type":"chat_result","data":{"thread":{},"halted_reason":"plan_submitted"}}"#;
    let result: ChatResult = json::from_str(text).unwrap();
    assert!(matches!(result.halted_reason, HaltReason::Custom(_)));
    assert_eq!(result.halted_reason.as_str(), "plan_submitted");
    assert_eq!(json::to_string(&result).as_deref(), Ok(text));
}

#[test]
fn l149_a_reason_of_the_loop_is_never_custom() {
    let reserved = [
        (HaltReason::Completed, "completed"),
        (HaltReason::MaxTurns, "max_turns"),
        (HaltReason::HaltWhen, "halt_when"),
        (HaltReason::AskUser, "ask_user"),
        (HaltReason::ToolError, "tool_error"),
        (HaltReason::Cancelled, "cancelled"),
        (HaltReason::ManualToolCalls, "manual_tool_calls"),
        (HaltReason::Error, "error"),
        (HaltReason::Truncated, "truncated"),
        (HaltReason::DeadlineExceeded, "deadline_exceeded"),
        (HaltReason::BudgetExhausted, "budget_exhausted"),
    ];
    for (reason, text) in reserved {
        let bytes = json::to_vec(&ended(reason.clone())).unwrap();
        assert!(String::from_utf8_lossy(&bytes).contains(&format!("\"halted_reason\":\"{text}\"")));
        assert_eq!(
            json::from_slice::<ChatResult>(&bytes)
                .unwrap()
                .halted_reason,
            reason
        );
        assert_eq!(allm_core::CustomHalt::new(text), None);
    }
    assert_eq!(allm_core::CustomHalt::new(""), None);
}

#[test]
fn l149_an_empty_reason_is_refused() {
    let text = r#"{"v":1,"type":"chat_result","data":{"thread":{},"halted_reason":""}}"#;
    let error = json::from_str::<ChatResult>(text).unwrap_err();
    assert_eq!(
        (error.reason, error.path.to_string()),
        (JsonReason::InvalidValue, "data.halted_reason".to_owned())
    );
}

#[test]
fn c52_a_failed_run_is_an_error_with_the_partial_answer() {
    let result = ChatResult {
        final_response: Some(failed().into()),
        ..ended(HaltReason::Error)
    };
    assert_eq!(result.text(), "I thi");
    assert_eq!(result.into_result(), Err(Interrupted::new(failed()).into()));
    let result = ended(HaltReason::Completed);
    assert_eq!(result.clone().into_result(), Ok(result));
}

#[test]
fn c54_calls_are_those_of_the_message() {
    let calls = vec![ToolCall::new("c1", "look", "")];
    let response = Response::new(Message::assistant("").with_tool_calls(calls.clone()));
    assert_eq!(response.tool_calls(), calls);
}
