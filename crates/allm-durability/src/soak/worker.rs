//! One of many programs that drive all sessions.

use std::fs::File;
use std::io::Write as _;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use allm::session::{Delivery, Wait};
use allm::{
    DurableSession, Engine, Fake, InputId, Request, Role, Script, SessionError, SessionReason,
    SessionStatus, Sessions, SessionsOptions, StreamReason, Toggle,
};
use serde_json::json;
use tokio::sync::mpsc;

use super::{Dice, Work};
use crate::child::is_passing;
use crate::far_side::FarSide;
use crate::killing::KillingStore;
use crate::points::Points;
use crate::tools::{self, Bench};

/// Does the work that the first argument tells.
#[must_use]
pub fn main(work: &str) -> ExitCode {
    let work: Work = serde_json::from_str(work).expect("the first argument is work");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    match runtime.block_on(run(work)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}: {error:?}");
            ExitCode::FAILURE
        }
    }
}

fn appending(path: &std::path::Path) -> File {
    let file = File::options().append(true).create(true).open(path);
    file.expect("a file")
}

#[derive(Clone)]
struct Worker {
    sessions: Sessions,
    bench: Arc<Bench>,
    work: Arc<Work>,
}

/// How many sessions one program looks after at once.
const AT_ONCE: u64 = 3;

async fn run(work: Work) -> Result<(), SessionError> {
    let points = Arc::new(Points::default());
    let inner = work.store.open().await;
    let store = KillingStore::new(inner, Arc::clone(&points)).keeping(appending(&work.kept));
    let mut options = SessionsOptions::default();
    options.lease_ttl = Duration::from_secs(3);
    options.call_slack = Duration::from_millis(200);
    let (wishes, _never) = mpsc::unbounded_channel();
    let worker = Worker {
        sessions: Sessions::with(Arc::new(store), options),
        bench: Arc::new(Bench {
            far_side: FarSide::connect(work.world).await,
            points,
            session: String::new(),
            wishes,
        }),
        work: Arc::new(work),
    };
    let mut tasks = tokio::task::JoinSet::new();
    for task in 0..AT_ONCE {
        let (worker, dice) = (worker.clone(), worker.dice(task));
        tasks.spawn(async move { worker.look_after(dice).await });
    }
    let recovering = worker.clone();
    tasks.spawn(async move { recovering.recover().await });
    while let Some(done) = tasks.join_next().await {
        done.expect("a task")?;
    }
    Ok(())
}

impl Worker {
    fn dice(&self, task: u64) -> Dice {
        Dice::new(self.work.seed * 64 + task)
    }

    fn is_closing(&self) -> bool {
        self.work.closing.exists()
    }

    /// Drives what nobody drives, until everything has ended.
    async fn recover(&self) -> Result<(), SessionError> {
        let mut dice = self.dice(AT_ONCE);
        loop {
            let engine = |_: &allm::Head| Some(self.engine());
            for recovery in self.sessions.recover_with(engine).await? {
                match recovery.result {
                    Ok(_) => {}
                    Err(error) if is_passing(&error) => {}
                    // The run has failed; somebody tries again.
                    Err(error) if error.reason == SessionReason::Engine || is_late(&error) => {}
                    Err(error) => return Err(error),
                }
            }
            tokio::time::sleep(Duration::from_millis(200 + dice.below(400))).await;
            if self.is_closing() && self.have_all_ended().await? {
                return Ok(());
            }
        }
    }

    async fn have_all_ended(&self) -> Result<bool, SessionError> {
        for number in 0..self.work.sessions {
            let id = format!("s{number}");
            let session = self.sessions.open_or_create(id).await?;
            if !has_ended(&session) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Is the user of one session after the other.
    async fn look_after(&self, mut dice: Dice) -> Result<(), SessionError> {
        let mut number = 0;
        // How many sessions in a row have ended.
        let mut quiet = 0;
        loop {
            let closing = self.is_closing();
            let sessions = self.work.sessions as u64;
            number = match closing {
                true => (number + 1) % sessions,
                false => dice.below(sessions),
            };
            let id = format!("s{number}");
            let mut session = self.sessions.open_or_create(id.as_str()).await?;
            if closing && has_ended(&session) {
                quiet += 1;
                if quiet == sessions {
                    return Ok(());
                }
                continue;
            }
            quiet = 0;
            match self.act(&mut session, &mut dice, closing).await {
                Ok(()) => {}
                Err(error) if is_passing(&error) => {}
                Err(error) if error.reason == SessionReason::Engine => {}
                Err(error) if is_late(&error) => {}
                Err(error) => return Err(error),
            }
        }
    }

    async fn act(
        &self,
        session: &mut DurableSession,
        dice: &mut Dice,
        closing: bool,
    ) -> Result<(), SessionError> {
        let engine = self.engine();
        match session.status() {
            SessionStatus::InProgress if closing => {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            SessionStatus::InProgress => {
                // Somebody drives it, here or elsewhere; now and then the user cannot wait.
                let text = format!("x{}", dice.below(u64::from(u32::MAX)));
                session.name_input(InputId::new(text.as_str())?);
                session.send(text.as_str(), Delivery::NextTurn).await?;
                self.note_taken(session, &text);
            }
            _ if !session.waits().is_empty() => {
                let waits = session.waits();
                let Some(open) = waits.first() else {
                    return Ok(());
                };
                match &open.wait {
                    Wait::Question(_) => session.answer(open.call, "Yes").await?,
                    Wait::Approval(approval) => session.approve(&**approval).await?,
                    _ => session.submit_tool_result(open.call, "given").await?,
                }
            }
            SessionStatus::Error => drop(session.retry(&engine).await?),
            _ if session.is_runnable() => drop(session.resume(&engine).await?),
            _ if closing => {}
            _ => {
                let thread = session.thread();
                let own = |message: &&Arc<allm::Message>| {
                    message.role == Role::User && message.text().starts_with('m')
                };
                let round = thread.messages.iter().filter(own).count();
                let text = format!("m{round}");
                let id = InputId::new(text.as_str())?;
                let reply = session.reply(&engine, text.as_str()).input_id(id);
                drop(reply.await?);
                self.note_taken(session, &text);
            }
        }
        Ok(())
    }

    /// Writes down that the session has taken a message. From now on it must be there.
    fn note_taken(&self, session: &DurableSession, text: &str) {
        let line = format!("{} {text}\n", session.id());
        let written = appending(&self.work.taken).write_all(line.as_bytes());
        written.expect("written down");
    }

    /// The model answers by what was said last: text, calls of this and that, now and then a failure.
    fn engine(&self) -> Engine {
        let round = |wanted: u64| {
            move |request: &Request| {
                let last = request.messages.last();
                let number = last
                    .filter(|message| message.role == Role::User)
                    .and_then(|message| message.text().strip_prefix('m')?.parse::<u64>().ok());
                number.is_some_and(|number| number % 6 == wanted)
            }
        };
        let calls = |tools: &[&str]| {
            let script = Script::new().text("Let me see.");
            tools
                .iter()
                .enumerate()
                .fold(script, |script, (place, tool)| {
                    script.call_with_id(format!("c{place}"), *tool, json!({"place": place}))
                })
        };
        let mut dice = Dice::new(u64::from(std::process::id()) ^ nanos());
        let fake = Fake::new()
            .reply_when(round(1), calls(&["pure", "idem", "once"]))
            .reply_when(round(2), calls(&["recon", "idem"]))
            .reply_when(round(3), calls(&["pure_ask", "once_gated", "manual"]))
            .reply_when(round(4), calls(&["once", "once", "pure_failing"]))
            .always("Well.");
        let broken = Script::new()
            .text("W")
            .stream_fail(StreamReason::Interrupted);
        let fake = match dice.below(2) {
            0 => fake.reply_when(round(5), broken),
            _ => fake,
        };
        Engine::builder()
            .provider(fake)
            .model("fake:any")
            .capture_content(Toggle::Off)
            .tools(tools::all(&self.bench))
            .build()
            .expect("an engine")
    }
}

fn nanos() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| u64::from(since.subsec_nanos()))
}

fn has_ended(session: &DurableSession) -> bool {
    matches!(
        session.status(),
        SessionStatus::Completed | SessionStatus::Idle
    ) && !session.is_runnable()
}

/// Whether somebody else has done it meanwhile.
fn is_late(error: &SessionError) -> bool {
    matches!(
        error.reason,
        SessionReason::AlreadyAnswered
            | SessionReason::AlreadyDecided
            | SessionReason::NotWaiting
            | SessionReason::UnknownCall
            | SessionReason::WrongWait
            | SessionReason::InvalidState
            | SessionReason::NothingToResume
            | SessionReason::ApprovalMismatch
    )
}
