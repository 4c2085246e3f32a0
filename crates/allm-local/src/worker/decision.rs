//! Whether a model that knows no tools calls one, and which.
//!
//! Such a model seldom begins a call of its own accord, and likes some names of tools whatever is asked. So it is not the
//! first token that decides: each call is scored by how much likelier its beginning is after this conversation than after
//! a message that asks for nothing.

use super::Job;
use super::answer::{Halt, read};
use super::loaded::Loaded;
use crate::model::Cache;

/// By so much the likelihood of a call must have grown, as a logarithm. Measured with SmolLM2-135M-Instruct over 57
/// questions and three sets of tools: at this margin it is right for 53 of them whether a tool is called.
const MARGIN: f32 = 5.0;
/// After a result the next step is an answer, unless there is much for another call.
const MARGIN_AFTER_RESULT: f32 = 10.0;

/// What must be decided.
#[derive(Debug)]
pub(super) struct Question<'a> {
    /// The conversation.
    pub(super) prompt: &'a [u32],
    /// The same with a message that asks for nothing.
    pub(super) neutral: &'a [u32],
    /// The tools that may be called.
    pub(super) names: &'a [String],
    /// Whether one must be.
    pub(super) is_required: bool,
    /// Whether the last message is what a tool gave.
    pub(super) is_after_result: bool,
}

impl Question<'_> {
    /// The call whose likelihood has grown most, if that is enough.
    fn best(&self, now: &[f32], before: &[f32]) -> Option<usize> {
        let margin = match (self.is_required, self.is_after_result) {
            (true, _) => f32::NEG_INFINITY,
            (false, true) => MARGIN_AFTER_RESULT,
            (false, false) => MARGIN,
        };
        let grown = now.iter().zip(before).map(|(now, before)| now - before);
        let best = grown.enumerate().max_by(|(_, a), (_, b)| a.total_cmp(b));
        best.filter(|(_, grown)| *grown > margin)
            .map(|(number, _)| number)
    }
}

/// How likely calls are after a message that asks for nothing.
#[derive(Debug)]
pub(super) struct Neutral {
    prompt: Vec<u32>,
    names: Vec<String>,
    likelihoods: Vec<f32>,
}

/// The number of the tool that is called; none, if the answer is text. Of the cache the conversation is left.
pub(super) fn decide(
    loaded: &mut Loaded,
    job: &Job,
    question: &Question<'_>,
    cache: &mut Cache,
) -> Result<Option<usize>, Halt> {
    let Question {
        prompt,
        neutral,
        names,
        is_required,
        ..
    } = *question;
    if let (true, [_]) = (is_required, names) {
        return Ok(Some(0));
    }
    let known = loaded.neutral.take();
    let known = match known.filter(|known| known.prompt == neutral && known.names == names) {
        Some(known) => known,
        None => Neutral {
            likelihoods: likelihoods(loaded, job, neutral, names, cache)?,
            prompt: neutral.to_vec(),
            names: names.to_vec(),
        },
    };
    let likelihoods = likelihoods(loaded, job, prompt, names, cache)?;
    let known = &*loaded.neutral.insert(known);
    Ok(question.best(&likelihoods, &known.likelihoods))
}

/// The logarithm of how likely a call of each of these tools is after a prompt.
fn likelihoods(
    loaded: &Loaded,
    job: &Job,
    prompt: &[u32],
    names: &[String],
    cache: &mut Cache,
) -> Result<Vec<f32>, Halt> {
    let openings: Vec<Vec<u32>> = names
        .iter()
        .map(|name| loaded.tokenizer.encode(&loaded.style.opening_with(name)))
        .collect();
    let shared = shared(&openings);
    let scores = read(loaded, job, prompt, cache)?;
    let mut together = 0.0;
    let mut last = scores;
    if let Some((first, rest)) = shared.split_first() {
        together += likelihood(&last, *first);
        for (place, token) in rest.iter().enumerate() {
            last = loaded
                .model
                .read(shared.get(place..=place).unwrap_or_default(), cache)
                .map_err(Halt::broken)?;
            together += likelihood(&last, *token);
        }
        let end = shared.len() - 1..;
        last = loaded
            .model
            .read(shared.get(end).unwrap_or_default(), cache)
            .map_err(Halt::broken)?;
    }
    let known = cache.len();
    let mut all = Vec::new();
    for opening in &openings {
        if job.is_unwanted() {
            return Err(Halt::Unwanted);
        }
        let own = opening.get(shared.len()..).unwrap_or_default();
        let mut sum = together;
        if let Some((first, rest)) = own.split_first() {
            sum += likelihood(&last, *first);
            let before_last = own.get(..rest.len()).unwrap_or_default();
            let scores = loaded
                .model
                .read_each(before_last, cache)
                .map_err(Halt::broken)?;
            let rows = scores.chunks(loaded.model.vocabulary());
            sum += rows
                .zip(rest)
                .map(|(row, token)| likelihood(row, *token))
                .sum::<f32>();
            cache.cut(known);
        }
        all.push(sum);
    }
    cache.cut(prompt.len());
    Ok(all)
}

/// What all of these begin with.
fn shared(openings: &[Vec<u32>]) -> Vec<u32> {
    let mut shared = openings.first().cloned().unwrap_or_default();
    for opening in openings {
        let pairs = shared.iter().zip(opening);
        let count = pairs.take_while(|(ours, theirs)| ours == theirs).count();
        shared.truncate(count);
    }
    shared
}

/// The logarithm of how likely a token is.
fn likelihood(scores: &[f32], token: u32) -> f32 {
    let highest = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let sum: f32 = scores.iter().map(|score| (score - highest).exp()).sum();
    let score = scores.get(token as usize).copied();
    score.unwrap_or(f32::NEG_INFINITY) - highest - sum.ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// P252
    #[test]
    fn what_grows_most_is_called_if_it_grows_enough() {
        let question = |is_required, is_after_result| Question {
            prompt: &[],
            neutral: &[],
            names: &[],
            is_required,
            is_after_result,
        };
        let (free, required, after) = (
            question(false, false),
            question(true, true),
            question(false, true),
        );
        let before = [-9.0, -20.0, -12.0];
        assert_eq!(free.best(&[-9.0, -14.0, -12.0], &before), Some(1));
        assert_eq!(free.best(&[-5.0, -16.0, -12.5], &before), None);
        assert_eq!(after.best(&[-9.0, -14.0, -12.0], &before), None);
        assert_eq!(after.best(&[-9.0, -14.0, -1.0], &before), Some(2));
        assert_eq!(required.best(&[-8.0, -16.0, -12.5], &before), Some(1));
        assert_eq!(required.best(&[], &[]), None);
    }

    #[test]
    fn likelihoods_are_shares_of_one() {
        let scores = [1.0, 3.0, -2.0, 90.0];
        let sum: f32 = (0..4).map(|token| likelihood(&scores, token).exp()).sum();
        assert!((sum - 1.0).abs() < 1e-6);
        assert!((likelihood(&[0.0, 0.0], 1) - 0.5_f32.ln()).abs() < 1e-6);
        assert_eq!(likelihood(&[0.0], 7), f32::NEG_INFINITY);
    }

    #[test]
    fn beginnings_that_are_the_same_are_read_once() {
        let openings = [vec![1, 2, 3, 4], vec![1, 2, 5], vec![1, 2, 3]];
        assert_eq!(shared(&openings), [1, 2]);
        assert_eq!(shared(&openings[..1]), [1, 2, 3, 4]);
        assert_eq!(shared(&[]), [0; 0]);
    }
}
