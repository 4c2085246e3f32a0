//! Collecting faults, and the order in which they are told.

use crate::error::{Fault, FaultCode, ValidationError, ValidationReason};
use crate::path::Path;

/// The checks in the order in which their faults are told, which is the order of the contract's table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Check {
    NoMessages,
    EmptyContent,
    PartForRole,
    Source,
    AnsweredCall,
    FieldForRole,
    Call,
    Order,
    ToolName,
    ToolNames,
    ToolSchema,
    ToolTimeout,
    ProviderTool,
    Range,
    Positive,
    Stop,
    ToolChoice,
    ResponseFormat,
    PromptCache,
    Extra,
}

impl Check {
    const fn reason(self, code: FaultCode) -> ValidationReason {
        match self {
            Self::NoMessages | Self::Order => ValidationReason::InvalidThread,
            // A result that names no call stands in the thread without a place there.
            Self::AnsweredCall => match code {
                FaultCode::Required => ValidationReason::InvalidThread,
                _ => ValidationReason::InvalidMessage,
            },
            Self::EmptyContent
            | Self::PartForRole
            | Self::Source
            | Self::FieldForRole
            | Self::Call => ValidationReason::InvalidMessage,
            Self::ToolName
            | Self::ToolNames
            | Self::ToolSchema
            | Self::ToolTimeout
            | Self::ProviderTool => ValidationReason::InvalidTool,
            Self::Range
            | Self::Positive
            | Self::Stop
            | Self::ToolChoice
            | Self::ResponseFormat
            | Self::PromptCache
            | Self::Extra => ValidationReason::InvalidRequest,
        }
    }
}

/// What has been found so far.
#[derive(Debug, Default)]
pub(super) struct Faults(Vec<(Check, Fault)>);

impl Faults {
    pub(super) fn add(&mut self, check: Check, path: impl Into<Path>, code: FaultCode) {
        self.put(check, Fault::new(path, code));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn put(&mut self, check: Check, fault: Fault) {
        self.0.push((check, fault));
    }

    /// An error with all faults, whose reason is that of the first.
    pub(super) fn finish(mut self) -> Result<(), ValidationError> {
        // Stable: the faults of one check stay in the order of their places.
        self.0.sort_by_key(|(check, _)| *check);
        let Some(reason) = self
            .0
            .first()
            .map(|(check, fault)| check.reason(fault.code))
        else {
            return Ok(());
        };
        let faults = self.0.into_iter().map(|(_, fault)| fault).collect();
        Err(ValidationError::new(reason, faults))
    }
}

/// Where a checked value stands; made into a path only for a fault.
#[derive(Clone, Copy, Debug)]
pub(super) enum Place {
    /// Alone.
    Root,
    /// In the list of this name.
    Entry(&'static str, usize),
}

impl Place {
    pub(super) fn path(self) -> Path {
        match self {
            Self::Root => Path::root(),
            Self::Entry(list, index) => Path::from(list).index(index),
        }
    }

    pub(super) fn field(self, name: &'static str) -> Path {
        self.path().field(name)
    }
}
