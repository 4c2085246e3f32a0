//! Settings of runs: engine and call, and the options of the runner alone.

use std::sync::Arc;
use std::time::Duration;

use allm::run::UnknownTools;
use allm::{
    ApprovalAnswer, ApprovalRequest, BoxFuture, EncodeError, ErrorDecision, Map, Mode, OnToolError,
    OnUnknownOutcome, ResponseFormat, StepResult, Timeouts, Tool, ToolContext, ToolError,
    ToolExecutor, ToolReply, ToolResultEncoder,
};
use serde_json::Value;

use crate::drive::Seen;
use crate::row::{Row, Said, row};
use crate::scene::{NOTE, SILENCE, STUCK, Scene};

struct Executes(usize);

impl ToolExecutor for Executes {
    fn execute<'a>(
        &'a self,
        _: &'a Tool,
        _: Arc<Map>,
        _: &'a ToolContext,
    ) -> BoxFuture<'a, Result<ToolReply, ToolError>> {
        Box::pin(async { Ok(ToolReply::ok(&self.0)) })
    }
}

struct Encodes(usize);

impl ToolResultEncoder for Encodes {
    fn encode(&self, _: &Value) -> Result<String, EncodeError> {
        Ok(self.0.to_string())
    }
}

fn mended(i: usize) -> OnToolError {
    OnToolError::decide(move |_, _| ErrorDecision::continue_with(i))
}

fn halts_at(i: usize) -> impl Fn(&StepResult) -> bool + Send + Sync + 'static {
    move |step| step.step_index as usize == i
}

/// The value, else what is there when nothing is said.
fn value<T: ToString>(said: Option<Said>, values: [T; 3], otherwise: impl ToString) -> String {
    match said {
        Some(Said::Value(i)) => values[i].to_string(),
        Some(Said::Off) | None => otherwise.to_string(),
    }
}

fn calls(seen: &Seen) -> String {
    seen.notes.calls.len().to_string()
}

fn handled(seen: &Seen) -> String {
    seen.notes.handled.len().to_string()
}

fn first_result(seen: &Seen) -> String {
    format!("{:?}", seen.results.first())
}

fn seconds(seen: &Seen) -> String {
    seen.took.as_secs().to_string()
}

const LIMITS: [u64; 3] = [1, 5, 50];

fn limit(i: usize) -> Duration {
    Duration::from_secs(LIMITS[i])
}

/// How many calls of six run at once when nobody says how many.
fn by_cores() -> usize {
    6.min(2 * std::thread::available_parallelism().map_or(1, usize::from))
}

/// In another scene.
fn at(scene: Scene, row: Row) -> Row {
    Row { scene, ..row }
}

pub(crate) fn rows() -> Vec<Row> {
    let mut rows = runner_rows();
    rows.extend(loop_rows());
    rows.extend(session_rows());
    rows
}

fn asks(i: usize) -> impl Fn(&ApprovalRequest<'_>) -> ApprovalAnswer + Send + Sync + 'static {
    move |_| match i {
        0 => ApprovalAnswer::ask("it is much"),
        _ => ApprovalAnswer::Run,
    }
}

/// Those that came with sessions.
fn session_rows() -> Vec<Row> {
    vec![
        at(
            NOTE,
            row! {
                ApprovalPolicy in Text, approval_policy(|i| 2: asks(i)), on [engine step chat session],
                observe: handled,
                expected: |said| match said {
                    Some(Said::Value(0)) => "0",
                    _ => "1",
                }.to_owned(),
            },
        ),
        at(
            Scene::Calls("gated"),
            row! {
                ApprovalExpiry in Text, approval_expiry(|i| 3: limit(i)), on [engine session],
                observe: |seen| {
                    let session = seen.session.as_ref().unwrap();
                    let approval = session.approvals().remove(0);
                    let asked = approval.requested_at.as_millis();
                    let open = approval.expires_at.map(|at| at.as_millis() - asked);
                    // The approval is asked for a moment after its end was found.
                    format!("{:?}", open.map(|millis| (millis + 900) / 1000))
                },
                expected: |said| match said {
                    Some(Said::Value(i)) => format!("Some({})", LIMITS[i]),
                    Some(Said::Off) => "None".to_owned(),
                    None => format!("Some({})", 24 * 60 * 60),
                },
            },
        ),
        at(
            Scene::Calls("left"),
            row! {
                WaitExpiry in Text, wait_expiry(|i| 3: limit(i)), on [engine session],
                observe: |seen| {
                    let session = seen.session.as_ref().unwrap();
                    let since = session.created_at().unwrap().as_millis();
                    let open = session.next_expiry().map(|at| at.as_millis() - since);
                    // The session was made a moment before.
                    format!("{:?}", open.map(|millis| millis / 1000))
                },
                expected: |said| match said {
                    Some(Said::Value(i)) => format!("Some({})", LIMITS[i]),
                    Some(Said::Off) | None => "None".to_owned(),
                },
            },
        ),
        at(
            STUCK,
            row! {
                OnUnknownOutcome in Text,
                on_unknown_outcome(|i| 2: [OnUnknownOutcome::AskPerson, OnUnknownOutcome::TellModel][i]),
                on [engine session],
                observe: |seen| seen.session.as_ref().unwrap().status().to_string(),
                expected: |said| match said {
                    Some(Said::Value(0)) => "awaiting_tools",
                    _ => "completed",
                }.to_owned(),
            },
        ),
    ]
}

/// Those that the runner has on its own, too.
fn runner_rows() -> Vec<Row> {
    vec![
        at(
            NOTE,
            row! {
                Context in Text, context(|i| 3: i), on [engine step chat runner],
                observe: |seen| {
                    let given = seen.notes.handled.first().and_then(|context| context.get::<usize>());
                    format!("{given:?}")
                },
                expected: |said| value(said, ["Some(0)", "Some(1)", "Some(2)"], "None"),
            },
        ),
        at(
            Scene::Calls("fails"),
            row! {
                OnToolError in Text, on_tool_error(|i| 3: mended(i)), on [engine step chat runner],
                observe: |seen| match seen.results.first() {
                    Some(text) if text.contains("it failed") => "told".to_owned(),
                    text => format!("{text:?}"),
                },
                expected: |said| value(said, [r#"Some("0")"#, r#"Some("1")"#, r#"Some("2")"#], "told"),
            },
        ),
        at(
            Scene::Calls("nobody"),
            row! {
                UnknownTools in Text,
                unknown_tools(|i| 2: [UnknownTools::TellModel, UnknownTools::Refuse][i]),
                on [engine step chat runner],
                observe: |seen| or_else(seen.failed.clone(), "told"),
                expected: |said| match said {
                    Some(Said::Value(0)) => "told".to_owned(),
                    _ => "unknown_tool".to_owned(),
                },
            },
        ),
        at(
            Scene::Calls("slow"),
            row! {
                ToolTimeout in Text, tool_timeout(|i| 3: limit(i)), on [engine step chat runner],
                observe: seconds,
                expected: |said| match said {
                    Some(Said::Value(i)) => LIMITS[i],
                    // The tool's own time: there is no limit.
                    Some(Said::Off) => SILENCE.as_secs(),
                    None => 30,
                }.to_string(),
            },
        ),
        row! {
            MaxConcurrency in Many, max_concurrency(|i| 3: [1, 2, 3][i]), on [engine step chat runner],
            observe: |seen| seen.notes.peak.to_string(),
            expected: |said| value(said, [1, 2, 3], by_cores()),
        },
        at(
            Scene::Calls("long"),
            row! {
                MaxToolOutput in Text, max_tool_output(|i| 3: [10, 20, 30][i]), on [engine step chat runner],
                    observe: |seen| {
                    let text = seen.results.first().map_or("", String::as_str);
                    let kept = text.bytes().take_while(|byte| *byte == b'x');
                    kept.count().to_string()
                },
                expected: |said| value(said, [10, 20, 30], 262_144),
            },
        ),
        row! {
            MaxToolArguments in Arguments, max_tool_arguments(|i| 3: [5, 50, 500][i]),
            on [engine step chat runner],
            observe: handled,
            expected: |said| value(said, [0, 1, 2], 3),
        },
        at(
            NOTE,
            row! {
                Executor in Text, executor(|i| 3: Executes(i)), on [engine step chat runner],
                observe: first_result,
                expected: |said| value(said, [r#"Some("0")"#, r#"Some("1")"#, r#"Some("2")"#], r#"Some("noted")"#),
            },
        ),
        at(
            NOTE,
            row! {
                Encoder in Text, encoder(|i| 3: Encodes(i)), on [engine step chat runner],
                observe: first_result,
                expected: |said| value(said, [r#"Some("0")"#, r#"Some("1")"#, r#"Some("2")"#], r#"Some("noted")"#),
            },
        ),
    ]
}

fn or_else(text: Option<String>, otherwise: &str) -> String {
    text.unwrap_or_else(|| otherwise.to_owned())
}

/// Those of the loop.
fn loop_rows() -> Vec<Row> {
    vec![
        at(
            NOTE,
            row! {
                Mode in Text, mode(|i| 2: [Mode::Manual, Mode::Auto][i]), on [engine step chat],
                observe: handled,
                expected: |said| match said {
                    Some(Said::Value(0)) => "0",
                    _ => "1",
                }.to_owned(),
            },
        ),
        row! {
            MaxTurns in Endless, max_turns(|i| 3: [2, 3, 5][i]), on [engine chat],
            observe: calls,
            expected: |said| value(said, [2, 3, 5], 8),
        },
        row! {
            HaltWhen in Endless, halt_when(|i| 3: halts_at(i)), on [engine chat],
            observe: calls,
            expected: |said| value(said, [1, 2, 3], 8),
        },
        Row {
            engine: Some(|builder, _| builder.structured_finalize()),
            chat: Some(|chat, _| chat.structured_finalize()),
            base: |builder| builder.response_format(ResponseFormat::JsonObject),
            observe: calls,
            expected: |said| match said {
                Some(Said::Value(_)) => "2".to_owned(),
                Some(Said::Off) | None => "1".to_owned(),
            },
            ..Row::new(allm::Setting::StructuredFinalize, Scene::Text, 1)
        },
        row! {
            StructuredFinalizeNudge in Text,
            structured_finalize_nudge(|i| 3: ["n-0", "n-1", ""][i]), on [engine chat],
            base: |builder| {
                let builder = builder.response_format(ResponseFormat::JsonObject);
                builder.structured_finalize()
            },
            observe: |seen| {
                let messages = &seen.notes.calls.last().unwrap().request.messages;
                messages.iter().next_back().unwrap().text()
            },
            // An empty nudge adds nothing: the last message is the answer.
            expected: |said| value(said, ["n-0", "n-1", "ab"], allm::limits::FINALIZE_NUDGE),
        },
        row! {
            TurnDeadline in Silent, turn_deadline(|i| 3: limit(i)), on [engine step chat],
            base: |builder| builder.timeouts(Timeouts::NONE),
            observe: seconds,
            expected: |said| value(said, LIMITS, SILENCE.as_secs()),
        },
        row! {
            RunDeadline in Silent, run_deadline(|i| 3: limit(i)), on [engine step chat],
            base: |builder| builder.timeouts(Timeouts::NONE),
            observe: seconds,
            expected: |said| value(said, LIMITS, SILENCE.as_secs()),
        },
        // A batch that does not fit does not run at all.
        row! {
            MaxToolCalls in Many, max_tool_calls(|i| 3: [0, 5, 6][i]), on [engine step chat],
            observe: handled,
            expected: |said| value(said, [0, 0, 6], 6),
        },
        // What a step spends is its only model call, which is made before anything is spent; so only a chat shows them.
        row! {
            MaxRunTokens in Endless, max_run_tokens(|i| 3: [5, 15, 25][i]), on [engine chat],
            observe: calls,
            expected: |said| value(said, [1, 2, 3], 8),
        },
        row! {
            MaxRunCost in Endless, max_run_cost(|i| 3: [0.5, 1.5, 2.5][i]), on [engine chat],
            observe: calls,
            expected: |said| value(said, [1, 2, 3], 8),
        },
    ]
}
