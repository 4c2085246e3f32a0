//! Generated settings, the same for every kind of call.

use std::time::Duration;

use allm::run::UnknownTools;
use allm::{
    CancelToken, Chat, Engine, ErrorDecision, Fake, Generate, Mode, OnToolError, ResponseFormat,
    RetryPolicy, Step, Timeouts,
};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::json;

use super::ON_PURPOSE;
use super::tools::{Alive, tools};

#[derive(Clone, Debug)]
pub(super) struct Settings {
    pub(super) mode: Mode,
    unknown: UnknownTools,
    policy: Policy,
    max_turns: u32,
    at_once: usize,
    halt_at: Option<u32>,
    max_tool_calls: Option<u64>,
    max_tokens: Option<u64>,
    /// In milliseconds. Delays are tens, these end in 5 and 7, so that nothing happens at one instant by chance.
    turn_deadline: Option<u64>,
    run_deadline: Option<u64>,
    cancel_after: Option<u64>,
    finalize: bool,
    pub(super) filtered: bool,
}

#[derive(Clone, Copy, Debug)]
enum Policy {
    Continue,
    Halt,
    DecideContinue,
    DecideWith,
    DecideHalt,
    DecidePanic,
}

pub(super) fn settings() -> impl Strategy<Value = Settings> {
    use Policy::{Continue, DecideContinue, DecideHalt, DecidePanic, DecideWith, Halt};
    let mode = prop_oneof![9 => Just(Mode::Auto), 1 => Just(Mode::Manual)];
    let unknown = select(vec![
        UnknownTools::Refuse,
        UnknownTools::TellModel,
        UnknownTools::TellModel,
    ]);
    let policy = prop_oneof![
        4 => Just(Continue),
        4 => select(vec![Halt, DecideContinue, DecideWith, DecideHalt, DecidePanic]),
    ];
    let rarely = |most: u64, end: u64| prop_oneof![7 => Just(None), 1 => (0..most).prop_map(move |n| Some(n * 10 + end))];
    let limits = (1..7_u32, 1..4_usize, prop::option::weighted(0.2, 0..3_u32));
    let budgets = (
        prop::option::weighted(0.2, 0..6_u64),
        prop::option::weighted(0.15, 0..150_u64),
    );
    let times = (rarely(9, 5), rarely(15, 5), rarely(12, 7));
    let flags = (prop::bool::weighted(0.15), any::<bool>());
    (mode, unknown, policy, limits, budgets, times, flags).prop_map(
        |(mode, unknown, policy, limits, budgets, times, flags)| Settings {
            mode,
            unknown,
            policy,
            max_turns: limits.0,
            at_once: limits.1,
            halt_at: limits.2,
            max_tool_calls: budgets.0,
            max_tokens: budgets.1,
            turn_deadline: times.0,
            run_deadline: times.1,
            cancel_after: times.2,
            finalize: flags.0,
            filtered: flags.1,
        },
    )
}

impl Policy {
    fn to_setting(self) -> OnToolError {
        match self {
            Self::Continue => OnToolError::Continue,
            Self::Halt => OnToolError::Halt,
            Self::DecideContinue => OnToolError::decide(|_, _| ErrorDecision::Continue),
            Self::DecideWith => OnToolError::decide(|_, _| ErrorDecision::continue_with("instead")),
            Self::DecideHalt => OnToolError::decide(|_, _| ErrorDecision::Halt),
            Self::DecidePanic => OnToolError::decide(|_, _| panic!("{ON_PURPOSE}")),
        }
    }
}

/// What every kind of call has.
macro_rules! common {
    ($settings:expr, $call:expr) => {{
        let mut call = $call.request_id("r");
        if let Some(cancel) = $settings.cancel() {
            call = call.cancel(cancel);
        }
        if $settings.filtered {
            call = call.without_text_deltas().without_tool_deltas();
        }
        call
    }};
}

/// What `step` and `chat` have.
macro_rules! loop_settings {
    ($settings:expr, $call:expr) => {{
        let settings = $settings;
        let mut call = common!(settings, $call)
            .mode(settings.mode)
            .unknown_tools(settings.unknown)
            .on_tool_error(settings.policy.to_setting())
            .tool_timeout(Duration::from_millis(48))
            .max_concurrency(settings.at_once);
        if let Some(limit) = settings.turn_deadline {
            call = call.turn_deadline(Duration::from_millis(limit));
        }
        if let Some(limit) = settings.run_deadline {
            call = call.run_deadline(Duration::from_millis(limit));
        }
        if let Some(most) = settings.max_tool_calls {
            call = call.max_tool_calls(most);
        }
        if let Some(most) = settings.max_tokens {
            call = call.max_run_tokens(most);
        }
        call
    }};
}

impl Settings {
    pub(super) fn engine(&self, fake: &Fake, alive: &Alive) -> Engine {
        let retry = RetryPolicy {
            max_attempts: 3,
            base_delay: Duration::from_millis(20),
            max_delay: Duration::from_millis(40),
            jitter: Duration::ZERO,
            ..RetryPolicy::default()
        };
        let timeouts = Timeouts {
            stall: Some(Duration::from_millis(203)),
            ..Timeouts::default()
        };
        Engine::builder()
            .provider(fake.clone())
            .model("fake:any")
            .retry(retry)
            .timeouts(timeouts)
            .tools(tools(alive))
            .build()
            .unwrap()
    }

    pub(super) fn chat(&self, engine: &Engine) -> Chat {
        let mut chat = loop_settings!(self, engine.chat("go")).max_turns(self.max_turns);
        if let Some(index) = self.halt_at {
            chat = chat.halt_when(move |step| step.step_index >= index);
        }
        if self.finalize {
            let format = ResponseFormat::json_schema("out", json!({"type": "object"}));
            chat = chat.structured_finalize().response_format(format);
        }
        chat
    }

    pub(super) fn step(&self, engine: &Engine) -> Step {
        loop_settings!(self, engine.step("go"))
    }

    pub(super) fn generate(&self, engine: &Engine) -> Generate {
        common!(self, engine.generate("go"))
    }

    /// A token that fires on the clock of the runtime.
    fn cancel(&self) -> Option<CancelToken> {
        let after = Duration::from_millis(self.cancel_after?);
        let cancel = CancelToken::new();
        let fires = cancel.clone();
        // Its time counts from now, not from the first turn of the task.
        let over = tokio::time::sleep(after);
        tokio::spawn(async move {
            over.await;
            fires.cancel();
        });
        Some(cancel)
    }
}
