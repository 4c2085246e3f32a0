use std::path::PathBuf;

use super::*;
use crate::tiny;

fn noise(name: &str) -> Llama {
    let name = format!("allm-local-{}-{name}.gguf", std::process::id());
    let path: PathBuf = tiny::write_noise(&std::env::temp_dir().join(name));
    let model = Llama::load(&mut Gguf::open(&path).unwrap()).unwrap();
    std::fs::remove_file(path).unwrap();
    model
}

/// P250: to the last bit, so that what is remembered cannot change an answer.
#[test]
fn p250_scores_do_not_depend_on_how_the_tokens_were_read() {
    let model = noise("batches");
    let tokens: Vec<u32> = (0..90).map(|number| number * 7 % 250).collect();
    let at_once = model.read(&tokens, &mut model.cache()).unwrap();
    assert_eq!(at_once.len(), model.vocabulary());
    for size in [1, 7, 32] {
        let mut cache = model.cache();
        let mut scores = Vec::new();
        for piece in tokens.chunks(size) {
            scores = model.read(piece, &mut cache).unwrap();
        }
        assert_eq!(scores, at_once, "in pieces of {size}");
        // Forgotten and read again.
        cache.cut(33);
        assert_eq!(model.read(&tokens[33..], &mut cache).unwrap(), at_once);
        let mut copy = cache.beginning(50);
        assert_eq!(model.read(&tokens[50..], &mut copy).unwrap(), at_once);
    }
}

#[test]
fn every_token_before_counts() {
    let model = noise("counts");
    let scores = |tokens: &[u32]| model.read(tokens, &mut model.cache()).unwrap();
    let all = scores(&[1, 2, 3, 4]);
    assert_ne!(scores(&[9, 2, 3, 4]), all, "the first token");
    assert_ne!(scores(&[2, 1, 3, 4]), all, "the order");
    assert_ne!(scores(&[2, 3, 4]), all, "the number");
}

#[test]
fn a_token_that_is_none_leaves_the_cache_as_it_was() {
    let model = noise("none");
    let mut cache = model.cache();
    let before = model.read(&[1, 2], &mut cache).unwrap();
    assert!(model.read(&[3, 60_000], &mut cache).is_err());
    assert_eq!(cache.tokens(), [1, 2]);
    cache.cut(1);
    assert_eq!(model.read(&[2], &mut cache).unwrap(), before);
}
