//! Functions and closures as handlers.

use std::marker::PhantomData;
use std::sync::Arc;

use serde::de::DeserializeOwned;

use super::reply::IntoReply;
use super::{HandlerStyle, ToolHandler};
use crate::context::ToolContext;
use crate::data::{ArgumentFault, Map, ToolReply};
use crate::error::{JsonError, ToolError, ToolReason};
use crate::future::BoxFuture;
use crate::json;
use crate::path::{Path, Segment};

/// What can be a handler: an async function or closure of the arguments, or of the arguments and a [`ToolContext`].
///
/// The arguments are any `T: DeserializeOwned`. `M` only tells the forms apart; it is always inferred.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a handler",
    label = "not a handler",
    note = "a handler is an async function or closure of `(arguments)` or of `(arguments, ToolContext)` that returns \
            `Result<T, E>` or `ToolReply`, and whose arguments implement `DeserializeOwned`"
)]
pub trait IntoHandler<M> {
    /// The handler.
    fn into_handler(self) -> impl ToolHandler + 'static;
}

/// Marks functions of the arguments.
#[derive(Debug)]
pub struct WithArguments<A, F, R>(PhantomData<fn(A, F, R)>);
/// Marks functions of the arguments and a [`ToolContext`].
#[derive(Debug)]
pub struct WithContext<A, F, R>(PhantomData<fn(A, F, R)>);

/// A function with the type of its arguments.
struct Function<A, F> {
    function: F,
    arguments: PhantomData<fn(A)>,
}

impl<A, F> Function<A, F> {
    fn new(function: F) -> Self {
        Self {
            function,
            arguments: PhantomData,
        }
    }
}

struct OfArguments<A, F, M>(Function<A, F>, PhantomData<fn(M)>);
struct OfContext<A, F, M>(Function<A, F>, PhantomData<fn(M)>);

impl<A, F, Fut, R> IntoHandler<WithArguments<A, Fut, R>> for F
where
    A: DeserializeOwned + Send + 'static,
    F: Fn(A) -> Fut + Send + Sync + 'static,
    Fut: Future<Output: IntoReply<R>> + Send + 'static,
    R: 'static,
{
    fn into_handler(self) -> impl ToolHandler + 'static {
        OfArguments::<A, F, (Fut, R)>(Function::new(self), PhantomData)
    }
}

impl<A, F, Fut, R> IntoHandler<WithContext<A, Fut, R>> for F
where
    A: DeserializeOwned + Send + 'static,
    F: Fn(A, ToolContext) -> Fut + Send + Sync + 'static,
    Fut: Future<Output: IntoReply<R>> + Send + 'static,
    R: 'static,
{
    fn into_handler(self) -> impl ToolHandler + 'static {
        OfContext::<A, F, (Fut, R)>(Function::new(self), PhantomData)
    }
}

impl<A, F, Fut, R> ToolHandler for OfArguments<A, F, (Fut, R)>
where
    A: DeserializeOwned + Send + 'static,
    F: Fn(A) -> Fut + Send + Sync,
    Fut: Future<Output: IntoReply<R>> + Send + 'static,
{
    fn check(&self, arguments: &Map) -> Result<(), Vec<ArgumentFault>> {
        check::<A>(arguments)
    }

    fn call(
        &self,
        arguments: Arc<Map>,
        _: ToolContext,
    ) -> BoxFuture<'_, Result<ToolReply, ToolError>> {
        match decode(&arguments) {
            Ok(arguments) => {
                let reply = (self.0.function)(arguments);
                Box::pin(async move { Ok(reply.await.into_reply()) })
            }
            Err(error) => Box::pin(async move { Err(unchecked(&error)) }),
        }
    }
}

impl<A, F, Fut, R> ToolHandler for OfContext<A, F, (Fut, R)>
where
    A: DeserializeOwned + Send + 'static,
    F: Fn(A, ToolContext) -> Fut + Send + Sync,
    Fut: Future<Output: IntoReply<R>> + Send + 'static,
{
    fn check(&self, arguments: &Map) -> Result<(), Vec<ArgumentFault>> {
        check::<A>(arguments)
    }

    fn call(
        &self,
        arguments: Arc<Map>,
        context: ToolContext,
    ) -> BoxFuture<'_, Result<ToolReply, ToolError>> {
        match decode(&arguments) {
            Ok(arguments) => {
                let reply = (self.0.function)(arguments, context);
                Box::pin(async move { Ok(reply.await.into_reply()) })
            }
            Err(error) => Box::pin(async move { Err(unchecked(&error)) }),
        }
    }
}

/// What can be a blocking handler: a synchronous function or closure of the arguments, or of the arguments and a
/// [`ToolContext`].
///
/// `M` only tells the forms apart; it is always inferred.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a blocking handler",
    label = "not a blocking handler",
    note = "a blocking handler is a function or closure of `(arguments)` or of `(arguments, ToolContext)` that returns \
            `Result<T, E>` or `ToolReply`, and whose arguments implement `DeserializeOwned`"
)]
pub trait IntoBlocking<M> {
    /// The handler.
    fn into_blocking(self) -> impl ToolHandler + 'static;
}

struct Blocking<A, F, M> {
    /// Always of both, so that there is one kind of blocking handler.
    function: F,
    forms: PhantomData<fn(A, M)>,
}

impl<A, F, T, R> IntoBlocking<WithArguments<A, T, R>> for F
where
    A: DeserializeOwned + Send + 'static,
    F: Fn(A) -> T + Send + Sync + 'static,
    T: IntoReply<R> + 'static,
    R: 'static,
{
    fn into_blocking(self) -> impl ToolHandler + 'static {
        Blocking {
            function: move |arguments: A, _: ToolContext| self(arguments),
            forms: PhantomData::<fn(A, (T, R))>,
        }
    }
}

impl<A, F, T, R> IntoBlocking<WithContext<A, T, R>> for F
where
    A: DeserializeOwned + Send + 'static,
    F: Fn(A, ToolContext) -> T + Send + Sync + 'static,
    T: IntoReply<R> + 'static,
    R: 'static,
{
    fn into_blocking(self) -> impl ToolHandler + 'static {
        Blocking {
            function: self,
            forms: PhantomData::<fn(A, (T, R))>,
        }
    }
}

impl<A, F, T, R> ToolHandler for Blocking<A, F, (T, R)>
where
    A: DeserializeOwned + Send + 'static,
    F: Fn(A, ToolContext) -> T + Send + Sync,
    T: IntoReply<R>,
{
    fn check(&self, arguments: &Map) -> Result<(), Vec<ArgumentFault>> {
        check::<A>(arguments)
    }

    fn style(&self) -> HandlerStyle {
        HandlerStyle::Blocking
    }

    fn call(
        &self,
        arguments: Arc<Map>,
        context: ToolContext,
    ) -> BoxFuture<'_, Result<ToolReply, ToolError>> {
        Box::pin(async move {
            match decode(&arguments) {
                Ok(arguments) => Ok((self.function)(arguments, context).into_reply()),
                Err(error) => Err(unchecked(&error)),
            }
        })
    }
}

fn check<A: DeserializeOwned>(arguments: &Map) -> Result<(), Vec<ArgumentFault>> {
    match decode::<A>(arguments) {
        Ok(_) => Ok(()),
        Err(error) => Err(vec![fault(&error)]),
    }
}

fn decode<A: DeserializeOwned>(arguments: &Map) -> Result<A, JsonError> {
    json::foreign_as(arguments)
}

/// Whoever calls a handler asks `check` first.
fn unchecked(error: &JsonError) -> ToolError {
    let message = "the handler was called with arguments that it cannot take";
    ToolError::new(ToolReason::InvalidReturn, message).cause(error.to_string())
}

fn fault(error: &JsonError) -> ArgumentFault {
    ArgumentFault {
        path: pointer(&error.path),
        message: error.message.clone(),
    }
}

/// The path as a JSON Pointer.
fn pointer(path: &Path) -> String {
    let mut pointer = String::new();
    for segment in path.segments() {
        pointer.push('/');
        match segment {
            Segment::Index(index) => pointer.push_str(&index.to_string()),
            Segment::Name(name) => pointer.push_str(&name.replace('~', "~0").replace('/', "~1")),
        }
    }
    pointer
}
