//! One request: as it was recorded, and as the library sends it.

use std::sync::Arc;

use allm::{Message, Request};

use super::dialect::Dialect;
use super::normal::Normal;
use crate::record::Record;

/// How the library came to the conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum How {
    /// It read the recorded answers itself and went on.
    Continued,
    /// The recorded request holds answers, which were read from it.
    History,
    /// The recorded request holds no answer.
    First,
}

/// One request: as it was recorded, and as the library sends it.
#[derive(Clone, Debug)]
pub struct Case {
    /// The record of the request.
    pub record: Arc<Record>,
    /// The wire.
    pub dialect: Dialect,
    /// How the library came to the conversation.
    pub how: How,
    /// What the library was asked to send.
    pub request: Arc<Request>,
    /// What it sent, byte for byte.
    pub bytes: Vec<u8>,
    /// The normal form of it.
    pub ours: Normal,
    /// The normal form of what was recorded.
    pub recorded: Normal,
    /// The answers that the library read, in order.
    pub answers: Vec<Message>,
}
