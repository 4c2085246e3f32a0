//! What the wires share in making a request: order, ids, media, schemas, what is left out and what is refused.

pub(crate) mod body;
pub(crate) mod ids;
pub(crate) mod media;
pub(crate) mod notes;
pub(crate) mod opaque;
pub(crate) mod schema;
pub(crate) mod turns;
pub(crate) mod written;
