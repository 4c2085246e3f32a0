//! The data form of a failure.
//!
//! All texts but a handler's own are made here, of nothing but the reason and the tool's name. So no panic text, cause
//! or path can come into one, whatever an executor wrote into its error.

use crate::data::{CallFailure, Effect, FailureReason, ToolFailure};
use crate::error::text::{one_line, short_line};
use crate::limits::{MAX_ARGUMENT_FAULTS, MAX_LISTED_TOOLS};

/// A failure as events, results and the model are told.
///
/// What the handler *reported* is told in its own words, unchanged; a text without words is replaced. What it did not
/// report is told by kind only. Of arguments the first twenty faults are told.
#[must_use]
pub fn report(failure: &ToolFailure, tool_name: &str, effect: &Effect) -> CallFailure {
    let tool = short_line(tool_name);
    match failure {
        ToolFailure::Reported(error) => {
            let message = if error.message.trim().is_empty() {
                format!("the tool `{tool}` failed without saying why")
            } else {
                error.message.clone()
            };
            CallFailure {
                details: error.details.clone(),
                ..CallFailure::new(FailureReason::Reported, message)
            }
        }
        ToolFailure::Crashed(error) => {
            let reason = FailureReason::from(error.reason);
            CallFailure::new(reason, crashed(reason, &tool, effect))
        }
        ToolFailure::InvalidArguments(refused) => {
            let message = one_line(&refused.message);
            let why = match message.trim() {
                "" => "its arguments were refused",
                why => why,
            };
            CallFailure {
                faults: refused
                    .faults
                    .iter()
                    .take(MAX_ARGUMENT_FAULTS)
                    .cloned()
                    .collect(),
                help: refused.help.clone(),
                ..CallFailure::new(
                    FailureReason::InvalidArguments,
                    format!("the tool `{tool}` was not run: {why}"),
                )
            }
        }
    }
}

fn crashed(reason: FailureReason, tool: &str, effect: &Effect) -> String {
    let message = match reason {
        FailureReason::HandlerRaised => format!("the tool `{tool}` crashed"),
        FailureReason::HandlerExit => format!("the tool `{tool}` ended without a reply"),
        FailureReason::Timeout => format!("the tool `{tool}` did not finish in time"),
        FailureReason::EncodingFailed => {
            format!("the result of the tool `{tool}` could not be made into text")
        }
        FailureReason::NotFound => format!("the tool `{tool}` has no handler"),
        // Also the reason when a policy closure broke the rules.
        _ => format!("the tool `{tool}` gave no usable reply"),
    };
    let stopped = matches!(reason, FailureReason::HandlerExit | FailureReason::Timeout);
    if stopped && effect.may_have_acted() {
        message + "; it may have taken effect"
    } else {
        message
    }
}

/// The failure of a call that a person did not agree to.
#[must_use]
pub fn denied(tool_name: &str, reason: &str) -> CallFailure {
    let tool = short_line(tool_name);
    let message = match one_line(reason).trim() {
        "" => format!("the tool `{tool}` was not run: a person did not agree to it"),
        why => format!("the tool `{tool}` was not run: a person did not agree to it: {why}"),
    };
    CallFailure::new(FailureReason::Denied, message)
}

/// The failure of a call that the library closed without running it.
#[must_use]
pub fn closed(reason: FailureReason, tool_name: &str) -> CallFailure {
    let tool = short_line(tool_name);
    let why = match reason {
        FailureReason::UnknownTool => {
            return CallFailure::new(reason, format!("there is no tool `{tool}`"));
        }
        FailureReason::UnknownOutcome => {
            let message = format!(
                "it is not known what became of the tool `{tool}`: it may have taken effect, and it was not run again"
            );
            return CallFailure::new(reason, message);
        }
        FailureReason::Expired => {
            let message = format!("nobody answered in time for the tool `{tool}`");
            return CallFailure::new(reason, message);
        }
        FailureReason::Truncated => "the answer was cut off",
        FailureReason::Cancelled => "the run was cancelled",
        FailureReason::DeadlineExceeded => "the time for it was over",
        FailureReason::BudgetExhausted => "the budget has no room for these calls",
        _ => "the turn could not go on",
    };
    CallFailure::new(reason, format!("the tool `{tool}` was not run: {why}"))
}

/// The failure of a call whose tool does not exist, with the names of those that do, so that the model can choose
/// again: the first [`MAX_LISTED_TOOLS`], and how many more there are.
#[must_use]
pub fn unknown_tool<N: AsRef<str>>(
    tool_name: &str,
    there_are: impl IntoIterator<Item = N>,
) -> CallFailure {
    let mut failure = closed(FailureReason::UnknownTool, tool_name);
    let told = match listed(there_are) {
        Some(names) => format!("; there are: {names}"),
        None => "; there are none".to_owned(),
    };
    failure.message.push_str(&told);
    failure
}

/// The first names of a list and how many more there are; `None` if it is empty. A list is told for each call that needs
/// it, so without a limit many calls and many tools would make one answer of a very different size.
pub(crate) fn listed<N: AsRef<str>>(names: impl IntoIterator<Item = N>) -> Option<String> {
    let mut names = names.into_iter();
    let mut list = names.next()?.as_ref().to_owned();
    for name in names.by_ref().take(MAX_LISTED_TOOLS - 1) {
        list.push_str(", ");
        list.push_str(name.as_ref());
    }
    let more = names.count();
    if more > 0 {
        list.push_str(&format!(" and {more} more"));
    }
    Some(list)
}
