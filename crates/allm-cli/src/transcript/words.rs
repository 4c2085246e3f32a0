//! Things of a session in words.

use allm::session::{OpenWait, Outcome, SessionUsage, Wait, WaitReason};
use allm::{HaltReason, Map, Role, Timestamp, Usage};

use super::items::{Step, What};
use super::plain;

/// The day and the second, in UTC: `2026-11-16 09:00:00`.
pub(crate) fn second(at: Timestamp) -> String {
    let text = at.to_string();
    text.get(..19).unwrap_or(&text).replace('T', " ")
}

/// The day and the minute, in UTC.
pub(crate) fn minute(at: Timestamp) -> String {
    let text = second(at);
    text.get(..16).unwrap_or(&text).to_owned()
}

/// The second of the day, in UTC.
pub(super) fn clock(at: Timestamp) -> String {
    let text = second(at);
    text.get(11..).unwrap_or(&text).to_owned()
}

/// A number of milliseconds, as people say it.
pub(crate) fn duration(millis: u64) -> String {
    let seconds = millis / 1000;
    match seconds {
        0..=9 => format!("{seconds}.{} s", millis % 1000 / 100),
        10..=59 => format!("{seconds} s"),
        60..=3599 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds / 60 % 60),
    }
}

/// Who speaks.
pub(super) const fn role(role: Role) -> &'static str {
    match role {
        Role::System => "system",
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::Tool => "tool",
    }
}

/// What a call came to.
pub(super) const fn outcome(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Ok => "ok",
        Outcome::Failed => "failed",
        Outcome::Crashed => "crashed",
        Outcome::TimedOut => "took too long",
        Outcome::Cancelled => "cancelled",
        Outcome::Denied => "denied",
        Outcome::Expired => "expired",
        Outcome::UnknownOutcome => "nobody knows what became of it",
        Outcome::InvalidArguments => "its arguments were refused",
        Outcome::NotRun => "not run",
        Outcome::Asked => "answered",
        Outcome::Halted => "ended the run",
        _ => "ended",
    }
}

/// Why a run stopped.
pub(super) fn halt(halt: &HaltReason) -> String {
    let words = match halt {
        HaltReason::MaxTurns => "stopped: it has had all its turns",
        HaltReason::HaltWhen => "stopped by a condition of the program",
        HaltReason::ToolError => "stopped: a tool failed",
        HaltReason::Cancelled => "stopped: it was cancelled",
        HaltReason::Truncated => "stopped: the answer was cut off",
        HaltReason::DeadlineExceeded => "stopped: its time was over",
        HaltReason::BudgetExhausted => "stopped: its budget was used up",
        other => return format!("stopped: {}", other.as_str()),
    };
    words.to_owned()
}

/// `text`, or `text: reason`.
pub(super) fn with_reason(text: &str, reason: &str) -> String {
    match reason {
        "" => text.to_owned(),
        reason => format!("{text}: {reason}"),
    }
}

/// `text`, or `text (by somebody)`.
pub(super) fn by(text: &str, by: Option<&str>) -> String {
    match by {
        None => text.to_owned(),
        Some(by) => format!("{text} (by {by})"),
    }
}

pub(super) fn json(map: &Map) -> String {
    allm::json::value_to_string(map).unwrap_or_default()
}

/// What was used, in words; `None` when nothing is known of it.
pub(crate) fn tokens(usage: &Usage) -> Option<String> {
    let mut words = match (usage.input_tokens, usage.output_tokens) {
        (Some(input), Some(output)) => format!("{input} tokens in, {output} out"),
        (Some(input), None) => format!("{input} tokens in"),
        (None, Some(output)) => format!("{output} tokens out"),
        (None, None) => format!("{} tokens", usage.total()?),
    };
    if let Some(cost) = usage.cost {
        words = format!("{words}, ${:.4}", cost.total);
    }
    Some(words)
}

/// What a session used, in words.
pub(super) fn used(usage: &SessionUsage) -> Option<String> {
    let words = tokens(&usage.models);
    match (words, usage.lost_calls) {
        (words, 0) => words,
        (Some(words), lost) => Some(format!("{words}, {lost} lost answers")),
        (None, lost) => Some(format!("{lost} lost answers")),
    }
}

/// What a call waits for, in one line.
pub(crate) fn wait_in_words(wait: &OpenWait) -> String {
    let tool = plain::one_line(&wait.tool);
    match &wait.wait {
        Wait::Approval(approval) => {
            format!(
                "approval of {tool}({})",
                plain::one_line(&json(&approval.arguments))
            )
        }
        Wait::Question(question) => format!("an answer: {}", plain::one_line(&question.question)),
        Wait::Result(result) if result.reason == WaitReason::UnknownOutcome => {
            format!("word on what became of {tool}")
        }
        _ => format!("the result of {tool}"),
    }
}

/// A step of a call in one line, without what it carries.
pub(super) fn step(step: &Step) -> String {
    match &step.what {
        What::ApprovalAsked {
            reason, expires_at, ..
        } => {
            let text = with_reason("asks for approval", reason.as_deref().unwrap_or_default());
            match expires_at {
                None => text,
                Some(at) => format!("{text} (until {})", minute(*at)),
            }
        }
        What::Approved { by: who } => decision("approved", who.as_deref()),
        What::Edited { by: who, .. } => decision("approved with other arguments", who.as_deref()),
        What::Denied { reason, by: who } => {
            with_reason(&decision("denied", who.as_deref()), reason)
        }
        What::ResultAwaited { unknown: false } => "waits for its result from outside".to_owned(),
        What::ResultAwaited { unknown: true } => {
            "began, and a crash took the news of how it ended; waits for a person's word".to_owned()
        }
        What::Expired => "nobody answered in time".to_owned(),
        What::Began { attempt: 1 } => "began".to_owned(),
        What::Began { attempt } => format!("began again, attempt {attempt}"),
        What::Asked { .. } => "asks".to_owned(),
        What::Answered { by: who, .. } => decision("answered", who.as_deref()),
        What::RunAgain { by: who } => by("did not happen, may be run again", who.as_deref()),
        What::Late { outcome: late, .. } => {
            format!("a result came too late to count: {}", outcome(*late))
        }
        What::Ended {
            outcome: ended,
            by: who,
            took,
            ..
        } => {
            let text = match took {
                None => outcome(*ended).to_owned(),
                Some(took) => format!("{} after {}", outcome(*ended), duration(*took)),
            };
            match who {
                None => text,
                Some(who) => format!("{text}, told by {who}"),
            }
        }
    }
}

fn decision(text: &str, by: Option<&str>) -> String {
    match by {
        None => text.to_owned(),
        Some(by) => format!("{text} by {by}"),
    }
}
