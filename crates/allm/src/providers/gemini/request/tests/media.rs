//! Pictures and files.

use super::*;

/// P105, P108, P109: pictures and files.
#[test]
fn p105_p108_p109_media() {
    let looked = Part::Image(ImagePart {
        image: Image::from_bytes(vec![1, 2], "image/heic").into(),
        detail: Detail::High,
    });
    let mut held = Image::from_url("https://h/x.png");
    held.mime_type = Some("image/png".to_owned());
    let parts = vec![
        looked,
        Part::image(Image::from_base64("AQI=", "image/png")),
        Part::image(held),
        Part::image(Image::from_url("https://h/y")),
        Part::file(File::from_bytes("x", "application/pdf")),
        Part::file(File::from_provider("gemini", "https://h/files/7")),
    ];
    let request = Request::new(Message::user(parts));
    let (body, warnings) = made(&request, OLD);
    assert_eq!(
        body["contents"][0]["parts"],
        json!([
            {"inlineData": {"mimeType": "image/heic", "data": "AQI="}},
            {"inlineData": {"mimeType": "image/png", "data": "AQI="}},
            {"fileData": {"mimeType": "image/png", "fileUri": "https://h/x.png"}},
            {"fileData": {"fileUri": "https://h/y"}},
            {"inlineData": {"mimeType": "application/pdf", "data": "eA=="}},
            {"fileData": {"fileUri": "https://h/files/7"}}
        ])
    );
    assert_eq!(warnings.len(), 1);
    assert_eq!(warnings[0].code, "option_dropped");
    assert_eq!(faults(&request), [] as [&str; 0]);
}

/// P106, P107: what is refused, all of it at once.
#[test]
fn p106_p107_media_faults() {
    let image = |bytes: usize| Part::image(Image::from_bytes(vec![0; bytes], "image/png"));
    let request = Request {
        messages: vec![
            Message::user(vec![Part::image(Image::from_bytes("x", "image/svg+xml"))]),
            Message::user(vec![image(20 << 20), image((20 << 20) + 1)]),
            Message::user(vec![Part::image(Image::new(Source::Bytes("x".into())))]),
        ]
        .into(),
        ..Request::default()
    };
    assert_eq!(
        faults(&request),
        [
            "messages[0].content[0]: unsupported_media_type",
            "messages[1].content[1]: too_large",
            "messages[2].content[0]: missing_mime_type"
        ]
    );
}

/// P110, P111: pictures in results.
#[test]
fn p110_p111_media_in_results() {
    let picture = Part::image(Image::from_base64("AAAA", "image/png"));
    let messages = || {
        vec![
            Message::assistant("")
                .with_tool_calls(vec![call("1", "f", "{}"), call("2", "g", "{}")]),
            Message::tool_result("1", vec![Part::text("see"), picture.clone()]),
            Message::tool_result("2", "b"),
        ]
    };
    let inline = json!({"inlineData": {"mimeType": "image/png", "data": "AAAA"}});
    assert_eq!(
        contents(messages(), OLD)[1],
        json!({"role": "user", "parts": [
            {"functionResponse": {"name": "f", "response": {"output": "see"}}},
            {"functionResponse": {"name": "g", "response": {"output": "b"}}},
            inline
        ]})
    );
    assert_eq!(
        contents(messages(), NEW)[1],
        json!({"role": "user", "parts": [
            {"functionResponse": {"name": "f", "response": {"output": "see"}, "parts": [inline]}},
            {"functionResponse": {"name": "g", "response": {"output": "b"}}}
        ]})
    );
}
