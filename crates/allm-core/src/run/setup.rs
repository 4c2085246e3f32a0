//! What does not change during a run.

use std::collections::BTreeMap;

use super::options::{RunOptions, RunSetup};
use crate::compact;
use crate::data::{Effect, Messages, Request, RequestId, Tool, ToolSpec};

/// What does not change during a run.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Setup {
    pub(super) options: RunOptions,
    /// Without messages, and of the tools only those built into the provider.
    pub(super) request: Request,
    pub(super) request_id: Option<RequestId>,
    /// As given.
    pub(super) tools: Vec<Tool>,
    /// How many messages the conversation had at the start.
    pub(super) given: usize,
    /// How many answers it had.
    pub(super) first_turn: u32,
    /// The tools that are offered in every turn of the first pass.
    pub(super) offered: Vec<ToolSpec>,
    /// The names of all tools that can be run, `tool_help` included, and which are manual.
    pub(super) known: BTreeMap<String, ToolFacts>,
}

/// What the machine has to know of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ToolFacts {
    pub(super) manual: bool,
    /// Whether its calls count in the tool-call budget.
    pub(super) counted: bool,
}

impl Setup {
    pub(super) fn new(setup: &RunSetup) -> Self {
        let built_in = |spec: &ToolSpec| matches!(spec, ToolSpec::Provider(_));
        let request = Request {
            messages: Messages::new(),
            tools: setup
                .request
                .tools
                .iter()
                .filter(|spec| built_in(spec))
                .cloned()
                .collect(),
            ..setup.request.clone()
        };
        let mut offered =
            compact::project(&setup.tools, request.tool_choice.as_ref(), &request.extra);
        offered.extend(request.tools.iter().cloned());
        let mut known = BTreeMap::new();
        known.extend(compact::executed(&setup.tools).into_iter().map(|tool| {
            let facts = ToolFacts {
                manual: tool.waits_for_caller(),
                counted: !compact::is_tool_help(&tool),
            };
            (tool.name.as_str().to_owned(), facts)
        }));
        Self {
            options: setup.options.clone(),
            request_id: setup.request_id.clone(),
            given: setup.thread.len(),
            first_turn: setup.first_turn,
            known,
            tools: setup.tools.iter().cloned().map(without_handler).collect(),
            request,
            offered,
        }
    }
}

/// The machine keeps data only.
fn without_handler(mut tool: Tool) -> Tool {
    tool.handler = None;
    if let Effect::Reconcile(probe) = &mut tool.effect {
        *probe = None;
    }
    tool
}
