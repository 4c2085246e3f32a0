//! Calls that a server answers with what it wants to know first, to be made again with the answers.

use std::collections::BTreeMap;
use std::time::Duration;

use allm_core::ToolError;
use rmcp::model::{ElicitResult, InputRequest, InputRequiredResult};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::question::Question;
use super::resume::{State, Then};
use super::tool::{Attempt, McpTool, Next};

/// How often a call is made again.
const MOST: u32 = 10;
/// How long to wait before a call is made again for which nobody was asked.
const PAUSE: Duration = Duration::from_millis(200);

/// What a server wants to know, and what is known of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Round {
    /// Which one it is.
    number: u32,
    /// Whatever it is, it goes back as it came.
    pub(super) request_state: Option<String>,
    wanted: BTreeMap<String, Question>,
    known: BTreeMap<String, Value>,
}

impl Round {
    /// The round after this one.
    ///
    /// # Errors
    ///
    /// If it is one too many, or the server wants what is not offered here.
    pub(super) fn next(former: Option<Self>, wants: InputRequiredResult) -> Result<Self, String> {
        let number = former.map_or(0, |round| round.number).saturating_add(1);
        if number > MOST {
            return Err(format!("it wants to know more after {MOST} rounds"));
        }
        let mut round = Self {
            number,
            request_state: wants.request_state,
            ..Self::default()
        };
        for (key, request) in wants.input_requests.into_iter().flatten() {
            match request {
                InputRequest::Elicitation(request) => {
                    round.wanted.insert(key, Question::of(request.params));
                }
                InputRequest::ListRoots(_) => {
                    round.known.insert(key, json!({"roots": []}));
                }
                _ => return Err("it wants the answer of a model, which is not offered".to_owned()),
            }
        }
        Ok(round)
    }

    /// With the answer to what is asked now.
    pub(super) fn answered(mut self, result: &ElicitResult) -> Self {
        if let Some((key, _)) = self.wanted.pop_first() {
            let result = serde_json::to_value(result).unwrap_or_default();
            self.known.insert(key, result);
        }
        self
    }

    pub(super) fn responses(&self) -> Option<BTreeMap<String, Value>> {
        (!self.known.is_empty()).then(|| self.known.clone())
    }
}

impl McpTool {
    /// Asks for what is not known, one question after the other; then the call is made again.
    pub(super) async fn input(&self, round: Round) -> Result<Next, ToolError> {
        if let Some(question) = round.wanted.values().next().cloned() {
            let then = Then::Round(round);
            return Ok(Next::Reply(self.ask(&State { question, then }, &[])));
        }
        if round.known.is_empty() {
            tokio::time::sleep(PAUSE.saturating_mul(round.number)).await;
        }
        Ok(Next::Again(Attempt {
            round: Some(round),
            ..Attempt::default()
        }))
    }
}
