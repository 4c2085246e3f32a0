//! Going on with a session: the model is asked, and its answer is printed as it comes.

use allm::session::{CallState, EntryBody, OpenTurn, RunStarted, TurnCall, WaitKind, read};
use allm::{
    CancelToken, ChatResult, DurableSession, Event, HaltReason, LoadFrom, SessionError,
    SessionReason, SessionStatus, Version,
};
use tokio::signal::unix::{SignalKind, signal};

use super::{Desk, fault, how, output};
use crate::alive::{self, Alive};
use crate::answer::{Answer, note, note_event};
use crate::arguments::Asking;
use crate::config::Config;
use crate::engine::{self, Ready};
use crate::failure;
use crate::form::Form;
use crate::mcp::OnFailure;
use crate::patience;
use crate::problem::{Exit, Problem};
use crate::run::{Finished, finished};
use crate::transcript::plain::one_line;
use crate::transcript::wait_in_words;

/// An engine for a session, and the settings of its last run that hold on.
pub(super) struct Driver {
    ready: Ready,
    config: Config,
    /// Says to others that this process is alive while it drives.
    alive: Option<Alive>,
    last: Option<RunStarted>,
}

impl Driver {
    /// Builds the engine. Where the arguments are silent, the last run of the session speaks, and then the configuration.
    pub(super) async fn new(
        desk: &Desk,
        session: &DurableSession,
        asking: &Asking,
    ) -> Result<Self, Problem> {
        let last = last_run(desk, session).await?;
        let mut asking = asking.clone();
        if let Some(last) = &last {
            asking.temperature = asking.temperature.or(last.request.temperature);
            asking.max_tokens = asking.max_tokens.or(last.request.max_tokens);
            asking.seed = asking.seed.or(last.request.seed);
            asking.max_turns = asking.max_turns.or(Some(last.options.max_turns));
        }
        let kept = last.as_ref().and_then(|last| last.model.as_ref());
        let kept = kept.map(ToString::to_string);
        let ready = engine::build(&asking, kept.as_deref(), &desk.config, OnFailure::End).await?;
        let config = desk.config.clone();
        // Whoever comes to know that it is held, is told so when it is driven.
        desk.holder(session.id()).await?;
        let driver = Self {
            ready,
            config,
            alive: alive::announce(&desk.file, desk.sessions.writer()),
            last,
        };
        driver.check_tools(session)?;
        Ok(driver)
    }

    pub(super) const fn engine(&self) -> &allm::Engine {
        &self.ready.engine
    }

    /// A call that is to be run, or that a person may agree to, needs its tool.
    fn check_tools(&self, session: &DurableSession) -> Result<(), Problem> {
        let offers = |name: &str| self.ready.tools.iter().any(|tool| tool.name == name);
        let open = session.open_turn().into_iter().flat_map(OpenTurn::calls);
        let needs = |call: &&TurnCall| {
            let waits = call.wait().map(allm::session::Wait::kind);
            let approval = waits == Some(WaitKind::Approval);
            approval || matches!(call.state, CallState::Ready { .. } | CallState::Intended(_))
        };
        for call in open.filter(needs) {
            let name = call.call.original_name();
            if !offers(name) {
                let id = session.id();
                let name = one_line(name);
                let what = format!(
                    "the session `{id}` calls the tool `{name}`, which is not switched on here"
                );
                return Err(Problem::usage(what).advice(format!(
                    "switch it on as when the session was begun: in allm.toml, with --tools DIR or --with {name}"
                )));
            }
        }
        let recorded = self.last.iter().flat_map(|last| &last.tools);
        let missing: Vec<String> = recorded
            .filter(|tool| !offers(tool.name.as_str()))
            .map(|tool| format!("`{}`", one_line(tool.name.as_str())))
            .collect();
        if !missing.is_empty() {
            note(&format!("not offered this time: {}", missing.join(", ")));
        }
        Ok(())
    }

    /// Goes on, and prints the answer as it comes.
    pub(super) async fn go_on(self, session: &mut DurableSession) -> Result<Exit, Problem> {
        let id = session.id().as_str().to_owned();
        let waits = !session.waits().is_empty();
        if waits && !session.has_ready_call() && session.run().is_none() {
            return Ok(waiting(session));
        }
        let token = CancelToken::new();
        let mut call = match session.status() {
            SessionStatus::Error => session.retry(self.engine()),
            _ => session.resume(self.engine()),
        };
        call = call.cancel(token.clone());
        let last = self.last.as_ref();
        let format = last.and_then(|last| last.request.response_format.clone());
        let form = format.as_ref().and_then(Form::of);
        if let Some(format) = format {
            call = call.response_format(format);
        }
        if last.is_some_and(|last| last.options.structured_finalize.is_some()) {
            call = call.structured_finalize();
        }
        let failed = |error| Problem::failed(format!("signals cannot be listened to: {error}"));
        let mut interrupts = signal(SignalKind::interrupt()).map_err(failed)?;
        let mut stream = call.stream();
        let mut answer = Answer::here();
        let mut waits = patience::listen();
        loop {
            tokio::select! {
                event = stream.next() => match event {
                    // What is said before an answer that must fit is not it.
                    Some(event) => tell(&mut answer, &event, form.is_none()),
                    None => break,
                },
                wait = waits.next(&self.ready.chosen.model) => note(&wait),
                _ = interrupts.recv() => {
                    if token.is_cancelled() {
                        // The second time: whatever is left is settled by whoever goes on.
                        if let Some(alive) = self.alive {
                            alive.leave_behind();
                        }
                        return Ok(Exit::Interrupted);
                    }
                    token.cancel();
                }
            }
        }
        let result = stream.finish().await;
        answer.end()?;
        match result {
            Ok(result) => {
                let exit = self.ended(session, &result, form.as_ref())?;
                if form.is_some() && exit == Exit::Done {
                    let _ = answer.say(result.text().trim_end_matches('\n'));
                    answer.end()?;
                }
                Ok(exit)
            }
            Err(error) => Err(self.refused(&id, &error)),
        }
    }

    fn refused(&self, id: &str, error: &SessionError) -> Problem {
        match error.reason {
            SessionReason::Engine => {
                failure::of_session(error, &self.ready.chosen.model, &self.config)
            }
            _ => fault::told(id, error),
        }
    }

    /// What the end of a run means for whoever started the program.
    fn ended(
        &self,
        session: &DurableSession,
        result: &ChatResult,
        form: Option<&Form>,
    ) -> Result<Exit, Problem> {
        let problem = match finished(result, form, &self.ready.chosen.model, &self.config) {
            Ok(Finished::Answer(_)) => return Ok(Exit::Done),
            Ok(Finished::Waits) => return Ok(waiting(session)),
            Err(problem) => problem,
        };
        let id = session.id();
        let more = match &result.halted_reason {
            HaltReason::ToolError => format!("try again: allm sessions resume {id}"),
            // What stopped before its end can go on.
            HaltReason::MaxTurns
            | HaltReason::Truncated
            | HaltReason::DeadlineExceeded
            | HaltReason::BudgetExhausted => format!("go on: allm sessions resume {id}"),
            _ => return Err(problem),
        };
        Err(match problem.what_to_do().map(str::to_owned) {
            Some(advice) => problem.advice(format!("{advice}; {more}")),
            None => problem.advice(more),
        })
    }
}

/// What the last run of a session was started with.
async fn last_run(desk: &Desk, session: &DurableSession) -> Result<Option<RunStarted>, Problem> {
    let id = session.id();
    let whole = LoadFrom::After(Version(0));
    let loaded = desk.sessions.store().load(id, whole).await;
    let loaded = loaded.map_err(|error| fault::told(id.as_str(), &error.into()))?;
    for entry in loaded.entries.iter().rev() {
        let entry = read(entry).map_err(|error| fault::told(id.as_str(), &error))?;
        if let EntryBody::RunStarted(started) = entry.body {
            return Ok(Some(*started));
        }
    }
    Ok(None)
}

/// Tells what a session waits for, and how that is given.
pub(super) fn waiting(session: &DurableSession) -> Exit {
    let id = session.id();
    let waits = session.waits();
    for (wait, command) in waits.iter().zip(how::each(id, &waits)) {
        let words = wait_in_words(wait);
        output::tell(&format!("allm: `{id}` waits for {words}\n  {command}"));
    }
    Exit::Waiting
}

/// Prints what is said, unless it is only the last that counts, and tells a person at a terminal what else happens.
/// Whether anybody reads it is no matter: the session goes on all the same.
fn tell(answer: &mut Answer, event: &Event, is_live: bool) {
    // What could not be said is told when it ends.
    let _ = match event {
        Event::TextDelta(delta) if is_live => answer.say(&delta.delta),
        Event::MessageCompleted(_) | Event::AttemptReset(_) | Event::ToolExecutionStarted(_) => {
            answer.end_line()
        }
        _ => Ok(()),
    };
    note_event(event);
}
