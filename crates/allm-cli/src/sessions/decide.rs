//! `allm sessions answer`, `submit`, `rerun`, `approve` and `deny`.

use allm::session::{Approval, ApprovalRef, CallKey, OpenWait, Wait, WaitKind, WaitReason};
use allm::{DurableSession, Map};
use serde_json::Value;

use super::drive::Driver;
use super::{Desk, fault, find};
use crate::answer::note;
use crate::arguments::{Asking, Common};
use crate::problem::{Exit, Problem};
use crate::transcript::plain::one_line;
use crate::transcript::wait_in_words;

/// What is done after a decision.
pub(super) struct Then {
    /// Whether the run goes on.
    pub(super) resume: bool,
    /// With which model and which tools.
    pub(super) asking: Box<Asking>,
}

/// What a person decides.
pub(super) enum Verdict {
    /// Run it, perhaps with other arguments.
    Approve { arguments: Option<String> },
    /// Do not run it.
    Deny { reason: String },
}

impl Verdict {
    const fn verb(&self) -> &'static str {
        match self {
            Self::Approve { .. } => "approve",
            Self::Deny { .. } => "deny",
        }
    }
}

/// Agrees to a call, or does not.
pub(super) async fn decide(
    common: &Common,
    id: &str,
    call: Option<&str>,
    verdict: Verdict,
    then: Then,
) -> Result<Exit, Problem> {
    let arguments = match &verdict {
        Verdict::Approve { arguments } => arguments.as_deref().map(parsed).transpose()?,
        Verdict::Deny { .. } => None,
    };
    let desk = Desk::open(common).await?;
    let mut session = open(&desk, id).await?;
    let approval = chosen(&session, call, &verdict)?;
    // The engine comes first: a mistake in the configuration is told before anything is decided.
    let driver = match then.resume || arguments.is_some() {
        true => Some(Driver::new(&desk, &session, &then.asking).await?),
        false => None,
    };
    let decided = match (&verdict, arguments, &driver) {
        (Verdict::Deny { reason }, ..) => session.deny(approval, reason.as_str()).await,
        (_, Some(arguments), Some(driver)) => {
            let engine = driver.engine();
            session.approve_with(engine, approval, arguments).await
        }
        _ => session.approve(approval).await,
    };
    decided.map_err(|error| fault::told(id, &error))?;
    after(id, session, driver.filter(|_| then.resume)).await
}

/// What a person says of a call.
pub(super) enum Word {
    /// The answer to its question, or its result.
    Answer(String),
    /// Its result.
    Result(String),
    /// That it failed, and why.
    Failure(String),
    /// That it did not happen, and may be run.
    RunAgain,
}

impl Word {
    const fn verb(&self) -> &'static str {
        match self {
            Self::Answer(_) => "answer",
            Self::Result(_) | Self::Failure(_) => "submit",
            Self::RunAgain => "rerun",
        }
    }

    /// Whether it can be said of a call that waits so.
    fn fits(&self, wait: &Wait) -> bool {
        match (self, wait) {
            (Self::Answer(_), Wait::Question(_) | Wait::Result(_)) => true,
            (Self::Result(_) | Self::Failure(_), Wait::Result(_)) => true,
            (Self::RunAgain, Wait::Result(result)) => result.reason == WaitReason::UnknownOutcome,
            _ => false,
        }
    }
}

/// Answers a question, gives the result of a call, or lets it run again.
pub(super) async fn tell(
    common: &Common,
    id: &str,
    call: Option<&str>,
    word: Word,
    then: Then,
) -> Result<Exit, Problem> {
    let desk = Desk::open(common).await?;
    let mut session = open(&desk, id).await?;
    let waits = session.waits();
    let has_question = waits
        .iter()
        .any(|open| open.wait.kind() == WaitKind::Question);
    // An answer that names no call is that to a question, if there is one.
    let is_fit = |open: &OpenWait| match (&word, call) {
        (Word::Answer(_), None) if has_question => open.wait.kind() == WaitKind::Question,
        (word, _) => word.fits(&open.wait),
    };
    let fitting: Vec<OpenWait> = waits.into_iter().filter(is_fit).collect();
    let key = called(&session, fitting.iter(), call, word.verb())?;
    let driver = match then.resume {
        true => Some(Driver::new(&desk, &session, &then.asking).await?),
        false => None,
    };
    let is_question = fitting
        .iter()
        .any(|open| open.call == key && open.wait.kind() == WaitKind::Question);
    let told = match word {
        Word::Answer(text) if is_question => session.answer(key, text).await,
        Word::Answer(text) | Word::Result(text) => session.submit_tool_result(key, text).await,
        Word::Failure(text) => session.submit_tool_error(key, text.as_str()).await,
        Word::RunAgain => session.rerun(key).await,
    };
    told.map_err(|error| fault::told(id, &error))?;
    after(id, session, driver).await
}

/// The call that is meant, of those that wait so.
fn called<'a>(
    session: &DurableSession,
    open: impl Iterator<Item = &'a OpenWait>,
    named: Option<&str>,
    verb: &str,
) -> Result<CallKey, Problem> {
    let open: Vec<&OpenWait> = open.collect();
    let id = session.id();
    let listed = |open: &[&OpenWait]| -> String {
        let line = |open: &&OpenWait| format!("\n    {}  {}", open.call, wait_in_words(open));
        open.iter().map(line).collect()
    };
    let Some(named) = named else {
        return match open.as_slice() {
            [] => Err(nothing(session, verb)),
            [one] => Ok(one.call),
            several => Err(
                Problem::usage(format!("`{id}` has {} calls to {verb}", several.len()))
                    .advice(format!("name one of them:{}", listed(several))),
            ),
        };
    };
    let is_named =
        |open: &&&OpenWait| open.call.to_string() == named || open.tool_call_id.as_str() == named;
    if let Some(open) = open.iter().find(is_named) {
        return Ok(open.call);
    }
    // A call that was decided before, or is over: the library knows what it came to.
    if let Ok(key) = named.parse::<CallKey>() {
        return Ok(key);
    }
    Err(match open.as_slice() {
        [] => nothing(session, verb),
        open => {
            let what = format!("`{id}` has no call `{}` to {verb}", one_line(named));
            Problem::usage(what).advice(format!("it waits for:{}", listed(open)))
        }
    })
}

/// Opens a session, to be decided by whoever is logged in.
async fn open(desk: &Desk, id: &str) -> Result<DurableSession, Problem> {
    let mut session = find::open(&desk.sessions, id).await?;
    let named = ["USER", "LOGNAME"].into_iter().find_map(|name| {
        let value = std::env::var(name).ok();
        value.filter(|value| !value.is_empty())
    });
    if let Some(name) = named {
        session.set_author(name);
    }
    Ok(session)
}

async fn after(
    id: &str,
    mut session: DurableSession,
    driver: Option<Driver>,
) -> Result<Exit, Problem> {
    let Some(driver) = driver else {
        let next = match session.waits().first() {
            Some(wait) => format!("it still waits for {}", wait_in_words(wait)),
            None => format!("go on: allm sessions resume {id}"),
        };
        note(&format!("stored; {next}"));
        return Ok(Exit::Done);
    };
    match driver.go_on(&mut session).await {
        Err(problem) if is_busy(&session).await => Err(problem.advice(
            "the decision is stored all the same, and the process that drives the session takes it up",
        )),
        ended => ended,
    }
}

/// Whether another process drives the session.
async fn is_busy(session: &DurableSession) -> bool {
    let from = allm::LoadFrom::After(session.version());
    let loaded = session.sessions().store().load(session.id(), from).await;
    loaded.is_ok_and(|loaded| loaded.head.lease.is_some())
}

/// Arguments as they were typed.
fn parsed(text: &str) -> Result<Map, Problem> {
    let what = match serde_json::from_str(text) {
        Ok(Value::Object(arguments)) => return Ok(arguments),
        Ok(_) => "they are no object".to_owned(),
        Err(error) => error.to_string(),
    };
    Err(
        Problem::usage(format!("the arguments are no JSON object: {what}"))
            .advice("for example --arguments '{\"path\": \"notes.txt\"}'"),
    )
}

/// The approval that is meant.
fn chosen(
    session: &DurableSession,
    call: Option<&str>,
    verdict: &Verdict,
) -> Result<ApprovalRef, Problem> {
    let waits = session.waits();
    let open = waits
        .iter()
        .filter(|open| open.wait.kind() == WaitKind::Approval);
    let approvals = session.approvals();
    let is_named = |approval: &&Approval| call == Some(approval.approval_id.to_string().as_str());
    if let Some(approval) = approvals.iter().find(is_named) {
        return Ok(approval.into());
    }
    let key = called(session, open, call, verdict.verb())?;
    let approval = approvals.iter().find(|approval| approval.call == key);
    Ok(approval.map_or_else(|| ApprovalRef::from(key), ApprovalRef::from))
}

/// That there is nothing to decide in this way, and what there is instead.
fn nothing(session: &DurableSession, verb: &str) -> Problem {
    let id = session.id();
    let problem = Problem::usage(format!(
        "`{id}` has nothing to {verb}: it is {}",
        status(session)
    ));
    match session.waits().first() {
        Some(wait) => problem.advice(format!("it waits for {}", wait_in_words(wait))),
        None => problem.advice(format!("see what was decided: allm sessions show {id}")),
    }
}

fn status(session: &DurableSession) -> String {
    session.status().as_str().replace('_', " ")
}
