//! From an operation to what is written first.

use allm_core::run::{Planning, RunKind, RunOptions};
use allm_core::session::{EntryBody, Hooks, Operation, RecordedTool, RunStarted, Session as Data};
use allm_core::{
    Content, Error, InputId, Message, Request, RunId, SessionError, SessionReason, Timestamp,
    WriterId, session,
};

use super::Limits;
use crate::OnToolError;
use crate::engine::Engine;
use crate::engine::level::Level;
use crate::engine::plan::{CallKind, Plan};
use crate::engine::settings::{Said, Settings};
use crate::random;

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

/// What an operation comes to, before anything is written.
pub(crate) enum Prepared {
    /// What was asked for was done before.
    Done,
    /// Entries alone: the session goes on waiting, or cannot go on, and then why.
    Inputs(Vec<EntryBody>, Option<Error>),
    /// Entries that begin a run or go on with one, and how it is driven; or why it is refused.
    Run(Vec<EntryBody>, Result<Box<Plan>, Error>),
}

/// An operation and the session that it is about.
pub(crate) struct Preparing<'a> {
    pub(crate) session: &'a Data,
    /// Who wrote last, if it is known.
    pub(crate) last_writer: Option<WriterId>,
    pub(crate) engine: &'a Engine,
    pub(crate) orders: &'a Orders,
    pub(crate) limits: Limits,
    /// The time by the clock that counts.
    pub(crate) now: Timestamp,
}

impl Preparing<'_> {
    /// Does the checks and changes nothing.
    pub(crate) fn prepare(self) -> Result<Prepared, SessionError> {
        let (session, now) = (self.session, self.now);
        let mut op = self.orders.op;
        let (mut bodies, repeated) = self.inputs()?;
        if repeated {
            // The message is there: what is left is to go on, if it did not come to an end.
            if !session.is_runnable() {
                return Ok(Prepared::Done);
            }
            op = Operation::Resume;
        }
        session.check_drive(op)?;
        for input in &bodies {
            session.check_input(input, now)?;
        }
        let mut next = session.clone();
        preview(&mut next, &bodies, now)?;
        let waits = !next.waits().is_empty();
        if waits && !next.has_ready_call() && next.run().is_none() {
            return Ok(Prepared::Inputs(bodies, None));
        }
        let plan = match self.plan(&next) {
            // There is no model call that could fail, and nothing is begun that could not go on: the calls stay as they are.
            Err(error) if next.run().is_some() || has_open_call(&next) => {
                return Ok(Prepared::Inputs(bodies, Some(error)));
            }
            plan => plan.map(Box::new),
        };
        let hooks = plan.as_deref().map_or_else(|_| Hooks::default(), hooks_of);
        if let Some(state) = next.run() {
            if let Some(hook) = state.hooks.missing_from(&hooks) {
                let message = format!("the run was begun with `{hook}`, which is not there");
                return Err(SessionError::new(SessionReason::MissingHook, message));
            }
            let most = self.limits.max_recoveries;
            bodies.extend(next.recovery_entry(self.last_writer.clone(), most));
        } else {
            bodies.push(self.started(op, plan.as_deref().ok(), hooks));
        }
        Ok(Prepared::Run(bodies, plan))
    }

    /// The entries of what the user said, and whether they were taken before.
    fn inputs(&self) -> Result<(Vec<EntryBody>, bool), SessionError> {
        let Some(message) = &self.orders.message else {
            return Ok((Vec::new(), false));
        };
        let session = self.session;
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
