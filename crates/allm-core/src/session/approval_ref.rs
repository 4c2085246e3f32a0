//! What a decision is about.

use super::call::Approval;
use super::key::{CallKey, CallRef};
use super::token::ApprovalToken;
use crate::data::{ApprovalId, Hash};

/// What a decision is about: an approval as somebody saw it, or whatever a call waits for now.
#[derive(Clone, Debug, PartialEq)]
pub enum ApprovalRef {
    /// The approval with this id and these arguments.
    Seen {
        /// Its id.
        id: ApprovalId,
        /// The call.
        call: CallKey,
        /// The hash of the arguments that were shown.
        arguments_hash: Hash,
    },
    /// What this call waits for, or waited for.
    Call(CallRef),
    /// The approval of a token that came back from outside. Whoever has the secret verifies it first.
    Token(Box<ApprovalToken>),
}

impl From<ApprovalToken> for ApprovalRef {
    fn from(token: ApprovalToken) -> Self {
        Self::Token(Box::new(token))
    }
}

impl From<&ApprovalToken> for ApprovalRef {
    fn from(token: &ApprovalToken) -> Self {
        token.clone().into()
    }
}

impl From<&Approval> for ApprovalRef {
    fn from(approval: &Approval) -> Self {
        Self::Seen {
            id: approval.approval_id,
            call: approval.call,
            arguments_hash: approval.arguments_hash,
        }
    }
}

impl From<Approval> for ApprovalRef {
    fn from(approval: Approval) -> Self {
        Self::from(&approval)
    }
}

impl<T: Into<CallRef>> From<T> for ApprovalRef {
    fn from(call: T) -> Self {
        Self::Call(call.into())
    }
}
