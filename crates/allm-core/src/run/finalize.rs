//! The second pass of `structured_finalize`.

use serde_json::{Value, json};

use super::after::AfterTurn;
use super::input::{DeadlineScope, Stop};
use super::state::{Phase, Run};
use super::turn::object;
use crate::data::{HaltReason, Map, Message, Response};
use crate::error::Failure;
use crate::json::to_value;

/// Which pass a run is in.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Pass {
    /// The tool loop.
    One,
    /// One more turn, for the structured answer.
    Two(Box<FirstPass>),
}

/// How the first pass ended.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FirstPass {
    /// Why.
    pub(super) halted: HaltReason,
    /// How many messages its conversation has, the nudge not counted.
    pub(super) messages: usize,
    /// How many steps it has.
    pub(super) steps: usize,
    /// Why the second pass could not be opened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) refused: Option<Failure>,
}

impl Run {
    /// Opens the second pass if the first one ended in a way that allows it; otherwise gives back how the run ends.
    pub(super) fn open_second_pass(&mut self, after: AfterTurn) -> Option<AfterTurn> {
        let Some(finalize) = &self.setup.options.structured_finalize else {
            return Some(after);
        };
        let goes_on = matches!(
            after.reason,
            Some(HaltReason::Completed | HaltReason::MaxTurns | HaltReason::HaltWhen)
        );
        let (Pass::One, true, Some(halted)) = (&self.pass, goes_on, after.reason.clone()) else {
            return Some(after);
        };
        let nudge = finalize.nudge.clone();
        self.pass = Pass::Two(Box::new(FirstPass {
            halted,
            messages: self.thread.len(),
            steps: self.steps.len(),
            refused: None,
        }));
        // The deadline of the turn that has just ended on its own is no concern of the next one.
        if self.stop == Some(Stop::Deadline(DeadlineScope::Turn)) {
            self.stop = None;
        }
        if let Some(stopped) = self.nothing_left() {
            return Some(stopped);
        }
        if !nudge.is_empty() {
            self.thread.messages.push(Message::user(nudge));
        }
        self.phase = Phase::Model;
        None
    }

    /// Takes the nudge back: the second pass gave nothing.
    pub(super) fn leave_second_pass(&mut self, refused: Option<&Failure>) {
        if let Pass::Two(first) = &mut self.pass {
            first.refused = refused.cloned();
            self.thread.messages.truncate(first.messages);
        }
    }

    /// The marker in the result's metadata; empty unless a structured answer was asked for.
    pub(super) fn finalize_marker(&self, reason: Option<&HaltReason>) -> Map {
        if self.setup.options.structured_finalize.is_none() {
            return Map::new();
        }
        let (halted, steps, refused) = match &self.pass {
            Pass::One => (reason.cloned(), self.steps.len(), None),
            Pass::Two(first) => (
                Some(first.halted.clone()),
                first.steps,
                first.refused.clone(),
            ),
        };
        let step = steps.checked_sub(1).and_then(|last| self.steps.get(last));
        let mut marker = object(json!({"pass_1_halted": halted}));
        if let Some(step) = step {
            marker.insert("pass_1_response".to_owned(), value_of(&step.response));
        }
        if let Some(refused) = refused {
            marker.insert("pass_2_error".to_owned(), json!(refused));
        }
        object(json!({"structured_finalize": marker}))
    }
}

/// A response as JSON; a cost that is not a number is all that could be in the way, and is left out.
fn value_of(response: &Response) -> Value {
    let without_cost = || {
        let mut response = response.clone();
        response.usage.cost = None;
        to_value(&response)
    };
    let value = to_value(response).or_else(|_| without_cost());
    value.unwrap_or_default()
}
