//! What the settings say to whoever runs tools.

use std::time::Duration;

use allm_core::limits;
use allm_core::validate::SettingFaults;

use super::settings::{Settings, Toggle};
use crate::chat::model::redactor_of;
use crate::tools::RunnerSettings;

impl Settings {
    /// What tools are run with, the defaults where no level says anything.
    pub(crate) fn runner(&self) -> RunnerSettings {
        let default = RunnerSettings::default();
        RunnerSettings {
            executor: self.executor.get().unwrap_or(default.executor),
            encoder: self.encoder.get(),
            on_tool_error: self.on_tool_error.get().unwrap_or_default(),
            tool_timeout: self
                .tool_timeout
                .get_or(Some(limits::TOOL_TIMEOUT))
                .unwrap_or(Duration::MAX),
            max_concurrency: self.max_concurrency.get(),
            max_tool_output: self
                .max_tool_output
                .get()
                .unwrap_or(limits::MAX_TOOL_OUTPUT),
            max_tool_arguments: self.max_tool_arguments(),
            context: self.context.get(),
            session_id: self.session_id.get(),
            request_id: self.request_id.get(),
            captures: self
                .captures()
                .then(|| redactor_of(self.api_key.get().as_ref())),
            ..default
        }
    }

    /// Whether telemetry records content.
    pub(crate) fn captures(&self) -> bool {
        self.capture_content.is_on(Toggle::Off)
    }

    /// How much argument text of a call is read.
    pub(crate) fn max_tool_arguments(&self) -> usize {
        let own = self.max_tool_arguments.get();
        own.unwrap_or(limits::MAX_TOOL_ARGUMENTS)
    }

    /// Adds every limit of the runner that is zero.
    pub(crate) fn find_runner_faults(&self, faults: &mut SettingFaults) {
        faults.positive("tool_timeout", self.tool_timeout.get());
        faults.positive("max_concurrency", self.max_concurrency.get());
        faults.positive("max_tool_output", self.max_tool_output.get());
        faults.positive("max_tool_arguments", self.max_tool_arguments.get());
        faults.positive("approval_expiry", self.approval_expiry.get());
        faults.positive("wait_expiry", self.wait_expiry.get());
    }
}
