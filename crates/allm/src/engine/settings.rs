//! The settings, and the one rule by which levels combine: call > request > engine > default.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use allm_core::run::UnknownTools;
use allm_core::{
    AnyValue, ApiKey, Event, Map, Mode, ParallelCalls, PromptCache, Reasoning, Request, RequestId,
    ResponseFormat, SessionId, StepResult, TenantId, ToolChoice, ToolExecutor, ToolResultEncoder,
    Verbosity,
};

use super::level::Level;
use super::retry::RetryPolicy;
use super::tools::ToolList;
use crate::tools::{ApprovalPolicyFn, OnToolError, OnUnknownOutcome};

/// Asked after each turn that may go on.
pub(crate) type HaltWhenFn = Arc<dyn Fn(&StepResult) -> bool + Send + Sync>;
/// Told of each event of the provider.
pub(crate) type OnEventFn = Arc<dyn Fn(&Event) + Send + Sync>;

/// On or off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Toggle {
    /// On.
    On,
    /// Off.
    Off,
}

impl Toggle {
    /// Whether it is on.
    #[must_use]
    pub const fn is_on(self) -> bool {
        matches!(self, Self::On)
    }
}

macro_rules! settings {
    ($( $(#[$doc:meta])* $name:ident, $variant:ident: $type:ty; )+) => {
        /// A setting that can be switched off at one level, whatever the next levels say.
        ///
        /// What is off is as if no level had set it: the default holds. Three kinds of settings can be off themselves,
        /// and then are: toggles such as deltas are not passed on, [`Retry`](Self::Retry) is one attempt, and the time
        /// limits of a model call or a tool are no limits.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Setting {
            $( $(#[$doc])* $variant, )+
        }

        impl Setting {
            /// Every setting.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];
        }

        /// What one level says of everything, if it says anything.
        #[derive(Clone, Default)]
        pub(crate) struct Said {
            $( pub(crate) $name: Level<$type>, )+
            pub(crate) tools: ToolList,
            pub(crate) extra: Map,
            pub(crate) metadata: Map,
            pub(crate) headers: BTreeMap<String, String>,
            pub(crate) query: BTreeMap<String, String>,
        }

        impl Said {
            /// This level over a lower one.
            fn over(&self, lower: &Self) -> Self {
                Self {
                    $( $name: self.$name.or(&lower.$name), )+
                    tools: self.tools.over(&lower.tools),
                    extra: {
                        let mut extra = lower.extra.clone();
                        deep_merge(&mut extra, &self.extra);
                        extra
                    },
                    metadata: merge(&lower.metadata, &self.metadata),
                    headers: merge(&lower.headers, &self.headers),
                    query: merge(&lower.query, &self.query),
                }
            }

            /// Switches a setting off at this level.
            pub(crate) fn off(&mut self, setting: Setting) {
                match setting {
                    $( Setting::$variant => self.$name = Level::Off, )+
                }
            }
        }
    };
}

/// What one level says of everything. It costs nothing where the level says nothing, and a clone shares what is said: most
/// calls say little, and the engine's settings are those of every call.
#[derive(Clone, Default)]
pub(crate) struct Settings(Option<Arc<Said>>);

/// What is said where nothing is.
static NOTHING: LazyLock<Said> = LazyLock::new(Said::default);

impl Settings {
    /// This level over a lower one.
    pub(crate) fn over(&self, lower: &Self) -> Self {
        match (&self.0, &lower.0) {
            (None, _) => lower.clone(),
            (Some(_), None) => self.clone(),
            (Some(upper), Some(lower)) => upper.over(lower).into(),
        }
    }
}

impl From<Said> for Settings {
    fn from(said: Said) -> Self {
        Self(Some(Arc::new(said)))
    }
}

impl Deref for Settings {
    type Target = Said;

    fn deref(&self) -> &Said {
        self.0.as_deref().unwrap_or_else(|| &NOTHING)
    }
}

impl DerefMut for Settings {
    fn deref_mut(&mut self) -> &mut Said {
        Arc::make_mut(self.0.get_or_insert_default())
    }
}

settings! {
    /// Who is asked.
    model, Model: String;
    /// 0 to 2.
    temperature, Temperature: f64;
    /// Above 0, up to 1.
    top_p, TopP: f64;
    /// At least 1.
    top_k, TopK: u32;
    /// For answers that can be had again.
    seed, Seed: i64;
    /// −2 to 2.
    presence_penalty, PresencePenalty: f64;
    /// −2 to 2.
    frequency_penalty, FrequencyPenalty: f64;
    /// All output tokens.
    max_tokens, MaxTokens: u32;
    /// Texts that end the answer.
    stop, Stop: Vec<String>;
    /// The form of the answer.
    response_format, ResponseFormat: ResponseFormat;
    /// How much to think.
    reasoning, Reasoning: Reasoning;
    /// How much to say.
    verbosity, Verbosity: Verbosity;
    /// The provider's class of service.
    service_tier, ServiceTier: String;
    /// The end user, for the provider's abuse checks.
    user, User: String;
    /// Whether and which tool must be called.
    tool_choice, ToolChoice: ToolChoice;
    /// Whether several calls may come at once.
    parallel_tool_calls, ParallelToolCalls: ParallelCalls;
    /// Whether the provider should remember the prompt.
    prompt_cache, PromptCache: PromptCache;
    /// How failed attempts are repeated.
    retry, Retry: RetryPolicy;
    /// How long it may take to connect.
    connect_timeout, ConnectTimeout: Duration;
    /// How long it may take from the request to the head of the answer.
    first_byte_timeout, FirstByteTimeout: Duration;
    /// How long the answer may be silent.
    idle_timeout, IdleTimeout: Duration;
    /// How long no event may come.
    stall_timeout, StallTimeout: Duration;
    /// How long the whole model call may take.
    deadline, Deadline: Duration;
    /// How long one lookup of a key may take.
    key_timeout, KeyTimeout: Duration;
    /// The key of this call.
    api_key, ApiKey: ApiKey;
    /// The tenant, for key sources.
    tenant, Tenant: TenantId;
    /// The wire, where a provider has several.
    wire, Wire: String;
    /// A value for handlers.
    context, Context: AnyValue;
    /// The session, for handlers and prompt caches.
    session_id, SessionId: SessionId;
    /// Our id of the run.
    request_id, RequestId: RequestId;
    /// Told of each event of the provider.
    on_event, OnEvent: OnEventFn;
    /// Whether text and reasoning deltas are passed on.
    text_deltas, TextDeltas: Toggle;
    /// Whether deltas of tool calls are passed on.
    tool_deltas, ToolDeltas: Toggle;
    /// Whether raw chunks are passed on.
    raw_chunks, RawChunks: Toggle;
    /// Whether the provider's body is kept.
    raw_body, RawBody: Toggle;
    /// Whether telemetry records content.
    capture_content, CaptureContent: Toggle;
    /// Who runs the calls.
    mode, Mode: Mode;
    /// How many turns at most.
    max_turns, MaxTurns: u32;
    /// Asked after each turn that may go on.
    halt_when, HaltWhen: HaltWhenFn;
    /// What becomes of failed calls.
    on_tool_error, OnToolError: OnToolError;
    /// What becomes of calls that name no tool.
    unknown_tools, UnknownTools: UnknownTools;
    /// Asked about each call that is to be run: whether a person must agree first.
    approval_policy, ApprovalPolicy: ApprovalPolicyFn;
    /// How long a person has to agree to a call.
    approval_expiry, ApprovalExpiry: Duration;
    /// How long somebody has to answer a question, or to give the result of a manual call.
    wait_expiry, WaitExpiry: Duration;
    /// What becomes of calls whose outcome a crash destroyed.
    on_unknown_outcome, OnUnknownOutcome: OnUnknownOutcome;
    /// How long a call may take.
    tool_timeout, ToolTimeout: Duration;
    /// How many calls run at once.
    max_concurrency, MaxConcurrency: usize;
    /// How much content a call may have.
    max_tool_output, MaxToolOutput: usize;
    /// How much argument text of a call is read.
    max_tool_arguments, MaxToolArguments: usize;
    /// Who runs handlers.
    executor, Executor: Arc<dyn ToolExecutor>;
    /// Who makes values into text.
    encoder, Encoder: Arc<dyn ToolResultEncoder>;
    /// Whether a second pass gives a structured answer.
    structured_finalize, StructuredFinalize: Toggle;
    /// What opens the second pass.
    structured_finalize_nudge, StructuredFinalizeNudge: String;
    /// How long a turn may take.
    turn_deadline, TurnDeadline: Duration;
    /// How long the run may take.
    run_deadline, RunDeadline: Duration;
    /// How many calls the run may run.
    max_tool_calls, MaxToolCalls: u64;
    /// How many tokens the run may use.
    max_run_tokens, MaxRunTokens: u64;
    /// How much the run may cost, in USD.
    max_run_cost, MaxRunCost: f64;
}

impl Settings {
    /// What a request says, as a level. What it leaves unset it inherits.
    pub(crate) fn of_request(request: &Request) -> Self {
        Self::from(Said {
            model: request.model.as_ref().map(ToString::to_string).into(),
            temperature: request.temperature.into(),
            top_p: request.top_p.into(),
            top_k: request.top_k.into(),
            seed: request.seed.into(),
            presence_penalty: request.presence_penalty.into(),
            frequency_penalty: request.frequency_penalty.into(),
            max_tokens: request.max_tokens.into(),
            stop: Some(request.stop.clone())
                .filter(|stop| !stop.is_empty())
                .into(),
            response_format: request.response_format.clone().into(),
            reasoning: request.reasoning.clone().into(),
            verbosity: request.verbosity.into(),
            service_tier: request.service_tier.clone().into(),
            user: request.user.clone().into(),
            tool_choice: request.tool_choice.clone().into(),
            parallel_tool_calls: request.parallel_tool_calls.into(),
            prompt_cache: request.prompt_cache.clone().into(),
            tools: ToolList::of_specs(&request.tools),
            extra: request.extra.clone(),
            metadata: request.metadata.clone(),
            ..Said::default()
        })
    }

    /// The request that these settings make, without messages, model and tools.
    pub(crate) fn to_request(&self) -> Request {
        Request {
            temperature: self.temperature.get(),
            top_p: self.top_p.get(),
            top_k: self.top_k.get(),
            seed: self.seed.get(),
            presence_penalty: self.presence_penalty.get(),
            frequency_penalty: self.frequency_penalty.get(),
            max_tokens: self.max_tokens.get(),
            stop: self.stop.get().unwrap_or_default(),
            response_format: self.response_format.get(),
            reasoning: self.reasoning.get(),
            verbosity: self.verbosity.get(),
            service_tier: self.service_tier.get(),
            user: self.user.get(),
            tool_choice: self.tool_choice.get(),
            parallel_tool_calls: self.parallel_tool_calls.get(),
            prompt_cache: self.prompt_cache.get(),
            extra: self.extra.clone(),
            metadata: self.metadata.clone(),
            ..Request::default()
        }
    }
}

impl fmt::Debug for Settings {
    /// Closures, keys and header values are not shown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings")
            .field("model", &self.model)
            .field("tools", &self.tools)
            .finish_non_exhaustive()
    }
}

/// Entries of `upper` over those of `lower`.
fn merge<M, K, V>(lower: &M, upper: &M) -> M
where
    M: Clone + Extend<(K, V)> + IntoIterator<Item = (K, V)>,
{
    let mut merged = lower.clone();
    merged.extend(upper.clone());
    merged
}

/// Object into object key by key, anything else replaces.
pub(crate) fn deep_merge(into: &mut Map, upper: &Map) {
    use serde_json::Value;
    for (key, above) in upper {
        match (into.get_mut(key), above) {
            (Some(Value::Object(below)), Value::Object(above)) => deep_merge(below, above),
            (Some(below), above) => *below = above.clone(),
            (None, above) => drop(into.insert(key.clone(), above.clone())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// C84 for the setting that only telemetry shows.
    #[test]
    fn c84_capture_content_is_chosen_like_the_rest() {
        let level = |capture_content| {
            Settings::from(Said {
                capture_content,
                ..Said::default()
            })
        };
        let (on, off) = (Level::Set(Toggle::On), Level::Set(Toggle::Off));
        for (call, engine, expected) in [
            (Level::Inherit, Level::Inherit, false),
            (Level::Inherit, on, true),
            (off, on, false),
            (on, off, true),
            (Level::Off, on, false),
        ] {
            let settings = level(call).over(&level(engine));
            assert_eq!(settings.capture_content.is_on(Toggle::Off), expected);
        }
    }
}
