//! The thread that a model runs on, and the queue before it.

mod answer;
mod caches;
mod calls;
mod decision;
mod loaded;
mod may;
mod sampler;
mod speech;

use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;

use allm_core::{AdapterReason, CancelToken, FinishReason, Request, Usage, Warning};
use tokio::sync::mpsc::UnboundedSender;

use crate::error::{ModelError, ModelErrorKind};

use loaded::Loaded;

/// What a stream is told of its answer.
#[derive(Debug)]
pub(crate) enum Update {
    /// It is no longer in the queue.
    Begun,
    /// Some of the prompt was read, or a token came that cannot be shown yet.
    Alive,
    Text(String),
    CallBegun(String),
    CallArguments(String),
    CallEnded,
    Done(Box<Summary>),
    Failed(AdapterReason, String),
}

/// How an answer ended.
#[derive(Debug)]
pub(crate) struct Summary {
    pub(crate) finish: FinishReason,
    pub(crate) raw_finish: &'static str,
    pub(crate) usage: Usage,
    pub(crate) warnings: Vec<Warning>,
}

/// An answer that is wanted.
pub(crate) struct Job {
    pub(crate) request: Arc<Request>,
    pub(crate) cancel: CancelToken,
    pub(crate) updates: UnboundedSender<Update>,
}

impl Job {
    /// Whether nobody waits for it any more.
    fn is_unwanted(&self) -> bool {
        self.updates.is_closed() || self.cancel.is_cancelled()
    }

    fn tell(&self, update: Update) {
        // Who has gone needs no telling; the work stops at the next look.
        let _ = self.updates.send(update);
    }
}

/// How a model is run.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) threads: NonZeroUsize,
    pub(crate) conversations: usize,
    /// The longest answer where the request does not say.
    pub(crate) max_tokens: u32,
}

/// What the threads of a provider have done so far.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) opened: AtomicU64,
    pub(crate) closed: AtomicU64,
    pub(crate) tokens: AtomicU64,
}

/// The way to the thread of a model.
#[derive(Clone, Debug)]
pub(crate) struct Worker(mpsc::Sender<Job>);

impl Worker {
    /// Starts the thread of a model. The model is loaded when the first answer is wanted; the thread ends when nobody
    /// can want another.
    pub(crate) fn start(
        path: PathBuf,
        settings: Settings,
        counters: Arc<Counters>,
    ) -> std::io::Result<Self> {
        let (sender, jobs) = mpsc::channel();
        std::thread::Builder::new()
            .name("allm-local".to_owned())
            .spawn(move || run(&path, &settings, &counters, &jobs))?;
        Ok(Self(sender))
    }

    /// Puts an answer at the end of the queue; `false` when the thread is gone.
    pub(crate) fn ask(&self, job: Job) -> bool {
        self.0.send(job).is_ok()
    }
}

fn run(
    path: &std::path::Path,
    settings: &Settings,
    counters: &Arc<Counters>,
    jobs: &mpsc::Receiver<Job>,
) {
    let mut loaded: Option<Loaded> = None;
    for job in jobs {
        if !job.is_unwanted() {
            job.tell(Update::Begun);
            counters.opened.fetch_add(1, Ordering::Relaxed);
            // A fault in somebody else's arithmetic must not take the thread, and all who wait, with it.
            let answered = catch_unwind(AssertUnwindSafe(|| {
                let model = match &mut loaded {
                    Some(model) => model,
                    none => none.insert(Loaded::load(path, settings)?),
                };
                Ok::<_, ModelError>(model.answer(&job, counters))
            }));
            let last = match answered {
                Ok(Ok(last)) => last,
                Ok(Err(error)) => Some(Update::Failed(reason(&error), error.to_string())),
                Err(_) => {
                    loaded = None;
                    let shown = path.display();
                    let message =
                        format!("the model {shown} stopped working and will be loaded again");
                    Some(Update::Failed(AdapterReason::GenerationFailed, message))
                }
            };
            // Who sees the end of an answer sees that nothing runs.
            counters.closed.fetch_add(1, Ordering::Release);
            if let Some(last) = last {
                job.tell(last);
            }
        }
    }
}

fn reason(error: &ModelError) -> AdapterReason {
    match error.kind() {
        // What is no model is as good as none: nothing comes of asking again, and another model may answer.
        ModelErrorKind::NotFound | ModelErrorKind::InvalidName | ModelErrorKind::Damaged => {
            AdapterReason::ModelNotFound
        }
        ModelErrorKind::Unsupported => AdapterReason::UnsupportedFeature,
        _ => AdapterReason::Unknown,
    }
}
