//! A token that stops work.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

/// Stops work: whoever holds a clone can cancel, any number of times, from any thread.
///
/// A [`child`](Self::child) is cancelled with its parent, and can be cancelled alone.
///
/// ```
/// use allm_core::CancelToken;
///
/// let run = CancelToken::new();
/// let call = run.child();
/// run.cancel();
/// assert!(call.is_cancelled());
/// ```
#[derive(Clone, Default)]
pub struct CancelToken(Arc<Inner>);

#[derive(Default)]
struct Inner {
    cancelled: AtomicBool,
    next: AtomicU64,
    waiting: Mutex<Waiting>,
    parent: Option<CancelToken>,
}

#[derive(Default)]
struct Waiting {
    wakers: Vec<(u64, Waker)>,
    children: Vec<std::sync::Weak<Inner>>,
}

impl Inner {
    /// The list is whole at any instant, so a panic elsewhere while it was locked does not matter.
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn cancel(&self) {
        if self.cancelled.swap(true, Ordering::AcqRel) {
            return;
        }
        let Waiting { wakers, children } = std::mem::take(&mut *self.waiting());
        for (_, waker) in wakers {
            waker.wake();
        }
        for child in children {
            if let Some(child) = child.upgrade() {
                child.cancel();
            }
        }
    }
}

impl CancelToken {
    /// A token that nobody has cancelled.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Cancels this token and its children. A second time does nothing.
    pub fn cancel(&self) {
        self.0.cancel();
    }

    /// Whether somebody has cancelled.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.cancelled.load(Ordering::Acquire)
    }

    /// A token that is cancelled with this one, and can be cancelled alone.
    #[must_use]
    pub fn child(&self) -> Self {
        let child = Self(Arc::new(Inner {
            parent: Some(self.clone()),
            ..Inner::default()
        }));
        let mut waiting = self.0.waiting();
        if self.is_cancelled() {
            drop(waiting);
            child.cancel();
        } else {
            // Children that are gone leave their place to new ones, so the list does not outgrow the living.
            waiting.children.retain(|child| child.strong_count() > 0);
            waiting.children.push(Arc::downgrade(&child.0));
        }
        child
    }

    /// Ready as soon as somebody has cancelled.
    ///
    /// # Cancel safety
    ///
    /// Dropping it leaves nothing behind.
    pub fn cancelled(&self) -> Cancelled {
        Cancelled {
            token: self.clone(),
            key: self.0.next.fetch_add(1, Ordering::Relaxed),
            waits: None,
        }
    }
}

impl fmt::Debug for CancelToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CancelToken")
            .field("cancelled", &self.is_cancelled())
            .field("has_parent", &self.0.parent.is_some())
            .finish()
    }
}

/// Ready as soon as its token is cancelled.
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct Cancelled {
    token: CancelToken,
    key: u64,
    /// Whom the token will wake. It stays in the token's list until the token is cancelled or this is dropped.
    waits: Option<Waker>,
}

impl Cancelled {
    /// Whether the token has fired.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.token.is_cancelled()
    }
}

impl Future for Cancelled {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = self.get_mut();
        if this.token.is_cancelled() {
            return Poll::Ready(());
        }
        // Asked again by the same task, as for every piece of a stream: nothing is to be changed.
        if matches!(&this.waits, Some(waker) if waker.will_wake(cx.waker())) {
            return Poll::Pending;
        }
        let mut waiting = this.token.0.waiting();
        if this.token.is_cancelled() {
            return Poll::Ready(());
        }
        match waiting.wakers.iter_mut().find(|(key, _)| *key == this.key) {
            Some((_, waker)) => waker.clone_from(cx.waker()),
            None => waiting.wakers.push((this.key, cx.waker().clone())),
        }
        this.waits = Some(cx.waker().clone());
        Poll::Pending
    }
}

impl Drop for Cancelled {
    fn drop(&mut self) {
        self.token
            .0
            .waiting()
            .wakers
            .retain(|(key, _)| *key != self.key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;
    use std::task::Wake;

    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn wakes_who_waits_once_and_forgets_who_left() {
        let token = CancelToken::new();
        let count = Arc::new(Count::default());
        let waker = Waker::from(Arc::clone(&count));
        let mut cx = Context::from_waker(&waker);
        let mut stays = token.cancelled();
        let mut leaves = token.cancelled();
        assert!(Pin::new(&mut stays).poll(&mut cx).is_pending());
        assert!(Pin::new(&mut stays).poll(&mut cx).is_pending());
        assert!(Pin::new(&mut leaves).poll(&mut cx).is_pending());
        drop(leaves);
        token.cancel();
        token.cancel();
        assert_eq!(count.0.load(Ordering::Relaxed), 1);
        assert!(Pin::new(&mut stays).poll(&mut cx).is_ready());
        assert!(Pin::new(&mut token.cancelled()).poll(&mut cx).is_ready());
    }

    /// Who waits may move to another task; only the last one is woken.
    #[test]
    fn wakes_the_task_that_asked_last() {
        let token = CancelToken::new();
        let counts = [(); 2].map(|()| Arc::new(Count::default()));
        let mut waits = token.cancelled();
        for count in [&counts[0], &counts[1], &counts[0], &counts[1]] {
            let waker = Waker::from(Arc::clone(count));
            let mut cx = Context::from_waker(&waker);
            assert!(Pin::new(&mut waits).poll(&mut cx).is_pending());
            assert!(Pin::new(&mut waits).poll(&mut cx).is_pending());
        }
        token.cancel();
        let woken = counts.map(|count| count.0.load(Ordering::Relaxed));
        assert_eq!(woken, [0, 1]);
    }

    #[test]
    fn children_follow_their_parent_and_not_the_other_way() {
        let parent = CancelToken::new();
        let (one, two) = (parent.child(), parent.child());
        let grandchild = one.child();
        two.cancel();
        assert!(!parent.is_cancelled() && !one.is_cancelled() && two.is_cancelled());
        parent.cancel();
        assert!(one.is_cancelled() && grandchild.is_cancelled() && parent.child().is_cancelled());
    }

    #[test]
    fn children_that_are_gone_leave_no_trace() {
        let parent = CancelToken::new();
        for _ in 0..1000 {
            drop(parent.child());
        }
        assert!(parent.0.waiting().children.len() <= 1);
    }
}
