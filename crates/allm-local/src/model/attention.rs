//! Attention: what a token takes from those before it.

use rayon::prelude::*;

use super::cache::Head;
use super::config::Config;
use super::math::{add_scaled, dot, softmax};

/// Work below this many products is not worth handing to another thread.
const WORTH_SHARING: usize = 1 << 18;

/// Keeps the keys and values of new tokens.
pub(super) fn keep(heads: &mut [Head], keys: &[f32], values: &[f32], head_width: usize) {
    let width = heads.len() * head_width;
    for (keys, values) in keys.chunks_exact(width).zip(values.chunks_exact(width)) {
        let pieces = keys
            .chunks_exact(head_width)
            .zip(values.chunks_exact(head_width));
        for (head, (keys, values)) in heads.iter_mut().zip(pieces) {
            head.keys.extend_from_slice(keys);
            head.values.extend_from_slice(values);
        }
    }
}

/// What each of the last `count` tokens takes from those before it and from itself.
pub(super) fn attend(config: &Config, heads: &[Head], queries: &[f32], count: usize) -> Vec<f32> {
    let Config {
        heads: query_heads,
        kv_heads,
        head_width,
        ..
    } = *config;
    let total = heads.first().map_or(0, |head| head.keys.len() / head_width);
    let known = total.saturating_sub(count);
    let group = (query_heads / kv_heads).max(1);
    #[expect(clippy::cast_precision_loss, reason = "a width is a small number")]
    let scale = (head_width as f32).sqrt().recip();

    let mut seen = vec![0.0; queries.len()];
    // A piece is one head of one token.
    let pieces = || queries.chunks_exact(head_width).enumerate();
    let look = |(number, query): (usize, &[f32]), seen: &mut [f32]| {
        let (token, head) = (number / query_heads, number % query_heads);
        let Some(head) = heads.get(head / group) else {
            return;
        };
        let visible = known + token + 1;
        let mut shares: Vec<f32> = head
            .keys
            .chunks_exact(head_width)
            .take(visible)
            .map(|key| dot(query, key) * scale)
            .collect();
        softmax(&mut shares);
        for (share, value) in shares.iter().zip(head.values.chunks_exact(head_width)) {
            add_scaled(seen, value, *share);
        }
    };
    if queries.len() * total < WORTH_SHARING {
        for (piece, seen) in pieces().zip(seen.chunks_exact_mut(head_width)) {
            look(piece, seen);
        }
    } else {
        let queries = queries.par_chunks_exact(head_width).enumerate();
        let seen = seen.par_chunks_exact_mut(head_width);
        queries
            .zip(seen)
            .for_each(|(piece, seen)| look(piece, seen));
    }
    seen
}
