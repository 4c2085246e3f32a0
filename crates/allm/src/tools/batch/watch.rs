//! Who watches the clock for the calls of a batch.

use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};

use tokio::time::{Instant, Sleep, sleep_until};
use tracing::Instrument;

use super::Shared;
use super::board::Overdue;
use super::call::{Call, Ending};

/// Ends calls that run for too long, as long as it is polled. It holds nothing of the caller's, so nothing can keep it from
/// that.
pub(super) struct Watcher {
    /// Not held: what is told to end does so only when its runtime comes to it, and the batch ends when it ends.
    shared: Weak<Shared>,
    /// Until the next call must have ended.
    sleep: Option<Pin<Box<Sleep>>>,
}

impl Watcher {
    pub(super) fn new(shared: &Arc<Shared>) -> Self {
        Self {
            shared: Arc::downgrade(shared),
            sleep: None,
        }
    }
}

impl Future for Watcher {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        let Some(shared) = this.shared.upgrade() else {
            return Poll::Ready(());
        };
        while let Some(due) = shared.board.next_due(cx) {
            let sleep = this.sleep.get_or_insert_with(|| Box::pin(sleep_until(due)));
            if sleep.deadline() != due {
                sleep.as_mut().reset(due);
            }
            if sleep.as_mut().poll(cx).is_pending() {
                break;
            }
            for overdue in shared.board.overdue(Instant::now().max(due)) {
                shared.time_out(overdue);
            }
        }
        Poll::Pending
    }
}

impl Shared {
    fn time_out(self: &Arc<Self>, overdue: Overdue) {
        let Overdue { place, task, due } = overdue;
        let to_run = self.calls.get(place);
        let entry = to_run.and_then(|to_run| self.tools.get(to_run.call.original_name()));
        // Only what has a tool was begun, and only where there is a runtime.
        let (Some(to_run), Some(entry), Some(runtime)) = (to_run, entry, &self.runtime) else {
            return;
        };
        // Fired first, so that a handler whose thread comes free now sees it.
        due.cancel.cancel();
        if let Some(task) = task {
            task.abort();
        }
        let call = Call::new(self, place, to_run, entry, due.cancel);
        let end = Ending::by_the_clock(call).time_out();
        let task = runtime.spawn(end.instrument(due.span));
        self.board.keep(place, task.abort_handle());
    }
}
