//! Pictures and files.

use allm_core::{Detail, File, FilePart, Image, ImagePart, Part, Role};

use super::*;
use crate::providers::compat::Compat;
use crate::providers::compat::profile::ToolResultImages;

fn png() -> Image {
    Image::from_bytes(vec![1, 2], "image/png")
}

fn block(url: &str, detail: &str) -> Value {
    json!({"type": "image_url", "image_url": {"url": url, "detail": detail}})
}

const PNG: &str = "data:image/png;base64,AQI=";

/// P105, P108, P109
#[test]
fn p105_p108_p109_blocks() {
    let closely = Part::Image(ImagePart {
        image: Image::from_url("https://h/x.png").into(),
        detail: Detail::High,
    });
    let pdf = Part::File(FilePart {
        file: File::from_bytes("%PDF", "application/pdf").into(),
        name: Some("a.pdf".to_owned()),
    });
    let parts = vec![
        Part::text("look"),
        Part::image(png()),
        Part::image(Image::from_base64("AQI=", "image/png")),
        closely,
        pdf,
        Part::file(File::from_provider("p", "file-1")),
    ];
    let sent = messages(Request::new(Message::user(parts)), &Profile::default());
    assert_eq!(
        sent[0]["content"],
        json!([
            {"type": "text", "text": "look"},
            block(PNG, "auto"),
            block(PNG, "auto"),
            block("https://h/x.png", "high"),
            {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBERg=="}},
            {"type": "file", "file": {"file_id": "file-1"}}
        ])
    );
}

fn with_pictures() -> Request {
    let thread = Thread::from(vec![
        Message::user("hi"),
        Message::assistant("").with_tool_calls(looked(&["a", "b"])),
        Message::tool_result("b", "no picture"),
        Message::tool_result(
            "a",
            vec![Part::text("see"), Part::image(png()), Part::image(png())],
        ),
    ]);
    Request::new(thread)
}

/// P110, P235
#[test]
fn p110_p235_pictures_of_a_result() {
    let sent = messages(with_pictures(), &Profile::default());
    let announced = "see\n[image 1 of call a follows]\n[image 2 of call a follows]";
    assert_eq!(
        sent.as_array().map(|list| list[2..].to_vec()),
        Some(vec![
            json!({"role": "tool", "tool_call_id": "a", "content": announced}),
            json!({"role": "tool", "tool_call_id": "b", "content": "no picture"}),
            json!({"role": "user", "content": [block(PNG, "auto"), block(PNG, "auto")]}),
        ])
    );
    let profile = Profile {
        tool_result_images: ToolResultImages::Inline,
        ..Profile::default()
    };
    let sent = messages(with_pictures(), &profile);
    let see = json!({"type": "text", "text": "see"});
    assert_eq!(
        sent.as_array().map(|list| list[2..].to_vec()),
        Some(vec![
            json!({"role": "tool", "tool_call_id": "a", "content": [see, block(PNG, "auto"), block(PNG, "auto")]}),
            json!({"role": "tool", "tool_call_id": "b", "content": "no picture"}),
        ])
    );
}

#[test]
fn an_assistants_picture_is_left_out_and_told() {
    let said = Message::new(Role::Assistant, vec![Part::text("a"), Part::image(png())]);
    let request = Request::new(Thread::from(vec![said, Message::user("hi")]));
    let (body, warnings) = to_compat(request, &Profile::default());
    assert_eq!(
        body["messages"][0],
        json!({"role": "assistant", "content": "a"})
    );
    assert_eq!(warnings, ["option_dropped messages[0].content[1]"]);
}

/// P108: some servers fetch a file.
#[test]
fn p108_a_file_by_its_url() {
    let linked = Part::file(File::from_url("https://h/a.pdf"));
    let request = Request::new(Message::user(vec![linked]));
    let profile = Profile {
        file_urls: true,
        ..Profile::default()
    };
    let (body, _) = to_compat(request, &profile);
    assert_eq!(
        body["messages"][0]["content"],
        json!([{"type": "file", "file": {"file_data": "https://h/a.pdf"}}])
    );
    assert!(Compat::openrouter().known_profile().file_urls);
}

#[test]
fn p106_what_cannot_be_sent() {
    let svg = Part::image(Image::from_bytes("x", "image/svg+xml"));
    let held = Part::image(Image::from_provider("p", "file-1"));
    let linked = Part::file(File::from_url("https://h/a.pdf"));
    let large = Part::image(Image::from_bytes(vec![0; 11], "image/png"));
    let exact = Part::image(Image::from_bytes(vec![0; 10], "image/png"));
    let request = Request::new(Message::user(vec![svg, held, linked, large, exact]));
    let mut connection = connection("p");
    connection.max_image_bytes = 10;
    let error = super::super::super::check(&connection, &call(request, "m"), &openai("gpt-4o"))
        .expect_err("faults");
    let told: Vec<String> = error.faults.iter().map(ToString::to_string).collect();
    assert_eq!(
        told,
        [
            "messages[0].content[0]: unsupported_media_type",
            "messages[0].content[3]: too_large",
            "messages[0].content[1]: unsupported (a picture cannot be sent by its id)",
            "messages[0].content[2]: unsupported (a file cannot be sent by its URL)",
        ]
    );
}
