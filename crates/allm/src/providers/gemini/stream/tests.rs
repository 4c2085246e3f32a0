mod calls;
mod usage;

use allm_core::{AdapterReason, Event, Message, Source, Usage};
use serde_json::json;

use super::*;
use crate::wire::testing::{Decoded, about, decode_chunks};

type Read = Decoded;

impl Decoded {
    fn message(&self) -> Message {
        match self.events.last() {
            Some(Event::MessageCompleted(done)) => done.message.clone(),
            other => panic!("{other:?}, {:?}", self.fault),
        }
    }

    fn reason(&self) -> AdapterReason {
        match &self.fault {
            Some(Fault::Provider(error)) => error.reason,
            other => panic!("{other:?}"),
        }
    }
}

fn read_chunks<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> Read {
    let mut decoder = GeminiDecoder::default();
    decode_chunks(
        about("gemini", "gemini.generate_content"),
        &mut decoder,
        chunks,
    )
}

fn read(body: &str) -> Read {
    read_chunks([body.as_bytes()])
}

/// The chunks as a stream.
fn sse(chunks: &[Value]) -> String {
    chunks
        .iter()
        .map(|chunk| format!("data: {chunk}\r\n\r\n"))
        .collect()
}

fn stream(chunks: &[Value]) -> Read {
    read(&sse(chunks))
}

fn parts(parts: Value) -> Value {
    json!({"candidates": [{"content": {"role": "model", "parts": parts}}]})
}

fn last(parts: Value, reason: &str) -> Value {
    json!({"candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": reason}]})
}

fn calls(message: &Message) -> Vec<(&str, &str)> {
    message
        .tool_calls
        .iter()
        .map(|call| (call.name.as_str(), &*call.raw_arguments))
        .collect()
}

#[test]
fn a_stream_of_text() {
    let read = stream(&[
        json!({"candidates": [{"content": {"role": "model", "parts": [{"text": "Hel"}]}, "index": 0}],
            "usageMetadata": {"promptTokenCount": 4, "totalTokenCount": 4},
            "modelVersion": "gemini-x", "responseId": "r"}),
        json!({"candidates": [{"content": {"parts": [{"text": "lo"}]}, "finishReason": "STOP", "index": 0}],
            "usageMetadata": {"promptTokenCount": 4, "candidatesTokenCount": 2, "totalTokenCount": 6},
            "modelVersion": "gemini-x", "responseId": "r"}),
    ]);
    assert_eq!(
        read.tags(),
        [
            "message_started",
            "text_delta",
            "text_delta",
            "text_completed",
            "message_completed"
        ]
    );
    let response = read.whole();
    assert_eq!(response.text(), "Hello");
    assert_eq!(response.finish_reason, Some(FinishReason::Stop));
    assert_eq!(response.raw_finish_reason.as_deref(), Some("STOP"));
    assert_eq!(response.model.as_deref(), Some("gemini-x"));
    assert_eq!(response.id.as_ref().map(|id| id.as_str()), Some("r"));
    assert_eq!(
        response.usage,
        Usage {
            total_tokens: Some(6),
            ..Usage::io(4, 2)
        }
    );
}

/// P74
#[test]
fn p74_an_error_in_the_stream() {
    let told = json!({"error": {"code": 503, "message": "overloaded", "status": "UNAVAILABLE"}});
    let read = stream(&[parts(json!([{"text": "a"}])), told.clone()]);
    assert_eq!(read.reason(), AdapterReason::ProviderUnavailable);
    assert_eq!(read.tags(), ["message_started", "text_delta"]);
    for body in [told.to_string(), json!([told]).to_string(), sse(&[told])] {
        assert_eq!(
            super::tests::read(&body).reason(),
            AdapterReason::ProviderUnavailable
        );
    }
    let named =
        read_chunks([b"event: error\ndata: {\"message\": \"no\", \"code\": 429}\n\n".as_slice()]);
    assert_eq!(named.reason(), AdapterReason::RateLimited);
}

/// P71 of this wire.
#[test]
fn p71_an_error_after_the_end() {
    let told = json!({"error": {"code": 500, "message": "late"}});
    let kept = stream(&[last(json!([{"text": "a"}]), "MAX_TOKENS"), told.clone()]).whole();
    assert_eq!(kept.finish_reason, Some(FinishReason::Length));
    assert_eq!(kept.warnings[0].code, "late_error");
    let lost = stream(&[last(json!([{"text": "a"}]), "STOP"), told]);
    assert_eq!(lost.reason(), AdapterReason::ProviderUnavailable);
}

/// P16: a chunk of very many parts that have no type here.
#[test]
fn p16_many_parts_take_linear_time() {
    let parts = vec![json!({"videoMetadata": {"fps": 1}}); 40_000];
    let response = stream(&[last(parts.into(), "STOP")]).whole();
    assert_eq!(response.message.content.len(), 40_000);
}

/// P75, P76: a stream is whole only after its closing event.
#[test]
fn p75_p76_cut_anywhere() {
    let body = sse(&[
        parts(json!([{"text": "a\u{e9}"}])),
        parts(json!([{"functionCall": {"name": "f", "args": {"x": [1, "]"]}}}])),
        last(json!([{"text": "b"}]), "STOP"),
    ]);
    let whole = read(&body).whole();
    // The last line end and the blank line are not needed.
    for length in 0..body.len() - "\r\n\r\n".len() {
        let cut = read_chunks([&body.as_bytes()[..length]]);
        assert!(
            matches!(cut.fault, Some(Fault::Interrupted)),
            "{length}: {:?}",
            cut.fault
        );
    }
    for at in 0..body.len() {
        let (a, b) = body.as_bytes().split_at(at);
        assert_eq!(read_chunks([a, b]).whole(), whole, "{at}");
    }
}

#[test]
fn p80_done_is_no_end() {
    let text = sse(&[parts(json!([{"text": "a"}]))]);
    let read_done = read(&format!("{text}data: [DONE]\n\n"));
    assert!(matches!(read_done.fault, Some(Fault::Interrupted)));
    let text = sse(&[last(json!([{"text": "a"}]), "STOP")]);
    assert_eq!(read(&format!("{text}data: [DONE]\n\n")).whole().text(), "a");
}

#[test]
fn p33_what_is_no_object() {
    for data in ["[1]", "\"x\"", "nonsense", "1"] {
        let read = read(&format!("data: {data}\n\ndata: {{}}\n\n"));
        assert!(matches!(read.fault, Some(Fault::Malformed)), "{data}");
    }
}

/// P196: signatures stay on their parts, byte for byte.
#[test]
fn p196_signatures() {
    let body = concat!(
        r#"data: {"candidates":[{"content":{"parts":[{"text":"hm","thought":true,"thoughtSignature":"AA\u003d"}]}}]}"#,
        "\n\n",
        r#"data: {"candidates":[{"content":{"parts":[{"text":"one"}]}}]}"#,
        "\n\n",
        r#"data: {"candidates":[{"content":{"parts":[{"text":"two","thoughtSignature":"BB/+"}]}}]}"#,
        "\n\n",
        r#"data: {"candidates":[{"content":{"parts":[{"text":"three"}]}}]}"#,
        "\n\n",
        r#"data: {"candidates":[{"content":{"parts":[{"functionCall":{"name":"f"},"thoughtSignature":"CC"}]}}]}"#,
        "\n\n",
        r#"data: {"candidates":[{"content":{"parts":[{"text":"","thoughtSignature":"DD"}]},"finishReason":"STOP"}]}"#,
        "\n\n",
    );
    let message = read(body).message();
    let told: Vec<(Option<&str>, Option<&str>)> = message
        .content
        .iter()
        .map(|part| {
            let signature = part.attached().map(|opaque| opaque.data.as_str());
            (part.as_text(), signature)
        })
        .collect();
    assert_eq!(
        told,
        [
            (None, Some(r#""AA\u003d""#)),
            (Some("onetwo"), Some("\"BB/+\"")),
            (Some("three"), None),
            (Some(""), Some("\"DD\"")),
        ]
    );
    let call = &message.tool_calls[0];
    assert_eq!(call.at, Some(3));
    let opaque = call.opaque.as_deref().expect("a signature");
    assert_eq!(
        (opaque.kind.as_str(), opaque.data.as_str()),
        ("thoughtSignature", "\"CC\"")
    );
}

/// The signature after a text is a part of its own, which goes back as it came.
#[test]
fn p196_an_empty_text_with_a_signature_stays_apart() {
    let message = stream(&[
        parts(json!([{"text": "a"}])),
        last(json!([{"text": "", "thoughtSignature": "S"}]), "STOP"),
    ])
    .message();
    assert_eq!(message.content.len(), 2);
    assert!(message.content[0].attached().is_none());
    assert!(message.content[1].attached().is_some());
}

#[test]
fn p197_thoughts_are_no_text() {
    let response = stream(&[
        parts(json!([{"text": "think", "thought": true}])),
        parts(json!([{"text": "ing", "thought": true}, {"text": "a"}])),
        last(json!([{"text": "b"}]), "STOP"),
    ])
    .whole();
    assert_eq!(response.text(), "ab");
    assert_eq!(response.reasoning(), "thinking");
    assert_eq!(response.message.content.len(), 2);
}

#[test]
fn p199_more_after_a_finish() {
    let response = stream(&[
        last(json!([{"text": "a"}]), "STOP"),
        parts(json!([{"text": "b"}])),
        last(json!([{"text": "c"}]), "MAX_TOKENS"),
    ])
    .whole();
    assert_eq!(response.text(), "abc");
    assert_eq!(response.finish_reason, Some(FinishReason::Length));
}

#[test]
fn p200_stop_and_length_with_calls() {
    let call = json!([{"functionCall": {"name": "f", "args": {}}}]);
    let stop = stream(&[last(call.clone(), "STOP")]).whole();
    assert_eq!(stop.finish_reason, Some(FinishReason::ToolCalls));
    assert_eq!(stop.raw_finish_reason.as_deref(), Some("STOP"));
    let cut = stream(&[last(call, "MAX_TOKENS")]).whole();
    assert_eq!(cut.finish_reason, Some(FinishReason::Length));
}

#[test]
fn p201_what_the_provider_refused() {
    for word in [
        "MALFORMED_FUNCTION_CALL",
        "UNEXPECTED_TOOL_CALL",
        "TOO_MANY_TOOL_CALLS",
        "MISSING_THOUGHT_SIGNATURE",
        "MALFORMED_RESPONSE",
    ] {
        let bare = stream(&[json!({"candidates": [
            {"finishReason": word, "finishMessage": "print(f("}]})]);
        assert_eq!(bare.reason(), AdapterReason::GenerationFailed);
        assert_eq!(bare.events, []);
        let Some(Fault::Provider(error)) = &bare.fault else {
            panic!("{:?}", bare.fault)
        };
        assert_eq!(error.message, "print(f(");
        assert_eq!(error.provider_code.as_deref(), Some(word));
    }
    let with_text = stream(&[last(json!([{"text": "a"}]), "MALFORMED_FUNCTION_CALL")]);
    assert_eq!(with_text.reason(), AdapterReason::GenerationFailed);
    assert_eq!(with_text.tags(), ["message_started", "text_delta"]);
}

#[test]
fn p202_filters_and_blocked_prompts() {
    for word in [
        "SAFETY",
        "RECITATION",
        "LANGUAGE",
        "BLOCKLIST",
        "PROHIBITED_CONTENT",
        "SPII",
        "MODEL_ARMOR",
        "IMAGE_SAFETY",
        "IMAGE_PROHIBITED_CONTENT",
        "IMAGE_RECITATION",
    ] {
        let response = stream(&[last(json!([{"text": "a"}]), word)]).whole();
        assert_eq!(response.finish_reason, Some(FinishReason::ContentFilter));
        assert_eq!(response.raw_finish_reason.as_deref(), Some(word));
        assert_eq!(response.text(), "a");
    }
    let blocked = json!({"promptFeedback": {"blockReason": "MODEL_ARMOR"},
        "usageMetadata": {"promptTokenCount": 3, "totalTokenCount": 3}});
    for body in [sse(std::slice::from_ref(&blocked)), blocked.to_string()] {
        let response = read(&body).whole();
        assert_eq!(response.finish_reason, Some(FinishReason::ContentFilter));
        assert_eq!(
            response.raw_finish_reason.as_deref(),
            Some("blocked:MODEL_ARMOR")
        );
        assert_eq!(response.text(), "");
        assert_eq!(response.usage.input_tokens, Some(3));
    }
    let other = stream(&[last(json!([{"text": "a"}]), "NEVER_SEEN")]).whole();
    assert_eq!(other.finish_reason, Some(FinishReason::Other));
}

/// Servers that write enums as numbers.
#[test]
fn finish_reasons_as_numbers() {
    for (number, reason) in [
        (1, FinishReason::Stop),
        (2, FinishReason::Length),
        (3, FinishReason::ContentFilter),
        (77, FinishReason::Other),
    ] {
        let chunk = json!({"candidates": [{"content": {}, "finishReason": number}]});
        let response = stream(&[chunk]).whole();
        assert_eq!(response.finish_reason, Some(reason));
        assert_eq!(response.raw_finish_reason, Some(number.to_string()));
    }
    let unsaid = stream(&[json!({"candidates": [{"finishReason": 0}]})]);
    assert!(matches!(unsaid.fault, Some(Fault::Interrupted)));
}

#[test]
fn p203_what_may_be_missing() {
    for candidate in [
        json!({"content": {}, "finishReason": "MAX_TOKENS"}),
        json!({"finishReason": "MAX_TOKENS"}),
        json!({"content": {"role": "model"}, "finishReason": "MAX_TOKENS"}),
        json!({"content": {"parts": []}, "finishReason": "MAX_TOKENS", "index": 0}),
        json!({"content": null, "finishReason": "MAX_TOKENS", "index": null}),
        json!({"content": {"parts": [{}, null, {"text": null}]}, "finishReason": "MAX_TOKENS"}),
    ] {
        let response = stream(&[json!({"candidates": [candidate]})]).whole();
        assert_eq!(response.finish_reason, Some(FinishReason::Length));
        assert_eq!(response.text(), "");
        assert_eq!(response.message.content, []);
    }
}

#[test]
fn p204_no_candidates_and_no_reason() {
    let bare = json!({"usageMetadata": {"promptTokenCount": 1}});
    for body in [
        sse(std::slice::from_ref(&bare)),
        bare.to_string(),
        "[]".to_owned(),
        "{\"a\": 1}".to_owned(),
    ] {
        assert!(
            matches!(read(&body).fault, Some(Fault::Unreadable)),
            "{body}"
        );
    }
}

#[test]
fn p209_code_and_its_result_are_opaque() {
    let code = r#"{"executableCode": {"language":"PYTHON","code":"1e2"}, "thoughtSignature": "S"}"#;
    let result = r#"{"codeExecutionResult":{"outcome":"OUTCOME_OK"}}"#;
    let body = format!(
        "data: {{\"candidates\": [{{\"content\": {{\"parts\": [{{\"text\": \"a\"}}, {code}, {result}, {{\"text\": \"b\"}}]}}, \"finishReason\": \"STOP\"}}]}}\n\n"
    );
    let message = read(&body).message();
    let kinds: Vec<(&str, &str)> = message
        .content
        .iter()
        .map(|part| match part {
            Part::Opaque(part) => (part.opaque.kind.as_str(), part.opaque.data.as_str()),
            part => ("text", part.as_text().unwrap_or_default()),
        })
        .collect();
    assert_eq!(
        kinds,
        [
            ("text", "a"),
            ("executableCode", code),
            ("codeExecutionResult", result),
            ("text", "b")
        ]
    );
}

#[test]
fn p210_a_list_folds_like_the_stream() {
    let chunks = [
        json!({"candidates": [{"content": {"parts": [{"text": "a"}, {"toolCall": {"x": 1}}]}}], "responseId": "r"}),
        last(
            json!([{"functionCall": {"name": "f", "args": {"x": 1}}}]),
            "STOP",
        ),
    ];
    let stream = stream(&chunks).whole();
    assert_eq!(
        read(&Value::from(chunks.to_vec()).to_string()).whole(),
        stream
    );
    assert_eq!(stream.message.content.len(), 2);
}

/// P22: one document gives what its stream gives.
#[test]
fn p22_a_document_folds_like_the_stream() {
    let chunk = json!({"candidates": [{"content": {"parts": [
            {"text": "t", "thought": true}, {"text": "a", "thoughtSignature": "S"}]},
        "finishReason": "STOP", "groundingMetadata": {"g": 1}}],
        "usageMetadata": {"promptTokenCount": 5}});
    let document = read(&chunk.to_string()).whole();
    assert_eq!(stream(&[chunk]).whole(), document);
    assert_eq!(document.extra["groundingMetadata"], json!({"g": 1}));
    let cut = read("{\"candidates\": [");
    assert!(matches!(cut.fault, Some(Fault::Interrupted)));
    let cut = read("[{\"candidates\": []}");
    assert!(matches!(cut.fault, Some(Fault::Interrupted)));
}

#[test]
fn pictures_and_files_in_answers() {
    let message = stream(&[last(
        json!([{"inlineData": {"mimeType": "image/png", "data": "AAAA"}, "thoughtSignature": "S"},
            {"inlineData": {"mimeType": "audio/wav", "data": "BBBB"}}]),
        "STOP",
    )])
    .message();
    let [
        Part::Image(image),
        Part::Opaque(signature),
        Part::File(file),
    ] = &message.content[..]
    else {
        panic!("{message:?}")
    };
    assert_eq!(image.image.source, Source::Base64("AAAA".to_owned()));
    assert_eq!(signature.opaque.kind, SIGNATURE);
    assert_eq!(file.file.mime_type.as_deref(), Some("audio/wav"));
}

#[test]
fn other_candidates_are_ignored() {
    let response = stream(&[
        json!({"candidates": [
            {"content": {"parts": [{"text": "no"}]}, "index": 1},
            {"content": {"parts": [{"text": "a"}]}, "index": 0}]}),
        json!({"candidates": [{"content": {"parts": [{"text": "no"}]}, "index": 1}]}),
        last(json!([{"text": "b"}]), "STOP"),
    ])
    .whole();
    assert_eq!(response.text(), "ab");
    assert_eq!(response.warnings.len(), 1);
    assert_eq!(response.warnings[0].code, "extra_choices");
}
