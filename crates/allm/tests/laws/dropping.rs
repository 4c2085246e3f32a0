//! Dropping a run after any of its events: L270 to L275.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use allm::{Event, Mode};
use futures_core::Stream;
use proptest::prelude::*;
use tokio::runtime::Handle;
use tokio::task::yield_now;

use super::case::{Case, Size, case};
use super::check;
use super::on_paused_time;
use super::tools::Alive;

const SIZE: Size = Size { turns: 3, calls: 3 };

/// Where in the wait for the next event the stream is dropped.
#[derive(Clone, Copy, Debug)]
enum Moment {
    /// Before it was polled again.
    Taken,
    /// It was polled, and what it started has had its turns.
    Waiting,
}

/// How many events the whole run has.
async fn whole(case: &Case) -> usize {
    let fake = case.fake();
    let chat = case
        .settings
        .chat(&case.settings.engine(&fake, &Alive::default()));
    chat.stream().collect().await.len()
}

/// Gives the runtime its turns, and other threads theirs, until something holds. A closure that a thread has begun is
/// not aborted, only waited for, however busy the machine is.
async fn until(holds: impl Fn() -> bool) {
    let patience = std::time::Instant::now() + Duration::from_secs(60);
    while !holds() {
        assert!(std::time::Instant::now() < patience, "something is left");
        std::thread::yield_now();
        yield_now().await;
    }
}

async fn drop_after(case: &Case, taken: usize, moment: Moment) {
    let (fake, alive) = (case.fake(), Alive::default());
    let metrics = Handle::current().metrics();
    let before = metrics.num_alive_tasks();
    let chat = case.settings.chat(&case.settings.engine(&fake, &alive));
    // The task that fires the token is the test's own.
    let own = metrics.num_alive_tasks() - before;
    let mut stream = chat.stream();
    let mut committed = None;
    for _ in 0..taken {
        if let Some(Event::StepCompleted(step)) = stream.next().await {
            committed = Some(step);
        }
    }
    if let Moment::Waiting = moment {
        let polled = poll_fn(|cx| Poll::Ready(Pin::new(&mut stream).poll_next(cx))).await;
        if let Poll::Ready(Some(Event::StepCompleted(step))) = polled {
            committed = Some(step);
        }
        for _ in 0..4 {
            yield_now().await;
        }
    }
    drop(stream);
    assert_eq!(fake.open_streams(), 0, "at once, not later");
    assert_eq!(fake.cleanups(), fake.calls().len());
    let calls = fake.calls().len();
    // Every abort has been asked for; the runtime needs its turns to carry them out, and no time has to pass.
    let now = tokio::time::Instant::now();
    until(|| metrics.num_alive_tasks() <= before + own && alive.count() == 0).await;
    assert_eq!(tokio::time::Instant::now(), now);
    tokio::time::advance(Duration::from_secs(120)).await;
    until(|| metrics.num_alive_tasks() <= before).await;
    assert_eq!(fake.calls().len(), calls, "no further model call");
    assert_eq!(alive.count(), 0);
    if let Some(step) = committed {
        let open = check::open(&step.thread.messages);
        let manual = |id| step.manual_tool_calls.iter().any(|call| call.id == id);
        let whole_run = step.mode == Mode::Manual;
        assert!(whole_run || open.into_iter().all(manual), "{step:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    /// L270, L271, L272, L274.
    #[test]
    fn l272_a_run_dropped_after_any_event_leaves_nothing(case in case(SIZE)) {
        on_paused_time(async {
            let events = whole(&case).await;
            for taken in 0..=events {
                for moment in [Moment::Taken, Moment::Waiting] {
                    drop_after(&case, taken, moment).await;
                }
            }
        });
    }
}
