//! The boxed future and stream of object-safe traits.

use std::future::Future;
use std::pin::Pin;

use futures_core::Stream;

/// A boxed future.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A boxed stream.
pub type BoxStream<'a, T> = Pin<Box<dyn Stream<Item = T> + Send + 'a>>;
