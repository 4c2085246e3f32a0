//! A generated conversation: what the model says, turn by turn.

use std::time::Duration;

use allm::{AdapterReason, Fake, FinishReason, Script, StreamReason, Usage};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use super::settings::{Settings, settings};
use super::tools::{ACTS, names};

#[derive(Clone, Debug)]
pub(super) struct Case {
    pub(super) turns: Vec<Turn>,
    pub(super) settings: Settings,
    /// What is said when the turns are used up; nothing is a refusal.
    pub(super) last: Option<&'static str>,
}

/// One answer, and the attempts that fail before it.
#[derive(Clone, Debug)]
pub(super) struct Turn {
    refusals: Vec<AdapterReason>,
    delay: u64,
    reasoning: Vec<&'static str>,
    texts: Vec<&'static str>,
    calls: Vec<Call>,
    usage: Option<Usage>,
    ending: Ending,
}

#[derive(Clone, Debug)]
enum Call {
    Whole {
        id: Option<&'static str>,
        name: &'static str,
        arguments: Value,
    },
    Raw {
        name: &'static str,
        text: &'static str,
    },
    CutOff {
        name: &'static str,
    },
}

#[derive(Clone, Copy, Debug)]
enum Ending {
    Usual,
    Finish(Option<FinishReason>),
    Fail(AdapterReason),
    StreamFail,
    FailAndContinue,
    Cut,
    Hang,
}

/// How large cases are.
#[derive(Clone, Copy)]
pub(super) struct Size {
    pub(super) turns: usize,
    pub(super) calls: usize,
}

pub(super) fn case(size: Size) -> impl Strategy<Value = Case> {
    let last = prop_oneof![3 => Just(Some("the end")), 1 => Just(None)];
    let turns = prop::collection::vec(turn(size.calls), 1..=size.turns);
    (turns, settings(), last).prop_map(|(turns, settings, last)| Case {
        turns,
        settings,
        last,
    })
}

fn turn(calls: usize) -> impl Strategy<Value = Turn> {
    use AdapterReason::{AuthenticationFailed, ProviderUnavailable, RateLimited};
    let refusals = prop_oneof![
        12 => Just(Vec::new()),
        2 => prop::collection::vec(select(vec![ProviderUnavailable, RateLimited]), 1..4),
        1 => Just(vec![AuthenticationFailed]),
    ];
    let pieces = || prop::collection::vec(select(vec!["a", "bc ", "", "ä\n"]), 0..3);
    let usage = prop::option::of((0..50_u64, 0..50_u64).prop_map(|(i, o)| Usage::io(i, o)));
    let ending = prop_oneof![
        16 => Just(Ending::Usual),
        2 => select(vec![
            Some(FinishReason::Stop), Some(FinishReason::Other), Some(FinishReason::ToolCalls), None,
        ]).prop_map(Ending::Finish),
        2 => select(vec![FinishReason::Length, FinishReason::ContentFilter])
            .prop_map(|reason| Ending::Finish(Some(reason))),
        1 => Just(Ending::Fail(AdapterReason::NetworkError)),
        1 => Just(Ending::StreamFail),
        1 => Just(Ending::FailAndContinue),
        1 => Just(Ending::Cut),
        1 => Just(Ending::Hang),
    ];
    let delay = prop_oneof![3 => Just(0), 1 => (1..6_u64).prop_map(|n| n * 10)];
    let calls = prop::collection::vec(call(), 0..=calls);
    (refusals, delay, pieces(), pieces(), calls, usage, ending).prop_map(
        |(refusals, delay, reasoning, texts, calls, usage, ending)| Turn {
            refusals,
            delay,
            reasoning,
            texts,
            calls,
            usage,
            ending,
        },
    )
}

fn call() -> impl Strategy<Value = Call> {
    let id = prop_oneof![8 => Just(None), 1 => Just(Some("")), 1 => Just(Some("same"))];
    let acts = (
        id,
        select(names()),
        select(ACTS.to_vec()),
        0..8_u64,
        0..3_u32,
    );
    let whole = acts.prop_map(|(id, name, act, after, progress)| {
        let arguments = json!({"do": act, "after": after * 10, "progress": progress});
        Call::Whole {
            id,
            name,
            arguments,
        }
    });
    let refused = select(vec![
        json!({}),
        json!({"do": 5}),
        json!({"do": "reply", "after": "late"}),
    ]);
    let refused = (select(names()), refused).prop_map(|(name, arguments)| Call::Whole {
        id: None,
        name,
        arguments,
    });
    let help = select(vec![
        json!({"names": ["short"]}),
        json!({"names": "nope"}),
        json!({}),
    ]);
    let help = help.prop_map(|arguments| Call::Whole {
        id: None,
        name: "tool_help",
        arguments,
    });
    let raw = (select(names()), select(vec!["{\"do\"", "[]", "", "null"]))
        .prop_map(|(name, text)| Call::Raw { name, text });
    let cut_off = select(names()).prop_map(|name| Call::CutOff { name });
    prop_oneof![20 => whole, 2 => refused, 1 => help, 1 => raw, 1 => cut_off]
}

impl Case {
    pub(super) fn fake(&self) -> Fake {
        let fake = self.turns.iter().fold(Fake::new(), |fake, turn| {
            let refused =
                |fake: Fake, reason: &AdapterReason| fake.reply(Script::new().fail(*reason));
            turn.refusals
                .iter()
                .fold(fake, refused)
                .reply(turn.script())
        });
        match self.last {
            Some(text) => fake.always(text),
            None => fake,
        }
    }
}

impl Turn {
    fn script(&self) -> Script {
        let mut script = Script::new();
        for text in &self.reasoning {
            script = script.reasoning(*text);
        }
        script = script.chunks(self.texts.iter().copied());
        if self.delay > 0 {
            script = script.delay(Duration::from_millis(self.delay));
        }
        for call in &self.calls {
            script = match call {
                Call::Whole {
                    id: None,
                    name,
                    arguments,
                } => script.call(*name, arguments),
                Call::Whole {
                    id: Some(id),
                    name,
                    arguments,
                } => script.call_with_id(*id, *name, arguments),
                Call::Raw { name, text } => script.call_raw(*name, *text),
                Call::CutOff { name } => script.call_cut_off(*name, ["{\"do\":", " \"re"]),
            };
        }
        if let Some(usage) = &self.usage {
            script = script.usage(usage.clone());
        }
        match self.ending {
            Ending::Usual => script,
            Ending::Finish(reason) => script.finish(reason),
            Ending::Fail(reason) => script.fail(reason),
            Ending::StreamFail => script.stream_fail(StreamReason::Interrupted),
            Ending::FailAndContinue => script
                .fail_and_continue(AdapterReason::NetworkError)
                .text("on"),
            Ending::Cut => script.cut(),
            Ending::Hang => script.hang(),
        }
    }
}
