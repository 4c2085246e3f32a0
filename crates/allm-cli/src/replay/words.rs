//! What an entry says, in one line.

use allm::session::{CallPlan, CallsPlanned, Decision, EntryBody, ModelResponded};
use allm::{Message, Part};

use crate::transcript::plain::{cut, one_line};
use crate::transcript::tokens;

/// The longest text that is repeated.
const SHOWN: usize = 100;

pub(super) fn of(body: &EntryBody) -> String {
    match body {
        EntryBody::Created(created) => match created.thread.len() {
            0 => "a session begins".to_owned(),
            messages => format!("a session begins, with {messages} messages"),
        },
        EntryBody::UserMessage(said) => format!("user: {}", text(&said.message)),
        EntryBody::Answered(answered) => {
            let answer = parts(&answered.content);
            by(
                format!("{} is answered: {answer}", answered.call),
                answered.by.as_deref(),
            )
        }
        EntryBody::ResultSubmitted(submitted) => by(
            format!(
                "{} gets its result from outside, {}: {}",
                submitted.call,
                submitted.outcome,
                parts(&submitted.content)
            ),
            submitted.by.as_deref(),
        ),
        EntryBody::ApprovalDecided(decided) => {
            let call = decided.call;
            let what = match &decided.decision {
                Decision::Edited(edited) => {
                    let arguments = allm::json::value_to_string(&edited.arguments);
                    format!(
                        "{call} is approved with {}",
                        shown(&arguments.unwrap_or_default())
                    )
                }
                Decision::Denied(denied) if denied.reason.is_empty() => format!("{call} is denied"),
                Decision::Denied(denied) => format!("{call} is denied: {}", shown(&denied.reason)),
                _ => format!("{call} is approved"),
            };
            by(what, decided.by.as_deref())
        }
        EntryBody::RerunAllowed(allowed) => by(
            format!("{} may be run again", allowed.call),
            allowed.by.as_deref(),
        ),
        EntryBody::StopRequested(stop) => {
            let what = match stop.reason.as_str() {
                "" => "the run is to stop".to_owned(),
                reason => format!("the run is to stop: {}", shown(reason)),
            };
            by(what, stop.by.as_deref())
        }
        EntryBody::Annotated(_) => "the caller's own facts change".to_owned(),
        EntryBody::LateOutcome(late) => {
            format!(
                "{} has a result that comes too late: {}",
                late.call, late.outcome
            )
        }
        EntryBody::Expired(expired) => format!("{} waited too long", expired.call),
        EntryBody::RunStarted(started) => {
            let mut what = format!("a run begins by {}", started.op);
            if let Some(model) = &started.model {
                what = format!("{what}, model {}", one_line(&model.to_string()));
            }
            if !started.tools.is_empty() {
                let names: Vec<&str> = started
                    .tools
                    .iter()
                    .map(|tool| tool.name.as_str())
                    .collect();
                what = format!("{what}, tools {}", shown(&names.join(", ")));
            }
            what
        }
        EntryBody::ModelResponded(responded) => self::responded(responded),
        EntryBody::ModelFailed(failed) => format!(
            "turn {}, attempt {}: the model gives no answer ({}): {}",
            failed.turn,
            failed.attempt,
            failed.end,
            shown(&failed.error.message)
        ),
        EntryBody::CallsPlanned(planned) => self::planned(planned),
        EntryBody::ToolIntent(intent) => format!(
            "{} is about to run {}, attempt {}, {}",
            intent.call,
            one_line(intent.tool.as_str()),
            intent.attempt,
            intent.effect.as_str()
        ),
        EntryBody::ToolOutcome(outcome) => {
            let what = match (&outcome.question, outcome.content.as_str()) {
                (Some(question), _) => format!("asks: {}", shown(&question.question)),
                (None, "") => format!("is {}", outcome.outcome),
                (None, content) => format!("is {}: {}", outcome.outcome, shown(content)),
            };
            format!("{} {what}", outcome.call)
        }
        EntryBody::Halted(halted) => format!("the run halts: {}", shown(halted.reason.as_str())),
        EntryBody::WentOn(went_on) => format!("the run goes on after turn {}", went_on.turn),
        EntryBody::RunFailed(failed) => {
            format!("the run cannot go on: {}", shown(&failed.message))
        }
        EntryBody::Recovered(recovered) => {
            let mut what = "another process takes the run over".to_owned();
            if recovered.lost_model_call {
                what.push_str(", an answer of the model is lost");
            }
            for call in &recovered.open_intents {
                what = format!("{what}, {call} may have begun");
            }
            what
        }
        other => other.kind().replace('_', " "),
    }
}

fn shown(text: &str) -> String {
    cut(&one_line(text), SHOWN)
}

fn by(what: String, by: Option<&str>) -> String {
    match by {
        None => what,
        Some(by) => format!("{what} (by {})", one_line(by)),
    }
}

fn text(message: &Message) -> String {
    parts(&message.content)
}

fn parts(parts: &[Part]) -> String {
    let texts: Vec<&str> = parts.iter().filter_map(Part::as_text).collect();
    let is_other = |part: &&Part| !matches!(part, Part::Text(_) | Part::Reasoning(_));
    let others = parts.iter().filter(is_other).count();
    match others {
        0 => shown(&texts.join(" ")),
        1 => format!("{} [and 1 other part]", shown(&texts.join(" "))),
        others => format!("{} [and {others} other parts]", shown(&texts.join(" "))),
    }
}

fn responded(responded: &ModelResponded) -> String {
    let message = &responded.response.message;
    let mut what = format!("turn {}", responded.turn);
    if responded.attempt > 1 {
        what = format!("{what}, attempt {}", responded.attempt);
    }
    if !message.content.is_empty() {
        what = format!("{what}, assistant: {}", text(message));
    }
    for call in &message.tool_calls {
        let (name, arguments) = (one_line(&call.name), shown(&call.raw_arguments));
        what = format!("{what}, calls {name}({arguments})");
    }
    match tokens(&responded.response.usage) {
        Some(tokens) => format!("{what} ({tokens})"),
        None => what,
    }
}

fn planned(planned: &CallsPlanned) -> String {
    let plan = |plan: &allm::session::PlanOfCall| {
        let what = match &plan.plan {
            CallPlan::Run(_) => "is to run",
            CallPlan::Manual(_) => "waits for its result from outside",
            CallPlan::Approve(_) => "waits for approval",
            CallPlan::Refuse(_) => "is refused",
            CallPlan::Unknown => "names no tool",
            _ => "is planned",
        };
        format!("t{}.c{} {what}", planned.turn, plan.index)
    };
    let plans: Vec<String> = planned.calls.iter().map(plan).collect();
    plans.join(", ")
}
