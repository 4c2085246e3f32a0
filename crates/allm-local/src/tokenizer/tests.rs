use std::path::PathBuf;

use super::*;
use crate::models::Folder;
use crate::tiny::{END, Tiny};

fn temporary(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("allm-local-{}-{name}.gguf", std::process::id()))
}

fn tiny(name: &str) -> Tokenizer {
    read(name, &Tiny::new())
}

fn read(name: &str, tiny: &Tiny) -> Tokenizer {
    let path = tiny.write(&temporary(name));
    let tokenizer = Tokenizer::read(&Gguf::open(&path).unwrap()).unwrap();
    std::fs::remove_file(path).unwrap();
    tokenizer
}

/// The tokenizer of the real model, if it is there.
fn real() -> Option<Tokenizer> {
    let named = std::env::var_os("ALLM_LOCAL_MODEL").map(PathBuf::from);
    let usual = || Folder::of_user().ok()?.path("smollm2-135m").ok();
    let path = named.or_else(usual).filter(|path| path.exists());
    let Some(path) = path else {
        let is_required = std::env::var("ALLM_SMALL_MODEL").is_ok_and(|value| value == "required");
        assert!(
            !is_required,
            "the model is not there: run scripts/setup-model"
        );
        eprintln!("skipped: the model is not there; scripts/setup-model obtains it");
        return None;
    };
    Some(Tokenizer::read(&Gguf::open(&path).unwrap()).unwrap())
}

/// P262: the file has the tokens that the `tokenizers` package gives with the same vocabulary.
#[test]
fn p262_tokens_are_those_of_the_reference() {
    let Some(tokenizer) = real() else { return };
    let text = include_str!("../../tests/model/tokens.json");
    let expected: Vec<(String, Vec<u32>)> = serde_json::from_str(text).unwrap();
    assert!(expected.len() >= 30);
    for (text, tokens) in expected {
        assert_eq!(tokenizer.encode(&text), tokens, "{text:?}");
        let bytes: Vec<u8> = tokens
            .iter()
            .flat_map(|token| tokenizer.piece(*token))
            .copied()
            .collect();
        assert_eq!(String::from_utf8(bytes).unwrap(), text);
    }
}

/// P262
#[test]
fn marks_of_the_real_model_are_found() {
    let Some(tokenizer) = real() else { return };
    assert_eq!(
        tokenizer.prompt("<|im_start|>user\nHi<|im_end|>\n"),
        [1, 4093, 198, 26843, 2, 198]
    );
    assert_eq!(tokenizer.ends(), [0, 2]);
}

/// P241
#[test]
fn marks_are_read_in_a_prompt_and_not_where_they_are_set_apart() {
    let tokenizer = tiny("marks");
    let end = tokenizer.ends()[0];
    let text = format!("a{END}b");
    assert_eq!(
        tokenizer.prompt(&text),
        [u32::from(b'a'), end, u32::from(b'b')]
    );
    let apart = tokenizer.prompt(&tokenizer.apart(&text));
    let expected: Vec<u32> = text.bytes().map(u32::from).collect();
    assert_eq!(apart, expected);
    // One that appears only when another is taken out is none either.
    let nested = tokenizer.apart(&format!("<|im{APART}_end|>"));
    assert!(!tokenizer.prompt(&nested).contains(&end));
}

#[test]
fn marks_are_no_text() {
    let tokenizer = tiny("no-text");
    let end = tokenizer.ends()[0];
    assert!(tokenizer.is_mark(end) && !tokenizer.is_mark(u32::from(b'a')));
    assert!(tokenizer.is_mark(u32::MAX));
    assert_eq!(tokenizer.piece(end), END.as_bytes());
    assert_eq!(tokenizer.piece(u32::MAX), b"");
}

/// P270: marks are numbers, a text between them begins with a space that nobody wrote, and what looks like a mark or a
/// byte is text where it is set apart.
#[test]
fn p270_a_prompt_of_sentence_pieces_begins_and_is_spaced() {
    // 0 to 2 are `<unk>`, `<s>` and `</s>`; then all bytes, the space, `<|im_end|>` and `<|go|>`; then `hi`, after its letters.
    let vocabulary = Tiny::sentence().after("h", "i").after("hi", " hi");
    let tokenizer = read("sentence", &vocabulary);
    let (byte, space, end) = (|byte: u8| 3 + u32::from(byte), 259, 260);
    let (h, hi, spaced) = (262, 264, 265);
    assert_eq!(tokenizer.encode("hi"), [hi]);
    assert_eq!(tokenizer.prompt("hi"), [1, spaced]);
    assert_eq!(tokenizer.prompt("<s>hi"), [1, spaced]);
    let expected = [1, spaced, end, space, byte(b'\n'), h, end];
    assert_eq!(tokenizer.prompt("hi<|im_end|>\nh<|im_end|>"), expected);
    assert_eq!(
        (tokenizer.begin_text.as_str(), tokenizer.end_text.as_str()),
        ("<s>", END)
    );
    assert_eq!(tokenizer.ends(), [2, end]);
    assert_eq!(tokenizer.piece(spaced), b" hi");
    assert_eq!(tokenizer.piece(byte(0xc3)), [0xc3]);
    assert!(tokenizer.is_mark(0) && tokenizer.is_mark(1) && !tokenizer.is_mark(byte(0)));
    for text in ["<s>", "</s>", "<unk>", "<0x0A>", END] {
        let tokens = tokenizer.prompt(&tokenizer.apart(text));
        let (first, rest) = tokens.split_first().unwrap();
        assert_eq!(*first, 1);
        assert!(
            rest.iter().all(|token| !tokenizer.is_mark(*token)),
            "{text}"
        );
        let bytes: Vec<u8> = rest
            .iter()
            .flat_map(|token| tokenizer.piece(*token))
            .copied()
            .collect();
        assert_eq!(bytes, format!(" {text}").as_bytes());
    }
}
