//! What providers over HTTP share. It knows no provider.

pub(crate) mod answer;
pub(crate) mod body;
pub(crate) mod classify;
pub(crate) mod client;
pub(crate) mod decode;
pub(crate) mod exchange;
pub(crate) mod headers;
pub(crate) mod lenient;
mod link;
pub(crate) mod shape;
pub(crate) mod sse;
#[cfg(any(test, fuzzing))]
pub(crate) mod testing;
pub(crate) mod transport;
