//! What is told of a request: faults that refuse it, warnings about what was left out of it.

use allm_core::{Fault, FaultCode, Path, ValidationError, ValidationReason, Warning};

/// Faults that only a wire can find, in the order in which they were found.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    reason: Option<ValidationReason>,
    faults: Vec<Fault>,
}

impl Faults {
    /// A fault; the first one gives the error its reason.
    pub(crate) fn add(
        &mut self,
        reason: ValidationReason,
        path: impl Into<Path>,
        code: FaultCode,
    ) -> &mut Self {
        self.put(reason, Fault::new(path, code))
    }

    pub(crate) fn put(&mut self, reason: ValidationReason, fault: Fault) -> &mut Self {
        self.reason.get_or_insert(reason);
        self.faults.push(fault);
        self
    }

    /// A setting that this wire has no word for.
    pub(crate) fn unsupported(&mut self, path: impl Into<Path>, why: &str) {
        let fault = Fault::new(path, FaultCode::Unsupported).detail(why);
        self.put(ValidationReason::UnsupportedOption, fault);
    }

    pub(crate) fn finish(self) -> Result<(), ValidationError> {
        match self.reason {
            None => Ok(()),
            Some(reason) => Err(ValidationError::new(reason, self.faults)),
        }
    }
}

/// Warnings about a request, for its completion.
#[derive(Debug, Default)]
pub(crate) struct Warnings(Vec<Warning>);

impl Warnings {
    pub(crate) fn add(&mut self, code: &str, path: Option<Path>, detail: Option<String>) {
        self.0.push(Warning {
            code: code.to_owned(),
            path,
            detail,
        });
    }

    /// A setting that was left out.
    pub(crate) fn dropped(&mut self, path: impl Into<Path>) {
        self.add("option_dropped", Some(path.into()), None);
    }

    /// With these after its own.
    pub(crate) fn append(&mut self, mut later: Self) {
        self.0.append(&mut later.0);
    }

    pub(crate) fn finish(self) -> Vec<Warning> {
        self.0
    }
}

/// The place of a content part.
pub(crate) fn part_path(message: usize, part: usize) -> Path {
    Path::from("messages")
        .index(message)
        .field("content")
        .index(part)
}
