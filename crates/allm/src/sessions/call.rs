//! The builder of a driving operation.

use std::fmt;
use std::future::IntoFuture;

use allm_core::session::Operation;
use allm_core::{BoxFuture, CancelToken, ChatResult, InputId, Message, SessionError};

use super::driver::Orders;
use super::emit::{Queue, SessionStream};
use crate::engine::Engine;
use crate::engine::setters::setters;
use crate::engine::settings::Settings;

/// Does what is asked of a session.
pub(crate) trait Target<'a>: Send + 'a {
    fn drive(
        self: Box<Self>,
        engine: Engine,
        orders: Orders,
        cancel: Option<CancelToken>,
        queue: Queue,
    ) -> BoxFuture<'a, Result<ChatResult, SessionError>>;
}

/// A driving operation of a session: `reply`, `resume`, `step` or `retry`. Await it, or [`stream`](Self::stream) it.
///
/// What is set here holds for this run and is not remembered, except that a run which is not finished goes on with what
/// it was begun with.
#[must_use = "an operation does nothing unless awaited or streamed"]
pub struct SessionCall<'a> {
    target: Box<dyn Target<'a>>,
    engine: Engine,
    op: Operation,
    message: Option<Message>,
    input_id: Option<InputId>,
    pub(crate) settings: Settings,
    cancel: Option<CancelToken>,
}

impl<'a> SessionCall<'a> {
    pub(crate) fn new(
        target: impl Target<'a>,
        engine: &Engine,
        op: Operation,
        message: Option<Message>,
    ) -> Self {
        Self {
            target: Box::new(target),
            engine: engine.clone(),
            op,
            message,
            input_id: None,
            settings: Settings::default(),
            cancel: None,
        }
    }

    setters!(request);
    setters!(call);
    setters!(tools);
    setters!(observed);
    setters!(run);
    setters!(chat);

    setters!(identity);

    /// Names the input, so that giving it again is not a second one.
    pub fn input_id(mut self, id: InputId) -> Self {
        self.input_id = Some(id);
        self
    }

    /// Cancels the run when it fires.
    pub fn cancel(mut self, token: CancelToken) -> Self {
        self.cancel = Some(token);
        self
    }

    /// The events of the operation as they happen.
    pub fn stream(self) -> SessionStream<'a> {
        self.driven(Queue::heard())
    }

    fn driven(self, queue: Queue) -> SessionStream<'a> {
        let orders = Orders {
            op: self.op,
            message: self.message,
            input_id: self.input_id,
            settings: self.settings,
        };
        let (target, engine, cancel) = (self.target, self.engine, self.cancel);
        let for_driver = queue.clone();
        SessionStream::new(queue, async move {
            target.drive(engine, orders, cancel, for_driver).await
        })
    }
}

impl<'a> IntoFuture for SessionCall<'a> {
    type Output = Result<ChatResult, SessionError>;
    type IntoFuture = BoxFuture<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.driven(Queue::unheard()).finish())
    }
}

impl fmt::Debug for SessionCall<'_> {
    /// No prompt, no key, no header value.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionCall")
            .field("op", &self.op)
            .field("engine", &self.engine)
            .finish_non_exhaustive()
    }
}
