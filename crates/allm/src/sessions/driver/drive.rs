//! An operation, from its first write to its end.

use std::time::Duration;

use allm_core::session::{Applied, EntryBody, ModelEnd};
use allm_core::{ChatResult, Error, Failure, InputId, SessionError, SessionReason};

use super::model::model_failed;
use super::prepare::{Orders, Prepared, Preparing};
use super::{Driven, Driver, Signals, result_of};
use crate::engine::Engine;
use crate::engine::plan::Plan;
use crate::sessions::emit::Sink;
use crate::sessions::journal::{Appended, Journal};

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
        let preparing = Preparing {
            session: self.journal.session(),
            last_writer: self.journal.last_writer(),
            engine: self.engine,
            orders: &self.orders,
            limits: self.limits,
            now,
        };
        let prepared = preparing.prepare()?;
        let input_id = self.orders.input_id.clone();
        match prepared {
            Prepared::Done => Ok(Outcome::of(self.journal.session().standing_result())),
            Prepared::Inputs(bodies, refusal) => {
                if !bodies.is_empty() {
                    self.append(bodies, input_id).await?;
                }
                match refusal {
                    Some(error) => Err(error.into()),
                    None => Ok(Outcome::of(self.journal.session().standing_result())),
                }
            }
            Prepared::Run(bodies, plan) => {
                self.journal.ends_with_the_run();
                let applied = self.append(bodies, input_id).await?;
                self.go_on(plan, applied).await
            }
        }
    }

    /// Goes on from the append that began the run.
    pub(crate) async fn go_on(
        self,
        plan: Result<Box<Plan>, Error>,
        applied: Applied,
    ) -> Result<Outcome, SessionError> {
        match plan {
            Ok(plan) => self.drive(*plan, applied).await,
            Err(error) => self.refuse(error).await,
        }
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
