use bytes::Bytes;
use proptest::prelude::*;
use serde_json::json;

use super::*;

fn interaction(body: &[u8]) -> Interaction {
    Interaction {
        asked: Asked {
            method: "POST".to_owned(),
            host: "h:1".to_owned(),
            path: "/v1/x".to_owned(),
            query: "a=1".to_owned(),
            body: Payload::Json(json!({"b": [1.5, "x\ny"], "a": null})),
        },
        answered: Some(Answered {
            status: 200,
            headers: vec![("x-request-id".to_owned(), "r".to_owned())],
            body: Bytes::copy_from_slice(body),
            chunks: vec![Chunk {
                at: 3,
                length: body.len(),
            }],
        }),
        end: End::Left,
    }
}

fn read_text(text: &str) -> Result<Vec<Interaction>, CassetteError> {
    read(Path::new("c.json"), text)
}

/// Every body is read as it was written, and in the form that is best to read.
#[test]
fn c193_bodies_come_back_byte_for_byte() {
    for (form, body) in [
        ("json", &b"{\"b\":1, \"a\" :1.0}"[..]),
        ("text", b"{\n  \"b\": 1\n}"),
        ("events", b"data: {\"a\":1}\n\ndata: [DONE]\n\n"),
        ("events", b"event: x\ndata: {\"a\": 1}\n\n: ping\n\n"),
        ("crlf", b"data: {\"a\": 1}\r\n\r\n"),
        ("text", b"data: {\"a\": 1}\n\ndata: 2"),
        ("text", b"data:{\"a\": 1}\n\n"),
        ("text", b"data: \"a\"\ndata: b\n\n"),
        ("events", b"data: \"a\"x\n\n"),
        ("text", b"\xEF\xBB\xBFhi"),
        ("base64", b"\xFF\x00"),
        ("status", b""),
    ] {
        let mut one = interaction(body);
        if body.is_empty()
            && let Some(answered) = &mut one.answered
        {
            answered.chunks.clear();
        }
        let text = write(std::slice::from_ref(&one)).expect("written");
        assert!(text.contains(&format!("\"{form}\"")), "{form}: {text}");
        assert_eq!(read_text(&text).expect("read"), [one], "{text}");
    }
}

/// The whole file, so that a change of the format is seen.
#[test]
fn c193_the_form_of_a_file() {
    let text = write(&[interaction(
        b"event: e\ndata: {\"a\": 1}\n\ndata: [DONE]\n\n",
    )]);
    let expected = r#"{
  "v": 1,
  "type": "cassette",
  "data": {
    "interactions": [
      {
        "request": {
          "method": "POST",
          "host": "h:1",
          "path": "/v1/x",
          "query": "a=1",
          "body": {
            "json": {
              "a": null,
              "b": [
                1.5,
                "x\ny"
              ]
            }
          }
        },
        "response": {
          "status": 200,
          "headers": {
            "x-request-id": "r"
          },
          "body": {
            "events": [
              {
                "event": "e",
                "data": {"a": 1}
              },
              {
                "data": "[DONE]"
              }
            ]
          },
          "chunks": [[3,39]]
        },
        "end": "left"
      }
    ]
  }
}
"#;
    assert_eq!(text.expect("written"), expected);
}

/// C195: what is wrong with a cassette is told with its place.
#[test]
fn what_is_wrong_is_told_with_its_place() {
    let file = |inside: &str| {
        format!(
            "{{\"v\": 1, \"type\": \"cassette\",\n\"data\": {{\"interactions\": [\n{inside}]}}}}"
        )
    };
    let request = r#""request": {"method": "POST", "host": "h", "path": "/"}"#;
    for (text, reason, place) in [
        ("{".to_owned(), CassetteReason::Malformed, "line 1 column 1"),
        ("{}".to_owned(), CassetteReason::Malformed, "no cassette"),
        (
            r#"{"v": 2, "type": "cassette", "new": 1}"#.to_owned(),
            CassetteReason::UnsupportedVersion,
            "version 2",
        ),
        (
            file(r#"{"request": {"verb": "POST"}}"#),
            CassetteReason::Malformed,
            "`verb`",
        ),
        (
            file(&format!("{{{request}}}")),
            CassetteReason::Invalid,
            "interactions[0].response",
        ),
        (
            file(&format!("{{{request}, \"response\": {{\"status\": 7}}}}")),
            CassetteReason::Invalid,
            "response.status",
        ),
        (
            file(&format!(
                "{{{request}, \"response\": {{\"status\": 200, \"body\": {{\"text\": [\"ab\"]}}, \"chunks\": [[0, 1]]}}}}"
            )),
            CassetteReason::Invalid,
            "response.chunks: they are not of the 2 bytes",
        ),
        (
            file(&format!(
                "{{{request}, \"response\": {{\"status\": 200, \"body\": {{\"text\": [], \"json\": 1}}}}}}"
            )),
            CassetteReason::Invalid,
            "response.body: it has more than one",
        ),
        (
            file(&format!(
                "{{{request}, \"response\": {{\"status\": 200, \"body\": {{\"base64\": \"*\"}}}}}}"
            )),
            CassetteReason::Invalid,
            "`base64` holds none",
        ),
        (
            file(&format!(
                "{{{request}, \"response\": {{\"status\": 200, \"body\": {{\"events\": [{{\"event\": \"x\"}}]}}}}}}"
            )),
            CassetteReason::Invalid,
            "events[0]",
        ),
        (
            file(&format!(
                "{{{request}, \"response\": {{\"status\": 200, \"headers\": {{\"a b\": \"\"}}}}}}"
            )),
            CassetteReason::Invalid,
            "`a b`",
        ),
    ] {
        let error = read_text(&text).expect_err(&text);
        let told = error.to_string();
        assert_eq!(error.reason(), reason, "{told}");
        assert!(
            told.starts_with("c.json: ") && told.contains(place),
            "{told}"
        );
    }
    let unknown = read_text(&file(r#"{"request": {"verb": "POST"}}"#)).expect_err("a fault");
    assert!(unknown.to_string().contains("line 3"), "{unknown}");
}

/// Data that was laid out over lines by hand is one line of the stream.
#[test]
fn what_was_laid_out_by_hand_is_read() {
    let text = r#"{"v": 1, "type": "cassette", "data": {"interactions": [{
        "request": {"method": "POST", "host": "h", "path": "/", "body": {"json": {"a": 1}}},
        "response": {"status": 200, "body": {"events": [{"data": {
            "a": "b c"
        }}]}}
    }]}}"#;
    let read = read_text(text).expect("read");
    let body = read[0].answered.as_ref().map(|answered| &answered.body[..]);
    assert_eq!(body, Some(&b"data: { \"a\": \"b c\" }\n\n"[..]));
    assert_eq!(read[0].end, End::Whole);
}

/// Pieces of which bodies are made, so that some are almost events.
fn piece() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        Just(b"data: ".to_vec()),
        Just(b"event: x".to_vec()),
        Just(b": c".to_vec()),
        Just(b"{\"a\": [1.0, \"\\n\"]}".to_vec()),
        Just(b"\"s\"".to_vec()),
        Just(b"\n".to_vec()),
        Just(b"\n\n".to_vec()),
        Just(b"\r\n\r\n".to_vec()),
        prop::collection::vec(any::<u8>(), 0..4),
    ]
}

proptest! {
    /// C193: whatever the bytes are.
    #[test]
    fn c193_any_body_comes_back(pieces in prop::collection::vec(piece(), 0..12)) {
        let body = pieces.concat();
        let mut one = interaction(&body);
        if let Some(answered) = &mut one.answered {
            answered.chunks.retain(|chunk| chunk.length > 0);
        }
        let text = write(std::slice::from_ref(&one)).expect("written");
        prop_assert_eq!(read_text(&text).expect("read"), [one]);
    }

    /// C195: a file of anything is a fault, and no panic.
    #[test]
    fn c195_any_text_is_read_or_refused(text in "[ -~\n]{0,60}") {
        prop_assert!(read_text(&text).is_err());
    }
}
