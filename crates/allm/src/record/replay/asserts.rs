//! What a test asks of a recording afterwards.

use allm_core::{FinishReason, Part, Response};
use serde_json::{Value, json};

use super::Replay;
use crate::record::cassette::Interaction;
use crate::record::difference;
use crate::{Engine, RetryPolicy};

impl Replay {
    /// Checks that every interaction was used and every request answered. It belongs at the end of a test.
    ///
    /// # Panics
    ///
    /// When an interaction was not used, unless [`allow_unused`](Self::allow_unused) was said, or when a request was not
    /// answered.
    #[track_caller]
    pub fn assert_used(&self) {
        let state = self.lock();
        let mut wrong = state.missed.clone();
        let all = self.cassette.interactions.iter().zip(&state.used);
        let unused = all.enumerate().filter(|(_, (_, used))| !**used);
        if !self.may_be_unused {
            wrong.extend(unused.map(|(index, (interaction, _))| {
                format!(
                    "interactions[{index}] was not used: {}",
                    interaction.asked.line()
                )
            }));
        }
        drop(state);
        if !wrong.is_empty() {
            let file = self.cassette.file.display();
            fail(&format!("{file}:\n  {}", wrong.join("\n  ")));
        }
    }

    /// Checks that a streamed and a whole recording of one answer fold to the same response. Every answer of the cassette
    /// is read by the engine, whatever it was an answer to. Ids, headers and what a provider adds are not compared.
    ///
    /// # Panics
    ///
    /// When two of them differ, when there is not one of each kind, and when the engine has no provider with this
    /// recording.
    pub async fn assert_stream_equals_whole(&self, engine: &Engine) {
        let file = self.cassette.file.display();
        let mut read: Vec<Value> = Vec::new();
        for index in 0..self.cassette.interactions.len() {
            self.lock().forced.push_back(index);
            let call = engine.generate("Say it again.");
            let response = call.retry(RetryPolicy::none()).await;
            let left = std::mem::take(&mut self.lock().forced);
            if !left.is_empty() {
                fail(&format!("the engine did not ask {file}: {response:?}"));
            }
            match response {
                Ok(response) if response.finish_reason != Some(FinishReason::Error) => {
                    read.push(essence(&response));
                }
                failed => fail(&format!(
                    "{file}: interactions[{index}] is no answer: {failed:?}"
                )),
            }
        }
        let streamed = self.cassette.interactions.iter().filter(|it| is_stream(it));
        let (streamed, all) = (streamed.count(), read.len());
        if streamed == 0 || streamed == all {
            let found = format!("{streamed} streamed and {} whole", all - streamed);
            fail(&format!(
                "{file}: one answer of each kind is needed, there are {found}"
            ));
        }
        let Some((first, others)) = read.split_first() else {
            return;
        };
        for (index, other) in others.iter().enumerate() {
            let mut found = Vec::new();
            difference::compare("response", first, other, &mut found);
            if !found.is_empty() {
                let lines = difference::lines(&found);
                fail(&format!(
                    "{file}: interactions[0] (-) and interactions[{}] (+) differ:{lines}",
                    index + 1
                ));
            }
        }
    }
}

/// Whether an answer came as events.
fn is_stream(interaction: &Interaction) -> bool {
    let body = interaction.answered.as_ref().map(|answered| &answered.body);
    let first = body.and_then(|body| body.trim_ascii_start().first());
    !matches!(first, Some(b'{' | b'['))
}

/// What two recordings of one answer have in common.
fn essence(response: &Response) -> Value {
    let calls = response.tool_calls().iter();
    let usage = &response.usage;
    let reasoning: String = response
        .message
        .content
        .iter()
        .filter_map(|part| match part {
            Part::Reasoning(part) => part.text.as_deref(),
            _ => None,
        })
        .collect();
    json!({
        "text": response.text(),
        "reasoning": reasoning,
        "refusal": response.refusal(),
        "tool_calls": calls
            .map(|call| json!({"name": call.name, "arguments": call.arguments}))
            .collect::<Vec<_>>(),
        "finish_reason": response.finish_reason,
        "raw_finish_reason": response.raw_finish_reason,
        "model": response.model,
        "usage": {
            "input_tokens": usage.input_tokens,
            "output_tokens": usage.output_tokens,
            "total_tokens": usage.total(),
            "cached_input_tokens": usage.cached_input_tokens,
            "reasoning_tokens": usage.reasoning_tokens,
        },
    })
}

#[track_caller]
#[expect(clippy::panic, reason = "an assertion of a test")]
fn fail(what: &str) {
    panic!("{what}");
}
