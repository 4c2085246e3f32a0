//! Which reply answers which attempt, and what is shared: C184–C188, C190.

use std::sync::Arc;

use allm::{
    Adapter, ApiKey, Capabilities, Error, Fake, FakeOutcome, KeyUse, Message, Request, Role,
    Script, Support, ToolCall,
};
use tokio::sync::Barrier;

use crate::support::{ask, ask_with, events_of, folded, next, only_failure, play};

async fn answer(fake: &Fake) -> String {
    folded(&events_of(fake, ask()).await).text()
}

async fn failed(fake: &Fake) -> String {
    only_failure(&events_of(fake, ask()).await).reason.clone()
}

#[tokio::test]
async fn c184_running_out_names_the_call_and_how_many_were_scripted() {
    let fake = Fake::new().reply("a").reply("b");
    assert_eq!(answer(&fake).await, "a");
    assert_eq!(answer(&fake).await, "b");
    let events = events_of(&fake, ask()).await;
    let failure = only_failure(&events);
    assert_eq!(failure.reason, "no_scripted_response");
    assert_eq!(
        failure.message,
        "no reply is left for call 3: 2 were scripted"
    );
    let error = Error::from(failure.clone());
    assert!(!error.is_retryable());
    let Error::Adapter(error) = error else {
        panic!("{error:?}");
    };
    assert_eq!(error.details["call"], 3);
    assert_eq!(error.details["scripted"], 2);
    // It can be given more at any time.
    let fake = fake.reply("c");
    assert_eq!(answer(&fake).await, "c");
}

#[tokio::test]
async fn c185_opening_without_polling_uses_nothing() {
    let fake = Fake::new().reply("a");
    drop(fake.stream(ask()));
    let unpolled = fake.stream(ask());
    fake.assert_calls(0);
    assert_eq!((fake.open_streams(), fake.cleanups()), (0, 0));
    assert_eq!(answer(&fake).await, "a");
    drop(unpolled);
    assert_eq!(fake.cleanups(), 1);
}

#[tokio::test]
async fn c186_clones_share_and_forks_start_again() {
    let script = || Script::new().text("a").call("f", ());
    let fake = Fake::new().reply(script()).reply("b");
    let (equal, clone) = (Fake::new().reply(script()).reply("b"), fake.clone());
    assert_eq!(answer(&fake).await, "a");
    assert_eq!(answer(&clone).await, "b");
    fake.assert_exhausted();
    assert_eq!(failed(&clone).await, "no_scripted_response");
    assert_eq!(answer(&equal).await, "a");

    let fork = fake.fork();
    fork.assert_calls(0);
    assert_eq!((fork.cleanups(), fork.max_concurrent()), (0, 0));
    let events = events_of(&fork, ask()).await;
    assert_eq!(folded(&events).message.tool_calls[0].id, "call_1");
    assert_eq!(answer(&fork).await, "b");
    fake.assert_calls(3);
    // What is added to a fork is the fork's alone.
    let fork = fork.reply("c");
    assert_eq!(failed(&fake).await, "no_scripted_response");
    assert_eq!(answer(&fork).await, "c");
}

#[tokio::test]
async fn c176_ids_are_unique_over_the_instance() {
    let fake = Fake::new().always(
        Script::new()
            .call("f", ())
            .call_raw("g", "{}")
            .call_chunked("h", ["{}"]),
    );
    let mut ids = Vec::new();
    for _ in 0..2 {
        let calls = folded(&events_of(&fake, ask()).await).message.tool_calls;
        ids.extend(calls.into_iter().map(|call| call.id.to_string()));
    }
    assert_eq!(
        ids,
        ["call_1", "call_2", "call_3", "call_4", "call_5", "call_6"]
    );
}

#[tokio::test]
async fn ids_of_attempts_side_by_side_follow_their_arrival() {
    let fake = Fake::new().always(Script::new().text("x").call("f", ()));
    let (mut one, mut two) = (fake.stream(ask()), fake.stream(ask()));
    next(&mut one).await;
    next(&mut two).await;
    let two = crate::support::rest(&mut two).await;
    let one = crate::support::rest(&mut one).await;
    assert_eq!(folded(&one).message.tool_calls[0].id, "call_1");
    assert_eq!(folded(&two).message.tool_calls[0].id, "call_2");
}

#[tokio::test]
async fn replies_that_never_run_out() {
    let fake = Fake::new().reply("a").reply("b").repeat_last();
    for expected in ["a", "b", "b", "b"] {
        assert_eq!(answer(&fake).await, expected);
    }
    let fake = Fake::new().reply("a").always("z").repeat_last();
    for expected in ["a", "z", "z"] {
        assert_eq!(answer(&fake).await, expected);
    }
    assert_eq!(
        failed(&Fake::new().repeat_last()).await,
        "no_scripted_response"
    );
}

#[tokio::test]
async fn conditions_come_before_the_queue_and_are_used_once() {
    let says = |text: &'static str| {
        move |request: &Request| {
            let last = request.messages.last();
            last.is_some_and(|message| message.role == Role::User && message.text() == text)
        }
    };
    let fake = Fake::new()
        .reply("queue")
        .reply_when(says("b"), "for b")
        .reply_when(says("hi"), "for hi")
        .reply_when(says("hi"), "for hi again");
    for expected in ["for hi", "for hi again", "queue"] {
        assert_eq!(answer(&fake).await, expected);
    }
    assert_eq!(failed(&fake).await, "no_scripted_response");
    let b = events_of(&fake, ask_with(vec![Message::user("b")])).await;
    assert_eq!(folded(&b).text(), "for b");
    fake.assert_exhausted();
}

#[tokio::test]
async fn a_condition_may_look_at_its_fake() {
    let fake = Fake::new().reply("first");
    let seen = fake.clone();
    let fake = fake.reply_when(move |_| seen.calls().len() == 1, "second");
    assert_eq!(answer(&fake).await, "first");
    assert_eq!(answer(&fake).await, "second");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn c187_each_reply_is_used_exactly_once_by_tasks_side_by_side() {
    const TASKS: usize = 32;
    let scripts = (0..TASKS).map(|number| number.to_string());
    let fake = scripts.fold(Fake::new(), Fake::reply);
    let barrier = Arc::new(Barrier::new(TASKS));
    let tasks: Vec<_> = (0..TASKS)
        .map(|_| {
            let (fake, barrier) = (fake.clone(), Arc::clone(&barrier));
            tokio::spawn(async move {
                barrier.wait().await;
                answer(&fake).await
            })
        })
        .collect();
    let mut answers = Vec::new();
    for task in tasks {
        answers.push(task.await.unwrap().parse::<usize>().unwrap());
    }
    answers.sort_unstable();
    assert_eq!(answers, (0..TASKS).collect::<Vec<_>>());
    fake.assert_exhausted();
    assert_eq!((fake.open_streams(), fake.cleanups()), (0, TASKS));
}

#[tokio::test]
async fn c187_replies_are_taken_in_arrival_order() {
    let fake = Fake::new().reply("first").reply("second");
    let (mut opened_first, mut polled_first) = (fake.stream(ask()), fake.stream(ask()));
    next(&mut polled_first).await;
    let second = crate::support::rest(&mut opened_first).await;
    let first = crate::support::rest(&mut polled_first).await;
    assert_eq!(folded(&second).text(), "second");
    assert_eq!(folded(&first).text(), "first");
    assert_eq!(fake.max_concurrent(), 2);
}

#[tokio::test]
async fn c188_calls_show_request_attempt_and_outcome_and_no_key() {
    let fake = Fake::new().reply("a").reply(Script::new().text("b").cut());
    let mut call = ask();
    call.attempt = 2;
    call.tenant = Some("t1".into());
    call.key = ApiKey::new("sk-secret-123").unwrap();
    events_of(&fake, call.clone()).await;
    events_of(&fake, ask()).await;
    events_of(&fake, ask()).await;
    let calls = fake.calls();
    assert_eq!(calls.len(), 3);
    assert!(Arc::ptr_eq(&calls[0].request, &call.request));
    assert_eq!(calls[0].model.to_string(), "fake:any");
    assert_eq!(calls[0].tenant, Some("t1".into()));
    assert_eq!((calls[0].attempt, calls[1].attempt), (2, 1));
    assert_eq!((calls[0].key_used, calls[1].key_used), (true, false));
    assert_eq!(calls[0].outcome, FakeOutcome::Completed);
    assert_eq!(calls[0].events_polled, 4);
    assert_eq!(calls[1].outcome, FakeOutcome::Cut);
    assert_eq!(calls[1].events_polled, 2);
    let FakeOutcome::Failed(failure) = &calls[2].outcome else {
        panic!("{:?}", calls[2].outcome);
    };
    assert_eq!(failure.reason, "no_scripted_response");
    let shown = format!("{calls:?} {fake:?} {:?}", fake.stream(call).size_hint());
    assert!(!shown.contains("secret"));
}

#[tokio::test]
async fn c190_a_history_that_cannot_be_sent_is_refused() {
    let messages = vec![
        Message::user("hi"),
        Message::assistant("").with_tool_calls(vec![ToolCall::new("c1", "f", "{}")]),
        Message::user("and?"),
    ];
    let fake = Fake::new().reply("a");
    let events = events_of(&fake, ask_with(messages.clone())).await;
    let failure = only_failure(&events);
    assert_eq!(failure.reason, "invalid_request");
    assert_eq!(
        failure.message,
        "messages[1].tool_calls[0]: unanswered_tool_call"
    );
    fake.assert_calls(1);
    // It uses no reply up.
    let fake = fake.lenient_history();
    let events = events_of(&fake, ask_with(messages)).await;
    assert_eq!(folded(&events).text(), "a");
    let empty = events_of(&Fake::new().reply("a"), ask_with(Vec::new())).await;
    assert_eq!(only_failure(&empty).message, "messages: empty");
}

/// Of a history that goes on from a good one only the new part is looked at; what is wrong in it is told by its place.
#[tokio::test]
async fn a_good_history_that_goes_on_badly_is_refused() {
    let fake = Fake::new().always("a");
    let call = || Message::assistant("").with_tool_calls(vec![ToolCall::new("c", "t", "{}")]);
    let answer = || Message::tool_result("c", "x");
    let good = vec![Message::user("hi"), call(), answer()];
    let events = events_of(&fake, ask_with(good.clone())).await;
    assert_eq!(folded(&events).text(), "a");
    for (more, fault) in [
        (vec![answer()], "messages[3]: duplicate_tool_result"),
        (
            vec![Message::user("and"), answer()],
            "messages[4]: misplaced_tool_result",
        ),
        (
            vec![call()],
            "messages[3].tool_calls[0]: unanswered_tool_call",
        ),
    ] {
        let messages = [good.clone(), more].concat();
        let events = events_of(&fake, ask_with(messages)).await;
        assert_eq!(only_failure(&events).message, fault);
        // The good one is still good.
        let events = events_of(&fake, ask_with(good.clone())).await;
        assert_eq!(folded(&events).text(), "a");
    }
}

#[tokio::test]
async fn as_a_provider_it_has_a_name_and_asks_for_little() {
    let fake = Fake::new();
    assert_eq!(*fake.provider(), "fake");
    assert_eq!(fake.key_use(), KeyUse::Optional);
    assert_eq!(fake.capabilities("any"), Capabilities::default());
    let capabilities = Capabilities {
        tools: Support::No,
        ..Capabilities::default()
    };
    let other = Fake::named("other")
        .with_capabilities(capabilities)
        .with_key_use(KeyUse::Required)
        .reply("a");
    assert_eq!(*other.provider(), "other");
    assert_eq!(other.fork().key_use(), KeyUse::Required);
    assert_eq!(other.fork().capabilities("any"), capabilities);
    let response = folded(&events_of(&other, ask()).await);
    assert_eq!(response.provider, Some("other".into()));
    assert_eq!(folded(&play("a").await).provider, Some("fake".into()));
}
