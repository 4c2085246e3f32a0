use allm_core::{File, Image, Messages};

use super::*;

fn picture() -> Part {
    Part::image(Image::from_bytes(vec![1, 2, 3], "image/png"))
}

fn paper() -> Part {
    Part::file(File::from_base64("AQI=", "application/pdf"))
}

fn request(messages: Vec<Message>) -> Request {
    Request {
        messages: messages.into(),
        ..Request::default()
    }
}

/// L303
#[test]
fn what_is_refused_is_named_in_its_place() {
    let asked = Message::user(vec![Part::text("See."), picture()]);
    let told = |parts: Vec<Part>| Message::tool_result("c", parts);
    let given = request(vec![
        asked.clone(),
        told(vec![Part::text("a"), picture(), paper()]),
    ]);
    assert!(has_any(&given));
    let is_picture = |_: &Path, part: &Part| matches!(part, Part::Image(_));
    let words = Part::text("[image: image/png, 3 bytes]");
    let expected: Messages =
        vec![asked.clone(), told(vec![Part::text("a"), words, paper()])].into();
    assert_eq!(named(&given, is_picture).messages, expected);
    let second = |path: &Path, _: &Part| path.to_string() == "messages[1].content[2]";
    let words = Part::text("[file: application/pdf, 2 bytes]");
    let expected: Messages = vec![asked, told(vec![Part::text("a"), picture(), words])].into();
    assert_eq!(named(&given, second).messages, expected);
}

/// L303
#[test]
fn what_the_tool_has_named_is_not_named_again() {
    let said = Part::text("one\n[image: image/png, 3 bytes]");
    let given = request(vec![Message::tool_result(
        "c",
        vec![said.clone(), picture()],
    )]);
    let expected: Messages = vec![Message::tool_result("c", vec![said])].into();
    assert_eq!(named(&given, |_, _| true).messages, expected);
}
