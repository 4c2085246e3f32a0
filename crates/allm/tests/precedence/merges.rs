//! Settings whose levels are combined: each level says something of its own and something that all of them say.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use allm::{
    Chat, Engine, EngineBuilder, Generate, Map, ModelCall, Request, Step, Strict, Timeouts, Tool,
    ToolSpec,
};
use serde_json::{Value, json};

use crate::scene::{Notes, Probe, Scene, Shared};

const LEVELS: [&str; 3] = ["engine", "request", "call"];

struct Merge {
    name: &'static str,
    engine: fn(EngineBuilder) -> EngineBuilder,
    request: Option<fn(Request) -> Request>,
    generate: fn(Generate) -> Generate,
    step: fn(Step) -> Step,
    chat: fn(Chat) -> Chat,
    observe: fn(&ModelCall) -> Value,
    /// What is to be seen when these levels say something, the lowest first.
    expected: fn(&[&'static str]) -> Value,
}

/// A row in which the engine and the calls say the same through methods of the same names.
macro_rules! merge {
    (
        $name:literal, |$builder:ident, $level:ident| $say:expr, request: $request:expr,
        observe: $observe:expr, expected: $expected:expr $(,)?
    ) => {
        Merge {
            name: $name,
            engine: |$builder| {
                let $level = "engine";
                $say
            },
            generate: |$builder| {
                let $level = "call";
                $say
            },
            step: |$builder| {
                let $level = "call";
                $say
            },
            chat: |$builder| {
                let $level = "call";
                $say
            },
            request: $request,
            observe: $observe,
            expected: $expected,
        }
    };
}

fn map(value: Value) -> Map {
    match value {
        Value::Object(map) => map,
        other => panic!("no object: {other}"),
    }
}

fn extra(level: &str) -> Map {
    map(json!({
        level: level,
        "shared": level,
        "deep": {level: level, "shared": level, "deeper": {level: level}},
        "list": [level],
    }))
}

fn metadata(level: &str) -> Map {
    map(json!({level: level, "shared": {level: level}}))
}

fn tools(level: &str) -> [Tool; 2] {
    let tool = |name: &str| Tool::new(name, level, json!({"type": "object"}));
    let strict = match level {
        "request" => Strict::Yes,
        _ => Strict::Auto,
    };
    [tool("shared").strict(strict), tool(level)]
}

fn pairs(pairs: &[(String, String)]) -> Value {
    pairs
        .iter()
        .map(|(name, value)| json!([name, value]))
        .collect()
}

/// An object with `level: level` for each level, and what else is said.
fn each(levels: &[&'static str], besides: Value) -> Value {
    let own = levels
        .iter()
        .map(|level| ((*level).to_owned(), json!(level)));
    Value::Object(own.chain(map(besides)).collect())
}

fn highest(levels: &[&'static str]) -> &'static str {
    levels.last().unwrap()
}

fn rows() -> Vec<Merge> {
    vec![
        merge! {
            "extra", |builder, level| builder.extra(extra(level)),
            request: Some(|mut request| {
                request.extra = extra("request");
                request
            }),
            observe: |call| Value::Object(call.request.extra.clone()),
            expected: |levels| {
                let top = highest(levels);
                let deeper = each(levels, json!({}));
                let deep = each(levels, json!({"shared": top, "deeper": deeper}));
                each(levels, json!({"shared": top, "deep": deep, "list": [top]}))
            },
        },
        merge! {
            "metadata", |builder, level| builder.metadata(metadata(level)),
            request: Some(|mut request| {
                request.metadata = metadata("request");
                request
            }),
            observe: |call| Value::Object(call.request.metadata.clone()),
            expected: |levels| {
                let top = highest(levels);
                each(levels, json!({"shared": {top: top}}))
            },
        },
        merge! {
            "headers", |builder, level| {
                let shared = if level == "engine" { "X-Shared" } else { "x-shared" };
                builder.header(level, level).header(shared, level)
            },
            request: None,
            observe: |call| pairs(&call.headers),
            expected: |levels| {
                let mut all: Vec<_> = levels.iter().map(|level| json!([level, level])).collect();
                all.push(json!(["x-shared", highest(levels)]));
                all.sort_by_key(ToString::to_string);
                Value::Array(all)
            },
        },
        merge! {
            "query", |builder, level| builder.query(level, level).query("shared", level),
            request: None,
            observe: |call| pairs(&call.query),
            expected: |levels| {
                let mut all: Vec<_> = levels.iter().map(|level| json!([level, level])).collect();
                all.push(json!(["shared", highest(levels)]));
                all.sort_by_key(ToString::to_string);
                Value::Array(all)
            },
        },
        merge! {
            "tools", |builder, level| builder.tools(tools(level)),
            request: Some(|mut request| {
                request.tools = tools("request").iter().map(Tool::spec).collect();
                request
            }),
            observe: |call| {
                let specs = call.request.tools.iter().map(|spec| match spec {
                    ToolSpec::Function(function) => {
                        json!([function.name, function.description, function.strict])
                    }
                    other => json!(format!("{other:?}")),
                });
                specs.collect()
            },
            expected: |levels| {
                let own = levels.iter().map(|level| json!([level, level, "no"]));
                let strict = if highest(levels) == "request" { "yes" } else { "auto" };
                std::iter::once(json!(["shared", highest(levels), strict])).chain(own).collect()
            },
        },
    ]
}

/// C84, C89, L15, L187: tools, `extra`, `metadata`, headers and query, for every set of levels.
#[tokio::test]
async fn c84_l15_l187_levels_that_are_combined() {
    for row in rows() {
        for set in 1..8_usize {
            let has = |level: usize| set & (1 << level) != 0;
            if has(1) && row.request.is_none() {
                continue;
            }
            let levels: Vec<&str> = (0..3).filter(|l| has(*l)).map(|l| LEVELS[l]).collect();
            for entry in ["generate", "step", "chat"] {
                for streamed in [false, true] {
                    let notes: Shared = Arc::new(Mutex::new(Notes::default()));
                    let builder = Engine::builder()
                        .provider(Probe::new(Scene::Text, &notes))
                        .model("fake:any");
                    let builder = if has(0) {
                        (row.engine)(builder)
                    } else {
                        builder
                    };
                    let engine = builder.build().unwrap();
                    let input = Request::new("hi");
                    let input = match row.request.filter(|_| has(1)) {
                        Some(request) => request(input),
                        None => input,
                    };
                    macro_rules! drive {
                        ($entry:ident) => {{
                            let call = engine.$entry(input);
                            let call = if has(2) { (row.$entry)(call) } else { call };
                            if streamed {
                                drop(call.stream().collect().await);
                            } else {
                                drop(call.await.unwrap());
                            }
                        }};
                    }
                    match entry {
                        "generate" => drive!(generate),
                        "step" => drive!(step),
                        _ => drive!(chat),
                    }
                    let found = (row.observe)(&notes.lock().unwrap().calls[0]);
                    let expected = (row.expected)(&levels);
                    let name = row.name;
                    assert_eq!(
                        found, expected,
                        "{name} at {levels:?} in {entry}, streamed: {streamed}"
                    );
                }
            }
        }
    }
}

/// C84 for time limits: a limit that a call sets leaves the others; all six at once leave none.
#[tokio::test]
async fn c84_time_limits_are_chosen_one_by_one() {
    let seven = Some(Duration::from_secs(7));
    let own = Timeouts {
        connect: seven,
        idle: seven,
        deadline: seven,
        ..Timeouts::default()
    };
    let notes: Shared = Arc::new(Mutex::new(Notes::default()));
    let engine = Engine::builder()
        .provider(Probe::new(Scene::Text, &notes))
        .model("fake:any")
        .timeouts(own)
        .build()
        .unwrap();
    let given = || notes.lock().unwrap().calls.pop().unwrap().timeouts;
    tokio::time::pause();
    let _ = engine.generate("hi").await.unwrap();
    assert_eq!(given(), own);
    let eight = Duration::from_secs(8);
    let _ = engine.chat("hi").idle_timeout(eight).await.unwrap();
    assert_eq!(
        given(),
        Timeouts {
            idle: Some(eight),
            ..own
        }
    );
    let _ = engine.step("hi").timeouts(Timeouts::NONE).await.unwrap();
    assert_eq!(given(), Timeouts::NONE);
}
