//! What becomes of each call of an answer, before any is run.

use std::sync::Arc;

use allm_core::{
    ApprovalRule, CallFailure, Map, SessionId, ToolCall, ToolFailure, compact, encode,
};

use super::approval::{ApprovalAnswer, ApprovalPolicyFn, ApprovalRequest};
use super::check;
use super::settings::RunnerSettings;
use super::toolset::{Entry, ToolSet};
use crate::panics::caught;

/// What becomes of a call.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Planned {
    /// It is run.
    Run {
        /// Whether it counts in the tool-call budget.
        counted: bool,
    },
    /// It is left to the caller.
    Manual,
    /// A person must agree first.
    Approve {
        /// Why.
        reason: Option<String>,
    },
    /// It is closed with this failure.
    Refuse(CallFailure),
    /// No tool has its name.
    Unknown,
}

/// Decides about calls by the tools and the caller's policy.
#[derive(Clone)]
pub(crate) struct Planner {
    pub(crate) tools: ToolSet,
    pub(crate) runner: Arc<RunnerSettings>,
    pub(crate) policy: Option<ApprovalPolicyFn>,
    pub(crate) session_id: Option<SessionId>,
}

impl Planner {
    /// What becomes of this call. Nobody is asked about arguments that do not fit.
    pub(crate) fn plan(&self, call: &ToolCall) -> Planned {
        let Some(entry) = self.tools.get(call.original_name()) else {
            return Planned::Unknown;
        };
        let tool = &entry.tool;
        if tool.manual {
            return Planned::Manual;
        }
        let run = Planned::Run {
            counted: !compact::is_tool_help(tool),
        };
        let always = tool.approval == ApprovalRule::Always;
        if !always && self.policy.is_none() {
            return run;
        }
        match self.arguments(entry, call) {
            Ok(_) if always => Planned::Approve { reason: None },
            Ok(arguments) => match self.ask(entry, call, &arguments) {
                ApprovalAnswer::Run => run,
                ApprovalAnswer::Ask { reason } => Planned::Approve { reason },
            },
            Err(failure) if always => {
                Planned::Refuse(encode::report(&failure, tool.name.as_str(), &tool.effect))
            }
            // The runner refuses it, and the policy about errors is asked.
            Err(_) => run,
        }
    }

    /// What the handler would get.
    pub(crate) fn arguments(
        &self,
        entry: &Entry,
        call: &ToolCall,
    ) -> Result<Arc<Map>, ToolFailure> {
        let runner = &self.runner;
        let max_bytes = runner.max_tool_arguments;
        check::arguments(entry, call, max_bytes, &*runner.executor)
    }

    fn ask(&self, entry: &Entry, call: &ToolCall, arguments: &Map) -> ApprovalAnswer {
        let Some(policy) = &self.policy else {
            return ApprovalAnswer::Run;
        };
        let request = ApprovalRequest {
            tool: &entry.tool,
            call,
            arguments,
            session_id: self.session_id.as_ref(),
        };
        // Who cannot say leaves it to a person.
        caught(|| policy(&request)).unwrap_or(ApprovalAnswer::Ask {
            reason: Some("the policy about approvals crashed".to_owned()),
        })
    }
}
