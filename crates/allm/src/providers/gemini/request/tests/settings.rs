//! Settings, tools and schemas.

use super::*;

#[test]
fn every_setting() {
    let request = Request {
        messages: vec![
            Message::system("One."),
            Message::user("hi"),
            Message::system("Two."),
        ]
        .into(),
        temperature: Some(0.5),
        top_p: Some(0.25),
        top_k: Some(3),
        seed: Some(7),
        presence_penalty: Some(1.0),
        frequency_penalty: Some(-1.0),
        max_tokens: Some(100),
        stop: vec!["END".to_owned()],
        ..Request::default()
    };
    assert_eq!(
        body_of(&request, NEW),
        json!({
            "systemInstruction": {"parts": [{"text": "One.\n\nTwo."}]},
            "generationConfig": {
                "temperature": 0.5, "topP": 0.25, "topK": 3, "maxOutputTokens": 100,
                "stopSequences": ["END"], "seed": 7, "presencePenalty": 1.0,
                "frequencyPenalty": -1.0
            },
            "contents": [{"role": "user", "parts": [{"text": "hi"}]}]
        })
    );
}

/// P91: the same request gives the same bytes.
#[test]
fn p91_the_same_bytes() {
    let request = Request {
        response_format: Some(ResponseFormat::json_schema("r", json!({"type": "object"}))),
        ..with_tool()
    };
    let bytes = || {
        let target = Target {
            provider: &"gemini".into(),
            model: NEW,
            schema_mode: SchemaMode::JsonSchema,
        };
        body(&request, &target, &mut Warnings::default()).expect("a body")
    };
    let first = bytes();
    assert!((0..100).all(|_| *bytes() == *first));
}

/// P93, P211: `extra` reaches everything and loses nothing.
#[test]
fn p93_p211_extra_is_merged_at_the_top() {
    let extra = json!({
        "safetySettings": [{"category": "C", "threshold": "OFF"}],
        "generationConfig": {"candidateCount": 1},
        "cachedContent": "c"
    });
    let request = Request {
        temperature: Some(1.0),
        extra: extra.as_object().cloned().unwrap_or_default(),
        ..Request::new("hi")
    };
    let mut wanted = extra;
    wanted["generationConfig"]["temperature"] = json!(1.0);
    wanted["contents"] = json!([{"role": "user", "parts": [{"text": "hi"}]}]);
    assert_eq!(body_of(&request, NEW), wanted);
}

/// P94, and what this wire has no word for.
#[test]
fn p94_what_is_dropped_is_told() {
    let plain = Request::new("hi");
    let request = Request {
        prompt_cache: Some(PromptCache::default()),
        verbosity: Some(Verbosity::Low),
        service_tier: Some("flex".to_owned()),
        user: Some("u".to_owned()),
        ..plain.clone()
    };
    let (body, warnings) = made(&request, NEW);
    assert_eq!(body, body_of(&plain, NEW));
    let told: Vec<String> = warnings
        .into_iter()
        .map(|w| format!("{} {}", w.code, w.path.unwrap_or_default()))
        .collect();
    assert_eq!(
        told,
        [
            "option_dropped prompt_cache",
            "option_dropped verbosity",
            "option_dropped service_tier",
            "option_dropped user"
        ]
    );
}

/// P100, P118: schemas go out as they are.
#[test]
fn p100_p118_tools() {
    let mut request = with_tool();
    request
        .tools
        .push(ToolSpec::function("bare", "", json!({})));
    request.tools.push(ToolSpec::Provider(ProviderTool {
        provider: "gemini".into(),
        definition: RawJson::new("{\"googleSearch\": {}}").expect("JSON"),
    }));
    let schema = json!({"type": "object", "properties": {"a": {"$ref": "#"}}});
    request.response_format = Some(ResponseFormat::json_schema("r", schema.clone()));
    let body = body_of(&request, NEW);
    assert_eq!(
        body["tools"],
        json!([
            {"functionDeclarations": [
                {"name": "look", "description": "Looks.", "parametersJsonSchema": {
                    "type": "object", "properties": {"x": {"$ref": "#/$defs/X"}},
                    "$defs": {"X": {"type": "integer", "minimum": 1}}}},
                {"name": "bare", "parametersJsonSchema": {"type": "object", "properties": {}}}
            ]},
            {"googleSearch": {}}
        ])
    );
    let config = json!({"responseMimeType": "application/json", "responseJsonSchema": schema});
    assert_eq!(body["generationConfig"], config);
    request.response_format = Some(ResponseFormat::JsonObject);
    let config = json!({"responseMimeType": "application/json"});
    assert_eq!(body_of(&request, NEW)["generationConfig"], config);
}

/// P117: the older form has no references.
#[test]
fn p117_open_api() {
    let mut request = with_tool();
    let format = json!({"type": "object", "properties": {"a": {"type": "string", "not": {}}}});
    request.response_format = Some(ResponseFormat::json_schema("r", format));
    let (body, warnings) = made_in(&request, NEW, SchemaMode::OpenApi);
    assert_eq!(
        body["tools"][0]["functionDeclarations"][0]["parameters"],
        json!({"type": "object", "properties": {"x": {"type": "integer", "minimum": 1}}})
    );
    assert_eq!(
        body["generationConfig"]["responseSchema"],
        json!({"type": "object", "properties": {"a": {"type": "string"}}})
    );
    assert_eq!(warnings.len(), 1);
    assert_eq!(warnings[0].code, "schema_relaxed");
    assert_eq!(warnings[0].detail.as_deref(), Some("not"));
    let itself = json!({"type": "object", "properties": {"a": {"$ref": "#"}}});
    request.response_format = Some(ResponseFormat::json_schema("r", itself.clone()));
    request.tools = vec![ToolSpec::function("f", "", itself)];
    let error = check(&request, SchemaMode::OpenApi).expect_err("faults");
    assert_eq!(error.reason, ValidationReason::UnsupportedOption);
    let paths: Vec<String> = error.faults.iter().map(|f| f.path.to_string()).collect();
    assert_eq!(paths, ["tools[0].schema", "response_format.schema"]);
    assert!(check(&request, SchemaMode::JsonSchema).is_ok());
}

#[test]
fn p212_tool_choice() {
    let config = |choice| {
        let request = Request {
            tool_choice: Some(choice),
            ..with_tool()
        };
        body_of(&request, NEW)["toolConfig"]["functionCallingConfig"].take()
    };
    let named = json!({"mode": "ANY", "allowedFunctionNames": ["look"]});
    assert_eq!(config(ToolChoice::Auto), json!({"mode": "AUTO"}));
    assert_eq!(config(ToolChoice::None), json!({"mode": "NONE"}));
    assert_eq!(config(ToolChoice::Required), json!({"mode": "ANY"}));
    assert_eq!(config(ToolChoice::Tool("look".into())), named);
    assert_eq!(config(ToolChoice::AnyOf(vec!["look".into()])), named);
    let request = Request {
        tool_choice: Some(ToolChoice::Required),
        ..Request::new("hi")
    };
    assert_eq!(faults(&request), ["tool_choice: no_tools"]);
    let request = Request {
        tool_choice: Some(ToolChoice::Auto),
        ..Request::new("hi")
    };
    assert_eq!(faults(&request), [] as [&str; 0]);
    assert_eq!(body_of(&request, NEW), body_of(&Request::new("hi"), NEW));
}

/// C153: what changes the meaning and cannot be said is refused.
#[test]
fn c153_what_cannot_be_said() {
    let mut request = with_tool();
    request.parallel_tool_calls = Some(ParallelCalls::OneAtMost);
    if let Some(ToolSpec::Function(function)) = request.tools.first_mut() {
        function.strict = Strict::Yes;
    }
    let error = check(&request, SchemaMode::JsonSchema).expect_err("faults");
    assert_eq!(error.reason, ValidationReason::UnsupportedOption);
    let paths: Vec<String> = error.faults.iter().map(|f| f.path.to_string()).collect();
    assert_eq!(paths, ["tools[0].strict", "parallel_tool_calls"]);
}

fn thinking(reasoning: allm_core::Reasoning, model: &str) -> (Value, usize) {
    let request = Request {
        reasoning: Some(reasoning),
        ..Request::new("hi")
    };
    let (mut body, warnings) = made(&request, model);
    let config = body["generationConfig"]["thinkingConfig"].take();
    (config, warnings.len())
}

#[test]
fn p213_reasoning() {
    let effort = |effort| allm_core::Reasoning {
        effort: Some(effort),
        ..Default::default()
    };
    for (given, level, budget) in [
        (Effort::Minimal, "low", 1024),
        (Effort::Low, "low", 1024),
        (Effort::Medium, "medium", 8192),
        (Effort::High, "high", 24_576),
        (Effort::Max, "high", 24_576),
    ] {
        let new = thinking(effort(given.clone()), NEW);
        assert_eq!(new, (json!({"thinkingLevel": level}), 0));
        let old = thinking(effort(given), OLD);
        assert_eq!(old, (json!({"thinkingBudget": budget}), 0));
    }
    let none = thinking(effort(Effort::None), OLD);
    assert_eq!(none, (json!({"thinkingBudget": 0}), 0));
    let none = thinking(effort(Effort::None), NEW);
    assert_eq!(none, (json!({"thinkingLevel": "low"}), 1));
    let given = allm_core::Reasoning {
        effort: Some(Effort::High),
        budget_tokens: Some(99),
        summary: Some(Summary::Auto),
    };
    let old = thinking(given.clone(), OLD);
    assert_eq!(
        old,
        (json!({"thinkingBudget": 99, "includeThoughts": true}), 0)
    );
    let new = thinking(given, NEW);
    assert_eq!(
        new,
        (json!({"thinkingLevel": "high", "includeThoughts": true}), 1)
    );
    let nothing = thinking(allm_core::Reasoning::default(), OLD);
    assert_eq!(nothing, (Value::Null, 0));
}
