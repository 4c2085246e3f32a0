//! The program that is killed: a client and a driver in one. What it does next it sees from the session alone.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use allm::session::{Delivery, OpenWait, Wait};
use allm::{
    AnswerTo, ApprovalAnswer, DurableSession, Engine, Event, InputId, SessionError, SessionId,
    SessionReason, SessionStatus, SessionStore, Sessions, SessionsOptions, StoreReason, Takeover,
    Toggle, WriterId,
};
use serde_json::json;
use tokio::sync::mpsc;

use crate::far_side::FarSide;
use crate::job::{Job, OldLease};
use crate::killing::KillingStore;
use crate::points::Points;
use crate::scenario::{NUDGE, Scenario, YES, answer_to};
use crate::tools::{self, Bench, Wish};
use crate::world::Word;

/// Runs the job that the first argument tells.
#[must_use]
pub fn main() -> ExitCode {
    let job = std::env::args().nth(1).unwrap_or_default();
    let job: Job = serde_json::from_str(&job).expect("the first argument is a job");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    match runtime.block_on(run(job)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}: {error:?}");
            ExitCode::FAILURE
        }
    }
}

async fn run(job: Job) -> Result<(), SessionError> {
    let inner = job.store.open().await;
    if job.lease == OldLease::Force {
        free(&*inner, &job.session).await;
    }
    let points = Arc::new(Points::new(job.kill_at.clone()));
    let store = Arc::new(KillingStore::new(inner, Arc::clone(&points)));
    let mut options = SessionsOptions::default();
    options.lease_ttl = job.lease_ttl();
    options.call_slack = Duration::ZERO;
    let sessions = Sessions::with(store, options);
    let (wishes, wished) = mpsc::unbounded_channel();
    let bench = Arc::new(Bench {
        far_side: FarSide::connect(job.world).await,
        points: Arc::clone(&points),
        session: job.session.clone(),
        wishes,
    });
    tokio::spawn(fulfil(sessions.clone(), job.session.clone(), wished));
    let scenario = Scenario::named(&job.scenario);
    let says = scenario.says;
    let engine = engine(scenario, &bench);
    let client = Client {
        sessions,
        engine,
        says,
    };
    client.play(&job.session).await?;
    bench.far_side.say(&Word::Passed(points.names())).await;
    Ok(())
}

/// Frees the lease of a program that is dead.
async fn free(store: &dyn SessionStore, session: &str) {
    let id = SessionId::new(session).expect("an id");
    let holder = WriterId::from("operator");
    let ttl = Duration::from_secs(30);
    if let Ok(lease) = store.acquire(&id, &holder, ttl, Takeover::Force).await {
        store.release(lease).await.expect("given back");
    }
}

fn engine(scenario: Scenario, bench: &Arc<Bench>) -> Engine {
    let (structured, guarded) = (scenario.structured, scenario.guarded);
    let wishes = bench.wishes.clone();
    let lose_patience: Arc<dyn Fn() + Send + Sync> = Arc::new(move || {
        let _ = wishes.send(Wish::Cancel);
    });
    let points = Arc::clone(&bench.points);
    let builder = Engine::builder()
        .provider(scenario.model(&bench.points, &lose_patience))
        .model("fake:any")
        .tools(tools::all(bench))
        .capture_content(Toggle::Off)
        .on_event(move |event| {
            if matches!(event, Event::TextDelta(_)) {
                points.pass("heard");
            }
        });
    let builder = match structured {
        true => builder
            .response_format(allm::ResponseFormat::json_schema(
                "report",
                json!({"type": "object"}),
            ))
            .structured_finalize()
            .structured_finalize_nudge(NUDGE),
        false => builder,
    };
    let points = Arc::clone(&bench.points);
    let builder = match guarded {
        true => builder.max_concurrency(1).approval_policy(move |_| {
            points.pass("asked");
            ApprovalAnswer::Run
        }),
        false => builder,
    };
    builder.build().expect("an engine")
}

/// Does what the user is made to do while something runs.
async fn fulfil(sessions: Sessions, id: String, mut wished: mpsc::UnboundedReceiver<Wish>) {
    while let Some(wish) = wished.recv().await {
        let mut session = sessions.open(id.as_str()).await.expect("the session");
        match wish {
            Wish::Cancel => session.cancel("it takes too long").await.expect("told"),
            Wish::Say(text, said) => {
                session.name_input(InputId::new(text).expect("an id"));
                let sent = session.send(text, Delivery::NextTurn).await;
                sent.expect("told");
                let _ = said.send(());
            }
        }
    }
}

struct Client {
    sessions: Sessions,
    engine: Engine,
    says: &'static [&'static str],
}

/// What comes next.
enum Next {
    Recover,
    Resume,
    Retry,
    Say(&'static str),
    Answer,
    Approve,
    Submit,
    Nothing,
}

impl Client {
    async fn play(&self, id: &str) -> Result<(), SessionError> {
        let mut session = self.sessions.open_or_create(id).await?;
        self.say_again(&mut session).await?;
        for _ in 0..2000 {
            let next = self.next(&session);
            let is_over = matches!(next, Next::Nothing);
            match self.act(&mut session, next).await {
                Ok(()) if is_over => return Ok(()),
                Ok(()) => {}
                Err(error) if is_passing(&error) => {
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
                Err(error) => return Err(error),
            }
            session = self.sessions.open(id).await?;
        }
        let message = format!("it came to no end: {}", session.status());
        Err(SessionError::new(SessionReason::InvalidState, message))
    }

    /// Says again what was said last, as somebody does who was not answered. It must not count twice.
    async fn say_again(&self, session: &mut DurableSession) -> Result<(), SessionError> {
        let is_quiet = session.status() == SessionStatus::Completed;
        let thread = session.thread();
        let texts: Vec<_> = thread
            .messages
            .iter()
            .map(|message| message.text())
            .collect();
        let is_said = |text: &&&str| texts.iter().any(|said| said == **text);
        let (true, Some(text)) = (is_quiet, self.says.iter().rfind(is_said)) else {
            return Ok(());
        };
        let said = session
            .reply(&self.engine, *text)
            .input_id(InputId::new(*text)?);
        match said.await {
            Err(error) if is_passing(&error) => Ok(()),
            said => said.map(drop),
        }
    }

    fn next(&self, session: &DurableSession) -> Next {
        match session.status() {
            SessionStatus::InProgress => Next::Recover,
            SessionStatus::Error => match session.failure() {
                Some(failure) if failure.kind == "crash_loop" => Next::Nothing,
                _ => Next::Retry,
            },
            SessionStatus::AwaitingUser => Next::Answer,
            SessionStatus::AwaitingApproval => Next::Approve,
            SessionStatus::AwaitingTools => Next::Submit,
            SessionStatus::Completed | SessionStatus::Idle if session.is_runnable() => Next::Resume,
            SessionStatus::Completed | SessionStatus::Idle => {
                let thread = session.thread();
                let texts: Vec<_> = thread
                    .messages
                    .iter()
                    .map(|message| message.text())
                    .collect();
                let said = |text: &&&str| !texts.iter().any(|said| said == **text);
                match self.says.iter().find(said) {
                    Some(text) => Next::Say(text),
                    None => Next::Nothing,
                }
            }
        }
    }

    async fn act(&self, session: &mut DurableSession, next: Next) -> Result<(), SessionError> {
        match next {
            Next::Recover => self.recover(session.id()).await?,
            Next::Resume => drop(session.resume(&self.engine).await?),
            Next::Retry => drop(session.retry(&self.engine).await?),
            Next::Say(text) => {
                let id = InputId::new(text)?;
                drop(session.reply(&self.engine, text).input_id(id).await?);
            }
            Next::Answer => {
                let question = session.question().expect("a question");
                let said = said_to(&question);
                match session.waits().len() {
                    1 => drop(session.reply(&self.engine, said).await?),
                    _ => session.answer(question.call, said).await?,
                }
            }
            Next::Approve => {
                let approvals = session.approvals();
                let approval = approvals.first().expect("an approval");
                match approval.tool.as_str().ends_with("denied") {
                    true => session.deny(approval, "not this one").await?,
                    false => session.approve(approval).await?,
                }
            }
            Next::Submit => {
                let waits = session.waits();
                let wait = waits.first().expect("a wait");
                let result = json!({"from": "outside"});
                session.submit_tool_result(wait.call, result).await?;
            }
            Next::Nothing => {}
        }
        Ok(())
    }

    /// Recovers what nobody drives, as a worker does; but only this session.
    async fn recover(&self, id: &SessionId) -> Result<(), SessionError> {
        let only = |head: &allm::Head| (head.id == *id).then(|| self.engine.clone());
        let recovered = self.sessions.recover_with(only).await?;
        if recovered.is_empty() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        for recovery in recovered {
            if let Err(error) = recovery.result {
                // A run that has failed says so in its session as well.
                let session = self.sessions.open(recovery.id.as_str()).await?;
                if session.status() != SessionStatus::Error {
                    return Err(error);
                }
            }
        }
        Ok(())
    }
}

/// What the user answers.
fn said_to(question: &OpenWait) -> String {
    match &question.wait {
        Wait::Question(asked) if asked.answer_to() == AnswerTo::Tool => {
            answer_to(question.call.index)
        }
        _ => YES.to_owned(),
    }
}

/// Whether somebody else was there first, or still is.
pub(crate) fn is_passing(error: &SessionError) -> bool {
    let store = error.store.as_ref().map(|error| error.reason);
    matches!(
        error.reason,
        SessionReason::Busy | SessionReason::Conflict | SessionReason::LostOwnership
    ) || matches!(
        store,
        Some(StoreReason::LeaseHeld | StoreReason::Unavailable)
    )
}
