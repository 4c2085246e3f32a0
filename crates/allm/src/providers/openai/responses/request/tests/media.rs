//! Images and files.

use allm_core::{Detail, File, FilePart, Image, ImagePart, Part};

use super::*;

fn png(image: Image) -> Part {
    Part::image(image)
}

/// P105, P109: the detail is always said.
#[test]
fn p105_p109_images() {
    let closely = Part::Image(ImagePart {
        image: Image::from_url("https://x.org/a.png").into(),
        detail: Detail::High,
    });
    let sent = input(vec![Message::user(vec![
        Part::text("See"),
        png(Image::from_bytes(vec![1, 2, 3], "image/png")),
        png(Image::from_base64("AQID", "image/png")),
        closely,
        png(Image::from_provider("openai", "file-1")),
    ])]);
    assert_eq!(
        sent,
        json!([{"role": "user", "content": [
            {"type": "input_text", "text": "See"},
            {"type": "input_image", "image_url": "data:image/png;base64,AQID", "detail": "auto"},
            {"type": "input_image", "image_url": "data:image/png;base64,AQID", "detail": "auto"},
            {"type": "input_image", "image_url": "https://x.org/a.png", "detail": "high"},
            {"type": "input_image", "file_id": "file-1", "detail": "auto"}
        ]}])
    );
}

#[test]
fn p108_files() {
    let named = Part::File(FilePart {
        file: File::from_bytes(vec![1, 2, 3], "application/pdf").into(),
        name: Some("a.pdf".into()),
    });
    let sent = input(vec![Message::user(vec![
        named,
        Part::file(File::from_base64("AQID", "application/pdf")),
        Part::file(File::from_base64("AQID", "text/csv")),
        Part::file(File::from_url("https://x.org/a.pdf")),
        Part::file(File::from_provider("openai", "file-1")),
    ])]);
    assert_eq!(
        sent,
        json!([{"role": "user", "content": [
            {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,AQID"},
            {"type": "input_file", "filename": "file.pdf", "file_data": "data:application/pdf;base64,AQID"},
            {"type": "input_file", "filename": "file.txt", "file_data": "data:text/csv;base64,AQID"},
            {"type": "input_file", "file_url": "https://x.org/a.pdf"},
            {"type": "input_file", "file_id": "file-1"}
        ]}])
    );
}

/// P106, P107: all faults together.
#[test]
fn p106_p107_what_is_refused() {
    let mut nameless = Image::from_bytes(vec![1], "image/png");
    nameless.mime_type = None;
    let thread = vec![
        Message::user(vec![
            png(Image::from_bytes(vec![1], "image/svg+xml")),
            png(nameless),
            png(Image::from_bytes(vec![0; 20 << 20], "image/png")),
        ]),
        Message::user(vec![
            png(Image::from_bytes(vec![0; (20 << 20) + 1], "image/png")),
            Part::file(File::from_bytes(vec![1], "application/zip")),
        ]),
    ];
    let faults = refused(Request::new(Thread::from(thread))).faults;
    let told: Vec<String> = faults.iter().map(ToString::to_string).collect();
    assert_eq!(
        told,
        [
            "messages[0].content[0]: unsupported_media_type",
            "messages[0].content[1]: missing_mime_type",
            "messages[1].content[0]: too_large",
            "messages[1].content[1]: unsupported_media_type"
        ]
    );
}

/// P108: what office programs write is read too; a name that is not given tells what it is.
#[test]
fn p108_office_documents() {
    const WORD: &str = "application/vnd.openxmlformats-officedocument.wordprocessingml.document";
    let memo = || Part::file(File::from_bytes(vec![1, 2, 3], WORD));
    let request = Request::new(Thread::from(vec![Message::user(vec![memo()])]));
    let connection = Connection::new("openai", "https://h/v1", Auth::Bearer);
    assert_eq!(check(&connection, &call(request, "gpt-5")), Ok(()));
    assert_eq!(
        input(vec![Message::user(vec![memo()])])[0]["content"],
        json!([{"type": "input_file", "filename": "file.docx", "file_data": format!("data:{WORD};base64,AQID")}])
    );
}

/// P110, P146: an image of a result is in its list; text alone is a text.
#[test]
fn p110_p146_results_with_images() {
    let sent = input(vec![
        Message::assistant("").with_tool_calls(looked(&["a", "b"])),
        Message::tool_result(
            "a",
            vec![
                Part::text("Here:"),
                png(Image::from_base64("AQID", "image/png")),
                Part::file(File::from_url("https://x.org/a.pdf")),
            ],
        ),
        Message::tool_result("b", vec![Part::text("one"), Part::text("two")]),
    ]);
    assert_eq!(
        sent,
        json!([
            look("a"),
            look("b"),
            output(
                "a",
                json!([
                    {"type": "input_text", "text": "Here:"},
                    {"type": "input_image", "image_url": "data:image/png;base64,AQID", "detail": "auto"},
                    {"type": "input_file", "file_url": "https://x.org/a.pdf"}
                ])
            ),
            output("b", "one\ntwo"),
        ])
    );
}

/// The API takes no image of an assistant.
#[test]
fn images_of_the_assistant_are_left_out() {
    let image = png(Image::from_url("https://x.org/a.png"));
    let thread = vec![
        Message::user("Draw"),
        Message::assistant(vec![Part::text("Here"), image]),
        Message::user("Thanks"),
    ];
    let request = Request::new(Thread::from(thread));
    let (body, warnings) = written(&call(request, "gpt-5"));
    assert_eq!(
        body["input"][1],
        json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Here"}]})
    );
    assert_eq!(warnings, ["option_dropped messages[1].content[1]"]);
}
