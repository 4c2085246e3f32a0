//! Images and files: C22 to C31.

mod support;

use allm_core::{
    DataUriError, File, Image, Message, Part, Request, Source, SourceError, Thread, validate,
};
use serde_json::json;
use support::told;

/// A directory of this test's own, gone afterwards.
struct Directory(std::path::PathBuf);

impl Directory {
    fn new(name: &str) -> std::io::Result<Self> {
        let path = std::env::temp_dir().join(format!("allm-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path)?;
        Ok(Self(path))
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn image(image: Image) -> Part {
    Part::image(image)
}

fn user(parts: Vec<Part>) -> Request {
    Request::new(Message::user(parts))
}

#[test]
fn c22_from_path_takes_the_mime_type_from_the_extension() {
    let directory = Directory::new("c22").unwrap();
    let mime_of = |name: &str| {
        let path = directory.0.join(name);
        std::fs::write(&path, b"x").unwrap();
        Image::from_path(path).unwrap().mime_type
    };
    assert_eq!(mime_of("X.PNG").as_deref(), Some("image/png"));
    assert_eq!(mime_of("x.unknown"), None);
    let missing = Image::from_path(directory.0.join("missing.png"));
    assert_eq!(missing.unwrap_err().kind(), std::io::ErrorKind::NotFound);
}

#[test]
fn c23_deleting_the_file_afterwards_changes_nothing() {
    let directory = Directory::new("c23").unwrap();
    let path = directory.0.join("x.png");
    std::fs::write(&path, b"bytes").unwrap();
    let request = user(vec![image(Image::from_path(&path).unwrap())]);
    std::fs::remove_file(&path).unwrap();
    assert_eq!(told(validate::request(&request)), [""; 0]);
    assert_eq!(
        request,
        user(vec![image(Image::from_bytes(&b"bytes"[..], "image/png"))])
    );
}

#[test]
fn c24_a_data_uri_is_taken_apart_and_put_together() {
    let image = Image::from_data_uri("data:image/png;charset=x;base64,AA==").unwrap();
    assert_eq!(image, Image::from_base64("AA==", "image/png"));
    assert_eq!(
        image.to_data_uri(),
        Ok("data:image/png;base64,AA==".to_owned())
    );
}

#[test]
fn c25_each_fault_of_a_data_uri_has_its_own_error() {
    let error_of = |uri| Image::from_data_uri(uri).unwrap_err();
    assert_eq!(error_of("image/png;base64,AA=="), DataUriError::NotADataUri);
    assert_eq!(
        error_of("data:image/png,AA=="),
        DataUriError::NotBase64Encoded
    );
    assert_eq!(error_of("data:;base64,AA=="), DataUriError::MissingMimeType);
}

#[test]
fn c26_a_remote_source_is_reported_before_a_missing_mime_type() {
    let image = Image::from_url("https://example.com/x");
    assert_eq!(image.to_data_uri(), Err(SourceError::Remote));
}

#[test]
fn c27_undecodable_base64_is_unresolvable_at_the_part() {
    let request = user(vec![
        Part::text("look"),
        image(Image::from_base64("not base64", "image/png")),
    ]);
    assert_eq!(
        told(validate::request(&request)),
        [
            "invalid_message",
            "messages[0].content[1]: unresolvable_source"
        ]
    );
}

#[test]
fn c27_base64_is_of_the_standard_padded_alphabet() {
    for text in ["AA", "AA=", "AA==\n", "-_==", "AB=="] {
        let request = user(vec![image(Image::from_base64(text, "image/png"))]);
        assert_eq!(
            told(validate::request(&request)),
            [
                "invalid_message",
                "messages[0].content[0]: unresolvable_source"
            ],
            "{text:?}"
        );
    }
}

#[test]
fn c27_a_url_is_of_the_web() {
    let told_of = |url: &str| told(validate::request(&user(vec![image(Image::from_url(url))])));
    for url in [
        "http://example.com",
        "https://example.com/x.png?a=b#c",
        "HTTPS://example.com",
    ] {
        assert_eq!(told_of(url), [""; 0], "{url:?}");
    }
    for url in [
        "",
        "x.png",
        "/etc/passwd",
        "file:///etc/passwd",
        "ftp://example.com/x.png",
        "data:image/png;base64,AA==",
        "https:example.com",
        "https://",
        "https:///x.png",
        "https://example.com/a b",
        "https://example.com/\r\nx: y",
    ] {
        assert_eq!(
            told_of(url),
            [
                "invalid_message",
                "messages[0].content[0]: unresolvable_source"
            ],
            "{url:?}"
        );
    }
}

#[test]
fn c28_bad_images_of_several_messages_are_reported_together() {
    let thread = Thread::new()
        .with(Message::user([
            image(Image::from_base64("!", "image/png")),
            image(Image::new(Source::Bytes("x".into()))),
        ]))
        .with(Message::assistant("ok"))
        .with(Message::user([
            Part::text("and"),
            image(Image::from_bytes("x", "application/pdf")),
            image(Image::new(Source::Base64("!".into()))),
            Part::file(File::new(Source::Bytes("x".into()))),
        ]));
    assert_eq!(
        told(validate::request(&Request::new(thread))),
        [
            "invalid_message",
            "messages[0].content[0]: unresolvable_source",
            "messages[0].content[1]: missing_mime_type",
            "messages[2].content[1]: unsupported_media_type",
            "messages[2].content[2]: unresolvable_source",
            "messages[2].content[2]: missing_mime_type",
            "messages[2].content[3]: missing_mime_type",
        ]
    );
}

#[test]
fn c28_a_mime_type_is_needed_only_for_bytes_and_checked_only_for_images() {
    let request = user(vec![
        image(Image::from_url("https://example.com/x")),
        image(Image::from_provider("openai", "file-1")),
        image(Image::from_bytes("x", "Image/WEBP")),
        Part::file(File::from_bytes("x", "application/zip")),
        Part::file(File::from_url("https://example.com/x")),
    ]);
    assert_eq!(told(validate::request(&request)), [""; 0]);
}

#[test]
fn c29_an_image_in_a_system_message() {
    let thread = Thread::new()
        .with(Message::system([
            Part::text("look"),
            image(Image::from_url("https://example.com/x")),
        ]))
        .with_user("hi");
    let request = Request::new(thread);
    let expected = [
        "invalid_message",
        "messages[0].content[1]: image_in_system_message",
    ];
    assert_eq!(told(validate::request(&request)), expected);
    assert_eq!(
        told(validate::request_for(&request, &"gemini".into())),
        expected
    );
}

#[test]
fn c30_a_file_that_another_provider_holds() {
    let request = user(vec![
        Part::file(File::from_provider("openai", "file-1")),
        image(Image::from_provider("gemini", "files/2")),
    ]);
    assert_eq!(
        told(validate::request_for(&request, &"gemini".into())),
        ["invalid_message", "messages[0].content[0]: wrong_provider"]
    );
    assert_eq!(told(validate::request(&request)), [""; 0]);
}

#[test]
fn c31_no_document_can_name_a_local_path() {
    for source in [
        json!({"type": "path", "path": "/etc/passwd"}),
        json!({"type": "file", "path": "/etc/passwd"}),
    ] {
        assert!(serde_json::from_value::<Source>(source).is_err());
    }
    let url = json!({"type": "url", "url": "file:///etc/passwd"});
    let image_of = Image::new(serde_json::from_value(url).unwrap());
    assert_eq!(
        told(validate::request(&user(vec![image(image_of)]))),
        [
            "invalid_message",
            "messages[0].content[0]: unresolvable_source"
        ]
    );
}
