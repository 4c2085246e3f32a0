//! The tools of the kit as handlers in this process.

use std::fmt;
use std::panic::resume_unwind;
use std::sync::Arc;

use allm_core::{
    ArgumentFault, BoxFuture, HandlerStyle, Map, Progress, Tool, ToolContext, ToolError,
    ToolExecutor, ToolHandler, ToolReply,
};
use serde_json::json;

use super::behaviour::{reported, told};
use super::{Behaviour, CRASH_TEXT, ExecutorSubject, Witness};
use crate::finding::CannotExpress;
use crate::wait::give_way;

impl Behaviour {
    /// A tool whose handler behaves so, in this process. Needs no runtime.
    ///
    /// # Errors
    ///
    /// For what only a child process can do.
    pub fn in_process(self, witness: Witness) -> Result<Tool, CannotExpress> {
        let tool = Tool::new(self.name(), "", json!({"type": "object"}));
        match self {
            Self::Exit | Self::KilledBySignal | Self::Endless => Err(CannotExpress::because(
                "a handler in this process is no child process",
            )),
            Self::NoHandler => Ok(tool),
            behaviour => Ok(tool.with_handler(Arc::new(Behaving { behaviour, witness }))),
        }
    }
}

struct Behaving {
    behaviour: Behaviour,
    witness: Witness,
}

impl ToolHandler for Behaving {
    fn check(&self, _: &Map) -> Result<(), Vec<ArgumentFault>> {
        if self.behaviour == Behaviour::RefuseArguments {
            return Err(vec![super::refusal()]);
        }
        Ok(())
    }

    fn style(&self) -> HandlerStyle {
        match self.behaviour {
            Behaviour::Blocking => HandlerStyle::Blocking,
            _ => HandlerStyle::Async,
        }
    }

    fn call(
        &self,
        arguments: Arc<Map>,
        context: ToolContext,
    ) -> BoxFuture<'_, Result<ToolReply, ToolError>> {
        Box::pin(async move {
            let _alive = self.witness.begin();
            match self.behaviour {
                Behaviour::Echo => {
                    return Ok(ToolReply::ok(&told(
                        Arc::unwrap_or_clone(arguments),
                        &context,
                    )));
                }
                Behaviour::ReportError => return Ok(ToolReply::Error(reported())),
                Behaviour::Panic => crash(),
                Behaviour::PanicLater => {
                    give_way().await;
                    crash();
                }
                Behaviour::PanicWithoutText => resume_unwind(Box::new(7_u8)),
                Behaviour::InvalidReturn => return ToolReply::from_json(json!(42)),
                Behaviour::NeverReturn | Behaviour::IgnoreCancel => std::future::pending().await,
                Behaviour::WaitForCancel => context.cancel.cancelled().await,
                Behaviour::Progress(count) => {
                    for number in 1..=count {
                        context.progress(Progress {
                            progress: Some(f64::from(number)),
                            total: Some(f64::from(count)),
                            message: Some(format!("{number} of {count}")),
                        });
                        give_way().await;
                    }
                }
                Behaviour::Blocking => self.witness.hold(),
                _ => {}
            }
            Ok(self.behaviour.reply().unwrap_or(ToolReply::ok(&())))
        })
    }
}

/// A panic that is not printed: the tests that it is part of go well.
fn crash() {
    resume_unwind(Box::new(CRASH_TEXT));
}

/// The subject of an executor that runs the handlers that tools carry.
///
/// ```
/// use allm_conformance::executor::{self, OfHandlers};
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// executor::check(&OfHandlers::new(allm::DefaultExecutor::new())).await.assert();
/// # });
/// ```
#[derive(Clone)]
pub struct OfHandlers(Arc<dyn ToolExecutor>);

impl OfHandlers {
    /// Of this executor.
    pub fn new(executor: impl ToolExecutor + 'static) -> Self {
        Self(Arc::new(executor))
    }
}

impl ExecutorSubject for OfHandlers {
    fn tool(&self, behaviour: Behaviour, witness: Witness) -> Result<Tool, CannotExpress> {
        behaviour.in_process(witness)
    }

    fn executor(&self) -> Arc<dyn ToolExecutor> {
        Arc::clone(&self.0)
    }
}

impl fmt::Debug for OfHandlers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OfHandlers").finish_non_exhaustive()
    }
}
