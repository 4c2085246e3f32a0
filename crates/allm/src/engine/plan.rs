//! From the levels to what one call does.

use std::sync::Arc;
use std::time::Duration;

use allm_core::run::{
    Budgets, Deadlines, Finalize, HaltWhen, Planning, RunKind, RunOptions, RunSetup,
};
use allm_core::validate::{self, SettingFaults};
use allm_core::{
    Adapter, ArgumentLimits, Capabilities, EngineError, EngineReason, Error, ModelCall, ModelRef,
    Part, Passes, Path, RawBody, RawChunks, Request, RequestId, ResponseFormat, Thread, Timeouts,
    Tool, ToolSpec, ValidationError, limits,
};

use super::Engine;
use super::media;
use super::retry::RetryPolicy;
use super::settings::{Settings, Toggle};
use crate::chat::input::Input;
use crate::random;
use crate::tools::{Planner, RunnerSettings, ToolSet};

/// What one call does: every level resolved, nothing left to look up but the key.
pub(crate) struct Plan {
    pub(crate) engine: Engine,
    pub(crate) adapter: Arc<dyn Adapter>,
    pub(crate) model: ModelRef,
    kind: CallKind,
    pub(crate) settings: Settings,
    pub(crate) request_id: RequestId,
    pub(crate) timeouts: Timeouts,
    pub(crate) retry: RetryPolicy,
    capabilities: Capabilities,
    thread: Thread,
    /// What is sent besides messages and tools, until a call has begun with it.
    request: Option<Box<Request>>,
    tools: Vec<Tool>,
    tool_set: ToolSet,
    built_in: Vec<ToolSpec>,
}

impl Plan {
    /// Resolves the levels. Settings are checked before the provider is looked at.
    pub(crate) fn new(
        engine: &Engine,
        input: Input,
        call: &Settings,
        kind: CallKind,
    ) -> Result<Self, Error> {
        let (thread, request_level) = input.into_level();
        let upper = call.over(&request_level);
        let settings = upper.over(&engine.0.settings);
        check_settings(&settings, kind)?;
        let mut timeouts = settings.timeouts();
        timeouts.check()?;
        let no_model = || {
            let message =
                "no model; give one to the engine, the request or the call, as `provider:model`";
            EngineError::new(EngineReason::NoModel, message)
        };
        let text = settings.model.get().ok_or_else(no_model)?;
        let (adapter, model) = engine.0.providers.resolve(&text)?;
        if let Some(own) = adapter.timeouts() {
            timeouts = upper.timeouts_or(own);
        }
        let (tools, built_in) = settings.tools.split();
        let tool_set = if upper.tools.changes_nothing() {
            engine.0.tools.clone()
        } else {
            engine.0.tools.compile(&tools)?
        };
        let mut request = settings.to_request();
        request.model = Some(model.clone());
        if let (Some(cache), Some(session)) = (&mut request.prompt_cache, settings.session_id.get())
            && cache.key.is_none()
        {
            cache.key = Some(session.as_str().to_owned());
        }
        let known = adapter.capabilities(&model.model);
        let capabilities = match engine.0.catalog.get(&model) {
            Some(catalog) => catalog.merged_over(&known),
            None => known,
        };
        Ok(Self {
            engine: engine.clone(),
            request_id: settings.request_id.get().unwrap_or_else(random::request_id),
            retry: settings
                .retry
                .get_or(Some(RetryPolicy::default()))
                .unwrap_or_else(RetryPolicy::none),
            adapter,
            model,
            kind,
            settings,
            timeouts,
            capabilities,
            thread,
            request: Some(Box::new(request)),
            tools,
            tool_set,
            built_in,
        })
    }

    fn bare_request(&self) -> Request {
        self.request.as_deref().cloned().unwrap_or_default()
    }

    /// A call has begun with the request and keeps its own.
    pub(crate) fn forget_request(&mut self) {
        self.request = None;
    }

    /// The request of a plain `generate`: full schemas, no projection.
    pub(crate) fn plain_request(&self) -> Request {
        let mut tools: Vec<ToolSpec> = self.tools.iter().map(Tool::spec).collect();
        tools.extend(self.built_in.iter().cloned());
        Request {
            messages: self.thread.messages.clone(),
            tools,
            ..self.bare_request()
        }
    }

    /// What the run machine is started with.
    pub(crate) fn run_setup(&self, kind: RunKind) -> RunSetup {
        let mut request = self.bare_request();
        request.tools.clone_from(&self.built_in);
        let mut options = run_options(&self.settings, kind);
        // A model that cannot take tools and a schema in one call gets the schema in a second one. That is seldom known
        // of one, and the request is not made to find out.
        if kind == RunKind::Chat
            && self.capabilities.tools_with_json_schema.is_no()
            && self.capabilities.needs_finalize_pass(&self.plain_request())
        {
            options.structured_finalize = Some(finalize(&self.settings));
        }
        RunSetup {
            request,
            tools: self.tools.clone(),
            options,
            request_id: Some(self.request_id.clone()),
            ..RunSetup::new(self.thread.clone())
        }
    }

    /// The gates between the model's name and the key: the request, the model's capabilities, the adapter's own checks.
    pub(crate) fn check_request(
        &self,
        request: impl Into<Arc<Request>>,
        passes: Passes,
    ) -> Result<(), Error> {
        let request = request.into();
        validate::request_for(&request, self.adapter.provider())?;
        let request = self.taken(request);
        self.capabilities.check(&request, passes)?;
        self.adapter.check(&self.call_of(request, 1))?;
        Ok(())
    }

    /// What the adapter is given for one attempt, but for the key.
    pub(crate) fn model_call(&self, request: Arc<Request>, attempt: u32) -> ModelCall {
        self.call_of(self.taken(request), attempt)
    }

    /// The request, with words for those pictures and files in the results of tools that the model, or the wire to it,
    /// does not take.
    fn taken(&self, request: Arc<Request>) -> Arc<Request> {
        if !media::has_any(&request) {
            return request;
        }
        let Capabilities { vision, files, .. } = self.capabilities;
        let is_refused = |_: &Path, part: &Part| match part {
            Part::Image(_) => vision.is_no(),
            _ => files.is_no(),
        };
        let request = Arc::new(media::named(&request, is_refused));
        match self.adapter.check(&self.call_of(Arc::clone(&request), 1)) {
            Ok(()) => request,
            Err(error) => {
                let is_refused =
                    |path: &Path, _: &Part| error.faults.iter().any(|fault| fault.path == *path);
                Arc::new(media::named(&request, is_refused))
            }
        }
    }

    fn call_of(&self, request: Arc<Request>, attempt: u32) -> ModelCall {
        let settings = &self.settings;
        let pairs = |map: &std::collections::BTreeMap<String, String>| -> Vec<(String, String)> {
            map.iter()
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect()
        };
        let mut call = ModelCall::new(request, self.model.clone(), self.request_id.clone());
        call.attempt = attempt;
        call.tenant = settings.tenant.get();
        call.session_id = settings.session_id.get();
        call.wire = settings.wire.get();
        call.headers = pairs(&settings.headers);
        call.query = pairs(&settings.query);
        call.timeouts = self.timeouts;
        if settings.raw_chunks.is_on(Toggle::Off) {
            call.raw_chunks = RawChunks::On;
        }
        if settings.raw_body.is_on(Toggle::Off) {
            call.raw_body = RawBody::On;
        }
        call
    }

    /// The tools of the run with their validators.
    pub(crate) fn tool_set(&self) -> ToolSet {
        self.tool_set.clone()
    }

    /// What the tool runner follows.
    pub(crate) fn runner_settings(&self) -> RunnerSettings {
        RunnerSettings {
            request_id: Some(self.request_id.clone()),
            engine: Some(Arc::new(self.engine.clone())),
            key_owner: self.request_id.as_str().as_bytes().to_vec(),
            ..self.settings.runner()
        }
    }

    /// What decides about calls before they are run.
    pub(crate) fn planner(&self, runner: Arc<RunnerSettings>) -> Planner {
        Planner {
            tools: self.tool_set(),
            runner,
            policy: self.settings.approval_policy.get(),
            session_id: self.settings.session_id.get(),
        }
    }

    /// The tools of the run.
    pub(crate) fn tools(&self) -> &[Tool] {
        &self.tools
    }

    /// How much of a call's arguments is read. `generate` has no loop settings.
    pub(crate) fn argument_limits(&self) -> ArgumentLimits {
        match self.kind {
            CallKind::Generate => ArgumentLimits::default(),
            CallKind::Run(_) => ArgumentLimits {
                max_bytes: self.settings.max_tool_arguments(),
                ..ArgumentLimits::default()
            },
        }
    }
}

/// Which call it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallKind {
    Generate,
    Run(RunKind),
}

fn run_options(settings: &Settings, kind: RunKind) -> RunOptions {
    let asked = settings.structured_finalize.is_on(Toggle::Off);
    let chat = kind == RunKind::Chat;
    RunOptions {
        kind,
        mode: settings.mode.get().unwrap_or_default(),
        max_turns: settings.max_turns.get().unwrap_or(limits::MAX_TURNS),
        unknown_tools: settings.unknown_tools.get().unwrap_or_default(),
        halt_when: match settings.halt_when.get() {
            Some(_) if chat => HaltWhen::Set,
            _ => HaltWhen::NotSet,
        },
        planning: match settings.approval_policy.get() {
            Some(_) => Planning::Driver,
            None => Planning::Machine,
        },
        structured_finalize: (chat && asked).then(|| finalize(settings)),
        deadlines: Deadlines {
            turn: limit(settings.turn_deadline.get()),
            run: limit(settings.run_deadline.get()),
        },
        budgets: Budgets {
            tool_calls: settings.max_tool_calls.get(),
            tokens: settings.max_run_tokens.get(),
            cost: settings.max_run_cost.get(),
        },
    }
}

fn finalize(settings: &Settings) -> Finalize {
    match settings.structured_finalize_nudge.get() {
        Some(nudge) => Finalize { nudge },
        None => Finalize::default(),
    }
}

/// The longest duration is no limit.
fn limit(duration: Option<Duration>) -> Option<Duration> {
    duration.filter(|duration| *duration != Duration::MAX)
}

/// Every fault of the settings, in one error.
fn check_settings(settings: &Settings, kind: CallKind) -> Result<(), ValidationError> {
    let CallKind::Run(kind) = kind else {
        return Ok(());
    };
    let mut faults = SettingFaults::default();
    let format: Option<ResponseFormat> = settings.response_format.get();
    run_options(settings, kind).find_faults(format.as_ref(), &mut faults);
    settings.find_runner_faults(&mut faults);
    faults.finish()
}

/// A fault of what an engine is built from.
pub(crate) fn as_config_error(error: ValidationError) -> EngineError {
    EngineError::new(EngineReason::InvalidConfig, error.to_string())
}

#[cfg(test)]
mod tests;
