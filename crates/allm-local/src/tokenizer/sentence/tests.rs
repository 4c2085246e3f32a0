use std::sync::LazyLock;

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::*;

/// Bytes have the numbers from here on, and then come the texts.
const BYTES: u32 = 3;
const TEXTS: u32 = BYTES + 256;

/// `<unk>`, `<s>`, `</s>`, all bytes, and these texts with their scores.
fn vocabulary(texts: &[(&str, f32)]) -> Sentence {
    let mut scores = vec![0.0; TEXTS as usize];
    scores.extend(texts.iter().map(|(_, score)| *score));
    let words = Words {
        count: u32::try_from(scores.len()).unwrap(),
        texts: (TEXTS..).zip(texts.iter().map(|(text, _)| *text)).collect(),
        bytes: (BYTES..).zip(0..=u8::MAX).collect(),
        unknown: Some(0),
    };
    Sentence::new(&words, &scores, true)
}

fn encoded(sentence: &Sentence, text: &str) -> Vec<u32> {
    let mut tokens = Vec::new();
    sentence.encode_into(text, &mut tokens);
    tokens
}

/// What tokens are, to be read.
fn shown(texts: &[(&str, f32)], text: &str) -> Vec<String> {
    let tokens = encoded(&vocabulary(texts), text).into_iter();
    tokens
        .map(|token| match token.checked_sub(TEXTS) {
            Some(place) => texts[place as usize].0.to_owned(),
            None => match token.checked_sub(BYTES) {
                Some(byte) => format!("{byte:02x}"),
                None => "unknown".to_owned(),
            },
        })
        .collect()
}

const HELLO: [(&str, f32); 12] = [
    ("▁", -10.0),
    ("h", -11.0),
    ("e", -12.0),
    ("l", -13.0),
    ("o", -14.0),
    ("he", -1.0),
    ("ll", -2.0),
    ("hell", -5.0),
    ("hello", -0.5),
    ("▁h", -3.0),
    ("lo", -1.5),
    ("▁he", -4.0),
];

/// P270: `he` first, then `lo`, then nothing makes a piece any more; `hell` and `hello` are never reached.
#[test]
fn p270_the_highest_score_becomes_one_first() {
    assert_eq!(shown(&HELLO, "hello"), ["he", "l", "lo"]);
    assert_eq!(shown(&HELLO, " hello"), ["▁he", "l", "lo"]);
    assert_eq!(shown(&HELLO, "hell"), ["hell"]);
    assert_eq!(shown(&HELLO, "  h"), ["▁", "▁h"]);
    assert_eq!(shown(&HELLO, ""), [""; 0]);
}

/// P270
#[test]
fn of_equal_scores_the_leftmost_goes_first() {
    let texts = [("a", -1.0), ("aa", -2.0), ("b", -1.0), ("ab", -2.0)];
    assert_eq!(shown(&texts, "aaa"), ["aa", "a"]);
    assert_eq!(shown(&texts, "aab"), ["aa", "b"]);
    assert_eq!(shown(&texts, "aaab"), ["aa", "ab"]);
}

/// P270
#[test]
fn what_is_no_piece_is_bytes() {
    assert_eq!(shown(&HELLO, "hé\n"), ["h", "c3", "a9", "0a"]);
    assert_eq!(shown(&HELLO, "🌍"), ["f0", "9f", "8c", "8d"]);
    // A character may be a part of a piece and none itself.
    let texts = [("▁", -1.0), ("▁é", -2.0)];
    assert_eq!(shown(&texts, " é"), ["▁é"]);
    assert_eq!(shown(&texts, "é"), ["c3", "a9"]);
    // A sign that only looks like a space is no space.
    assert_eq!(shown(&texts, "▁é"), ["e2", "96", "81", "c3", "a9"]);
}

/// P270
#[test]
fn without_bytes_there_is_a_token_for_the_unknown() {
    let words = Words {
        count: 2,
        texts: vec![(1, "a")],
        bytes: vec![],
        unknown: Some(0),
    };
    let sentence = Sentence::new(&words, &[0.0, 0.0], true);
    assert_eq!(encoded(&sentence, "aéa"), [1, 0, 1]);
    assert!(sentence.has('a') && !sentence.has('b'));
}

#[test]
fn tokens_of_bytes_are_known() {
    let bytes = ["<0x0A>", "<0xff>", "<0xF>", "<0x100>", "0x0A", "<0xGG>"].map(byte);
    assert_eq!(bytes, [Some(10), Some(255), None, None, None, None]);
}

/// Pieces that are each made in one way only, so that two readings of the order cannot differ.
static PIECES: LazyLock<Vec<(String, f32)>> = LazyLock::new(|| {
    let mut pieces: Vec<String> = "▁abcné世".chars().map(String::from).collect();
    let mut state = 11_usize;
    let mut random = |most: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % most
    };
    while pieces.len() < 120 {
        let (left, right) = (random(pieces.len()), random(pieces.len()));
        let piece = [&*pieces[left], &*pieces[right]].concat();
        let mut with = pieces.clone();
        with.push(piece);
        let is_made_once = |piece: &String| ways(&with, piece).len() <= 1;
        if !pieces.contains(&with[pieces.len()]) && with.iter().all(is_made_once) {
            pieces = with;
        }
    }
    let scores = (0_u8..).map(|place| -f32::from(place));
    pieces.into_iter().zip(scores).collect()
});

fn ways<'p>(pieces: &[String], piece: &'p str) -> Vec<(&'p str, &'p str)> {
    let cuts = piece.char_indices().skip(1);
    let ways = cuts.map(|(place, _)| piece.split_at(place));
    let is_there = |part: &str| pieces.iter().any(|piece| piece == part);
    ways.filter(|(left, right)| is_there(left) && is_there(right))
        .collect()
}

fn ours() -> Sentence {
    let pieces: Vec<(&str, f32)> = PIECES
        .iter()
        .map(|(text, score)| (&**text, *score))
        .collect();
    vocabulary(&pieces)
}

/// The same vocabulary as the `tokenizers` crate has those of such models.
fn theirs() -> tokenizers::Tokenizer {
    let mut words = Map::new();
    for (id, name) in ["<unk>", "<s>", "</s>"].iter().enumerate() {
        words.insert((*name).to_owned(), json!(id));
    }
    for byte in 0..=u8::MAX {
        words.insert(format!("<0x{byte:02X}>"), json!(BYTES + u32::from(byte)));
    }
    for (id, (piece, _)) in (TEXTS..).zip(PIECES.iter()) {
        words.insert(piece.clone(), json!(id));
    }
    let texts: Vec<String> = PIECES.iter().map(|(piece, _)| piece.clone()).collect();
    // They are in the order of their scores.
    let merges = texts.iter().flat_map(|piece| ways(&texts, piece));
    let merges: Vec<Value> = merges.map(|(left, right)| json!([left, right])).collect();
    let tokenizer = json!({
        "version": "1.0", "truncation": null, "padding": null, "added_tokens": [],
        "normalizer": {"type": "Sequence", "normalizers": [
            {"type": "Prepend", "prepend": "▁"},
            {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}
        ]},
        "pre_tokenizer": null, "post_processor": null, "decoder": null,
        "model": {
            "type": "BPE", "dropout": null, "unk_token": "<unk>", "continuing_subword_prefix": null,
            "end_of_word_suffix": null, "fuse_unk": true, "byte_fallback": true, "ignore_merges": false,
            "vocab": words, "merges": merges
        }
    });
    tokenizers::Tokenizer::from_bytes(tokenizer.to_string()).unwrap()
}

/// The text that tokens stand for.
fn decoded(tokens: &[u32]) -> String {
    let mut bytes = Vec::new();
    for token in tokens {
        match token.checked_sub(TEXTS) {
            Some(place) => {
                let piece = PIECES[place as usize].0.replace(SPACE, " ");
                bytes.extend(piece.into_bytes());
            }
            None => bytes.push(u8::try_from(token - BYTES).unwrap()),
        }
    }
    String::from_utf8(bytes).unwrap()
}

/// Texts that have many pieces in them.
fn texts() -> impl Strategy<Value = String> {
    prop_oneof![
        "[ abcné世]{0,60}",
        "[ abcnéx世界\n🌍]{0,30}",
        any::<String>()
    ]
}

proptest! {
    /// P270
    #[test]
    fn p270_every_text_comes_back(text in prop_oneof![texts(), "[ ▁ab]{0,9}"]) {
        static OURS: LazyLock<Sentence> = LazyLock::new(ours);
        prop_assert_eq!(decoded(&encoded(&OURS, &text)), text);
    }

    /// P262, P270
    #[test]
    fn p270_tokens_are_those_of_the_tokenizers_crate(text in texts()) {
        static OURS: LazyLock<Sentence> = LazyLock::new(ours);
        static THEIRS: LazyLock<tokenizers::Tokenizer> = LazyLock::new(theirs);
        prop_assume!(!text.is_empty() && !text.contains(SPACE));
        let expected = THEIRS.encode(&*text, false).unwrap();
        prop_assert_eq!(encoded(&OURS, &format!(" {text}")), expected.get_ids());
    }
}
