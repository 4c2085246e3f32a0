use allm_core::{Part, ReasoningKind, Role};

use super::*;

#[test]
fn plain_text() {
    let body = stream_of(
        &[
            start(0, r#"{"type":"text","text":""}"#),
            text(0, "Hel"),
            text(0, "lo"),
            stop(0),
        ],
        "end_turn",
    );
    let read = read(&body);
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
    assert_eq!(response.message.role, Role::Assistant);
    assert_eq!(response.finish_reason, Some(FinishReason::Stop));
    assert_eq!(response.raw_finish_reason.as_deref(), Some("end_turn"));
    assert_eq!(response.id.as_ref().map(|id| id.as_str()), Some("msg_1"));
    assert_eq!(response.model.as_deref(), Some("claude-x"));
    assert_eq!(response.usage.input_tokens, Some(10));
    assert_eq!(response.usage.output_tokens, Some(7));
    assert_eq!(response.warnings, []);
}

/// P22: a document is read like its stream.
#[test]
fn p22_a_document_is_its_stream() {
    let streamed = stream_of(
        &[
            start(0, r#"{"type":"thinking","thinking":"","signature":""}"#),
            delta(0, r#"{"type":"thinking_delta","thinking":"so"}"#),
            delta(0, r#"{"type":"signature_delta","signature":"c2ln"}"#),
            stop(0),
            start(1, r#"{"type":"text","text":""}"#),
            text(1, "Hi"),
            stop(1),
            start(
                2,
                r#"{"type":"tool_use","id":"t1","name":"look","input":{}}"#,
            ),
            json(2, r#"{"x":1}"#),
            stop(2),
        ],
        "tool_use",
    );
    let document = r#"{"id":"msg_1","type":"message","role":"assistant","model":"claude-x",
        "content":[{"type":"thinking","thinking":"so","signature":"c2ln"},{"type":"text","text":"Hi"},
        {"type":"tool_use","id":"t1","name":"look","input":{"x":1}}],
        "stop_reason":"tool_use","stop_sequence":null,"usage":{"input_tokens":10,"output_tokens":7}}"#;
    assert_eq!(read(&streamed).whole(), read(document).whole());
    assert_eq!(
        read(document).whole().finish_reason,
        Some(FinishReason::ToolCalls)
    );
}

#[test]
fn p176_text_thinking_text() {
    let body = stream_of(
        &[
            start(0, r#"{"type":"text","text":"a"}"#),
            stop(0),
            start(1, r#"{"type":"thinking","thinking":"t"}"#),
            stop(1),
            start(2, r#"{"type":"text","text":"b"}"#),
            stop(2),
        ],
        "end_turn",
    );
    let response = read(&body).whole();
    let kinds: Vec<&str> = response
        .message
        .content
        .iter()
        .map(|part| match part {
            Part::Text(_) => "text",
            Part::Reasoning(_) => "reasoning",
            _ => "other",
        })
        .collect();
    assert_eq!(kinds, ["text", "reasoning", "text"]);
    assert_eq!(response.text(), "ab");
    assert_eq!(response.reasoning(), "t");
}

/// P171, P172: signatures and withheld thinking are kept byte for byte, also beside empty text.
#[test]
fn p171_p172_thinking_is_kept() {
    let body = stream_of(
        &[
            start(0, r#"{"type":"thinking","thinking":"","signature":""}"#),
            delta(
                0,
                r#"{"type":"thinking_delta","thinking":"","estimated_tokens":50}"#,
            ),
            delta(0, r#"{"type":"signature_delta","signature":"EqQB+/=\/"}"#),
            stop(0),
            start(1, r#"{"type":"redacted_thinking","data":"Em1CCmcI="}"#),
            stop(1),
            start(2, r#"{"type":"thinking","thinking":""}"#),
            delta(2, r#"{"type":"thinking_delta","thinking":"a \"b\"\n"}"#),
            delta(2, r#"{"type":"signature_delta","signature":"s2"}"#),
            stop(2),
        ],
        "end_turn",
    );
    let message = read(&body).whole().message;
    assert_eq!(
        opaque(&message),
        [
            (
                "thinking",
                r#"{"type":"thinking","thinking":"","signature":"EqQB+/=\/"}"#
            ),
            (
                "redacted_thinking",
                r#"{"type":"redacted_thinking","data":"Em1CCmcI="}"#
            ),
            (
                "thinking",
                r#"{"type":"thinking","thinking":"a \"b\"\n","signature":"s2"}"#
            ),
        ]
    );
    let Part::Reasoning(empty) = &message.content[0] else {
        panic!("{message:?}")
    };
    assert_eq!(empty.text, None);
    let Part::Reasoning(withheld) = &message.content[1] else {
        panic!("{message:?}")
    };
    assert_eq!(withheld.kind, ReasoningKind::Redacted);
}

/// Thinking that was cut before its signature would be refused: only its text is kept.
#[test]
fn thinking_without_a_signature_has_nothing_to_send_back() {
    let body = stream_of(
        &[
            start(0, r#"{"type":"thinking","thinking":"half","signature":""}"#),
            stop(0),
        ],
        "max_tokens",
    );
    let message = read(&body).whole().message;
    assert_eq!(opaque(&message), []);
    assert_eq!(message.content.len(), 1);
}

#[test]
fn summaries_are_told_as_such() {
    let body = stream_of(
        &[start(0, r#"{"type":"thinking","thinking":"t"}"#)],
        "end_turn",
    );
    let asked = Asked {
        summaries: true,
        ..Asked::default()
    };
    let message = read_as(asked, &body).whole().message;
    let Part::Reasoning(part) = &message.content[0] else {
        panic!("{message:?}")
    };
    assert_eq!(part.kind, ReasoningKind::Summary);
}

/// P173: what other blocks hold is kept as it came, with what came later in its place.
#[test]
fn p173_blocks_of_the_provider_are_kept() {
    let body = stream_of(
        &[
            start(
                0,
                r#"{"type":"server_tool_use","id":"srv_1","name":"web_search","input":{},"caller":{"type":"direct"}}"#,
            ),
            json(0, r#"{"query": "#),
            json(0, r#""rain"}"#),
            stop(0),
            start(
                1,
                r#"{"type":"web_search_tool_result","tool_use_id":"srv_1","content":[{"score": 1.0,"page_age":null}]}"#,
            ),
            stop(1),
            start(2, r#"{"citations":[],"type":"text","text":""}"#),
            text(2, "wet"),
            delta(
                2,
                r#"{"type":"citations_delta","citation":{"cited_text":"wet","n":1.0}}"#,
            ),
            delta(
                2,
                r#"{"type":"citations_delta","citation":{"cited_text":"so"}}"#,
            ),
            stop(2),
            start(3, r#"{"type":"compaction","content":null}"#),
            delta(3, r#"{"type":"compaction_delta","content":"short"}"#),
            stop(3),
        ],
        "end_turn",
    );
    let message = read(&body).whole().message;
    assert_eq!(
        opaque(&message),
        [
            (
                "server_tool_use",
                r#"{"type":"server_tool_use","id":"srv_1","name":"web_search","input":{"query": "rain"},"caller":{"type":"direct"}}"#
            ),
            (
                "web_search_tool_result",
                r#"{"type":"web_search_tool_result","tool_use_id":"srv_1","content":[{"score": 1.0,"page_age":null}]}"#
            ),
            (
                "text",
                r#"{"citations":[{"cited_text":"wet","n":1.0},{"cited_text":"so"}]}"#
            ),
            ("compaction", r#"{"type":"compaction","content":"short"}"#),
        ]
    );
    assert_eq!(message.text(), "wet");
}

#[test]
fn p186_pings_and_unknown_things_do_no_harm() {
    let ping = r#"{"type": "ping"}"#;
    let body = sse(&[
        ping,
        r#"{"type":"invented","index":{"a":1},"delta":7}"#,
        BEGIN,
        ping,
        &start(0, r#"{"type":"hologram","shape":[1]}"#),
        &delta(0, r#"{"type":"hologram_delta","shape":[2]}"#),
        ping,
        &stop(0),
        &start(1, r#"{"type":"text","text":""}"#),
        &delta(1, r#"{"type":"invented_delta"}"#),
        &text(1, "a"),
        &stop(1),
        &stop(9),
        &delta(9, r#"{"type":"invented_delta","x":1}"#),
        &ends("end_turn"),
        ping,
        STOP,
        ping,
    ]);
    let message = read(&body).whole().message;
    assert_eq!(message.text(), "a");
    assert_eq!(
        opaque(&message),
        [("hologram", r#"{"type":"hologram","shape":[2]}"#)]
    );
}

#[test]
fn p187_a_piece_opens_its_block() {
    let body = stream_of(
        &[
            text(1, "b"),
            delta(0, r#"{"type":"thinking_delta","thinking":"t"}"#),
            delta(0, r#"{"type":"signature_delta","signature":"s"}"#),
            text(1, "c"),
        ],
        "end_turn",
    );
    let response = read(&body).whole();
    assert_eq!(response.text(), "bc");
    assert_eq!(response.reasoning(), "t");
    assert_eq!(
        opaque(&response.message),
        [(
            "thinking",
            r#"{"type":"thinking","thinking":"t","signature":"s"}"#
        )]
    );
    assert!(matches!(response.message.content[0], Part::Reasoning(_)));
}

/// Indices that begin anew, and none at all.
#[test]
fn blocks_without_an_index_of_their_own() {
    let body = sse(&[
        BEGIN,
        &start(0, r#"{"type":"text","text":"a"}"#),
        BEGIN,
        &start(0, r#"{"type":"text","text":"b"}"#),
        &text(0, "c"),
        r#"{"type":"content_block_start","content_block":{"type":"text","text":"d"}}"#,
        r#"{"type":"content_block_delta","index":"x","delta":{"type":"text_delta","text":"e"}}"#,
        r#"{"type":"content_block_stop"}"#,
        &ends("end_turn"),
        STOP,
    ]);
    let response = read(&body).whole();
    assert_eq!(response.text(), "abcde");
    assert_eq!(response.message.content.len(), 3);
}

/// P35: wrong types are nothing.
#[test]
fn p35_wrong_types_count_as_absent() {
    let body = sse(&[
        r#"{"type":"message_start","message":{"id":7,"model":null,"content":"x","usage":[1],"stop_reason":{}}}"#,
        r#"{"type":"message_start","message":null}"#,
        r#"{"type":"content_block_start","index":0,"content_block":7}"#,
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":null,"big":99999999999999999999999}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":[1]}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":7}}"#,
        &text(0, "a"),
        r#"{"type":"message_delta","delta":null,"usage":"x"}"#,
        STOP,
    ]);
    let response = read(&body).whole();
    assert_eq!(response.text(), "a");
    assert_eq!(response.finish_reason, None);
    assert_eq!(response.id, None);
}

/// P36: the payload's type decides; the name counts where there is none.
#[test]
fn p36_types_and_names() {
    let body = format!(
        "event: message_stop\ndata: {BEGIN}\n\nevent: content_block_delta\ndata: {{\"index\":0,\"delta\":{{\"type\":\"text_delta\",\"text\":\"a\"}}}}\n\nevent: ping\ndata: {}\n\nevent: message_stop\ndata: {{}}\n\n",
        ends("end_turn")
    );
    let response = read(&body).whole();
    assert_eq!(response.text(), "a");
    assert_eq!(response.finish_reason, Some(FinishReason::Stop));
}
