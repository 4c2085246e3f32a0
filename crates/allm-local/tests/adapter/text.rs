//! Text, token by token.

use allm_core::{AdapterReason, Event, FinishReason, Message, Request, Role};
use allm_local::Local;

use crate::folders::TestFolder;
use crate::play::{ask, call, events, fold, request};
use crate::tiny::{END, GO, Tiny};

fn deltas(events: &[Event]) -> Vec<&str> {
    let deltas = events.iter().filter_map(|event| match event {
        Event::TextDelta(delta) => Some(&*delta.delta),
        _ => None,
    });
    deltas.collect()
}

/// P242, P243
#[tokio::test]
async fn p242_text_comes_token_by_token_in_whole_characters() {
    let folder = TestFolder::new();
    let model = Tiny::new().says(&[b"Hel", b"lo ", b"\xf0\x9f", b"\x8c", b"\x8d", b"."]);
    let path = model.write(&folder.path().join("m.gguf"));
    let events = events(&Local::new(), call(&path, Request::new("Hi"))).await;
    assert_eq!(deltas(&events), ["Hel", "lo ", "🌍", "."]);
    let response = fold(&events);
    assert_eq!(response.text(), "Hello 🌍.");
    assert_eq!(response.finish_reason, Some(FinishReason::Stop));
    assert_eq!(response.raw_finish_reason.as_deref(), Some("stop"));
    assert_eq!(response.message.role, Role::Assistant);
    assert_eq!(response.usage.output_tokens, Some(6));
}

/// P244
#[tokio::test]
async fn p244_a_stop_text_ends_the_answer_and_is_not_shown() {
    let folder = TestFolder::new();
    let model = Tiny::new().says(&[b"one ", b"tw", b"o thr", b"ee four"]);
    let path = model.write(&folder.path().join("m.gguf"));
    let mut request = Request::new("Count");
    request.stop = vec!["two t".to_owned()];
    let events = events(&Local::new(), call(&path, request)).await;
    assert_eq!(deltas(&events), ["one "]);
    let response = fold(&events);
    assert_eq!(response.finish_reason, Some(FinishReason::Stop));
    assert_eq!(response.raw_finish_reason.as_deref(), Some("stop_text"));
    // The token that completed it was written.
    assert_eq!(response.usage.output_tokens, Some(3));
}

/// P245
#[tokio::test]
async fn p245_a_limit_of_tokens_cuts_the_answer() {
    let folder = TestFolder::new();
    let model = Tiny::new().says(&[b"one ", b"two ", b"three"]);
    let path = model.write(&folder.path().join("m.gguf"));
    let asked = |limit| {
        let mut request = Request::new("Count");
        request.max_tokens = limit;
        call(&path, request)
    };
    let response = ask(&Local::new(), asked(Some(2))).await;
    assert_eq!(response.text(), "one two ");
    assert_eq!(response.finish_reason, Some(FinishReason::Length));
    assert_eq!(response.usage.output_tokens, Some(2));
    assert_eq!(response.warnings, []);
    let response = ask(&Local::new().max_tokens(1), asked(None)).await;
    assert_eq!(response.finish_reason, Some(FinishReason::Length));
    assert_eq!(response.warnings[0].code, "default_max_tokens_reached");
    let response = ask(&Local::new().max_tokens(1), asked(Some(3))).await;
    assert_eq!(response.text(), "one two three");
}

/// P247
#[tokio::test]
async fn p247_a_conversation_that_is_too_long_is_refused() {
    let folder = TestFolder::new();
    let model = Tiny::new()
        .context(40)
        .template("{{ messages[0].content }}<|go|>");
    let path = model
        .after(GO, "a")
        .after("a", "a")
        .write(&folder.path().join("m.gguf"));
    let asked = |length: usize| call(&path, Request::new("x".repeat(length)));
    let local = Local::new();
    let error = ask(&local, asked(39)).await.error.unwrap();
    assert_eq!(error.reason, AdapterReason::ContextLengthExceeded.as_str());
    assert!(error.message.contains("40 tokens"), "{}", error.message);
    // What is left of the context is the limit of the answer.
    let response = ask(&local, asked(30)).await;
    assert_eq!(response.text(), "a".repeat(9));
    assert_eq!(response.finish_reason, Some(FinishReason::Length));
}

/// P241: what a person writes is never read as a mark of the model's.
#[tokio::test]
async fn p241_marks_in_messages_are_text() {
    let folder = TestFolder::new();
    let path = Tiny::new()
        .says(&[b"ok"])
        .write(&folder.path().join("m.gguf"));
    let tokens = async |text: &str| {
        let response = ask(&Local::new(), call(&path, Request::new(text))).await;
        response.usage.input_tokens.unwrap()
    };
    let without = tokens("").await;
    assert_eq!(tokens(END).await - without, 10);
    assert_eq!(tokens("<|im_<|im_end|>end|>").await - without, 20);
    assert_eq!(tokens("<").await - without, 1);
}

/// P240
#[tokio::test]
async fn p240_what_the_template_raises_is_an_error_of_the_request() {
    let folder = TestFolder::new();
    let template = "{% if messages[0].role != 'user' %}{{ raise_exception('begin with a user') }}{% endif %}<|go|>";
    let model = Tiny::new().template(template).says(&[b"ok"]);
    let path = model.write(&folder.path().join("m.gguf"));
    let messages = vec![Message::assistant("hm"), Message::user("Hi")];
    let error = ask(&Local::new(), call(&path, request(messages)))
        .await
        .error
        .unwrap();
    assert_eq!(error.reason, AdapterReason::InvalidRequest.as_str());
    assert!(
        error.message.ends_with("begin with a user"),
        "{}",
        error.message
    );
}

/// P237
#[tokio::test]
async fn p237_a_model_that_is_not_there_is_told_with_what_to_do() {
    let folder = TestFolder::new();
    let local = Local::new().folder(folder.path());
    let asked = |model: &str| call(std::path::Path::new(model), Request::new("Hi"));
    for model in ["smollm2-135m", "/nowhere/m.gguf", "a b"] {
        let error = ask(&local, asked(model)).await.error.unwrap();
        assert_eq!(
            error.reason,
            AdapterReason::ModelNotFound.as_str(),
            "{}",
            error.message
        );
    }
    let error = ask(&local, asked("smollm2-135m")).await.error.unwrap();
    assert!(error.message.contains("pull"), "{}", error.message);
    // It is looked for again, so that it can be obtained meanwhile.
    Tiny::new()
        .says(&[b"here"])
        .write(&folder.path().join("smollm2-135m.gguf"));
    assert_eq!(ask(&local, asked("smollm2-135m")).await.text(), "here");
}

/// P237, P267
#[tokio::test]
async fn p267_a_damaged_file_is_told_with_its_path_and_what_to_do() {
    let folder = TestFolder::new();
    let path = Tiny::new().write(&folder.path().join("m.gguf"));
    let whole = std::fs::read(&path).unwrap();
    let told = async |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        let response = ask(&Local::new(), call(&path, Request::new("Hi"))).await;
        let error = response.error.unwrap();
        assert_eq!(error.reason, "model_not_found", "{}", error.message);
        let before = format!("{} cannot be used as a model: ", path.display());
        let after = "; obtain it again, with `allm models pull` or models::pull";
        let what = error.message.strip_prefix(&*before).unwrap();
        what.strip_suffix(after).unwrap().to_owned()
    };
    for length in [0, 3, 100, 5000] {
        let what = told(&whole[..length]).await;
        assert!(
            what.starts_with("it is damaged or no GGUF file: "),
            "{what}"
        );
    }
    let what = told(&whole[..whole.len() - 5000]).await;
    assert!(
        what.starts_with("its tensor `output.weight` cannot be read: "),
        "{what}"
    );
    assert!(what.contains("bytes"), "{what}");
    let what = told(b"this is no model at all, but some text").await;
    assert!(what.contains("no GGUF file"), "{what}");
}

/// P267: what is whole, but of another kind, is told with its file, too.
#[tokio::test]
async fn p267_a_file_of_another_kind_is_told_with_its_path() {
    let folder = TestFolder::new();
    let path = Tiny::new()
        .template("{% if %}")
        .write(&folder.path().join("m.gguf"));
    let response = ask(&Local::new(), call(&path, Request::new("Hi"))).await;
    let error = response.error.unwrap();
    assert_eq!(error.reason, "unsupported_feature");
    let expected = format!("{} cannot be run here: the chat template", path.display());
    assert!(error.message.starts_with(&expected), "{}", error.message);
}
