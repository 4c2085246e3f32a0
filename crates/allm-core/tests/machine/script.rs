//! What models and tools do in these tests.

use allm_core::run::{PolicyDecision, ToolOutcome};
use allm_core::{
    AdapterError, AdapterReason, CallFailure, CustomHalt, Error, Failure, FailureReason,
    FinishReason, Map, Tool, Usage,
};
use serde_json::{Value, json};

/// One answer of the model, or its absence.
#[derive(Clone, Debug)]
pub(crate) enum Answer {
    /// Events of the provider, ended by a completion.
    Message(Reply),
    /// Events of the provider, then an error.
    Breaks(Reply),
    /// Events of the provider, then nothing.
    JustEnds(Reply),
    /// No event at all.
    Refused,
}

/// What an answer holds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reply {
    pub(crate) text: String,
    pub(crate) calls: Vec<Called>,
    pub(crate) finish: Option<FinishReason>,
    pub(crate) raw_finish: Option<String>,
    pub(crate) usage: Usage,
}

/// A call as the provider sends it.
#[derive(Clone, Debug)]
pub(crate) struct Called {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) raw: String,
}

pub(crate) fn called(id: &str, name: &str) -> Called {
    Called {
        id: id.into(),
        name: name.into(),
        raw: "{}".into(),
    }
}

/// A text that ends with `stop`.
pub(crate) fn text(text: &str) -> Answer {
    Answer::Message(Reply {
        text: text.into(),
        finish: Some(FinishReason::Stop),
        ..Reply::default()
    })
}

/// Calls named after the tools, with the ids `c0`, `c1` …
pub(crate) fn calls(names: &[&str]) -> Answer {
    calls_with(names, Some(FinishReason::ToolCalls))
}

pub(crate) fn calls_with(names: &[&str], finish: Option<FinishReason>) -> Answer {
    Answer::Message(Reply {
        calls: call_list(names),
        finish,
        ..Reply::default()
    })
}

pub(crate) fn call_list(names: &[&str]) -> Vec<Called> {
    let ids = (0..).map(|index| format!("c{index}"));
    names
        .iter()
        .zip(ids)
        .map(|(name, id)| called(&id, name))
        .collect()
}

pub(crate) fn refusal() -> Failure {
    let error = AdapterError::new("test", AdapterReason::RateLimited, "not now");
    Failure::from(Error::from(error))
}

/// Tools that the machine knows, by what their names say: `m…` is manual.
pub(crate) fn tools(names: &[&str]) -> Vec<Tool> {
    let tool = |name: &&str| {
        let tool = Tool::new(*name, "", json!({"type": "object"}));
        if name.starts_with('m') {
            tool.manual()
        } else {
            tool
        }
    };
    names.iter().map(tool).collect()
}

pub(crate) fn ok(value: impl Into<Value>) -> ToolOutcome {
    let value = value.into();
    let content = match &value {
        Value::String(text) => text.clone(),
        value => value.to_string(),
    };
    ToolOutcome::replied(value, content)
}

pub(crate) fn failure(reason: FailureReason) -> CallFailure {
    CallFailure::new(reason, format!("the tool failed with {reason}"))
}

pub(crate) fn fails() -> ToolOutcome {
    ToolOutcome::failed(failure(FailureReason::Reported))
}

/// A failure under a halting policy.
pub(crate) fn fails_and_halts(exception: Option<&str>) -> ToolOutcome {
    let failure = failure(FailureReason::HandlerRaised);
    ToolOutcome::Failed {
        content: failure.to_content(),
        failure,
        decision: PolicyDecision::Halt {
            exception: exception.map(str::to_owned),
        },
    }
}

pub(crate) fn asks(question: &str) -> ToolOutcome {
    asks_with(question, json!({}))
}

pub(crate) fn asks_with(question: &str, opts: Value) -> ToolOutcome {
    ToolOutcome::Asked {
        question: question.into(),
        opts: object(opts),
    }
}

pub(crate) fn asks_to_go_on(question: &str) -> ToolOutcome {
    ToolOutcome::AskedToGoOn {
        question: question.into(),
        opts: object(json!({"a": 1})),
        state: Some(json!({"step": 1})),
    }
}

pub(crate) fn halts(reason: &str, value: Value) -> ToolOutcome {
    ToolOutcome::Halted {
        reason: CustomHalt::new(reason).unwrap(),
        content: value.to_string(),
        value,
    }
}

pub(crate) fn object(value: Value) -> Map {
    value.as_object().unwrap().clone()
}
