//! Beginning, dropping, cancelling, and what lies around a call.

use allm_core::{BoxStream, Capabilities, Event, FinishReason, Support};

use super::play::{End, Stage, fold};
use super::scenario::{Scenario, TEXT};
use super::{Act, Prepared, Traffic};
use crate::finding::{Checked, Finding, Rule, expect, expect_eq};

pub(super) const RULES: &[(Rule, Act)] = &[
    (
        Rule {
            name: "lazy",
            contract: "C138",
            behaviour: "nothing is sent before the first poll",
        },
        |stage| Box::pin(async { lazy(stage) }),
    ),
    (
        Rule {
            name: "one_attempt",
            contract: "core.md §9",
            behaviour: "a call sends one request, also when it fails",
        },
        |stage| Box::pin(async { one_attempt(stage) }),
    ),
    (
        Rule {
            name: "closed_at_the_end",
            contract: "C136",
            behaviour: "nothing is open when a stream has ended",
        },
        |stage| Box::pin(async { closed_at_the_end(stage) }),
    ),
    (
        Rule {
            name: "dropped",
            contract: "C135",
            behaviour: "dropping the stream closes the connection",
        },
        |stage| Box::pin(dropped(stage)),
    ),
    (
        Rule {
            name: "cancelled",
            contract: "C137",
            behaviour: "cancelling ends the stream with `cancelled`",
        },
        |stage| Box::pin(cancelled(stage)),
    ),
    (
        Rule {
            name: "cancelled_before",
            contract: "C137, L244",
            behaviour: "a call that is cancelled before its first poll gives `cancelled` and sends nothing",
        },
        |stage| Box::pin(cancelled_before(stage)),
    ),
    (
        Rule {
            name: "two_streams",
            contract: "C126, C187",
            behaviour: "two calls at once each get their whole answer",
        },
        |stage| Box::pin(two_streams(stage)),
    ),
    (
        Rule {
            name: "provider_name",
            contract: "core.md §2",
            behaviour: "the provider's name can stand in a model string and does not change",
        },
        |stage| Box::pin(async { provider_name(stage) }),
    ),
    (
        Rule {
            name: "capabilities",
            contract: "core.md §16",
            behaviour: "capabilities do not contradict each other and do not change",
        },
        |stage| Box::pin(async { capabilities(stage) }),
    ),
    (
        Rule {
            name: "check",
            contract: "C94",
            behaviour: "`check` accepts what the scenarios ask, without a key and without a request",
        },
        |stage| Box::pin(async { check(stage) }),
    ),
];

/// A scenario with a look at its traffic.
fn with_traffic(stage: &Stage<'_>, scenario: Scenario) -> Result<(Prepared, Traffic), Finding> {
    let prepared = stage.prepare(scenario)?;
    match prepared.seen() {
        Some(seen) => Ok((prepared, seen)),
        None => Err(Finding::skipped("the subject does not tell its traffic")),
    }
}

/// Any scenario that can be had.
fn anyone(stage: &Stage<'_>) -> Result<(Scenario, Prepared), Finding> {
    let mut all = Scenario::ALL.into_iter();
    let found = all.find_map(|scenario| Some((scenario, stage.prepare(scenario).ok()?)));
    found.ok_or_else(|| Finding::skipped("no scenario can be had"))
}

fn lazy(stage: &Stage<'_>) -> Checked {
    let (prepared, before) = with_traffic(stage, Scenario::Text)?;
    let stream = prepared.adapter.stream(prepared.call(Scenario::Text));
    drop(stream);
    expect_eq(&prepared.seen(), &Some(before))
}

fn one_attempt(stage: &Stage<'_>) -> Checked {
    stage.each(
        |played| played.traffic.is_some(),
        |played| expect_eq(&played.traffic.map(|traffic| traffic.opened), &Some(1)),
    )
}

fn closed_at_the_end(stage: &Stage<'_>) -> Checked {
    stage.each(
        |played| played.traffic.is_some(),
        |played| expect_eq(&played.traffic.map(|traffic| traffic.open), &Some(0)),
    )
}

/// Polls a stream up to its first piece of text.
async fn until_text(
    stage: &Stage<'_>,
    stream: &mut BoxStream<'static, Event>,
) -> Result<(), Finding> {
    loop {
        match stage.next(stream).await {
            Ok(Some(Event::TextDelta(_))) => return Ok(()),
            Ok(Some(_)) => {}
            // What is wrong there is the business of other rules.
            Ok(None) | Err(_) => {
                return Err(Finding::skipped("no piece of text came"));
            }
        }
    }
}

async fn dropped(stage: &Stage<'_>) -> Checked {
    let (prepared, _) = with_traffic(stage, Scenario::FallsSilent)?;
    let mut call = prepared.call(Scenario::FallsSilent);
    // So that it does not end by itself.
    call.timeouts = allm_core::Timeouts::default();
    let mut stream = prepared.adapter.stream(call);
    until_text(stage, &mut stream).await?;
    drop(stream);
    let is_closed = || prepared.seen().is_some_and(|seen| seen.open == 0);
    expect(stage.soon(is_closed).await, "nothing is open", || {
        format!("{:?}", prepared.seen())
    })
}

async fn cancelled(stage: &Stage<'_>) -> Checked {
    let prepared = stage.prepare(Scenario::FallsSilent)?;
    let mut call = prepared.call(Scenario::FallsSilent);
    call.timeouts = allm_core::Timeouts::default();
    let cancel = call.cancel.clone();
    let mut stream = prepared.adapter.stream(call);
    until_text(stage, &mut stream).await?;
    cancel.cancel();
    let mut events = Vec::new();
    loop {
        match stage.next(&mut stream).await {
            Ok(Some(event)) => events.push(event),
            Ok(None) => break,
            Err(_) => return Err(Finding::failed(CANCELLED, "no end")),
        }
    }
    // What had come over the wire by then may still be told.
    is_cancelled(events.last())
}

const CANCELLED: &str = "an `error` with `cancelled`, and the end";

fn is_cancelled(event: Option<&Event>) -> Checked {
    let is_so = |event: &Event| match event {
        Event::Error(error) => error.error.reason == "cancelled",
        _ => false,
    };
    expect(event.is_some_and(is_so), CANCELLED, || format!("{event:?}"))
}

async fn cancelled_before(stage: &Stage<'_>) -> Checked {
    let (scenario, prepared) = anyone(stage)?;
    let before = prepared.seen();
    let call = prepared.call(scenario);
    call.cancel.cancel();
    let mut stream = prepared.adapter.stream(call);
    match stage.next(&mut stream).await {
        Ok(event) => is_cancelled(event.as_ref())?,
        Err(end) => return Err(Finding::failed(CANCELLED, format!("{end:?}"))),
    }
    match stage.next(&mut stream).await {
        Ok(None) => {}
        other => return Err(Finding::failed(CANCELLED, format!("{other:?} after it"))),
    }
    expect_eq(&prepared.seen(), &before)
}

async fn two_streams(stage: &Stage<'_>) -> Checked {
    let scenario = Scenario::TextInPieces;
    let prepared = stage.prepare(scenario)?;
    let mut streams = [(); 2].map(|()| Some(prepared.adapter.stream(prepared.call(scenario))));
    let mut events = [Vec::new(), Vec::new()];
    // Turn by turn, so that the two are open together all the time.
    while streams.iter().any(Option::is_some) {
        for (slot, events) in streams.iter_mut().zip(&mut events) {
            let Some(stream) = slot else {
                continue;
            };
            match stage.next(stream).await {
                Ok(Some(event)) => events.push(event),
                Ok(None) => *slot = None,
                Err(End::Panicked(text)) => return Err(Finding::failed("events", text)),
                Err(_) => return Err(Finding::failed("the end of both", "no end")),
            }
        }
    }
    for events in &events {
        let response = fold(events.iter());
        let found = (response.text(), response.finish_reason);
        expect_eq(&found, &(TEXT.to_owned(), Some(FinishReason::Stop)))?;
    }
    Ok(())
}

fn provider_name(stage: &Stage<'_>) -> Checked {
    let (_, prepared) = anyone(stage)?;
    let name = prepared.adapter.provider().clone();
    let model = format!("{name}:model").parse::<allm_core::ModelRef>();
    expect(
        model.is_ok(),
        "1–32 of `a-z 0-9 _ -`, a letter first",
        || name.to_string(),
    )?;
    expect_eq(prepared.adapter.provider(), &name)
}

fn capabilities(stage: &Stage<'_>) -> Checked {
    let (_, prepared) = anyone(stage)?;
    for model in [&*prepared.model, "a-model-that-nobody-knows", ""] {
        let found = prepared.adapter.capabilities(model);
        expect_eq(&prepared.adapter.capabilities(model), &found)?;
        let Capabilities {
            tools,
            parallel_tool_calls,
            json_schema,
            tools_with_json_schema,
            max_input_tokens,
            max_output_tokens,
            ..
        } = found;
        let needs = |part: Support, whole: Support| part != Support::Yes || !whole.is_no();
        let holds = needs(parallel_tool_calls, tools)
            && needs(tools_with_json_schema, tools)
            && needs(tools_with_json_schema, json_schema)
            && max_input_tokens != Some(0)
            && max_output_tokens != Some(0);
        expect(holds, "capabilities that fit together", || {
            format!("{found:?}")
        })?;
    }
    Ok(())
}

fn check(stage: &Stage<'_>) -> Checked {
    anyone(stage).map(drop)?;
    for scenario in Scenario::ALL {
        let Ok(prepared) = stage.prepare(scenario) else {
            continue;
        };
        let before = prepared.seen();
        let mut call = prepared.call(scenario);
        call.key = None;
        for _ in 0..2 {
            let checked = prepared.adapter.check(&call);
            expect_eq(&checked, &Ok(())).map_err(|finding| finding.at(&scenario.name()))?;
        }
        expect_eq(&prepared.seen(), &before)?;
    }
    Ok(())
}
