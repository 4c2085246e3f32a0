//! What a call used.

use super::*;

fn usage_of(usage: Value) -> Usage {
    let mut chunk = last(json!([{"text": "a"}]), "STOP");
    chunk["usageMetadata"] = usage;
    stream(&[chunk]).whole().usage
}

#[test]
fn p205_thoughts_are_output() {
    let usage = usage_of(json!({"promptTokenCount": 22, "candidatesTokenCount": 3,
        "thoughtsTokenCount": 134, "totalTokenCount": 159}));
    let wanted = Usage {
        total_tokens: Some(159),
        reasoning_tokens: Some(134),
        ..Usage::io(22, 137)
    };
    assert_eq!(usage, wanted);
}

#[test]
fn p206_prompts_of_tools_are_input() {
    let usage = usage_of(json!({"promptTokenCount": 5, "toolUsePromptTokenCount": 7,
        "responseTokenCount": 2, "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 5}],
        "cachedContentTokenCount": null, "thoughtsTokenCount": -1}));
    let extra = json!({"promptTokensDetails": [{"modality": "TEXT", "tokenCount": 5}],
        "thoughtsTokenCount": -1});
    let wanted = Usage {
        extra: extra.as_object().cloned().unwrap_or_default(),
        ..Usage::io(12, 2)
    };
    assert_eq!(usage, wanted);
}

#[test]
fn p207_usage_of_every_chunk_counts_once() {
    let mut chunks = [
        parts(json!([{"text": "a"}])),
        parts(json!([{"text": "b"}])),
        last(json!([]), "STOP"),
    ];
    for (chunk, output) in chunks.iter_mut().zip([1, 2, 3]) {
        chunk["usageMetadata"] = json!({"promptTokenCount": 5, "candidatesTokenCount": output});
    }
    assert_eq!(stream(&chunks).whole().usage, Usage::io(5, 3));
    // A last statement without counters erases none.
    chunks[2]["usageMetadata"] = json!({"trafficType": "ON_DEMAND"});
    let usage = stream(&chunks).whole().usage;
    assert_eq!(
        (usage.input_tokens, usage.output_tokens),
        (Some(5), Some(2))
    );
    assert_eq!(usage.extra["trafficType"], "ON_DEMAND");
}

/// No part is larger than its whole.
#[test]
fn a_cached_part_beyond_the_input() {
    let mut chunk = last(json!([{"text": "a"}]), "STOP");
    chunk["usageMetadata"] = json!({"promptTokenCount": 5, "cachedContentTokenCount": 6});
    let response = stream(&[chunk]).whole();
    assert_eq!(response.usage.cached_input_tokens, None);
    assert_eq!(response.usage.extra["cachedContentTokenCount"], 6);
    assert_eq!(response.warnings[0].code, "usage_inconsistent");
}
