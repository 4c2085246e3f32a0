//! Answers of a real model.

use allm_core::{FinishReason, Message, Request};

use crate::play::{ask, call, request};
use crate::{local, model};

/// P242: what it says is what the reference implementation says with this file (llama.cpp calls it "L'Étoile", too).
#[tokio::test]
async fn p242_it_answers_a_question() {
    let Some(path) = model() else { return };
    let mut request = Request::new(vec![
        Message::system("You answer in one sentence."),
        Message::user("What is the capital of France?"),
    ]);
    request.max_tokens = Some(40);
    let response = ask(&local(), call(&path, request)).await;
    assert!(response.text().contains("Paris"), "{}", response.text());
    assert_eq!(response.finish_reason, Some(FinishReason::Stop));
}

/// P250: a conversation that goes on reads only what is new, and says the same as one that is read from its beginning.
#[tokio::test]
async fn p250_a_conversation_that_goes_on_says_the_same() {
    let Some(path) = model() else { return };
    let long = "Tell me about the river Rhine and the cities on it. ".repeat(12);
    let first = || vec![Message::system("You are brief."), Message::user(&*long)];
    let limited = |messages| {
        let mut request = request(messages);
        request.max_tokens = Some(24);
        call(&path, request)
    };
    let warm = local();
    let answer = ask(&warm, limited(first())).await;
    let second = || {
        let mut messages = first();
        messages.push(answer.message.clone());
        messages.push(Message::user("And which sea does it flow into?"));
        messages
    };
    let went_on = ask(&warm, limited(second())).await;
    let cached = went_on.usage.cached_input_tokens.unwrap();
    let read = went_on.usage.input_tokens.unwrap();
    assert!(
        cached * 10 > read * 8,
        "{cached} of {read} tokens were known"
    );
    let fresh = ask(&crate::one_thread(), limited(second())).await;
    assert_eq!(fresh.usage.cached_input_tokens, Some(0));
    assert_eq!(went_on.text(), fresh.text());
}
