//! What a handler is told and what it says go through unchanged.

use std::iter::successors;
use std::sync::{Arc, Mutex};

use allm_core::limits::{MAX_ARGUMENT_DEPTH, MAX_TOOL_ARGUMENTS, MAX_TOOL_OUTPUT};
use allm_core::{
    Answer, Map, Part, Progress, ProgressSink, RequestId, SessionId, ToolContext, ToolReason,
    ToolReply,
};
use serde_json::{Value, json};

use super::bench::{Bench, context, value};
use super::{Behaviour, CallerValue, Look};
use crate::finding::{Checked, Finding, Rule, expect, expect_eq};
use crate::wait::lock;

pub(super) const RULES: &[(Rule, Look)] = &[
    (
        Rule {
            name: "text_reply",
            contract: "L20, L39",
            behaviour: "a text comes back unchanged",
        },
        |bench| Box::pin(unchanged(bench, Behaviour::ReplyText)),
    ),
    (
        Rule {
            name: "reported_error",
            contract: "L21, L39",
            behaviour: "a reported error stays a reply, with its message and its details",
        },
        |bench| Box::pin(unchanged(bench, Behaviour::ReportError)),
    ),
    (
        Rule {
            name: "question",
            contract: "L24, L39",
            behaviour: "a question comes back with its options",
        },
        |bench| Box::pin(unchanged(bench, Behaviour::AskUser)),
    ),
    (
        Rule {
            name: "question_to_go_on",
            contract: "L290, L291, L39",
            behaviour: "a question to go on with comes back with its options and its state",
        },
        |bench| Box::pin(unchanged(bench, Behaviour::AskAndGoOn)),
    ),
    (
        Rule {
            name: "halt",
            contract: "L26, L39",
            behaviour: "a halt comes back with its reason and its value",
        },
        |bench| Box::pin(unchanged(bench, Behaviour::Halt)),
    ),
    (
        Rule {
            name: "reserved_halt",
            contract: "L27",
            behaviour: "a reserved halt reason passes: the runner refuses it, not the executor",
        },
        |bench| Box::pin(unchanged(bench, Behaviour::HaltReserved)),
    ),
    (
        Rule {
            name: "arguments",
            contract: "L53",
            behaviour: "arguments reach the tool unchanged, whatever characters and numbers they hold",
        },
        |bench| Box::pin(arguments(bench, odd())),
    ),
    (
        Rule {
            name: "large_arguments",
            contract: "L59",
            behaviour: "arguments of 1 MiB reach the tool",
        },
        |bench| Box::pin(arguments(bench, large())),
    ),
    (
        Rule {
            name: "deep_arguments",
            contract: "L60",
            behaviour: "arguments of 128 levels reach the tool",
        },
        |bench| Box::pin(arguments(bench, deep())),
    ),
    (
        Rule {
            name: "context",
            contract: "L39",
            behaviour: "call, session, request and idempotency key reach the tool",
        },
        |bench| Box::pin(context_arrives(bench)),
    ),
    (
        Rule {
            name: "answer",
            contract: "L297",
            behaviour: "a person's answer reaches the tool, with the tool's own state",
        },
        |bench| Box::pin(answer_arrives(bench)),
    ),
    (
        Rule {
            name: "nothing_made_up",
            contract: "L36, L39",
            behaviour: "what is unknown in the context stays unknown",
        },
        |bench| Box::pin(nothing_made_up(bench)),
    ),
    (
        Rule {
            name: "callers_value",
            contract: "L29",
            behaviour: "the caller's own value reaches the tool",
        },
        |bench| Box::pin(callers_value(bench)),
    ),
    (
        Rule {
            name: "progress",
            contract: "L208",
            behaviour: "progress is passed on in order, with its last report, and before the reply",
        },
        |bench| Box::pin(progress(bench)),
    ),
    (
        Rule {
            name: "large_reply",
            contract: "L80, L112",
            behaviour: "a large reply is whole or an `invalid_return`; the executor does not cut it",
        },
        |bench| Box::pin(large_reply(bench)),
    ),
    (
        Rule {
            name: "check_asks_the_handler",
            contract: "L61",
            behaviour: "`check` gives the faults that the handler finds",
        },
        |bench| Box::pin(async { check_asks(bench) }),
    ),
    (
        Rule {
            name: "check_runs_nothing",
            contract: "L61, L65",
            behaviour: "`check` accepts what the handler takes, and runs nothing",
        },
        |bench| Box::pin(async { check_runs_nothing(bench) }),
    ),
];

async fn unchanged(bench: &Bench<'_>, behaviour: Behaviour) -> Checked {
    let outcome = bench.run(behaviour).await?;
    match behaviour.reply() {
        Some(reply) => expect_eq(&outcome, &Ok(reply)),
        None => Ok(()),
    }
}

async fn echoed(
    bench: &Bench<'_>,
    arguments: Map,
    change: impl FnOnce(&mut ToolContext),
) -> Result<Map, Finding> {
    let prepared = bench.prepare(Behaviour::Echo)?;
    let mut context = context(&prepared.tool, 7);
    change(&mut context);
    let outcome = bench.outcome(&prepared, arguments, &context).await?;
    match value(&outcome)? {
        Value::Object(told) => Ok(told.clone()),
        other => Err(Finding::failed("an object", format!("{other:?}"))),
    }
}

/// A part of what the tool was told; what is absent is unknown.
pub(super) fn part<'a>(told: &'a Map, name: &str) -> &'a Value {
    told.get(name).unwrap_or(&Value::Null)
}

async fn arguments(bench: &Bench<'_>, arguments: Map) -> Checked {
    let told = echoed(bench, arguments.clone(), |_| ()).await?;
    expect_eq(part(&told, "arguments"), &Value::Object(arguments))
}

fn odd() -> Map {
    Map::from_iter([
        (
            "empty".to_owned(),
            json!({"": "", "list": [], "none": null}),
        ),
        (
            "quote \" \\ / key".to_owned(),
            json!("a\"b\\c\u{0}\u{1f}\r\n\t"),
        ),
        (
            "Ünïcödé 🌍".to_owned(),
            json!("e\u{301} \u{202e}\u{2028}\u{feff}\u{10ffff}"),
        ),
        (
            "numbers".to_owned(),
            json!([0, -1, u64::MAX, i64::MIN, 0.1, 1.5e300, 5e-324]),
        ),
        ("flags".to_owned(), json!([true, false])),
        (
            "$(shell) `x` %s %n".to_owned(),
            json!("'; exit 1; '$HOME\\x41"),
        ),
    ])
}

/// As large as the runner lets through.
fn large() -> Map {
    let around = r#"{"text":""}"#.len();
    let text = "ä".repeat((MAX_TOOL_ARGUMENTS - around) / 2);
    Map::from_iter([("text".to_owned(), text.into())])
}

/// As deep as the runner lets through.
fn deep() -> Map {
    // The object itself is one level, what is innermost another.
    let inner = successors(Some(json!([])), |inner| Some(json!([inner])));
    let inner = inner.take(MAX_ARGUMENT_DEPTH - 1).last();
    Map::from_iter([("deep".to_owned(), inner.unwrap_or_default())])
}

async fn context_arrives(bench: &Bench<'_>) -> Checked {
    let told = echoed(bench, Map::new(), |context| {
        context.session_id = SessionId::new("session-1").ok();
        context.request_id = Some(RequestId::new("request-1"));
        context.idempotency_key = "key-1".into();
    })
    .await?;
    let names = ["call_id", "session_id", "request_id", "idempotency_key"];
    let found = names.map(|name| part(&told, name).clone());
    expect_eq(
        &found,
        &["call-7", "session-1", "request-1", "key-1"].map(Value::from),
    )
}

async fn answer_arrives(bench: &Bench<'_>) -> Checked {
    let parts = [Part::text("red\n"), Part::text("\"or\" blüe")];
    let answer = Answer::new(parts).state(json!({"page": 2, "nested": [null, 1.5, "ä"]}));
    let told = echoed(bench, Map::new(), |context| {
        context.answer = Some(answer.clone());
    });
    expect_eq(part(&told.await?, "answer"), &json!(answer))
}

async fn nothing_made_up(bench: &Bench<'_>) -> Checked {
    let told = echoed(bench, Map::new(), |_| ()).await?;
    for name in ["session_id", "request_id", "answer", "context"] {
        let found = part(&told, name);
        expect(found.is_null(), "null, or nothing", || {
            format!("`{name}` is {found}")
        })?;
    }
    let key = part(&told, "idempotency_key").as_str().unwrap_or_default();
    expect(key.is_empty(), "no idempotency key", || format!("`{key}`"))
}

async fn callers_value(bench: &Bench<'_>) -> Checked {
    let value = |context: &mut ToolContext| context.context = Some(Arc::new(CallerValue(41)));
    let told = echoed(bench, Map::new(), value).await?;
    if !told.contains_key("context") {
        return Err(Finding::skipped("the caller's value cannot reach the tool"));
    }
    expect_eq(part(&told, "context"), &json!(41))
}

#[derive(Default)]
struct Reports(Mutex<Vec<Progress>>);

impl ProgressSink for Reports {
    fn report(&self, progress: Progress) {
        lock(&self.0).push(progress);
    }
}

async fn progress(bench: &Bench<'_>) -> Checked {
    const COUNT: u32 = 5;
    let behaviour = Behaviour::Progress(COUNT);
    let prepared = bench.prepare(behaviour)?;
    let mut context = context(&prepared.tool, 0);
    let sink = Arc::new(Reports::default());
    context.progress = Some(Arc::clone(&sink) as Arc<dyn ProgressSink>);
    let outcome = bench.outcome(&prepared, Map::new(), &context).await?;
    let reports = std::mem::take(&mut *lock(&sink.0));
    expect_eq(&outcome.ok(), &behaviour.reply())?;
    let far = |report: &Progress| report.progress.unwrap_or_default();
    let is_ordered = reports.is_sorted_by(|a, b| far(a) < far(b));
    let is_right = |report: &Progress| {
        let words = format!("{} of {COUNT}", far(report));
        report.total == Some(f64::from(COUNT)) && report.message == Some(words)
    };
    let ends = reports.last().map(far) == Some(f64::from(COUNT));
    let holds = is_ordered && ends && reports.iter().all(is_right);
    // A newer report may replace one that was not yet delivered.
    let expected = "rising reports up to `5 of 5`, each at most once";
    expect(holds, expected, || format!("{reports:?}"))
}

async fn large_reply(bench: &Bench<'_>) -> Checked {
    let behaviour = Behaviour::Flood(4 * MAX_TOOL_OUTPUT);
    match bench.run(behaviour).await? {
        Err(error) if error.reason == ToolReason::InvalidReturn => Ok(()),
        outcome => {
            let is_whole = outcome.as_ref().ok() == behaviour.reply().as_ref();
            expect(
                is_whole,
                "the whole reply, or `invalid_return`",
                || match outcome {
                    Ok(ToolReply::Ok(value)) => {
                        let bytes = value.get().map(|value| value.to_string().len());
                        format!("a value of {bytes:?} bytes")
                    }
                    other => format!("{other:?}"),
                },
            )
        }
    }
}

fn check_asks(bench: &Bench<'_>) -> Checked {
    let prepared = bench.prepare(Behaviour::RefuseArguments)?;
    let checked = prepared.executor.check(&prepared.tool, &odd());
    expect_eq(&checked, &Err(vec![super::refusal()]))
}

fn check_runs_nothing(bench: &Bench<'_>) -> Checked {
    let prepared = bench.prepare_seen(Behaviour::Echo)?;
    let checked = prepared.executor.check(&prepared.tool, &odd());
    expect_eq(&checked, &Ok(()))?;
    let begun = prepared.witness.begun();
    expect(begun == 0, "the tool does not begin", || {
        format!("it began {begun} times")
    })
}
