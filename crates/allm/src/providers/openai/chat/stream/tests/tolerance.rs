//! What servers do differently.

use super::*;

#[test]
fn p215_empty_facts() {
    let response = folded(&[
        &json!({
            "id": "", "created": 0, "model": "", "choices": [],
            "prompt_filter_results": [{"prompt_index": 0}]
        })
        .to_string(),
        &json!({
            "id": null, "created": 1.5, "model": null, "system_fingerprint": "",
            "choices": [{"delta": {"role": null, "content": "a"}, "index": null}]
        })
        .to_string(),
        &json!({"choices": [{"delta": {"role": "", "content": "b"}, "finish_reason": "stop"}]})
            .to_string(),
        "[DONE]",
    ]);
    assert_eq!(response.text(), "ab");
    assert_eq!(response.id, None);
    assert_eq!(response.model, None);
}

#[test]
fn p216_content_in_every_form() {
    let list = json!([
        {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}], "closed": true},
        {"type": "text", "text": "a"},
        {"type": "reference", "reference_ids": [1]},
        null
    ]);
    for (content, text, reasoning) in [
        (json!(null), "", ""),
        (json!(""), "", ""),
        (json!(" "), " ", ""),
        (list, "a", "hm"),
        (
            json!([{"type": "thinking", "thinking": "flat"}]),
            "",
            "flat",
        ),
        (json!(7), "", ""),
    ] {
        let said = json!({"content": content});
        let streamed = folded(&[&delta(&said), &finish("stop"), "[DONE]"]);
        let choice = json!({"message": said, "finish_reason": "stop"});
        let whole = document(&json!({"choices": [choice]})).whole();
        for response in [streamed, whole] {
            assert_eq!(response.text(), text, "{content}");
            assert_eq!(response.reasoning(), reasoning, "{content}");
        }
    }
    let nothing = folded(&[&delta(&json!({})), &finish("stop"), "[DONE]"]);
    assert_eq!(nothing.message.content, []);
}

#[test]
fn p217_reasoning_is_counted_once() {
    let detail = json!([{"type": "reasoning.text", "index": 0, "text": "hm"}]);
    for said in [
        json!({"reasoning_content": "hm"}),
        json!({"reasoning": "hm"}),
        json!({"reasoning": "hm", "reasoning_content": "hm"}),
        json!({"reasoning": "hm", "reasoning_details": detail}),
        json!({"reasoning": null, "reasoning_content": "", "reasoning_details": detail}),
    ] {
        let response = folded(&[&delta(&said), &finish("stop"), "[DONE]"]);
        assert_eq!(response.reasoning(), "hm", "{said}");
    }
    // Details that come later than the text they repeat add nothing.
    let response = folded(&[
        &delta(&json!({"reasoning": "hm"})),
        &delta(&json!({"reasoning_details": detail})),
        &finish("stop"),
        "[DONE]",
    ]);
    assert_eq!(response.reasoning(), "hm");
}

#[test]
fn p218_details_are_kept_for_the_way_back() {
    let response = folded(&[
        &delta(
            &json!({"reasoning": "a", "reasoning_details": [{"type": "reasoning.summary", "index": 0, "summary": "a"}]}),
        ),
        &delta(
            &json!({"reasoning": "b", "reasoning_details": [{"type": "reasoning.summary", "index": 0, "summary": "b"}]}),
        ),
        &delta(
            &json!({"reasoning_details": [{"type": "reasoning.encrypted", "index": 0, "data": "zz"}]}),
        ),
        &finish("stop"),
        "[DONE]",
    ]);
    let [Part::Reasoning(part)] = &response.message.content[..] else {
        panic!("{response:?}")
    };
    assert_eq!(part.text.as_deref(), Some("ab"));
    assert_eq!(part.kind, ReasoningKind::Summary);
    let opaque = part.opaque.as_deref().expect("details");
    assert_eq!(
        (opaque.wire.as_str(), opaque.kind.as_str()),
        (WIRE, DETAILS)
    );
    assert_eq!(
        opaque.data.to_value(),
        json!([
            {"type": "reasoning.summary", "index": 0, "summary": "ab"},
            {"type": "reasoning.encrypted", "index": 0, "data": "zz"}
        ])
    );
    // Thinking that nobody may read is kept too.
    let response = folded(&[
        &delta(
            &json!({"reasoning_details": [{"type": "reasoning.encrypted", "data": "zz"}], "content": "a"}),
        ),
        &finish("stop"),
        "[DONE]",
    ]);
    assert_eq!(response.reasoning(), "");
    assert!(
        response
            .message
            .content
            .iter()
            .any(|part| part.attached().is_some())
    );
}

#[test]
fn p223_finish_reasons() {
    let text = delta(&json!({"content": "a"}));
    for (word, reason) in [
        ("stop", FinishReason::Stop),
        ("eos", FinishReason::Stop),
        ("end_turn", FinishReason::Stop),
        ("length", FinishReason::Length),
        ("model_length", FinishReason::Length),
        ("max_tokens", FinishReason::Length),
        ("tool_calls", FinishReason::Other),
        ("tool_call", FinishReason::Other),
        ("content_filter", FinishReason::ContentFilter),
        ("safety", FinishReason::ContentFilter),
        ("refusal", FinishReason::ContentFilter),
        ("invented", FinishReason::Other),
    ] {
        let response = folded(&[&text, &finish(word), "[DONE]"]);
        assert_eq!(response.finish_reason, Some(reason), "{word}");
        assert_eq!(response.raw_finish_reason.as_deref(), Some(word));
    }
    for word in ["error", "insufficient_system_resource"] {
        let decoded = read(&[&text, &finish(word), "[DONE]"]);
        assert_eq!(reason_of(&decoded), "provider_unavailable");
        assert_eq!(decoded.response().text(), "a");
    }
    let call =
        delta(&json!({"tool_calls": [{"id": "c", "function": {"name": "f", "arguments": "{}"}}]}));
    for word in ["tool_call", "tool_use", "function_call"] {
        let response = folded(&[&call, &finish(word), "[DONE]"]);
        assert_eq!(
            response.finish_reason,
            Some(FinishReason::ToolCalls),
            "{word}"
        );
    }
    // Missing, and empty on every chunk.
    for chunk in [
        &text,
        &json!({"choices": [{"delta": {"content": "a"}, "finish_reason": ""}]}).to_string(),
    ] {
        assert_eq!(folded(&[chunk, "[DONE]"]).finish_reason, None);
        assert_eq!(reason_of(&read(&[chunk])), "interrupted");
    }
    // Twice, and only in `finish_details`.
    let twice = folded(&[
        &text,
        &finish("length"),
        &finish("stop"),
        &finish("stop"),
        "[DONE]",
    ]);
    assert_eq!(twice.finish_reason, Some(FinishReason::Stop));
    let details =
        json!({"choices": [{"delta": {}, "finish_details": {"type": "stop", "stop": "x"}}]});
    let response = folded(&[&text, &details.to_string(), "[DONE]"]);
    assert_eq!(response.raw_finish_reason.as_deref(), Some("stop"));
}

#[test]
fn p224_all_tokens_went_into_thinking() {
    let response = folded(&[
        &delta(&json!({"reasoning": "hm"})),
        &finish("length"),
        "[DONE]",
    ]);
    assert_eq!(response.finish_reason, Some(FinishReason::Length));
    assert_eq!(response.text(), "");
    assert_eq!(response.reasoning(), "hm");
}

#[test]
fn p225_usage_wherever_it_stands() {
    let text = delta(&json!({"content": "a"}));
    let usage = json!({"prompt_tokens": 3, "completion_tokens": 2});
    let earlier = json!({"prompt_tokens": 3, "completion_tokens": 1});
    for last in [
        vec![
            json!({"x_groq": {"id": "req", "usage": usage}, "choices": [{"delta": {}, "finish_reason": "stop"}]}),
        ],
        vec![json!({"choices": [{"delta": {}, "finish_reason": "stop", "usage": usage}]})],
        vec![json!({"choices": [{"delta": {}, "finish_reason": "stop"}], "usage": usage})],
        vec![
            json!({"choices": [{"delta": {}}], "usage": earlier}),
            json!({"choices": [{"delta": {}, "finish_reason": "stop"}], "usage": usage}),
            json!({"choices": [], "usage": null}),
        ],
    ] {
        let mut data = vec![text.clone()];
        data.extend(last.iter().map(Value::to_string));
        data.push("[DONE]".to_owned());
        let data: Vec<&str> = data.iter().map(String::as_str).collect();
        let response = folded(&data);
        assert_eq!(response.usage.input_tokens, Some(3), "{last:?}");
        assert_eq!(response.usage.output_tokens, Some(2), "{last:?}");
    }
    let never = folded(&[&text, &finish("stop"), "[DONE]"]);
    assert!(never.usage.is_empty());
}

#[test]
fn p226_odd_usage_is_told() {
    let usage = json!({
        "prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15, "reasoning_tokens": 20
    });
    let last =
        json!({"choices": [{"delta": {"content": "a"}, "finish_reason": "stop"}], "usage": usage});
    let response = folded(&[&last.to_string(), "[DONE]"]);
    assert_eq!(codes(&response), ["usage_inconsistent"]);
    assert_eq!(response.usage.extra["reasoning_tokens"], json!(20));
}

#[test]
fn p230_chunks_without_choices() {
    let response = folded(&[
        &json!({"choices": [], "prompt_filter_results": []}).to_string(),
        &json!({"id": "x", "moderation": {}}).to_string(),
        &delta(&json!({"content": "a"})),
        &finish("stop"),
        &json!({"choices": [], "late": true}).to_string(),
        "[DONE]",
    ]);
    assert_eq!(response.text(), "a");
    assert_eq!(response.finish_reason, Some(FinishReason::Stop));
}

#[test]
fn p234_think_tags_are_text_unless_split() {
    let data = [
        delta(&json!({"content": "<thi"})),
        delta(&json!({"content": "nk>hm</th"})),
        delta(&json!({"content": "ink>\n\nyes"})),
        finish("stop"),
        "[DONE]".to_owned(),
    ];
    let data: Vec<&str> = data.iter().map(String::as_str).collect();
    assert_eq!(folded(&data).text(), "<think>hm</think>\n\nyes");
    let profile = Profile {
        think_tags: ThinkTags::Split,
        ..Profile::default()
    };
    let response = decode(
        about("p", WIRE),
        &mut ChatDecoder::new(&profile),
        &frames(&data),
    )
    .whole();
    assert_eq!(response.text(), "yes");
    assert_eq!(response.reasoning(), "hm");
}

/// Tolerance rule 2 and 7, and `delta` beside `message`.
#[test]
fn odds_and_ends() {
    let empty = json!({"content": "a", "refusal": "", "function_call": {"name": ""}, "audio": {}, "tool_calls": null});
    let response = folded(&[&delta(&empty), &finish("stop"), "[DONE]", "after the end"]);
    assert_eq!(response.finish_reason, Some(FinishReason::Stop));
    assert_eq!(response.message.content, [Part::text("a")]);
    let both = json!({"choices": [{
        "delta": {"content": "b"}, "message": {"content": "ab"}, "finish_reason": "stop"
    }]});
    let response = folded(&[
        &delta(&json!({"content": "a"})),
        &both.to_string(),
        "[DONE]",
    ]);
    assert_eq!(response.text(), "ab");
    let both = json!({"choices": [{
        "message": {"content": "ab"}, "delta": {"role": "assistant", "content": ""}, "finish_reason": "stop"
    }]});
    assert_eq!(document(&both).whole().text(), "ab");
    let comments = format!(
        ": PROCESSING\n\n: x\r\n\r\n\r\nevent: chunk\ndata: {}\n\n: \n\ndata: {}   \n\ndata:\n\ndata: [DONE]\n\n",
        delta(&json!({"content": "a"})),
        finish("stop")
    );
    let decoded = decode(about("p", WIRE), &mut decoder(), comments.as_bytes());
    assert_eq!(decoded.whole().text(), "a");
}

/// P35 for this wire.
#[test]
fn p35_odd_values_change_nothing() {
    let odd = [
        json!(null),
        json!(true),
        json!(1.5),
        json!(99_999_999_999_999_999_999_f64),
        json!([1]),
        json!({"a": 1}),
    ];
    for value in odd {
        let chunk = json!({
            "id": value, "model": value, "created": value, "system_fingerprint": value,
            "x_groq": value, "unknown": value,
            "choices": [{
                "index": 0, "logprobs": value, "finish_details": value, "native_finish_reason": value,
                "delta": {
                    "content": "a", "role": value, "refusal": value, "reasoning": value,
                    "reasoning_content": value, "function_call": value, "annotations": value
                }
            }]
        });
        let response = folded(&[&chunk.to_string(), &finish("stop"), "[DONE]"]);
        assert_eq!(response.text(), "a", "{value}");
        assert!(response.tool_calls().is_empty(), "{value}");
        assert_eq!(response.finish_reason, Some(FinishReason::Stop), "{value}");
    }
}

/// C82 for this wire: the usage that was told last counts, unless that tells nothing.
#[test]
fn c82_what_was_told_last_of_the_usage() {
    let read = |told: [&str; 2]| {
        let [one, two] = told.map(|usage| format!(r#"{{"choices": [], "usage": {usage}}}"#));
        let text = delta(&json!({"content": "a"}));
        folded(&[&text, &one, &two, &finish("stop"), "[DONE]"]).usage
    };
    let (one, two) = (r#"{"prompt_tokens": 1}"#, r#"{"prompt_tokens": 2}"#);
    assert_eq!(read([one, two]).input_tokens, Some(2));
    for nothing in ["null", "{}", "[]", "7", r#"{"prompt_tokens": 1e999}"#] {
        assert_eq!(read([one, nothing]).input_tokens, Some(1), "{nothing}");
        assert_eq!(read([nothing, two]).input_tokens, Some(2), "{nothing}");
        assert_eq!(read([nothing, nothing]), Usage::default(), "{nothing}");
    }
}
