//! What a run is started with.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::data::{
    Hash, Map, Message, Mode, Request, RequestId, Response, ResponseFormat, Thread, Tool,
};
use crate::limits;
use crate::validate::SettingFaults;

/// What a run is started with: the conversation, the tools and the settings, resolved from all levels.
#[derive(Clone, Debug, PartialEq)]
pub struct RunSetup {
    /// The conversation so far.
    pub thread: Thread,
    /// What is sent besides. Its `messages` are not looked at, and of its `tools` only those built into the provider.
    pub request: Request,
    /// The tools that the model may call. Handlers are the driver's business.
    pub tools: Vec<Tool>,
    /// The settings of the loop.
    pub options: RunOptions,
    /// Our id of the run.
    pub request_id: Option<RequestId>,
    /// How many answers the conversation had before this run; made-up ids of calls count on from there.
    pub first_turn: u32,
    /// The turn that the run goes on with before it asks the model: its calls are not all closed.
    pub open: Option<OpenBatch>,
    /// The running hash of the thread's messages, where somebody keeps it; else it is taken here.
    pub history: Option<Hash>,
}

/// A turn that an earlier run left open.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenBatch {
    /// The answer.
    pub response: Response,
    /// Where each of its calls stands, in call order.
    pub calls: Vec<OpenSlot>,
}

/// Where a call of a turn stands that an earlier run left open.
#[derive(Clone, Debug, PartialEq)]
pub enum OpenSlot {
    /// It is to be run.
    Ready,
    /// It waits for somebody outside.
    Waiting,
    /// It asked a person, who has not answered the model.
    Asked {
        /// Its message.
        message: Arc<Message>,
        /// The question.
        question: String,
        /// For the user interface.
        opts: Map,
    },
    /// It asked a person, who has not answered the tool.
    AskedToGoOn {
        /// The question.
        question: String,
        /// For the user interface.
        opts: Map,
    },
    /// It has its message, and what is said after the results: a question and its answer.
    Closed {
        /// Its message.
        message: Arc<Message>,
        /// What is said after the results.
        tail: Vec<Arc<Message>>,
    },
}

impl RunSetup {
    /// A run over this conversation with nothing else set.
    #[must_use]
    pub fn new(thread: Thread) -> Self {
        Self {
            thread,
            request: Request::default(),
            tools: Vec::new(),
            options: RunOptions::default(),
            request_id: None,
            first_turn: 0,
            open: None,
            history: None,
        }
    }
}

/// The settings of the loop that the machine itself follows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunOptions {
    /// A whole chat, or one turn.
    #[serde(default)]
    pub kind: RunKind,
    /// Who runs the calls.
    #[serde(default)]
    pub mode: Mode,
    /// How many turns at most; the second pass of a finalize is not counted.
    pub max_turns: u32,
    /// What becomes of calls that name no tool.
    #[serde(default)]
    pub unknown_tools: UnknownTools,
    /// Whether the driver has a closure to ask after a turn.
    #[serde(default)]
    pub halt_when: HaltWhen,
    /// Who decides which calls are run.
    #[serde(default, skip_serializing_if = "Planning::is_machine")]
    pub planning: Planning,
    /// A second pass for a structured answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub structured_finalize: Option<Finalize>,
    /// The time limits that the driver watches.
    #[serde(default)]
    pub deadlines: Deadlines,
    /// What may be spent.
    #[serde(default)]
    pub budgets: Budgets,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self {
            kind: RunKind::Chat,
            mode: Mode::Auto,
            max_turns: limits::MAX_TURNS,
            unknown_tools: UnknownTools::Refuse,
            halt_when: HaltWhen::NotSet,
            planning: Planning::Machine,
            structured_finalize: None,
            deadlines: Deadlines::default(),
            budgets: Budgets::default(),
        }
    }
}

impl RunOptions {
    /// Adds every fault of these settings, for a run with this response format.
    pub fn find_faults(&self, format: Option<&ResponseFormat>, faults: &mut SettingFaults) {
        faults.positive("max_turns", self.max_turns);
        if self.structured_finalize.is_some() {
            faults.structured_finalize(format);
        }
        faults.positive("turn_deadline", self.deadlines.turn);
        faults.positive("run_deadline", self.deadlines.run);
        faults.amount_of_money("max_run_cost", self.budgets.cost);
    }
}

/// How far a run goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunKind {
    /// Turns until something stops them.
    #[default]
    Chat,
    /// One turn.
    Step,
}

/// What becomes of calls that name no tool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UnknownTools {
    /// Nothing of the turn runs, and the run fails.
    #[default]
    Refuse,
    /// The model is told and may try again.
    TellModel,
}

/// Who decides which calls of an answer are run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Planning {
    /// The machine, by the tools that it was started with.
    #[default]
    Machine,
    /// The driver, which is asked with [`Command::PlanCalls`](super::Command::PlanCalls).
    Driver,
}

impl Planning {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
    fn is_machine(&self) -> bool {
        *self == Self::Machine
    }
}

/// Whether the driver has a `halt_when` closure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HaltWhen {
    /// No.
    #[default]
    NotSet,
    /// Yes: the machine asks for its answer.
    Set,
}

/// A second pass for a structured answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Finalize {
    /// The user message that opens the second pass; empty for none.
    pub nudge: String,
}

impl Default for Finalize {
    fn default() -> Self {
        Self {
            nudge: limits::FINALIZE_NUDGE.to_owned(),
        }
    }
}

/// The time limits of a run. The driver has the clock; the machine only reports the limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Deadlines {
    /// For each turn, from the opening of its model call.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        with = "crate::data::millis::option"
    )]
    pub turn: Option<Duration>,
    /// For the whole run.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        with = "crate::data::millis::option"
    )]
    pub run: Option<Duration>,
}

/// What a run may spend; checked before spending.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Budgets {
    /// Calls that the library runs, `tool_help` not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_calls: Option<u64>,
    /// Tokens of all turns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// USD of all turns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
}
