//! Positions, as turns of queries and keys.

use super::config::Config;

/// Turns queries and keys by their position.
pub(super) struct Rope {
    head_width: usize,
    /// By how much a pair of numbers turns from one position to the next.
    speeds: Vec<f32>,
}

/// The turn of each pair at each position, as sine and cosine.
pub(super) struct Turns(Vec<Vec<(f32, f32)>>);

impl Rope {
    /// `factors` slow some of the turns down, in models that were stretched to longer texts.
    #[expect(clippy::cast_precision_loss, reason = "widths are small numbers")]
    pub(super) fn new(config: &Config, factors: Option<&[f32]>) -> Self {
        let width = config.rope_width;
        let speed = |pair: usize| {
            let slower = factors.and_then(|factors| factors.get(pair)).copied();
            let speed = config.rope_base.powf(-((2 * pair) as f32) / width as f32);
            speed / slower.unwrap_or(1.0)
        };
        Self {
            head_width: config.head_width,
            speeds: (0..width / 2).map(speed).collect(),
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "positions are small numbers")]
    pub(super) fn turns(&self, first: usize, count: usize) -> Turns {
        let at = |position: usize| {
            let turn = |speed: &f32| (position as f32 * speed).sin_cos();
            self.speeds.iter().map(turn).collect()
        };
        Turns((first..first + count).map(at).collect())
    }

    /// Turns rows of heads; neighbouring numbers are a pair, as GGUF files of this family have them.
    pub(super) fn turn(&self, rows: &mut [f32], turns: &Turns) {
        if turns.0.is_empty() {
            return;
        }
        let width = rows.len() / turns.0.len();
        for (row, turns) in rows.chunks_exact_mut(width.max(1)).zip(&turns.0) {
            for head in row.chunks_exact_mut(self.head_width) {
                let (pairs, _) = head.as_chunks_mut::<2>();
                for ([x, y], (sine, cosine)) in pairs.iter_mut().zip(turns) {
                    (*x, *y) = (*x * cosine - *y * sine, *x * sine + *y * cosine);
                }
            }
        }
    }
}
