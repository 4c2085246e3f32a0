//! Details of behaviours that other tests show in the large.

use allm_core::run::{
    Budgets, Command, Finalize, Input, RunOptions, RunSetup, ToolOutcome, UnknownTools,
};
use allm_core::{
    AnswerTo, AskUserRequested, Event, Message, Origin, ParallelCalls, ProviderTool, RawJson,
    Response, ResponseFormat, ToolCall, ToolSpec, Usage,
};

use super::script::*;
use super::sim::*;

#[test]
fn l153_the_event_of_a_question_is_whole() {
    let ran = Sim::new(setup(tools(&["ask"])), [calls(&["ask"])])
        .tools(|_| asks_with("really?", serde_json::json!({"a": [1]})))
        .ran();
    let asked = ran
        .events
        .iter()
        .find(|event| event.tag() == "ask_user_requested");
    let expected = Event::AskUserRequested(Box::new(AskUserRequested {
        index: 0,
        tool_call_id: "c0".into(),
        tool_name: "ask".into(),
        question: "really?".into(),
        opts: object(serde_json::json!({"a": [1]})),
        answer_to: AnswerTo::Model,
    }));
    assert_eq!(asked, Some(&expected));
    let count = |tag| ran.tags().iter().filter(|found| **found == tag).count();
    assert_eq!(count("message_started"), count("message_completed"));
}

#[test]
fn l176_the_message_in_the_thread_keeps_its_origin() {
    let origin = std::sync::Arc::new(Origin {
        provider: "p".into(),
        wire: "w".into(),
        model: Some("model".into()),
        response_id: Some("response".into()),
    });
    let mut sim = Sim::new(setup(vec![]), []);
    let message = Message {
        origin: Some(origin),
        metadata: object(serde_json::json!({"k": 1})),
        ..Message::assistant("x")
    };
    let input = Input::responded(Response::new(message.clone()));
    sim.run.apply(input).expect("taken");
    let bare = Message {
        metadata: Default::default(),
        ..message
    };
    assert_eq!(
        sim.run.thread().last().map(|last| &**last),
        Some(&bare),
        "and has no metadata"
    );
}

#[test]
fn l230_tools_of_the_provider_are_sent_in_pass_one_only() {
    let built_in = ToolSpec::Provider(ProviderTool {
        provider: "p".into(),
        definition: RawJson::new(r#"{"type":"search"}"#).expect("JSON"),
    });
    let function = ToolSpec::function("not_run", "", serde_json::json!({"type": "object"}));
    let mut setup: RunSetup = setup(tools(&["a"]));
    setup.options.structured_finalize = Some(Finalize::default());
    setup.request.response_format = Some(ResponseFormat::JsonObject);
    setup.request.parallel_tool_calls = Some(ParallelCalls::OneAtMost);
    setup.request.tools = vec![function, built_in.clone()];
    let ran = ran(setup, [text("x"), text("{}")]);
    let a = ToolSpec::function("a", "", serde_json::json!({"type": "object"}));
    assert_eq!(
        (&ran.requests[0].tools, ran.requests[0].parallel_tool_calls),
        (&vec![a, built_in], Some(ParallelCalls::OneAtMost)),
        "a function of the request that is no tool of the run could not be run"
    );
    assert_eq!(
        (&ran.requests[1].tools, ran.requests[1].parallel_tool_calls),
        (&vec![], None)
    );
}

#[test]
fn l246_an_error_that_the_driver_has_told_is_not_told_again() {
    let mut sim = Sim::new(setup(vec![]), []);
    let events = vec![Event::text_delta("half"), Event::error(refusal())];
    let partial = sim.play(events);
    sim.apply(Input::Cancel);
    sim.apply(Input::stopped(Some(partial)));
    let ran = sim.ran();
    assert_eq!(ran.reason(), "cancelled");
    assert_eq!(ran.step(0).response.error, Some(refusal()));
    let errors = ran.tags().iter().filter(|tag| **tag == "error").count();
    assert_eq!(errors, 1);
}

#[test]
fn l255_an_unknown_call_keeps_its_answer_when_the_turn_is_cancelled() {
    let mut setup = setup(tools(&["a"]));
    setup.options.unknown_tools = UnknownTools::TellModel;
    let mut sim = Sim::new(setup, [calls(&["nope", "a"])]);
    sim.step();
    sim.apply(Input::Cancel);
    assert!(matches!(sim.run.command(), Command::StopTools(left) if left.len() == 1));
    sim.apply(Input::tool_done(1, ToolOutcome::NotStarted));
    let ran = sim.ran();
    let results: Vec<String> = ran.step(0).tool_results.iter().map(|m| m.text()).collect();
    assert!(results[0].contains("\"unknown_tool\""), "{}", results[0]);
    assert!(results[1].contains("\"cancelled\""), "{}", results[1]);
}

#[test]
fn l267_of_a_turn_with_half_its_counts_the_known_half_is_used() {
    let mut setup = setup(tools(&["a"]));
    setup.options.budgets = Budgets {
        tokens: Some(20),
        ..Budgets::default()
    };
    let usage = Usage {
        output_tokens: Some(20),
        ..Usage::default()
    };
    let Answer::Message(reply) = calls(&["a"]) else {
        panic!()
    };
    let ran = ran(setup, [Answer::Message(Reply { usage, ..reply })]);
    assert_eq!((ran.reason(), ran.requests.len()), ("budget_exhausted", 1));
}

#[test]
fn l186_an_error_of_the_provider_closes_every_named_call() {
    let reply = Reply {
        text: "half".into(),
        calls: call_list(&["a", "m"]),
        ..Reply::default()
    };
    let ran = Sim::new(setup(tools(&["a", "m"])), [Answer::Breaks(reply)])
        .tools(|_| panic!("must not run"))
        .ran();
    assert_eq!(ran.result().metadata["error"]["reason"], "rate_limited");
    let failure =
        |name: &str| allm_core::encode::closed(allm_core::FailureReason::NotExecuted, name);
    let expected = [("c0", "a"), ("c1", "m")]
        .map(|(id, name)| Message::tool_error(id, failure(name).to_content()));
    assert_eq!(ran.step(0).tool_results, expected.into_iter().collect());
    let calls = [("c0", "a"), ("c1", "m")].map(|(id, name)| ToolCall::new(id, name, "{}"));
    assert_eq!(ran.step(0).response.tool_calls(), calls);
    assert!(ran.run.open_calls().is_empty());
}

#[test]
fn l188_no_setting_of_the_loop_is_in_the_request() {
    let loop_settings = RunOptions {
        max_turns: 3,
        unknown_tools: UnknownTools::TellModel,
        ..RunOptions::default()
    };
    let ran = ran(options(loop_settings, tools(&["a"])), [text("x")]);
    let request = serde_json::to_value(&ran.requests[0]).expect("JSON");
    let keys: Vec<&str> = request
        .as_object()
        .expect("an object")
        .keys()
        .map(String::as_str)
        .collect();
    assert_eq!(keys, ["messages", "tools"]);
}
