//! Crashes are told as what they are.

use allm_core::{Map, ToolError, ToolName, ToolReason};

use super::bench::{Bench, context, error, has_cause};
use super::{Behaviour, CRASH_TEXT, Look};
use crate::finding::{Checked, Finding, Rule, expect, expect_eq};

pub(super) const RULES: &[(Rule, Look)] = &[
    (
        Rule {
            name: "panic",
            contract: "L40",
            behaviour: "a panic is a `handler_raised` with its text as the cause",
        },
        |bench| Box::pin(panics(bench, Behaviour::Panic)),
    ),
    (
        Rule {
            name: "panic_later",
            contract: "L42",
            behaviour: "a panic after a wait is a `handler_raised` with its text as the cause",
        },
        |bench| Box::pin(panics(bench, Behaviour::PanicLater)),
    ),
    (
        Rule {
            name: "panic_without_text",
            contract: "L41",
            behaviour: "a panic whose payload is not text is a `handler_raised` with a fixed cause",
        },
        |bench| Box::pin(panics_without_text(bench)),
    ),
    (
        Rule {
            name: "exit",
            contract: "L43",
            behaviour: "a process that ends without a reply is a `handler_exit` with a cause",
        },
        |bench| Box::pin(fails(bench, Behaviour::Exit, ToolReason::HandlerExit)),
    ),
    (
        Rule {
            name: "killed_by_signal",
            contract: "L43",
            behaviour: "a process that is killed is a `handler_exit` with a cause",
        },
        |bench| {
            Box::pin(fails(
                bench,
                Behaviour::KilledBySignal,
                ToolReason::HandlerExit,
            ))
        },
    ),
    (
        Rule {
            name: "invalid_return",
            contract: "L28",
            behaviour: "a reply that is none is an `invalid_return` with the value as its cause",
        },
        |bench| {
            Box::pin(fails(
                bench,
                Behaviour::InvalidReturn,
                ToolReason::InvalidReturn,
            ))
        },
    ),
    (
        Rule {
            name: "endless_reply",
            contract: "L112",
            behaviour: "a reply without an end is read up to a limit, stopped, and an `invalid_return`",
        },
        |bench| Box::pin(endless(bench)),
    ),
    (
        Rule {
            name: "not_found",
            contract: "L44",
            behaviour: "a tool that nothing runs for is a `not_found`",
        },
        |bench| Box::pin(not_found(bench)),
    ),
    (
        Rule {
            name: "crash_text_stays_in_the_cause",
            contract: "L76",
            behaviour: "the text of a panic stands in the cause, not in the message or the metadata",
        },
        |bench| Box::pin(text_stays(bench)),
    ),
    (
        Rule {
            name: "errors_name_their_call",
            contract: "L40, L51",
            behaviour: "tool name and call id of an error are those of the call, or left to the runner",
        },
        |bench| Box::pin(names(bench)),
    ),
    (
        Rule {
            name: "runs_once",
            contract: "L47",
            behaviour: "a call runs its tool once, also when it fails",
        },
        |bench| Box::pin(once(bench)),
    ),
];

async fn panics(bench: &Bench<'_>, behaviour: Behaviour) -> Checked {
    let error = error(bench.run(behaviour).await?, ToolReason::HandlerRaised)?;
    let cause = error.cause.map(|cause| cause.message);
    expect_eq(&cause.as_deref(), &Some(CRASH_TEXT))
}

async fn panics_without_text(bench: &Bench<'_>) -> Checked {
    let outcome = bench.run(Behaviour::PanicWithoutText).await?;
    has_cause(&error(outcome, ToolReason::HandlerRaised)?)
}

async fn fails(bench: &Bench<'_>, behaviour: Behaviour, reason: ToolReason) -> Checked {
    has_cause(&error(bench.run(behaviour).await?, reason)?)
}

async fn endless(bench: &Bench<'_>) -> Checked {
    let prepared = bench.prepare(Behaviour::Endless)?;
    let context = context(&prepared.tool, 0);
    let outcome = bench.outcome(&prepared, Map::new(), &context).await?;
    error(outcome, ToolReason::InvalidReturn)?;
    bench.is_over(&prepared.witness).await
}

async fn not_found(bench: &Bench<'_>) -> Checked {
    error(bench.run(Behaviour::NoHandler).await?, ToolReason::NotFound).map(drop)
}

/// An error of a tool that failed here.
struct Seen {
    behaviour: Behaviour,
    tool: ToolName,
    error: ToolError,
}

/// The errors of all tools that fail here.
async fn errors(bench: &Bench<'_>, behaviours: &[Behaviour]) -> Result<Vec<Seen>, Finding> {
    let mut errors = Vec::new();
    for behaviour in behaviours {
        let Ok(prepared) = bench.prepare(*behaviour) else {
            continue;
        };
        let context = context(&prepared.tool, 0);
        // Whether it should be an error is the business of other rules.
        if let Ok(Err(error)) = bench.outcome(&prepared, Map::new(), &context).await {
            errors.push(Seen {
                behaviour: *behaviour,
                tool: prepared.tool.name,
                error,
            });
        }
    }
    if errors.is_empty() {
        return Err(Finding::skipped("no tool failed"));
    }
    Ok(errors)
}

async fn text_stays(bench: &Bench<'_>) -> Checked {
    let panics = [Behaviour::Panic, Behaviour::PanicLater];
    for Seen {
        behaviour, error, ..
    } in errors(bench, &panics).await?
    {
        let shown = format!("{} {:?}", error.message, error.metadata);
        let is_free = !shown.contains(CRASH_TEXT);
        expect(is_free, "no text of the panic", || shown)
            .map_err(|finding| finding.at(&behaviour.name()))?;
    }
    Ok(())
}

async fn names(bench: &Bench<'_>) -> Checked {
    let failing = [
        Behaviour::Panic,
        Behaviour::Exit,
        Behaviour::InvalidReturn,
        Behaviour::NoHandler,
    ];
    for Seen {
        behaviour,
        tool,
        error,
    } in errors(bench, &failing).await?
    {
        let name = error.tool_name.as_ref();
        let id = error.tool_call_id.as_ref();
        let is_right =
            name.is_none_or(|name| *name == tool) && id.is_none_or(|id| id.as_str() == "call-0");
        expect(is_right, "the names of the call, or none", || {
            format!("{error:?}")
        })
        .map_err(|finding| finding.at(&behaviour.name()))?;
    }
    Ok(())
}

async fn once(bench: &Bench<'_>) -> Checked {
    let all = [
        Behaviour::ReplyText,
        Behaviour::ReportError,
        Behaviour::Panic,
        Behaviour::Exit,
        Behaviour::InvalidReturn,
    ];
    let mut is_seen = false;
    for behaviour in all {
        let Ok(prepared) = bench.prepare_seen(behaviour) else {
            continue;
        };
        is_seen = true;
        let context = context(&prepared.tool, 0);
        // Its outcome is the business of other rules.
        let _ = bench.outcome(&prepared, Map::new(), &context).await;
        let begun = bench.soon("the tool begins", prepared.witness.has_begun(1));
        begun
            .await
            .map_err(|finding| finding.at(&behaviour.name()))?;
        let begun = prepared.witness.begun();
        expect(begun == 1, "once", || format!("{begun} times"))
            .map_err(|finding| finding.at(&behaviour.name()))?;
    }
    if is_seen {
        return Ok(());
    }
    Err(Finding::skipped("no tool keeps its witness"))
}
