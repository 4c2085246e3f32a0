use allm_core::{ModelRef, Request};

use super::*;

fn call(model: &str) -> ModelCall {
    let model = ModelRef {
        provider: "gemini".into(),
        model: model.to_owned(),
    };
    ModelCall::new(Request::new("hi"), model, "q")
}

#[test]
fn p189_p190_paths() {
    let gemini = Gemini::new();
    for model in ["gemini-x", "models/gemini-x"] {
        let path = "/models/gemini-x:streamGenerateContent?alt=sse";
        assert_eq!(gemini.path(model), path);
    }
    let path = "/tunedModels/mine:streamGenerateContent?alt=sse";
    assert_eq!(gemini.path("tunedModels/mine"), path);
}

#[test]
fn p90_a_model_is_encoded() {
    let path = "/models/a%2Fb%3Ac%20d:streamGenerateContent?alt=sse";
    assert_eq!(Gemini::new().path("a/b:c d"), path);
    let outgoing = Gemini::new().outgoing(&call("models/a:b")).expect("made");
    assert_eq!(outgoing.path, "/models/a%3Ab:streamGenerateContent?alt=sse");
}

#[test]
fn p89_vertex() {
    let regional = Gemini::new().vertex("my-project", "europe-west4");
    let base = "https://europe-west4-aiplatform.googleapis.com/v1";
    assert_eq!(regional.connection.base_url.as_str(), base);
    assert_eq!(regional.connection.auth, Auth::Bearer);
    assert_eq!(
        regional.path("models/gemini-x"),
        "/projects/my-project/locations/europe-west4/publishers/google/models/gemini-x:streamGenerateContent?alt=sse"
    );
    let global = regional.vertex("p", "global");
    assert_eq!(
        global.connection.base_url.as_str(),
        "https://aiplatform.googleapis.com/v1"
    );
    assert!(
        global
            .path("x")
            .starts_with("/projects/p/locations/global/")
    );
    // What was said stays, in whatever order.
    let base = "https://proxy.example/g";
    let before = Gemini::new()
        .base_url(base)
        .auth(Auth::None)
        .vertex("p", "global");
    let after = Gemini::new()
        .vertex("p", "global")
        .base_url(base)
        .auth(Auth::None);
    for gemini in [before, after] {
        assert_eq!(gemini.connection.base_url.as_str(), base);
        assert_eq!(gemini.connection.auth, Auth::None);
    }
    assert!(
        Gemini::new()
            .vertex("p", "not a place")
            .check_config()
            .is_err()
    );
}

#[test]
fn nothing_secret_is_shown() {
    let gemini = Gemini::new()
        .api_key("AIzaSecretSecret")
        .header("x-a", "hidden");
    let text = format!("{gemini:?}");
    assert!(
        !text.contains("Secret") && !text.contains("hidden"),
        "{text}"
    );
}
