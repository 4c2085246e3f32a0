#![allow(clippy::unwrap_used, reason = "these are tests")]

use anstyle::Style;
use proptest::prelude::*;

use super::*;

/// What is written, for a text that comes in pieces.
fn written(pieces: &[&str], width: usize) -> String {
    let mut wrap = Wrap::new(width, true);
    let mut markdown = Markdown::new(true, Style::new());
    for piece in pieces {
        markdown.push(piece, &mut wrap);
    }
    markdown.finish(&mut wrap);
    wrap.take()
}

/// Every character with its style: how often a style is switched on is nobody's concern.
fn characters(written: &str) -> Vec<(char, String)> {
    let mut style = String::new();
    let mut found = Vec::new();
    let mut rest = written.chars();
    while let Some(next) = rest.next() {
        if next != '\x1b' {
            found.push((next, style.clone()));
            continue;
        }
        let code: String = rest.by_ref().take_while(|next| *next != 'm').collect();
        match code.as_str() {
            "[0" => style.clear(),
            code => style.push_str(code),
        }
    }
    found
}

/// Shown in pieces, with marks in place of styles.
fn shown_in(pieces: &[&str], width: usize) -> String {
    written(pieces, width)
        .replace("\x1b[0m", "]")
        .replace("\x1b[1m\x1b[3m", "[bold italic:")
        .replace("\x1b[1m", "[bold:")
        .replace("\x1b[2m", "[dim:")
        .replace("\x1b[3m", "[italic:")
        .replace("\x1b[4m", "[link:")
        .replace("\x1b[9m", "[struck:")
        .replace("\x1b[36m", "[code:")
}

fn shown(text: &str) -> String {
    shown_in(&[text], 60)
}

#[test]
fn marks_in_a_line() {
    assert_eq!(shown("a **b c** d"), "a [bold:b] [bold:c] d\n");
    assert_eq!(
        shown("*a* _b_ ***c***"),
        "[italic:a] [italic:b] [bold italic:c]\n"
    );
    assert_eq!(
        shown("`x = *y*` and ``a`b``"),
        "[code:x] [code:=] [code:*y*] and [code:a`b]\n"
    );
    assert_eq!(shown("**a `b` c**"), "[bold:a] [bold:[code:b] [bold:c]\n");
    assert_eq!(shown("~~no~~ ~ yes"), "[struck:no] ~ yes\n");
}

#[test]
fn marks_that_mean_nothing_stay() {
    for text in [
        "2 * 3 * 4",
        "snake_case_name",
        "*args and **kwargs",
        "a ` b",
        "[x] done",
        "a < b > c",
        "__init__x",
        "5 ~ 6",
        "a[0](",
    ] {
        assert_eq!(shown(text), format!("{text}\n"));
    }
    assert_eq!(shown(r"\*not\* \`this\`"), "*not* `this`\n");
}

#[test]
fn links_are_shown_with_their_address() {
    assert_eq!(
        shown("see [the page](https://a.example/x_y \"title\")."),
        "see [link:the] [link:page] (https://a.example/x_y).\n"
    );
    assert_eq!(
        shown("<https://a.example> ok"),
        "[link:https://a.example] ok\n"
    );
    assert_eq!(shown("![alt](p.png)"), "[link:alt] (p.png)\n");
    assert_eq!(
        shown("[https://a.example](https://a.example)"),
        "[link:https://a.example]\n"
    );
}

#[test]
fn headings_items_and_lines() {
    assert_eq!(shown("# Title\n\ntext"), "[bold:Title]\n\ntext\n");
    assert_eq!(
        shown("- one\n  - two\n1. three\n10) four"),
        "• one\n  • two\n1. three\n10) four\n"
    );
    assert_eq!(shown("> said"), "│ [dim:said]\n");
    assert_eq!(shown("a\n---\nb"), "a\n[dim:────────────────────]\nb\n");
    assert_eq!(shown("#hash 2024. ok\n#"), "#hash 2024. ok\n#\n");
    assert_eq!(shown("2024.5 is\n3"), "2024.5 is\n3\n");
}

#[test]
fn items_go_on_below_their_text() {
    let text = "- one two three four five six seven";
    assert_eq!(
        shown_in(&[text], 20),
        "• one two three four\n  five six seven\n"
    );
}

#[test]
fn code_is_shown_as_it_is() {
    let text = "so:\n```rust\nlet x = **y**;   // a line that is longer than the terminal is wide, surely\n\n    # no title\n```\ndone";
    let code = "let x = **y**;   // a line that is longer than the terminal is wide, surely";
    assert_eq!(
        shown_in(&[text], 40),
        format!("so:\n[dim:```rust]\n[code:{code}]\n\n[code:    # no title]\n[dim:```]\ndone\n")
    );
    // A mark of another kind, or a shorter one, does not end it.
    assert_eq!(shown("~~~\n```\n~~~"), "[dim:~~~]\n[code:```]\n[dim:~~~]\n");
    assert_eq!(
        shown("````\n```\n````\n*a*"),
        "[dim:````]\n[code:```]\n[dim:````]\n[italic:a]\n"
    );
}

#[test]
fn tables_are_shown_as_they_are() {
    let text =
        "| a | **b** |\n|---|---|\n| a long cell that goes on and on | another long cell |\n";
    assert_eq!(shown_in(&[text], 20), text);
}

#[test]
fn without_styles_the_marks_stay() {
    let text = "# Title\n- **a** `b`\n```\ncode\n```\n";
    let mut wrap = Wrap::new(60, false);
    let mut markdown = Markdown::new(false, Style::new());
    markdown.push(text, &mut wrap);
    markdown.finish(&mut wrap);
    assert_eq!(wrap.take(), text);
}

#[test]
fn text_is_shown_as_it_comes() {
    let mut wrap = Wrap::new(60, true);
    let mut markdown = Markdown::new(true, Style::new());
    markdown.push("one two ", &mut wrap);
    assert_eq!(wrap.take(), "one two");
    markdown.push("**th", &mut wrap);
    assert_eq!(wrap.take(), "");
    markdown.push("ree** four ", &mut wrap);
    assert_eq!(wrap.take(), " \x1b[1mthree\x1b[0m four");
}

/// What random texts have found.
#[test]
fn spaces_after_the_marks_of_a_title_are_its_marks_too() {
    assert_eq!(shown_in(&["# ", "  !"], 30), shown("#   !"));
}

proptest! {
    /// However a text is cut, the same is shown.
    #[test]
    fn pieces_make_no_difference(
        text in "[ab *_`~#>|\\[\\]()!<\\\\\n.1-]{0,60}",
        cuts in proptest::collection::vec(0_usize..60, 0..8),
    ) {
        let mut places: Vec<usize> = cuts.into_iter().filter(|cut| *cut <= text.len()).collect();
        places.sort_unstable();
        let mut pieces = Vec::new();
        let mut from = 0;
        for place in places {
            pieces.push(text.get(from..place).unwrap());
            from = place;
        }
        pieces.push(text.get(from..).unwrap());
        let (cut, whole) = (written(&pieces, 30), written(&[&text], 30));
        prop_assert_eq!(characters(&cut), characters(&whole), "{:?}", cut);
    }
}
