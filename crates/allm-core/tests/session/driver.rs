//! What the driver of the simulation does: it runs what the session wants run, and writes down what came of it.

use allm_core::run::{CallToRun, Command, HaltWhen, RunEnd, ToolOutcome};
use allm_core::session::{
    Applied, ApprovePlan, CallKey, CallPlan, CallsPlanned, EntryBody, Halted, Hooks, ManualPlan,
    ModelEnd, ModelFailed, ModelResponded, Operation, OutcomeSource, PlanOfCall, RecordedTool,
    Recovered, RunPlan, RunStarted, ToolIntent, ToolOutcomeEntry, TurnCall, WentOn, arguments_hash,
    tool_fingerprint,
};
use allm_core::{
    ApprovalId, ChatResult, Effect, HaltReason, Hash, Request, Response, RunId, idempotency_key,
};

use super::script::{Answer, effect_of, failure, outcome_of, text, tool};
use super::sim::{Sim, at};

impl Sim {
    pub(crate) fn start(&mut self, op: Operation) -> Applied {
        let mut options = self.options.clone();
        if op == Operation::Step {
            options.max_turns = 1;
            options.structured_finalize = None;
        }
        let recorded = |name: &str| RecordedTool {
            name: name.into(),
            fingerprint: tool_fingerprint(&tool(name)),
            effect: effect_of(name),
        };
        let body = EntryBody::RunStarted(Box::new(RunStarted {
            run: RunId::from_bytes(self.id_bytes()),
            op,
            hooks: Hooks {
                halt_when: options.halt_when == HaltWhen::Set,
                ..Hooks::default()
            },
            options,
            request: self.request.clone(),
            model: None,
            request_id: None,
            tools: vec![recorded("a")],
        }));
        self.ended = None;
        self.seal(body)
    }

    /// Does what the session says until its run has ended.
    pub(crate) fn drive(&mut self) -> HaltReason {
        self.drive_result().halted_reason
    }

    pub(crate) fn drive_result(&mut self) -> ChatResult {
        for _ in 0..200 {
            if !self.step() {
                return match self.ended.clone().expect("the run has ended") {
                    RunEnd::Result(result) => (*result).clone(),
                    _ => self.refused_result(),
                };
            }
        }
        panic!("the run always ends");
    }

    /// The driver gives an error for this; the tests look at the session.
    fn refused_result(&self) -> ChatResult {
        ChatResult {
            halted_reason: HaltReason::Error,
            ..self.session.standing_result()
        }
    }

    /// Does the next thing; false when there is none.
    pub(crate) fn step(&mut self) -> bool {
        match self.session.command() {
            Command::CallModel(call) => self.call_model(&call.request),
            Command::StopModel => {
                let partial = self.session.run().and_then(|run| run.partial.clone());
                self.model_failed(ModelEnd::Stopped, partial);
            }
            Command::PlanCalls(calls) => self.plan(&calls),
            Command::RunTools(calls) => self.run_call(&calls[0]),
            Command::StopTools(calls) => {
                let key = self.key(calls[0].index);
                let attempts = self.call(key).attempts;
                self.outcome(key, attempts, ToolOutcome::NotStarted);
            }
            Command::AskHaltWhen(_) => {
                let turn = self.session.turn();
                self.seal(if self.halts {
                    EntryBody::Halted(Halted {
                        turn,
                        reason: HaltReason::HaltWhen,
                        scope: None,
                    })
                } else {
                    EntryBody::WentOn(WentOn { turn })
                });
            }
            _ => return false,
        }
        true
    }

    /// Goes on until the machine wants this.
    pub(crate) fn until(&mut self, wanted: impl Fn(&Command) -> bool) {
        for _ in 0..100 {
            if wanted(&self.session.command()) {
                return;
            }
            assert!(self.step(), "the run ended before it came to that");
        }
        panic!("the run never comes to that");
    }

    fn call_model(&mut self, request: &Request) {
        self.requests.push(request.clone());
        match self.answers.pop_front().unwrap_or_else(|| text("ok")) {
            Answer::Whole(response) => self.responded(response),
            Answer::Breaks(partial) => self.model_failed(ModelEnd::Failed, Some(partial)),
            Answer::Refused => self.model_failed(ModelEnd::Failed, None),
        }
    }

    pub(crate) fn responded(&mut self, response: Response) {
        let body = self.responded_body(response);
        self.seal(body);
    }

    pub(crate) fn responded_body(&self, response: Response) -> EntryBody {
        EntryBody::ModelResponded(Box::new(ModelResponded {
            turn: self.session.turn() + 1,
            attempt: self.session.run().map_or(1, |run| run.attempt),
            request_hash: Hash::of_bytes(b"request"),
            response,
        }))
    }

    pub(crate) fn model_failed(&mut self, end: ModelEnd, partial: Option<Response>) {
        let body = self.failed_body(end, partial);
        self.seal(body);
    }

    pub(crate) fn failed_body(&self, end: ModelEnd, partial: Option<Response>) -> EntryBody {
        EntryBody::ModelFailed(Box::new(ModelFailed {
            turn: self.session.turn() + 1,
            attempt: self.session.run().map_or(1, |run| run.attempt),
            end,
            error: failure(),
            usage: partial
                .as_ref()
                .map(|partial| partial.usage.clone())
                .unwrap_or_default(),
            partial,
        }))
    }

    fn plan(&mut self, calls: &[CallToRun]) {
        let expires_at = self.expiry.map(|after| at(self.now + after));
        let mut plans = Vec::new();
        for call in calls {
            let name = call.call.original_name();
            let plan = match name.chars().next() {
                Some('m') => CallPlan::Manual(ManualPlan { expires_at }),
                Some('g') => CallPlan::Approve(ApprovePlan {
                    approval_id: ApprovalId::from_bytes(self.id_bytes()),
                    tool_fingerprint: tool_fingerprint(&tool(name)),
                    expires_at,
                    reason: None,
                }),
                Some('u') => CallPlan::Unknown,
                _ => CallPlan::Run(RunPlan::default()),
            };
            plans.push(PlanOfCall {
                index: call.index,
                plan,
            });
        }
        self.seal(EntryBody::CallsPlanned(CallsPlanned {
            turn: self.session.turn(),
            calls: plans,
        }));
    }

    pub(crate) fn key(&self, index: u32) -> CallKey {
        CallKey {
            turn: self.session.turn(),
            index,
        }
    }

    pub(crate) fn call(&self, key: CallKey) -> &TurnCall {
        self.session.open_turn().unwrap().get(key).unwrap()
    }

    /// Writes the intent if the tool needs one, and runs the call.
    pub(crate) fn run_call(&mut self, to_run: &CallToRun) {
        let key = self.key(to_run.index);
        let name = to_run.call.original_name().to_owned();
        if effect_of(&name) != Effect::Pure {
            self.intend(key);
        }
        self.run_handler(key);
    }

    pub(crate) fn run_handler(&mut self, key: CallKey) {
        let call = self.call(key);
        let name = call.call.original_name().to_owned();
        let attempts = call.attempts;
        let outcome = outcome_of(&name, call.answer());
        self.ran.push((name.clone(), (*call.arguments()).clone()));
        self.outcome(key, attempts, outcome);
    }

    pub(crate) fn intend(&mut self, key: CallKey) {
        let body = self.intent_body(key);
        self.seal(body);
    }

    pub(crate) fn intent_body(&self, key: CallKey) -> EntryBody {
        let call = self.call(key);
        let name = call.call.original_name().to_owned();
        let arguments = call.arguments();
        EntryBody::ToolIntent(Box::new(ToolIntent {
            call: key,
            attempt: call.attempts + 1,
            tool: name.as_str().into(),
            effect: effect_of(&name),
            key: idempotency_key(
                self.session.uid().unwrap().as_bytes(),
                key.turn,
                key.index,
                &name,
                &arguments,
            ),
            arguments_hash: arguments_hash(&arguments),
            deadline: at(self.now + 1_000),
            approval_id: None,
        }))
    }

    pub(crate) fn outcome(&mut self, key: CallKey, attempt: u32, outcome: ToolOutcome) {
        self.seal(EntryBody::ToolOutcome(Box::new(ToolOutcomeEntry::new(
            key,
            attempt,
            outcome,
            OutcomeSource::Handler,
        ))));
    }

    /// Another driver takes the run over.
    pub(crate) fn recover(&mut self, lost_model_call: bool) -> Applied {
        let run = self.session.run().expect("a run is unfinished").id;
        self.seal(EntryBody::Recovered(Recovered {
            run,
            previous_writer: None,
            open_intents: Vec::new(),
            lost_model_call,
            limit: 3,
        }))
    }
}
