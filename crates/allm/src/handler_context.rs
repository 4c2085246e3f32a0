//! The engine, for handlers.

use allm_core::ToolContext;

use crate::Engine;

/// What this crate adds to a handler's [`ToolContext`].
pub trait ToolContextExt {
    /// The engine that drives the run, for calls of the handler's own; `None` in the runner used alone.
    fn driving_engine(&self) -> Option<&Engine>;
}

impl ToolContextExt for ToolContext {
    fn driving_engine(&self) -> Option<&Engine> {
        self.engine.as_ref()?.downcast_ref()
    }
}
