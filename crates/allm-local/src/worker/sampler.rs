//! Choosing the next token by its score.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};

use allm_core::Request;

/// Chooses the next token by its score.
#[derive(Debug)]
pub(super) struct Sampler {
    /// `None`: always the best.
    temperature: Option<f32>,
    top_p: f32,
    top_k: usize,
    presence: f32,
    frequency: f32,
    random: Random,
    /// How often each token was chosen.
    chosen: HashMap<u32, u16>,
}

/// Tokens that are this much less likely than the best one, by the logarithm, are never chosen.
const NEVER: f32 = 20.0;

impl Sampler {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "settings need no such precision"
    )]
    pub(super) fn new(request: &Request) -> Self {
        let seed = request.seed.map(i64::cast_unsigned);
        Self {
            temperature: request
                .temperature
                .filter(|heat| *heat > 0.0)
                .map(|heat| heat as f32),
            top_p: request.top_p.map_or(1.0, |share| share as f32),
            top_k: request
                .top_k
                .map_or(usize::MAX, |count| count as usize)
                .max(1),
            presence: request.presence_penalty.unwrap_or_default() as f32,
            frequency: request.frequency_penalty.unwrap_or_default() as f32,
            random: Random(seed.unwrap_or_else(|| RandomState::new().hash_one(0))),
            chosen: HashMap::new(),
        }
    }

    /// Lowers the scores of what came before.
    pub(super) fn penalise(&self, scores: &mut [f32]) {
        for (token, count) in &self.chosen {
            if let Some(score) = scores.get_mut(*token as usize) {
                *score -= self.presence + self.frequency * f32::from(*count);
            }
        }
    }

    /// A token by its score; `None` when no token has one.
    pub(super) fn choose(&mut self, scores: &[f32]) -> Option<u32> {
        let scored = (0..).zip(scores.iter().copied());
        let scored = scored.filter(|(_, score): &(u32, f32)| score.is_finite());
        // Of equals the first, so that it is always the same.
        let best = scored
            .clone()
            .reduce(|best, next| if next.1 > best.1 { next } else { best })?;
        Some(match self.temperature {
            None => best.0,
            Some(heat) => {
                let near = scored.filter(|(_, score)| (best.1 - score) / heat < NEVER);
                let shares = near.map(|(token, score)| (token, ((score - best.1) / heat).exp()));
                self.draw(shares.collect()).unwrap_or(best.0)
            }
        })
    }

    /// This token was taken.
    pub(super) fn taken(&mut self, token: u32) {
        if self.presence != 0.0 || self.frequency != 0.0 {
            let count = self.chosen.entry(token).or_default();
            *count = count.saturating_add(1);
        }
    }

    fn draw(&mut self, mut shares: Vec<(u32, f32)>) -> Option<u32> {
        // The sort is stable: of equals the first stays first.
        shares.sort_by(|left, right| right.1.total_cmp(&left.1));
        shares.truncate(self.top_k);
        let whole: f32 = shares.iter().map(|(_, share)| share).sum();
        let mut sum = 0.0;
        let enough = shares.iter().position(|(_, share)| {
            sum += share;
            sum >= whole * self.top_p
        });
        shares.truncate(enough.map_or(usize::MAX, |last| last + 1));
        let whole: f32 = shares.iter().map(|(_, share)| share).sum();
        let mut point = self.random.share() * whole;
        let found = shares.iter().find(|(_, share)| {
            point -= share;
            point < 0.0
        });
        found.or(shares.first()).map(|(token, _)| *token)
    }
}

/// Numbers that look random and are the same for the same seed (SplitMix64).
#[derive(Debug)]
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// From 0 up to 1.
    #[expect(clippy::cast_precision_loss, reason = "24 bits fit exactly")]
    fn share(&mut self) -> f32 {
        (self.next() >> 40) as f32 / (1_u64 << 24) as f32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sampler(change: impl FnOnce(&mut Request)) -> Sampler {
        let mut request = Request::new("x");
        change(&mut request);
        Sampler::new(&request)
    }

    fn drawn(sampler: &mut Sampler, scores: &[f32], times: usize) -> Vec<u32> {
        let draw = |_| {
            let mut scores = scores.to_vec();
            sampler.penalise(&mut scores);
            let token = sampler.choose(&scores).unwrap();
            sampler.taken(token);
            token
        };
        (0..times).map(draw).collect()
    }

    /// P246
    #[test]
    fn p246_without_temperature_the_best_is_chosen() {
        let mut sampler = sampler(|_| ());
        let scores = [0.0, 3.0, f32::NEG_INFINITY, 3.0, f32::NAN];
        assert_eq!(drawn(&mut sampler, &scores, 3), [1, 1, 1]);
        assert_eq!(sampler.choose(&[f32::NEG_INFINITY]), None);
    }

    /// P246
    #[test]
    fn a_seed_gives_the_same_again_and_another_something_else() {
        let scores = [1.0; 50];
        let with = |seed| {
            let mut sampler = sampler(|request| {
                request.temperature = Some(1.0);
                request.seed = Some(seed);
            });
            drawn(&mut sampler, &scores, 20)
        };
        assert_eq!(with(7), with(7));
        assert_ne!(with(7), with(8));
        assert_ne!(with(-1), with(1));
    }

    /// P246
    #[test]
    fn shares_are_kept() {
        let mut sampler = sampler(|request| {
            request.temperature = Some(1.0);
            request.seed = Some(1);
        });
        let scores = [3.0_f32.ln(), 1.0_f32.ln()];
        let times = drawn(&mut sampler, &scores, 4000)
            .iter()
            .filter(|token| **token == 0)
            .count();
        assert!((2900..3100).contains(&times), "{times}");
    }

    /// P246
    #[test]
    fn top_p_and_top_k_leave_the_rest_out() {
        let scores = [5.0_f32.ln(), 3.0_f32.ln(), 2.0_f32.ln()];
        let seen = |change: fn(&mut Request)| {
            let mut sampler = sampler(|request| {
                request.temperature = Some(1.0);
                request.seed = Some(3);
                change(request);
            });
            let mut seen = drawn(&mut sampler, &scores, 500);
            seen.sort_unstable();
            seen.dedup();
            seen
        };
        assert_eq!(seen(|_| ()), [0, 1, 2]);
        assert_eq!(seen(|request| request.top_p = Some(0.8)), [0, 1]);
        assert_eq!(seen(|request| request.top_p = Some(0.01)), [0]);
        assert_eq!(seen(|request| request.top_k = Some(2)), [0, 1]);
    }

    /// P246
    #[test]
    fn what_came_often_comes_less() {
        let mut sampler = sampler(|request| request.frequency_penalty = Some(0.6));
        assert_eq!(drawn(&mut sampler, &[2.0, 1.0], 5), [0, 0, 1, 0, 1]);
    }
}
