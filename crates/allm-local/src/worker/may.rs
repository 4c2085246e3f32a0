//! What an answer may be, as its request says.

use allm_core::{FunctionSpec, ParallelCalls, Request, ResponseFormat, ToolChoice};

use crate::grammar::{Callable, Calls, Saying};
use crate::prompt::functions;

/// What an answer may be.
pub(super) struct May {
    pub(super) callable: Vec<Callable>,
    /// The tool that is called first, if that is decided.
    pub(super) first: Option<usize>,
    pub(super) calls: Calls,
    pub(super) saying: Saying,
}

impl May {
    pub(super) fn of(request: &Request, offered: &[&FunctionSpec]) -> Self {
        Self {
            callable: callable(request, offered),
            first: None,
            calls: calls(request),
            saying: saying(request),
        }
    }

    pub(super) fn names(&self) -> Vec<String> {
        let tools = self.callable.iter();
        tools.map(|tool| tool.name.clone()).collect()
    }
}

/// The tools that the model is told of.
pub(super) fn offered(request: &Request) -> Vec<&FunctionSpec> {
    match request.tool_choice {
        Some(ToolChoice::None) => Vec::new(),
        _ => functions(request),
    }
}

/// Those of them that it may call.
fn callable(request: &Request, offered: &[&FunctionSpec]) -> Vec<Callable> {
    let may_call = |tool: &&&FunctionSpec| match &request.tool_choice {
        Some(ToolChoice::Tool(name)) => tool.name == *name,
        Some(ToolChoice::AnyOf(names)) => names.contains(&tool.name),
        _ => true,
    };
    let callable = offered.iter().filter(may_call).map(|tool| Callable {
        name: tool.name.as_str().to_owned(),
        schema: (*tool.schema).clone(),
    });
    callable.collect()
}

/// One call, unless several are asked for: a small model does not know when to stop.
fn calls(request: &Request) -> Calls {
    match request.parallel_tool_calls {
        Some(ParallelCalls::Allowed) => Calls::Several,
        _ => Calls::One,
    }
}

fn saying(request: &Request) -> Saying {
    let is_required = matches!(
        request.tool_choice,
        Some(ToolChoice::Required | ToolChoice::Tool(_) | ToolChoice::AnyOf(_))
    );
    match &request.response_format {
        _ if is_required => Saying::Nothing,
        Some(ResponseFormat::JsonObject) => Saying::Json(None),
        Some(ResponseFormat::JsonSchema(format)) => Saying::Json(Some(format.schema.clone())),
        _ => Saying::Anything,
    }
}
