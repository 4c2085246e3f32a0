//! What the providers know of their models: a known "no" is refused before anything is sent, an unknown model is sent
//! everything.

use allm::{
    Anthropic, Azure, Compat, Effort, Engine, Error, File, Gemini, Image, KeyUse, Message, OpenAi,
    Part, Profile, Reasoning, Request, ResponseFormat, RetryPolicy, Support,
};
use serde_json::json;

use crate::{nowhere, weather};

/// Every provider, at an address where nobody listens.
async fn engine() -> Engine {
    let url = nowhere().await;
    let key = "key-of-nobody";
    let mut without_images = Profile::default();
    without_images.images = Support::No;
    let blind = Compat::new("blind", &url).profile(without_images);
    Engine::builder()
        .provider(OpenAi::new().base_url(&url).api_key(key))
        .provider(Azure::new("res").base_url(&url).api_key(key))
        .provider(Compat::new("mine", &url).key_use(KeyUse::Never))
        .provider(blind.key_use(KeyUse::Never))
        .provider(Anthropic::new().base_url(&url).api_key(key))
        .provider(Gemini::new().base_url(&url).api_key(key))
        .retry(RetryPolicy::none())
        .build()
        .unwrap()
}

fn picture() -> Request {
    let image = Image::from_bytes(&b"png"[..], "image/png");
    Request::new(Message::user(vec![Part::text("what?"), Part::image(image)]))
}

fn document() -> Request {
    let file = File::from_bytes(&b"pdf"[..], "application/pdf");
    Request::new(Message::user(vec![Part::text("what?"), Part::file(file)]))
}

fn thinking() -> Reasoning {
    Reasoning {
        effort: Some(Effort::High),
        ..Reasoning::default()
    }
}

fn schema() -> ResponseFormat {
    let schema = json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"],
        "additionalProperties": false});
    ResponseFormat::json_schema("answer", schema)
}

/// The faults of a refusal, each as `path: code`.
fn faults(error: Error) -> Vec<String> {
    let Error::Validation(error) = error else {
        panic!("{error:?}")
    };
    assert_eq!(error.reason.as_str(), "unsupported_capability");
    let faults = error.faults.iter();
    faults
        .map(|fault| format!("{}: {}", fault.path, fault.code))
        .collect()
}

/// C147, C152: each at once with all that it cannot do.
#[tokio::test]
async fn c147_a_known_no_is_refused_before_anything_is_sent() {
    let engine = engine().await;
    let vision = "messages[0].content[1]: vision_unsupported";
    for (model, expected) in [
        (
            "openai:gpt-3.5-turbo",
            &[
                "response_format: json_schema_unsupported",
                vision,
                "reasoning: reasoning_unsupported",
                "max_tokens: exceeds_model_limit",
            ][..],
        ),
        (
            "openai:o1-mini",
            &[
                "tools: tools_unsupported",
                "response_format: json_schema_unsupported",
                vision,
                "max_tokens: exceeds_model_limit",
            ],
        ),
        (
            "openai:gpt-4o",
            &[
                "reasoning: reasoning_unsupported",
                "max_tokens: exceeds_model_limit",
            ],
        ),
        ("openai:gpt-5-mini", &["max_tokens: exceeds_model_limit"]),
        (
            "anthropic:claude-2.1",
            &[
                "tools: tools_unsupported",
                "response_format: json_schema_unsupported",
                vision,
                "reasoning: reasoning_unsupported",
                "max_tokens: exceeds_model_limit",
            ],
        ),
        (
            "anthropic:claude-3-5-haiku-latest",
            &[
                "response_format: needs_finalize_pass",
                "reasoning: reasoning_unsupported",
                "max_tokens: exceeds_model_limit",
            ],
        ),
        (
            "gemini:gemini-2.0-flash",
            &[
                "response_format: needs_finalize_pass",
                "reasoning: reasoning_unsupported",
                "max_tokens: exceeds_model_limit",
            ],
        ),
        (
            "gemini:gemini-3-pro-preview",
            &["max_tokens: exceeds_model_limit"],
        ),
        ("blind:x", &[vision]),
    ] {
        let call = engine.generate(picture()).model(model);
        let call = call.tool(weather).response_format(schema());
        let call = call.reasoning(thinking());
        let refused = call.max_tokens(1_000_000).await.unwrap_err();
        assert_eq!(faults(refused), expected, "{model}");
    }
}

/// C148: an unknown model is asked for everything; the call ends at the network, where nobody listens.
#[tokio::test]
async fn c148_of_unknown_models_nothing_is_refused() {
    let engine = engine().await;
    for model in [
        "openai:gpt-9.9-new",
        "openai:mine",
        "azure:my-deployment",
        "mine:m",
        "anthropic:of-tomorrow",
        "gemini:of-tomorrow",
    ] {
        for request in [picture(), document()] {
            let call = engine.generate(request).model(model);
            let call = call.tool(weather).response_format(schema());
            let call = call.reasoning(thinking());
            let error = call.max_tokens(1_000_000).await.unwrap_err();
            assert_eq!(error.reason(), "network_error", "{model}: {error}");
        }
    }
}
