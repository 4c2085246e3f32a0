//! Cancelling, dropping, and what holds a thread.

use std::time::Duration;

use allm_core::{Map, ToolReason};

use super::bench::{Bench, Outcome, context};
use super::{Behaviour, Look};
use crate::finding::{Checked, Finding, Rule, expect};
use crate::wait::{self, polled_once};

pub(super) const RULES: &[(Rule, Look)] = &[
    (
        Rule {
            name: "no_time_limit",
            contract: "L46",
            behaviour: "a tool that does not reply is waited for: limits are the runner's",
        },
        |bench| Box::pin(no_time_limit(bench)),
    ),
    (
        Rule {
            name: "cancel_reaches_the_tool",
            contract: "L38",
            behaviour: "a tool that waits for the cancel token hears of it, or is stopped as `handler_exit`",
        },
        |bench| Box::pin(cancel_reaches(bench)),
    ),
    (
        Rule {
            name: "cancelled_before",
            contract: "L43",
            behaviour: "a call that is cancelled before it begins runs, or is a `handler_exit`",
        },
        |bench| Box::pin(cancelled_before(bench)),
    ),
    (
        Rule {
            name: "dropped",
            contract: "L271",
            behaviour: "nothing of a tool goes on when its call is dropped",
        },
        |bench| Box::pin(dropped(bench, Behaviour::NeverReturn)),
    ),
    (
        Rule {
            name: "dropped_though_deaf",
            contract: "L101, L271",
            behaviour: "a tool that takes no notice of its cancel token is stopped by dropping its call",
        },
        |bench| Box::pin(dropped(bench, Behaviour::IgnoreCancel)),
    ),
    (
        Rule {
            name: "dropped_unpolled",
            contract: "L274",
            behaviour: "a call that is dropped before its first poll runs nothing",
        },
        |bench| Box::pin(async { dropped_unpolled(bench) }),
    ),
    (
        Rule {
            name: "blocking",
            contract: "L18",
            behaviour: "a tool that holds its thread does not hold that of the caller",
        },
        |bench| Box::pin(blocking(bench)),
    ),
];

async fn no_time_limit(bench: &Bench<'_>) -> Checked {
    let prepared = bench.prepare(Behaviour::NeverReturn)?;
    let context = context(&prepared.tool, 0);
    let run = prepared
        .executor
        .execute(&prepared.tool, Map::new().into(), &context);
    let moment = bench.subject.sleep(Duration::from_millis(50));
    match wait::before(moment, wait::caught(run)).await {
        None => Ok(()),
        Some(outcome) => Err(Finding::failed("no outcome", format!("{outcome:?}"))),
    }
}

/// The tool's own reply, or that it was stopped.
fn replied_or_stopped(outcome: &Outcome, behaviour: Behaviour) -> Checked {
    let is_right = match (outcome, behaviour.reply()) {
        (Ok(found), Some(reply)) => *found == reply,
        (Ok(_), None) => true,
        (Err(error), _) => error.reason == ToolReason::HandlerExit,
    };
    expect(is_right, "the tool's reply, or `handler_exit`", || {
        format!("{outcome:?}")
    })
}

async fn cancel_reaches(bench: &Bench<'_>) -> Checked {
    let prepared = bench.prepare_seen(Behaviour::WaitForCancel)?;
    let context = context(&prepared.tool, 0);
    let run = bench.outcome(&prepared, Map::new(), &context);
    let cancel = async {
        prepared.witness.has_begun(1).await;
        context.cancel.cancel();
    };
    let (run, ()) = both(run, cancel).await;
    replied_or_stopped(&run?, Behaviour::WaitForCancel)
}

/// The output of `a`, beside which `b` is polled.
async fn both<A: Future, B: Future<Output = ()>>(a: A, b: B) -> (A::Output, ()) {
    let (mut a, mut b) = (std::pin::pin!(a), std::pin::pin!(b));
    let mut is_over = false;
    let output = std::future::poll_fn(|cx| {
        if !is_over {
            is_over = b.as_mut().poll(cx).is_ready();
        }
        a.as_mut().poll(cx)
    });
    (output.await, ())
}

async fn cancelled_before(bench: &Bench<'_>) -> Checked {
    let prepared = bench.prepare(Behaviour::ReplyText)?;
    let context = context(&prepared.tool, 0);
    context.cancel.cancel();
    let outcome = bench.outcome(&prepared, Map::new(), &context).await?;
    replied_or_stopped(&outcome, Behaviour::ReplyText)
}

async fn dropped(bench: &Bench<'_>, behaviour: Behaviour) -> Checked {
    let prepared = bench.prepare_seen(behaviour)?;
    let context = context(&prepared.tool, 0);
    let mut run = prepared
        .executor
        .execute(&prepared.tool, Map::new().into(), &context);
    let begun = async {
        let begun = prepared.witness.has_begun(1);
        // The call is polled for as long as the tool takes to begin.
        wait::first(begun, &mut run).await
    };
    if let Some(outcome) = bench.soon("the tool begins", begun).await? {
        return Err(Finding::failed("no outcome", format!("{outcome:?}")));
    }
    if behaviour == Behaviour::IgnoreCancel {
        context.cancel.cancel();
        if let std::task::Poll::Ready(outcome) = polled_once(&mut run).await {
            // Stopping it here, without being dropped, is as good.
            replied_or_stopped(&outcome, behaviour)?;
        }
    }
    drop(run);
    bench.is_over(&prepared.witness).await
}

fn dropped_unpolled(bench: &Bench<'_>) -> Checked {
    let prepared = bench.prepare_seen(Behaviour::NeverReturn)?;
    let context = context(&prepared.tool, 0);
    drop(
        prepared
            .executor
            .execute(&prepared.tool, Map::new().into(), &context),
    );
    let begun = prepared.witness.begun();
    expect(begun == 0, "the tool does not begin", || {
        "it began".to_owned()
    })
}

async fn blocking(bench: &Bench<'_>) -> Checked {
    let prepared = bench.prepare_seen(Behaviour::Blocking)?;
    let context = context(&prepared.tool, 0);
    let mut run = prepared
        .executor
        .execute(&prepared.tool, Map::new().into(), &context);
    let begun = prepared.witness.has_begun(1);
    let early = bench
        .soon("the tool begins", wait::first(begun, &mut run))
        .await?;
    let too_long = prepared.witness.was_held_too_long();
    prepared.witness.release();
    expect(!too_long, "the caller's thread goes on", || {
        "it was held until the tool gave up".to_owned()
    })?;
    if let Some(outcome) = early {
        return Err(Finding::failed("no outcome yet", format!("{outcome:?}")));
    }
    let outcome = bench.soon("an outcome of the call", run).await?;
    replied_or_stopped(&outcome, Behaviour::Blocking)
}
