use serde_json::json;

use super::*;

fn result(value: Value) -> CallToolResult {
    serde_json::from_value(value).expect("a result")
}

fn reply(value: Value) -> ToolReply {
    of(result(value), None)
}

#[test]
fn m21_texts() {
    let text = |text: &str| json!({"type": "text", "text": text});
    assert_eq!(
        reply(json!({"content": [text("one")]})),
        ToolReply::ok("one")
    );
    assert_eq!(
        reply(json!({"content": [text("a"), text("b")]})),
        ToolReply::ok("a\nb")
    );
    assert_eq!(reply(json!({"content": []})), ToolReply::ok(""));
}

#[test]
fn m22_structured() {
    let both = |texts: &[&str], value: Value| {
        let texts = texts
            .iter()
            .map(|text| json!({"type": "text", "text": text}));
        reply(json!({"content": texts.collect::<Vec<_>>(), "structuredContent": value}))
    };
    for (texts, value) in [
        (&["{\"a\": 1}"][..], json!({"a": 1})),
        (&[], json!({"a": 1})),
        (&["as it is"], json!({"result": "as it is"})),
        (&["[1, 2]"], json!({"result": [1, 2]})),
        (&["one", "2"], json!({"result": ["one", 2]})),
    ] {
        assert_eq!(both(texts, value.clone()), ToolReply::ok(&value));
    }
    let with_picture = json!({
        "content": [{"type": "image", "data": "AAEC", "mimeType": "image/png"}],
        "structuredContent": [1],
    });
    let value = json!({"structured": [1], "content": "[image: image/png, 3 bytes]"});
    assert_eq!(reply(with_picture), ToolReply::ok(&value));
}

/// M182
#[test]
fn texts_that_say_something_else_are_kept() {
    let said = reply(json!({
        "content": [{"type": "text", "text": "The server closes at noon."}],
        "structuredContent": {"a": 1},
    }));
    let value = json!({"structured": {"a": 1}, "content": "The server closes at noon."});
    assert_eq!(said, ToolReply::ok(&value));
}

#[test]
fn m23_what_is_no_text_is_named() {
    let said = reply(json!({"content": [
        {"type": "text", "text": "one"},
        {"type": "image", "data": "AAEC", "mimeType": "image/png"},
        {"type": "audio", "data": "UklGRg==", "mimeType": "audio/wav"},
        {"type": "resource", "resource": {"uri": "file:///a", "mimeType": "text/plain", "text": "inside"}},
        {"type": "resource", "resource": {"uri": "file:///b", "blob": "AAEC"}},
        {"type": "resource_link", "name": "c", "uri": "file:///c", "description": "See there."},
        {"type": "image", "data": "?", "mimeType": "image/png"},
    ]}));
    let text = "one\n[image: image/png, 3 bytes]\n[audio: audio/wav, 4 bytes]\n[resource file:///a]\ninside\n\
                [resource file:///b: application/octet-stream, 3 bytes]\n[resource link c file:///c: See there.]\n\
                [image: image/png, which cannot be read]";
    assert_eq!(said, ToolReply::ok(text));
}

#[test]
fn m23_what_is_no_text_is_kept() {
    let folder = std::env::temp_dir().join(format!("allm-mcp-media-{}", std::process::id()));
    let content =
        json!({"content": [{"type": "image", "data": "AAEC", "mimeType": "image/../../x"}]});
    let said = of(result(content), Some(&folder));
    let hash = Hash::of_bytes(&[0, 1, 2]).to_string();
    let file = folder.join(format!("{}.bin", &hash[..32]));
    let text = format!("[image: image/../../x, 3 bytes, in {}]", file.display());
    assert_eq!(said, ToolReply::ok(&text));
    assert_eq!(std::fs::read(file).expect("a file"), [0, 1, 2]);
    std::fs::remove_dir_all(folder).expect("a folder");
}

#[test]
fn m24_errors() {
    let failed = json!({"content": [{"type": "text", "text": "no"}], "isError": true});
    assert_eq!(reply(failed), ToolReply::error("no"));
    let silent = json!({"content": [], "isError": true});
    assert_eq!(
        reply(silent),
        ToolReply::error("the tool failed and did not say why")
    );
}

const PNG: &[u8] = b"\x89PNG\r\n\x1a\nrest";
const PDF: &[u8] = b"%PDF-1.7";

fn image(bytes: &[u8], kind: &str) -> Value {
    json!({"type": "image", "data": STANDARD.encode(bytes), "mimeType": kind})
}

fn blob(bytes: &[u8], kind: &str) -> Value {
    let resource = json!({"uri": "file:///x", "mimeType": kind, "blob": STANDARD.encode(bytes)});
    json!({"type": "resource", "resource": resource})
}

/// M191
#[test]
fn pictures_go_to_the_model_and_stay_named() {
    let content = [
        json!({"type": "text", "text": "one"}),
        image(PNG, "image/png"),
        blob(PNG, "image/png"),
        blob(PDF, "application/pdf"),
    ];
    let text = "one\n[image: image/png, 12 bytes]\n[resource file:///x: image/png, 12 bytes]\n\
                [resource file:///x: application/pdf, 8 bytes]";
    let picture = || Part::image(Image::from_bytes(PNG, "image/png"));
    let paper = Part::file(File::from_bytes(PDF, "application/pdf"));
    let media = [picture(), picture(), paper];
    let said = reply(json!({"content": content}));
    assert_eq!(said, ToolReply::ok_with(text, media));
    assert!(said.checked().is_ok());
    let structured = json!({"content": [image(PNG, "image/png")], "structuredContent": {"a": 1}});
    let value = json!({"structured": {"a": 1}, "content": "[image: image/png, 12 bytes]"});
    assert_eq!(reply(structured), ToolReply::ok_with(&value, [picture()]));
}

/// M191
#[test]
fn each_kind_begins_as_it_should() {
    for (kind, bytes) in [
        ("image/jpeg", &b"\xff\xd8\xff\xe0"[..]),
        ("image/gif", b"GIF89a"),
        ("image/webp", b"RIFF\0\0\0\0WEBPVP8 "),
        ("IMAGE/PNG; q=1", PNG),
    ] {
        let said = reply(json!({"content": [image(bytes, kind)]}));
        assert!(matches!(said, ToolReply::OkWith { .. }), "{kind}");
    }
    for (kind, bytes) in [
        ("image/png", &b"GIF89a"[..]),
        ("image/webp", b"RIFF\0\0\0\0WAVE"),
        ("image/svg+xml", b"<svg/>"),
        ("image/png", b""),
    ] {
        let said = reply(json!({"content": [image(bytes, kind)]}));
        let text = format!("[image: {kind}, {} bytes]", bytes.len());
        assert_eq!(said, ToolReply::ok(&text));
    }
}

/// M191
#[test]
fn what_is_too_much_is_named_only() {
    let large = [PNG, &vec![0; MAX_TOOL_MEDIA][..]].concat();
    let said = reply(json!({"content": [image(&large, "image/png"), image(PNG, "image/png")]}));
    let ToolReply::OkWith { media, .. } = said else {
        panic!("{said:?}")
    };
    assert_eq!(media.len(), 1);
    let many: Vec<_> = (0..20).map(|_| image(PNG, "image/png")).collect();
    let said = reply(json!({"content": many}));
    assert!(said.clone().checked().is_ok());
    let ToolReply::OkWith { media, .. } = said else {
        panic!("{said:?}")
    };
    assert_eq!(media.len(), MAX_TOOL_MEDIA_PARTS);
}

/// M24, M191
#[test]
fn an_error_is_text() {
    let failed = json!({"content": [image(PNG, "image/png")], "isError": true});
    assert_eq!(
        reply(failed),
        ToolReply::error("[image: image/png, 12 bytes]")
    );
}
