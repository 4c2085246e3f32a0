//! Settings that the provider is sent: engine, request and call.

use allm::{
    Effort, ModelRef, ModelText, ParallelCalls, PromptCache, Reasoning, ResponseFormat, ToolChoice,
    Verbosity,
};
use serde_json::{Value, json};

use crate::drive::Seen;
use crate::row::{Row, Said, row};

/// What the adapter was given in this field of the first request.
fn sent(seen: &Seen, field: &str) -> String {
    match seen.notes.calls.first() {
        Some(call) => {
            let request = serde_json::to_value(&*call.request).unwrap();
            request.get(field).unwrap_or(&Value::Null).to_string()
        }
        None => format!("refused: {:?}", seen.failed),
    }
}

/// A field of the request: in a request `$wrap` of the value, elsewhere what the method of its name sets.
macro_rules! field {
    ($setting:ident, $field:ident: $wrap:expr, |$i:ident| $values:literal: $value:expr) => {
        row! {
            $setting in Text, $field(|$i| $values: $value), on [engine generate step chat],
            request: Some(|mut request, $i| {
                request.$field = $wrap($value);
                request
            }),
            observe: |seen| sent(seen, stringify!($field)),
            expected: |said| match said {
                Some(Said::Value($i)) => json!($value).to_string(),
                Some(Said::Off) | None => "null".to_owned(),
            },
        }
    };
}

fn model_ref(text: &str) -> Option<ModelRef> {
    match ModelRef::parse(text) {
        Ok(ModelText::Full(model)) => Some(model),
        _ => panic!("no model: {text}"),
    }
}

fn format(i: usize) -> ResponseFormat {
    let schema = json!({"type": "object", "properties": {}});
    let schema = ResponseFormat::json_schema("answer", schema);
    [ResponseFormat::Text, ResponseFormat::JsonObject, schema][i].clone()
}

fn reasoning(i: usize) -> Reasoning {
    Reasoning {
        effort: Some([Effort::Low, Effort::Max, Effort::Other("own".into())][i].clone()),
        ..Reasoning::default()
    }
}

fn cache(i: usize) -> PromptCache {
    PromptCache {
        key: Some(format!("key-{i}")),
        ..PromptCache::default()
    }
}

pub(crate) fn rows() -> Vec<Row> {
    vec![
        Row {
            expected: |said| match said {
                Some(Said::Value(i)) => json!(["fake:a", "fake:b", "fake:c"][i]).to_string(),
                Some(Said::Off) | None => r#"refused: Some("no_model")"#.to_owned(),
            },
            ..field!(Model, model: model_ref, |i| 3: ["fake:a", "fake:b", "fake:c"][i])
        },
        field!(Temperature, temperature: Some, |i| 3: [0.1, 0.2, 0.3][i]),
        field!(TopP, top_p: Some, |i| 3: [0.1, 0.2, 0.3][i]),
        field!(TopK, top_k: Some, |i| 3: [1, 2, 3][i]),
        field!(Seed, seed: Some, |i| 3: [-1, 0, 1][i]),
        field!(PresencePenalty, presence_penalty: Some, |i| 3: [-1.0, 0.0, 1.0][i]),
        field!(FrequencyPenalty, frequency_penalty: Some, |i| 3: [-1.0, 0.0, 1.0][i]),
        field!(MaxTokens, max_tokens: Some, |i| 3: [1, 2, 3][i]),
        field!(Stop, stop: Vec::from, |i| 3: vec![["a", "b", "c"][i].to_owned(), "end".to_owned()]),
        field!(ResponseFormat, response_format: Some, |i| 3: format(i)),
        field!(Reasoning, reasoning: Some, |i| 3: reasoning(i)),
        field!(Verbosity, verbosity: Some,
            |i| 3: [Verbosity::Low, Verbosity::Medium, Verbosity::High][i]),
        field!(ServiceTier, service_tier: Some, |i| 3: format!("tier-{i}")),
        field!(User, user: Some, |i| 3: format!("user-{i}")),
        field!(ToolChoice, tool_choice: Some,
            |i| 3: [ToolChoice::Auto, ToolChoice::None, ToolChoice::Required][i].clone()),
        field!(ParallelToolCalls, parallel_tool_calls: Some,
            |i| 2: [ParallelCalls::Allowed, ParallelCalls::OneAtMost][i]),
        field!(PromptCache, prompt_cache: Some, |i| 3: cache(i)),
    ]
}
