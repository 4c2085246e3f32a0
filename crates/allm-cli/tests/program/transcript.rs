//! `allm sessions show`: a session as text, Markdown, JSON and a page.

use allm::session::Session;
use allm::{Beginning, Detail, File, FilePart, Image, ImagePart, Message, Part, Thread, ToolCall};
use serde_json::json;

use crate::support::stored::{Stored, whole_story};
use crate::support::{Home, assert_expected};

const BEGINS: &str = "2026-08-22T09:00:00.000Z";

/// What the program shows of this session in this form.
fn shown(home: &Home, id: &str, format: &str) -> String {
    let shown = home.allm(["sessions", "show", id, "--format", format]);
    assert_eq!((shown.stderr.as_str(), shown.code), ("", Some(0)));
    shown.stdout
}

#[test]
fn a_transcript_tells_who_said_and_did_what_and_who_agreed() {
    let home = Home::new();
    whole_story(&Stored::at(&home, BEGINS), "order-42");
    let text = shown(&home, "order-42", "text");
    assert_expected("order.txt", &text);
    // Text is what is shown when nothing is said, and the last session.
    let last = home.allm(["sessions", "show"]);
    assert_eq!((last.stdout, last.code), (text, Some(0)));
    let markdown = shown(&home, "order-42", "markdown");
    assert_expected("order.md", &markdown);
    let page = shown(&home, "order-42", "html");
    assert_expected("order.html", &page);
}

#[test]
fn the_json_form_is_the_session_itself() {
    let home = Home::new();
    let stored = Stored::at(&home, BEGINS);
    whole_story(&stored, "order-42");
    let json = shown(&home, "order-42", "json");
    let session = stored.open("order-42");
    assert_eq!(
        json.as_bytes(),
        [session.to_json().unwrap(), b"\n".to_vec()].concat()
    );
    assert_eq!(
        Session::from_json(json.trim_end().as_bytes()).unwrap(),
        *session
    );
}

/// A session in which everything that comes from outside is hostile.
fn hostile(home: &Home, id: &str, hostile: &str) {
    let stored = Stored::at(home, BEGINS);
    let call = ToolCall::new("call_1", hostile, json!({"a": hostile}).to_string());
    let picture = Image::from_bytes(vec![1, 2, 3], format!("image/png{hostile}"));
    let file = Part::File(FilePart {
        file: Box::new(File::from_bytes(vec![1], hostile)),
        name: Some(hostile.to_owned()),
    });
    let thread = Thread::new()
        .with(Message::user(vec![
            Part::text(hostile),
            Part::image(picture),
            file,
        ]))
        .with(
            Message::assistant(vec![Part::text(hostile), Part::refusal(hostile)])
                .with_tool_calls(vec![call]),
        )
        .with(Message::tool_error("call_1", hostile))
        .with(Message::user(hostile));
    let tag: String = hostile.chars().filter(|c| !c.is_control()).collect();
    let beginning = Beginning::new().thread(thread).tag(&tag, &tag);
    stored
        .wait(stored.sessions.create_with(id, beginning))
        .unwrap();
}

#[test]
fn nothing_that_was_said_makes_a_terminal_do_anything() {
    let home = Home::new();
    hostile(
        &home,
        "trap",
        "\u{1b}]0;title\u{7}\u{1b}[2J\u{9b}1mred\rover\u{202e}",
    );
    for format in ["text", "markdown", "html"] {
        let shown = shown(&home, "trap", format);
        let obeyed = |c: &char| (c.is_control() && *c != '\n') || *c == '\u{202e}';
        assert_eq!(shown.chars().find(obeyed), None, "{shown:?}");
        let written = "␛]0;title␇␛[2J<009B>1mred␍over<202E>";
        let written = match format {
            "html" => written.replace('<', "&lt;").replace('>', "&gt;"),
            _ => written.to_owned(),
        };
        assert!(shown.contains(&written), "{shown}");
    }
    let listed = home.allm(["sessions", "list"]).stdout;
    assert!(
        !listed.contains('\u{1b}') && listed.contains("␛]0;title"),
        "{listed:?}"
    );
}

/// What may stand in a page: these elements, each written in just this way.
const ELEMENTS: &[&str] = &[
    "!doctype html",
    "html lang=\"en\"",
    "/html",
    "head",
    "/head",
    "body",
    "/body",
    "meta charset=\"utf-8\"",
    "meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"",
    "meta name=\"color-scheme\" content=\"light dark\"",
    "title",
    "/title",
    "style",
    "/style",
    "header",
    "/header",
    "main",
    "/main",
    "h1",
    "/h1",
    "h2",
    "/h2",
    "p",
    "/p",
    "p class=\"tag\"",
    "p class=\"facts\"",
    "p class=\"media\"",
    "section class=\"user\"",
    "section class=\"assistant\"",
    "/section",
    "div class=\"text\"",
    "div class=\"refusal\"",
    "/div",
    "details class=\"call failed\"",
    "/details",
    "summary",
    "/summary",
    "code",
    "/code",
    "pre",
    "/pre",
    "ol",
    "/ol",
    "li",
    "/li",
];

#[test]
fn nothing_that_was_said_is_taken_for_a_part_of_the_page() {
    let attacks = [
        "<script>alert(1)</script>",
        "\"><img src=x onerror=alert(1)>",
        "' onmouseover='alert(1)",
        "</details></section></style><script>alert(1)</script>",
        "<!-- --><iframe srcdoc='<b>'>",
        "javascript:alert(1)",
        "&lt;b&gt; &amp;",
    ];
    for (number, attack) in attacks.into_iter().enumerate() {
        let home = Home::new();
        let id = format!("{number} {attack}");
        hostile(&home, &id, attack);
        let page = shown(&home, &id, "html");
        let policy = "meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; \
                      style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\"";
        let mut pieces = page.split('<');
        assert_eq!(pieces.next(), Some(""));
        for piece in pieces {
            let (element, rest) = piece.split_once('>').unwrap();
            assert!(
                ELEMENTS.contains(&element) || element == policy,
                "<{element}> for {attack}"
            );
            assert!(
                !rest.contains('>') || element == "style",
                "{rest} for {attack}"
            );
        }
        // And all of it can be read: id (twice), tag (twice), text, refusal, name, arguments …
        let escaped = attack
            .replace('&', "&amp;")
            .replace('<', "&lt;")
            .replace('>', "&gt;");
        let escaped = escaped.replace('"', "&quot;").replace('\'', "&#39;");
        assert!(page.matches(&escaped).count() >= 9, "{page}");
    }
}

#[test]
fn small_pictures_are_in_the_page_and_others_are_named() {
    let home = Home::new();
    let stored = Stored::at(&home, BEGINS);
    let image = |image| {
        Part::Image(ImagePart {
            image: Box::new(image),
            detail: Detail::Auto,
        })
    };
    let thread = Thread::new().with(Message::user(vec![
        image(Image::from_bytes(vec![1, 2, 3], "image/png")),
        image(Image::from_bytes(
            b"<svg onload='alert(1)'/>".to_vec(),
            "image/svg+xml",
        )),
        image(Image::from_bytes(vec![0; 600 * 1024], "image/jpeg")),
        image(Image::from_url("https://example.com/a.png")),
    ]));
    stored
        .wait(
            stored
                .sessions
                .create_with("album", Beginning::new().thread(thread)),
        )
        .unwrap();
    let page = shown(&home, "album", "html");
    let (_, body) = page.split_once("<h2>user</h2>\n").unwrap();
    let (parts, _) = body.split_once("</section>").unwrap();
    assert_eq!(
        parts,
        "<p><img src=\"data:image/png;base64,AQID\" alt=\"[picture: image/png, 3 bytes]\"></p>\n\
         <p class=\"media\">[picture: image/svg+xml, 24 bytes]</p>\n\
         <p class=\"media\">[picture: image/jpeg, 614400 bytes]</p>\n\
         <p class=\"media\">[picture: picture, https://example.com/a.png]</p>\n"
    );
}

/// A journal whose beginning was dropped still tells what was said.
#[test]
fn a_trimmed_session_is_shown_with_what_is_kept_of_it() {
    let home = Home::new();
    let stored = Stored::at(&home, BEGINS);
    let engine = crate::support::stored::engine(["One.".into(), "Two.".into()]);
    let mut session = stored.said("long", &engine, "First?");
    let cut = session.version();
    stored.wait(async {
        session.snapshot().await.unwrap();
        session.trim(cut.next()).await.unwrap();
        let _ = session.reply(&engine, "Second?").await.unwrap();
    });
    // The newest snapshot is of the end, and what is shown is what that has.
    assert_eq!(
        shown(&home, "long", "text"),
        format!(
            "Session long\ncompleted · 4 messages · began 2026-08-22 09:00:00 UTC · last 2026-08-22 09:00:00 UTC\n\
             Up to version {} only the conversation itself is kept.\n\
             \n── user\nFirst?\n\n── assistant\nOne.\n\n── user\nSecond?\n\n── assistant\nTwo.\n",
            session.version()
        )
    );
}
