//! Tools, and how their calls fail.

use allm_core::{ApprovalRule, ArgumentFault, CallFailure, Effect, FailureReason, Tool};
use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;
use proptest::sample::select;

use super::request::any_strict;
use super::text::{any_map, any_text, any_tree, maybe_millis, maybe_text, named};

/// Any tool, valid or not. It has no handler: that is no part of the data.
pub(crate) fn any_tool() -> BoxedStrategy<Tool> {
    let effect = select(vec![
        Effect::Pure,
        Effect::Idempotent,
        Effect::Reconcile(None),
        Effect::AtMostOnce,
    ]);
    let told = (named(), any_text(), any_tree());
    let rest = (
        any_strict(),
        any::<bool>(),
        select(vec![ApprovalRule::Never, ApprovalRule::Always]),
        any::<bool>(),
        maybe_text(),
        effect,
        maybe_millis(),
        any_map(),
    );
    (told, rest)
        .prop_map(|((name, description, schema), rest)| {
            let (strict, manual, approval, compact, summary, effect, timeout, metadata) = rest;
            Tool {
                name,
                description,
                schema: schema.into(),
                strict,
                manual,
                approval,
                compact,
                summary,
                effect,
                timeout,
                metadata,
                handler: None,
            }
        })
        .boxed()
}

/// How a call failed, as data.
pub(crate) fn any_call_failure() -> BoxedStrategy<CallFailure> {
    let fault =
        (any_text(), any_text()).prop_map(|(path, message)| ArgumentFault { path, message });
    let reason = select(FailureReason::ALL);
    (
        reason,
        any_text(),
        of(any_tree()),
        vec(fault, 0..2),
        maybe_text(),
    )
        .prop_map(|(reason, message, details, faults, help)| CallFailure {
            reason,
            message,
            details,
            faults,
            help,
        })
        .boxed()
}
