//! From an operation to a run that goes on.

use std::time::Duration;

use allm_core::run::{Planning, RunKind, RunOptions};
use allm_core::session::{
    Applied, EntryBody, Hooks, ModelEnd, Operation, RecordedTool, RunStarted, Session as Data,
};
use allm_core::{
    ChatResult, Content, Error, Failure, InputId, Message, Request, RunId, SessionError,
    SessionReason, session,
};

use super::model::model_failed;
use super::{Driven, Driver, Signals, result_of};
use crate::OnToolError;
use crate::engine::Engine;
use crate::engine::level::Level;
use crate::engine::plan::{CallKind, Plan};
use crate::engine::settings::{Said, Settings};
use crate::random;
use crate::sessions::emit::Sink;
use crate::sessions::journal::{Appended, Journal};

/// What is asked of a session.
#[derive(Clone)]
pub(crate) struct Orders {
    pub(crate) op: Operation,
    /// The user's words, for a reply.
    pub(crate) message: Option<Message>,
    pub(crate) input_id: Option<InputId>,
    /// What the call says of the settings.
    pub(crate) settings: Settings,
}

/// When a driver gives up, and when it may be sure.
#[derive(Clone, Copy)]
pub(crate) struct Limits {
    /// After how many recoveries without progress a run fails.
    pub(crate) max_recoveries: u32,
    /// How long after its time limit a call has ended for sure.
    pub(crate) call_slack: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_recoveries: 3,
            call_slack: Duration::from_secs(5),
        }
    }
}

/// An operation on its way.
pub(crate) struct Drive<'j, J: Journal, S: Sink> {
    pub(crate) journal: &'j mut J,
    pub(crate) sink: &'j mut S,
    pub(crate) engine: &'j Engine,
    pub(crate) orders: Orders,
    pub(crate) limits: Limits,
    pub(crate) signals: Signals,
}

/// What came of an operation.
pub(crate) enum Outcome {
    /// A result.
    Result(Box<ChatResult>),
    /// The run was left unfinished, as it was asked to.
    Left,
}

impl Outcome {
    fn of(result: ChatResult) -> Self {
        Self::Result(Box::new(result))
    }
}

impl<J: Journal, S: Sink> Drive<'_, J, S> {
    /// Does what was asked. Checks come first; what fails there changes nothing.
    pub(crate) async fn run(mut self) -> Result<Outcome, SessionError> {
        let now = self.journal.now().await?;
        let expired = self.journal.session().expired_entries(now);
        if !expired.is_empty() {
            // Waits that are over are closed first: what is asked is about what is left.
            self.append(expired, None).await?;
        }
        let mut op = self.orders.op;
        let (mut bodies, repeated) = self.inputs()?;
        if repeated {
            // The message is there: what is left is to go on, if it did not come to an end.
            if !self.journal.session().is_runnable() {
                return Ok(Outcome::of(self.journal.session().standing_result()));
            }
            op = Operation::Resume;
        }
        self.journal.session().check_drive(op)?;
        for input in &bodies {
            self.journal.session().check_input(input, now)?;
        }
        let mut next = self.journal.session().clone();
        preview(&mut next, &bodies, now)?;
        let waits = !next.waits().is_empty();
        if waits && !next.has_ready_call() && next.run().is_none() {
            let input_id = self.orders.input_id.clone();
            self.append(bodies, input_id).await?;
            return Ok(Outcome::of(self.journal.session().standing_result()));
        }
        let plan = match self.plan(&next) {
            // There is no model call that could fail, and nothing is begun that could not go on: the calls stay as they are.
            Err(error) if next.run().is_some() || has_open_call(&next) => {
                if !bodies.is_empty() {
                    self.append(bodies, self.orders.input_id.clone()).await?;
                }
                return Err(error.into());
            }
            plan => plan,
        };
        let hooks = plan.as_ref().map_or_else(|_| Hooks::default(), hooks_of);
        if let Some(state) = next.run() {
            if let Some(hook) = state.hooks.missing_from(&hooks) {
                let message = format!("the run was begun with `{hook}`, which is not there");
                return Err(SessionError::new(SessionReason::MissingHook, message));
            }
            let previous = self.journal.last_writer();
            bodies.extend(next.recovery_entry(previous, self.limits.max_recoveries));
        } else {
            bodies.push(self.started(op, plan.as_ref().ok(), hooks));
        }
        let input_id = self.orders.input_id.clone();
        self.journal.ends_with_the_run();
        let applied = self.append(bodies, input_id).await?;
        let plan = match plan {
            Ok(plan) => plan,
            Err(error) => return self.refuse(error).await,
        };
        self.drive(plan, applied).await
    }

    /// The entries of what the user said, and whether they were taken before.
    fn inputs(&self) -> Result<(Vec<EntryBody>, bool), SessionError> {
        let Some(message) = &self.orders.message else {
            return Ok((Vec::new(), false));
        };
        let session = self.journal.session();
        let as_message = Data::message_entry(message.clone(), session::Delivery::NextTurn);
        let body = match session.question() {
            Some(open) => {
                let content = Content::from(message.content.clone());
                session.answer_entry(&open.call.into(), content, None)?
            }
            None => as_message.clone(),
        };
        if let Some(id) = &self.orders.input_id
            && (session.is_repeated(id, &as_message).unwrap_or(false)
                || session.is_repeated(id, &body)?)
        {
            return Ok((Vec::new(), true));
        }
        Ok((vec![body], false))
    }

    async fn append(
        &mut self,
        bodies: Vec<EntryBody>,
        input_id: Option<InputId>,
    ) -> Result<Applied, SessionError> {
        let appended = self.journal.append(bodies, input_id).await?;
        let Appended {
            applied,
            superseded,
        } = appended;
        if superseded {
            let message = "the session has gone on meanwhile; read it again";
            return Err(SessionError::new(SessionReason::Conflict, message));
        }
        Ok(applied)
    }

    /// Every level resolved: the call beats the session, the session beats the engine. An unfinished run keeps the model
    /// that it was begun with.
    fn plan(&self, session: &Data) -> Result<Plan, Error> {
        let mut level = Settings::from(Said {
            session_id: Level::Set(session.id().clone()),
            ..Said::default()
        });
        if !session.context().is_empty() {
            level.context = Level::Set(std::sync::Arc::new(session.context().clone()));
        }
        let mut settings = self.orders.settings.over(&level);
        if let Some(state) = session.run() {
            if let Some(model) = &state.model {
                settings.model = Level::Set(model.to_string());
            }
            if let Some(id) = state.run().request_id() {
                settings.request_id = Level::Set(id.clone());
            }
        }
        Plan::new(
            self.engine,
            session.thread().into(),
            &settings,
            CallKind::Run(RunKind::Chat),
        )
    }

    fn started(&self, op: Operation, plan: Option<&Plan>, hooks: Hooks) -> EntryBody {
        let setup = plan.map(|plan| plan.run_setup(RunKind::Chat));
        let (mut options, request) = match setup {
            Some(setup) => (setup.options, setup.request),
            None => (RunOptions::default(), Request::default()),
        };
        options.planning = Planning::Driver;
        if op == Operation::Step {
            options.max_turns = 1;
            options.structured_finalize = None;
        }
        let tools = plan.map(Plan::tools).unwrap_or_default();
        let recorded = tools.iter().map(|tool| RecordedTool {
            name: tool.name.clone(),
            fingerprint: session::tool_fingerprint(tool),
            effect: tool.effect.clone(),
        });
        EntryBody::RunStarted(Box::new(RunStarted {
            run: RunId::from_bytes(random::bytes()),
            op,
            options,
            request,
            model: plan.map(|plan| plan.model.clone()),
            request_id: plan.map(|plan| plan.request_id.clone()),
            hooks,
            tools: recorded.collect(),
        }))
    }

    /// The run cannot be made: the session keeps the message, and the failure.
    async fn refuse(mut self, error: Error) -> Result<Outcome, SessionError> {
        let session = self.journal.session();
        if session.run().is_some() {
            let body = model_failed(session, ModelEnd::Failed, Failure::from(&error), None);
            let applied = self.append(vec![body], None).await?;
            self.tell(applied).await;
        }
        Err(error.into())
    }

    async fn tell(&mut self, applied: Applied) {
        for event in applied.events {
            self.sink.emit(event).await;
        }
    }

    async fn drive(mut self, plan: Plan, applied: Applied) -> Result<Outcome, SessionError> {
        let ended = applied.ended.clone();
        self.tell(applied).await;
        if let Some(end) = ended
            && self.journal.session().run().is_none()
        {
            return result_of(end, None).map(Outcome::of);
        }
        let slack = self.limits.call_slack;
        let mut driver = Driver::new(self.journal, self.sink, plan, self.signals, slack);
        match driver.drive().await? {
            Driven::Ended(end) => {
                let refusal = driver.refusal.take();
                result_of(end, refusal).map(Outcome::of)
            }
            Driven::Left => Ok(Outcome::Left),
        }
    }
}

/// Whether a call is open that nobody waits for.
fn has_open_call(session: &Data) -> bool {
    session
        .open_turn()
        .is_some_and(|turn| turn.keyed().any(|(_, call)| call.outcome().is_none()))
}

/// What the session would be after these inputs.
pub(crate) fn preview(
    session: &mut Data,
    bodies: &[EntryBody],
    now: allm_core::Timestamp,
) -> Result<(), SessionError> {
    let at = session.updated_at().map_or(now, |last| last.max(now));
    for body in bodies {
        let applied = session.apply(body, &session::EntryFacts::at(at));
        applied?;
    }
    Ok(())
}

/// Which closures are there.
fn hooks_of(plan: &Plan) -> Hooks {
    let settings = &plan.settings;
    Hooks {
        halt_when: settings.halt_when.get().is_some(),
        on_tool_error: matches!(settings.on_tool_error.get(), Some(OnToolError::Decide(_))),
        approval_policy: settings.approval_policy.get().is_some(),
    }
}

/// Checks the arguments that a person put in place of the model's.
pub(crate) fn checked_arguments(
    engine: &Engine,
    session: &Data,
    body: &EntryBody,
) -> Result<(), SessionError> {
    let EntryBody::ApprovalDecided(decided) = body else {
        return Ok(());
    };
    let session::Decision::Edited(edit) = &decided.decision else {
        return Ok(());
    };
    let (_, call) = session.find_call(&decided.call.into())?;
    let name = call.call.original_name();
    let Some(entry) = engine.0.tools.get(name) else {
        let message = format!("the engine has no tool `{name}` to check the arguments with");
        return Err(SessionError::new(SessionReason::InvalidArguments, message));
    };
    let arguments = &edit.arguments;
    let faults = crate::tools::argument_faults(entry, arguments);
    if faults.is_empty() {
        return Ok(());
    }
    let message = format!("the arguments do not fit the schema of `{name}`");
    Err(SessionError {
        faults,
        ..SessionError::new(SessionReason::InvalidArguments, message)
    })
}
