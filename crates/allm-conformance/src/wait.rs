//! Waiting without a runtime: the kits run in whatever the caller's test runs in.

use std::any::Any;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use allm_core::BoxFuture;

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What is locked here is whole at any instant.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Real time, on a thread of its own.
pub(crate) fn sleep(duration: Duration) -> BoxFuture<'static, ()> {
    Box::pin(async move { Sleep::begin(duration).await })
}

#[derive(Default)]
struct Alarm {
    state: Mutex<AlarmState>,
    changed: Condvar,
}

#[derive(Default)]
struct AlarmState {
    is_over: bool,
    is_unwanted: bool,
    waker: Option<Waker>,
}

struct Sleep(Arc<Alarm>);

impl Sleep {
    fn begin(duration: Duration) -> Self {
        let alarm = Arc::new(Alarm::default());
        let clock = Arc::clone(&alarm);
        let thread = std::thread::Builder::new().name("allm-conformance-clock".to_owned());
        let started = thread.spawn(move || {
            let state = lock(&clock.state);
            let wait = clock
                .changed
                .wait_timeout_while(state, duration, |state| !state.is_unwanted);
            let (mut state, _) = wait.unwrap_or_else(PoisonError::into_inner);
            state.is_over = true;
            if let Some(waker) = state.waker.take() {
                waker.wake();
            }
        });
        // Without a thread there is no clock: better over at once than never.
        if started.is_err() {
            lock(&alarm.state).is_over = true;
        }
        Self(alarm)
    }
}

impl Future for Sleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let mut state = lock(&self.0.state);
        if state.is_over {
            return Poll::Ready(());
        }
        state.waker = Some(cx.waker().clone());
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        let mut state = lock(&self.0.state);
        state.is_unwanted = true;
        state.waker = None;
        self.0.changed.notify_all();
    }
}

/// What `future` comes to, unless `alarm` is over first.
pub(crate) async fn before<F: Future>(
    alarm: BoxFuture<'static, ()>,
    future: F,
) -> Option<F::Output> {
    let (mut alarm, mut future) = (alarm, pin!(future));
    poll_fn(|cx| {
        if let Poll::Ready(output) = future.as_mut().poll(cx) {
            return Poll::Ready(Some(output));
        }
        alarm.as_mut().poll(cx).map(|()| None)
    })
    .await
}

/// What `future` comes to, or the text of its panic.
pub(crate) async fn caught<F: Future>(future: F) -> Result<F::Output, String> {
    let mut future = pin!(future);
    poll_fn(|cx| {
        // After a panic it is not polled again.
        match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(cx))) {
            Ok(polled) => polled.map(Ok),
            Err(payload) => Poll::Ready(Err(panic_text(payload))),
        }
    })
    .await
}

/// What `f` comes to, or the text of its panic.
pub(crate) fn caught_now<T>(f: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(f)).map_err(panic_text)
}

fn panic_text(payload: Box<dyn Any + Send>) -> String {
    let text = match payload.downcast::<String>() {
        Ok(text) => *text,
        Err(payload) => match payload.downcast::<&'static str>() {
            Ok(text) => (*text).to_owned(),
            Err(payload) => {
                // Its destructor may panic in turn.
                std::mem::forget(payload);
                "a payload that is not text".to_owned()
            }
        },
    };
    format!("it panicked: {text}")
}

/// Polls once.
pub(crate) async fn polled_once<F: Future + ?Sized>(future: &mut Pin<Box<F>>) -> Poll<F::Output> {
    poll_fn(|cx| Poll::Ready(future.as_mut().poll(cx))).await
}

/// All outputs, in order, when all are ready.
pub(crate) async fn all<T>(futures: Vec<BoxFuture<'_, T>>) -> Vec<T> {
    enum Slot<'a, T> {
        Waiting(BoxFuture<'a, T>),
        Ready(T),
    }
    let mut slots: Vec<Slot<'_, T>> = futures.into_iter().map(Slot::Waiting).collect();
    poll_fn(|cx| {
        let mut is_ready = true;
        for slot in &mut slots {
            if let Slot::Waiting(future) = slot {
                match future.as_mut().poll(cx) {
                    Poll::Ready(output) => *slot = Slot::Ready(output),
                    Poll::Pending => is_ready = false,
                }
            }
        }
        if is_ready {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    })
    .await;
    let ready = |slot| match slot {
        Slot::Ready(output) => Some(output),
        Slot::Waiting(_) => None,
    };
    slots.into_iter().filter_map(ready).collect()
}

/// Lets everybody else go first, once.
pub(crate) async fn give_way() {
    let mut has_waited = false;
    poll_fn(|cx| {
        if has_waited {
            return Poll::Ready(());
        }
        has_waited = true;
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// `None` as soon as `signal` is ready, or what `future` came to before.
pub(crate) async fn first<S: Future, F: Future + ?Sized>(
    signal: S,
    future: &mut Pin<Box<F>>,
) -> Option<F::Output> {
    let mut signal = pin!(signal);
    poll_fn(|cx| {
        if let Poll::Ready(output) = future.as_mut().poll(cx) {
            return Poll::Ready(Some(output));
        }
        signal.as_mut().poll(cx).map(|_| None)
    })
    .await
}
