//! The builders of calls.

use std::fmt;
use std::future::IntoFuture;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use allm_core::run::RunKind;
use allm_core::{
    BoxFuture, CancelToken, ChatResult, Error, Event, FinishReason, HaltReason, Response,
    StepResult, Unfinished,
};
use futures_core::Stream;
use serde::de::DeserializeOwned;

use super::driver::RunDriver;
use super::generate::GenerateDriver;
use super::input::Input;
use super::stream::EventStream;
use crate::engine::Engine;
use crate::engine::plan::{CallKind, Plan};
use crate::engine::setters::setters;
use crate::engine::settings::Settings;
use crate::telemetry::model_call::ModelCallSpan;
use crate::telemetry::run::RunSpans;

macro_rules! call {
    ($(#[$doc:meta])* $name:ident, $kind:expr) => {
        $(#[$doc])*
        #[must_use = "a call does nothing unless awaited or streamed"]
        pub struct $name {
            engine: Engine,
            input: Input,
            pub(crate) settings: Settings,
            cancel: Option<CancelToken>,
        }

        impl $name {
            pub(crate) fn new(engine: Engine, input: Input) -> Self {
                Self {
                    engine,
                    input,
                    settings: Settings::default(),
                    cancel: None,
                }
            }

            setters!(request);
            setters!(call);
            setters!(tools);
            setters!(observed);

            setters!(identity);

            /// Ends the call when it fires.
            pub fn cancel(mut self, token: CancelToken) -> Self {
                self.cancel = Some(token);
                self
            }

            fn plan(&self) -> Result<Plan, Error> {
                Plan::new(&self.engine, self.input.clone(), &self.settings, $kind)
            }
        }

        impl fmt::Debug for $name {
            /// No prompt, no key, no header value.
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($name))
                    .field("engine", &self.engine)
                    .finish_non_exhaustive()
            }
        }
    };
}

call! {
    /// One answer of a model; no tool is run. Await it, or [`stream`](Self::stream) it.
    Generate, CallKind::Generate
}

call! {
    /// One turn: an answer, and the calls in it run. Await it, or [`stream`](Self::stream) it.
    Step, CallKind::Run(RunKind::Step)
}

call! {
    /// Turns until something stops them. Await it, or [`stream`](Self::stream) it.
    Chat, CallKind::Run(RunKind::Chat)
}

impl Step {
    setters!(run);
}

impl Chat {
    setters!(run);
    setters!(chat);
}

/// A driver that is made at the first poll, so that a call that is never polled does nothing.
enum Lazy<D> {
    New(Option<Box<dyn FnOnce() -> Result<D, Error> + Send>>),
    Running(Box<D>),
    Refused(Option<Error>),
}

impl<D: Stream<Item = Event> + Unpin> Lazy<D> {
    fn new(start: impl FnOnce() -> Result<D, Error> + Send + 'static) -> Self {
        Self::New(Some(Box::new(start)))
    }

    /// Polls to the end; the driver that got there, or why it was not made.
    async fn finish(mut self) -> Result<Box<D>, Error> {
        while std::future::poll_fn(|cx| Pin::new(&mut self).poll_next(cx))
            .await
            .is_some()
        {}
        match self {
            Self::Running(driver) => Ok(driver),
            Self::Refused(Some(error)) => Err(error),
            Self::New(_) | Self::Refused(None) => Err(allm_core::StreamError::interrupted().into()),
        }
    }
}

impl<D: Stream<Item = Event> + Unpin> Stream for Lazy<D> {
    type Item = Event;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Event>> {
        loop {
            match &mut *self {
                Self::New(start) => {
                    *self = match start.take().map(|start| start()) {
                        Some(Ok(driver)) => Self::Running(Box::new(driver)),
                        Some(Err(error)) => {
                            let event = Event::error(&error);
                            *self = Self::Refused(Some(error));
                            return Poll::Ready(Some(event));
                        }
                        None => Self::Refused(None),
                    };
                }
                Self::Running(driver) => return Pin::new(&mut **driver).poll_next(cx),
                Self::Refused(_) => return Poll::Ready(None),
            }
        }
    }
}

impl Generate {
    fn driver(self) -> Lazy<GenerateDriver> {
        Lazy::new(move || {
            let plan = self.plan();
            plan.and_then(|plan| GenerateDriver::start(plan, self.cancel.clone()))
                .inspect_err(ModelCallSpan::refused_early)
        })
    }

    /// The events of the call, ending with `message_completed` or `error`.
    pub fn stream(self) -> EventStream {
        EventStream::new(self.driver())
    }

    /// The text of an answer that ended with `stop`.
    ///
    /// # Errors
    ///
    /// When the call failed, or ended in any other way.
    pub async fn text(self) -> Result<String, Error> {
        self.await?.into_text()
    }

    /// The answer as JSON of a type of yours, if it ended with `stop`. Ask for the form with
    /// [`response_format`](crate::response_format()).
    ///
    /// # Errors
    ///
    /// When the call failed, or ended in any other way; the path of the first fault when the text does not fit.
    pub async fn parse<T: DeserializeOwned>(self) -> Result<T, Error> {
        let response = self.await?.into_result()?;
        match response.finish_reason {
            Some(FinishReason::Stop) => response.parse(),
            _ => Err(Unfinished::new(response).into()),
        }
    }
}

impl IntoFuture for Generate {
    type Output = Result<Response, Error>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        let driver = self.driver();
        Box::pin(async move { driver.finish().await?.into_result() })
    }
}

impl Step {
    fn driver(self) -> Lazy<RunDriver> {
        Lazy::new(move || {
            let plan = self.plan();
            plan.and_then(|plan| RunDriver::start(plan, RunKind::Step, self.cancel.clone()))
                .inspect_err(RunSpans::refused)
        })
    }

    /// The events of the turn, ending with `step_completed`.
    pub fn stream(self) -> EventStream {
        EventStream::new(self.driver())
    }
}

impl IntoFuture for Step {
    type Output = Result<StepResult, Error>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        let driver = self.driver();
        Box::pin(async move { driver.finish().await?.into_step() })
    }
}

impl Chat {
    fn driver(self) -> Lazy<RunDriver> {
        Lazy::new(move || {
            let plan = self.plan();
            plan.and_then(|plan| RunDriver::start(plan, RunKind::Chat, self.cancel.clone()))
                .inspect_err(RunSpans::refused)
        })
    }

    /// The events of the run, ending with `chat_completed`.
    pub fn stream(self) -> EventStream {
        EventStream::new(self.driver())
    }

    /// The text of a run that ended `completed`.
    ///
    /// # Errors
    ///
    /// The failure, or [`Error::Unfinished`] with the last answer when the run halted for another reason.
    pub async fn text(self) -> Result<String, Error> {
        let result = self.await?.into_result()?;
        match (&result.halted_reason, result.final_response) {
            (HaltReason::Completed, Some(response)) => Ok(response.text()),
            (reason, response) => {
                let response = response.map(Arc::unwrap_or_clone);
                Err(Unfinished::halted(reason.clone(), response).into())
            }
        }
    }

    /// The final answer as JSON of a type of yours, if the run ended `completed`. Ask for the form with
    /// [`response_format`](crate::response_format()).
    ///
    /// # Errors
    ///
    /// The failure; [`Error::Unfinished`] with the last answer when the run halted for another reason; the path of the
    /// first fault when the text does not fit.
    pub async fn parse<T: DeserializeOwned>(self) -> Result<T, Error> {
        self.await?.parse()
    }
}

impl IntoFuture for Chat {
    type Output = Result<ChatResult, Error>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        let driver = self.driver();
        Box::pin(async move { driver.finish().await?.into_chat() })
    }
}
