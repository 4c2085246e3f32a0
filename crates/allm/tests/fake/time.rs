//! Delays, limits, cancelling and cleanup: C135, C136, C182, C183, C191.

use std::time::Duration;

use allm::{
    Adapter, AdapterReason, Error, Event, Failure, Fake, FakeOutcome, ModelCall, RawChunks, Script,
    StreamReason, Timeouts,
};
use tokio::time::Instant;

use crate::support::{ask, events_of, folded, next, only_failure, rest, tags};

const SECOND: Duration = Duration::from_secs(1);

fn seconds(number: u64) -> Duration {
    SECOND * u32::try_from(number).unwrap()
}

fn within(timeouts: Timeouts) -> ModelCall {
    let mut call = ask();
    call.timeouts = timeouts;
    call
}

/// The reason of the last event and how long all took.
async fn ended(script: Script, timeouts: Timeouts) -> (Failure, Duration) {
    let started = Instant::now();
    let events = events_of(&Fake::new().reply(script), within(timeouts)).await;
    match events.last() {
        Some(Event::Error(event)) => (event.error.clone(), started.elapsed()),
        last => panic!("{last:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn c183_a_delay_before_the_first_step_delays_the_first_event() {
    let fake = Fake::new().reply(
        Script::new()
            .delay(seconds(50))
            .text("a")
            .delay(SECOND)
            .text("b"),
    );
    let started = Instant::now();
    let mut stream = fake.stream(ask());
    let first = next(&mut stream).await.unwrap();
    assert_eq!(first.tag(), "message_started");
    assert_eq!(started.elapsed(), seconds(50));
    assert_eq!(next(&mut stream).await.unwrap().tag(), "text_delta");
    assert_eq!(started.elapsed(), seconds(50));
    let rest = rest(&mut stream).await;
    assert_eq!(started.elapsed(), seconds(51));
    assert_eq!(rest.last().unwrap().tag(), "message_completed");
}

#[tokio::test(start_paused = true)]
async fn c182_a_hang_before_content_is_a_timeout_of_the_attempt() {
    let (failure, took) = ended(Script::new().hang(), Timeouts::default()).await;
    assert_eq!(took, seconds(120));
    let Error::Adapter(error) = Error::from(failure) else {
        panic!("an adapter error");
    };
    assert_eq!(error.reason, AdapterReason::Timeout);
    assert_eq!(error.request_id, Some("r1".into()));
}

#[tokio::test(start_paused = true)]
async fn c182_a_hang_after_content_is_a_timeout_of_the_stream() {
    let (failure, took) = ended(Script::new().text("a").hang(), Timeouts::default()).await;
    assert_eq!(took, seconds(60));
    let Error::Stream(error) = Error::from(failure) else {
        panic!("a stream error");
    };
    assert_eq!(error.reason, StreamReason::Timeout);
    assert_eq!(error.event_index, Some(2));
}

#[tokio::test(start_paused = true)]
async fn a_hang_without_limits_lasts() {
    let fake = Fake::new().reply(Script::new().hang());
    let mut stream = fake.stream(within(Timeouts::NONE));
    let waited = tokio::time::timeout(seconds(1_000_000), next(&mut stream)).await;
    assert!(waited.is_err());
    assert_eq!(fake.open_streams(), 1);
    drop(stream);
    assert_eq!(fake.calls()[0].outcome, FakeOutcome::Dropped);
}

#[tokio::test(start_paused = true)]
async fn limits_hold_for_delays_as_for_any_silence() {
    let idle = Timeouts {
        idle: Some(seconds(10)),
        ..Timeouts::NONE
    };
    let long = Script::new().text("a").delay(seconds(6)).delay(seconds(6));
    let (failure, took) = ended(long, idle).await;
    assert_eq!((&*failure.reason, took), ("timeout", seconds(10)));
    // A sign of life, asked for or not, begins a new silence.
    let alive = Script::new()
        .text("a")
        .delay(seconds(6))
        .raw("0")
        .delay(seconds(6))
        .text("b");
    let events = events_of(&Fake::new().reply(alive), within(idle)).await;
    assert_eq!(folded(&events).text(), "ab");
    // Up to the limit is within it.
    let just = Script::new().text("a").delay(seconds(10)).text("b");
    let events = events_of(&Fake::new().reply(just), within(idle)).await;
    assert_eq!(folded(&events).text(), "ab");
}

#[tokio::test(start_paused = true)]
async fn pings_alone_stall() {
    let limits = Timeouts {
        idle: Some(seconds(60)),
        stall: Some(seconds(35)),
        ..Timeouts::NONE
    };
    let pings = (0..10).fold(Script::new().text("a"), |script, _| {
        script.delay(seconds(10)).raw("\"ping\"")
    });
    let (failure, took) = ended(pings, limits).await;
    assert_eq!((&*failure.reason, took), ("stalled", seconds(35)));
}

#[tokio::test(start_paused = true)]
async fn the_deadline_counts_from_the_first_poll() {
    let limits = Timeouts {
        deadline: Some(seconds(10)),
        ..Timeouts::NONE
    };
    let script = (0..5).fold(Script::new(), |script, _| {
        script.text("a").delay(seconds(3))
    });
    let (failure, took) = ended(script, limits).await;
    assert_eq!((&*failure.reason, took), ("timeout", seconds(10)));
}

#[tokio::test(start_paused = true)]
async fn a_consumer_may_take_its_time() {
    let script = Script::new().text("a").delay(seconds(50)).text("b");
    let fake = Fake::new().reply(script);
    let mut stream = fake.stream(ask());
    next(&mut stream).await;
    tokio::time::sleep(seconds(500)).await;
    assert_eq!(folded(&rest(&mut stream).await).text(), "ab");
}

#[tokio::test(start_paused = true)]
async fn a_delay_beyond_the_clock_is_a_hang() {
    let (failure, took) = ended(Script::new().delay(Duration::MAX), Timeouts::default()).await;
    assert_eq!((&*failure.reason, took), ("timeout", seconds(120)));
}

#[tokio::test(start_paused = true)]
async fn c136_cancelling_ends_a_silence_at_once() {
    let fake = Fake::new().reply(Script::new().text("a").hang());
    let call = within(Timeouts::NONE);
    let cancel = call.cancel.clone();
    let started = Instant::now();
    tokio::spawn(async move {
        tokio::time::sleep(seconds(7)).await;
        cancel.cancel();
    });
    let events = events_of(&fake, call).await;
    assert_eq!(started.elapsed(), seconds(7));
    assert_eq!(tags(&events), ["message_started", "text_delta", "error"]);
    let response = folded(&events);
    assert_eq!(response.text(), "a");
    assert_eq!(response.error.unwrap().reason, "cancelled");
    assert_eq!((fake.open_streams(), fake.cleanups()), (0, 1));
    let FakeOutcome::Failed(failure) = &fake.calls()[0].outcome else {
        panic!("{:?}", fake.calls());
    };
    assert_eq!(failure.reason, "cancelled");
}

#[tokio::test]
async fn cancelling_beats_events_that_nobody_took() {
    let fake = Fake::new().reply(Script::new().typed("abc"));
    let call = ask();
    let mut stream = fake.stream(call.clone());
    next(&mut stream).await;
    call.cancel.cancel();
    assert_eq!(only_failure(&rest(&mut stream).await).reason, "cancelled");
    // Before the first poll nothing is used up.
    let fake = Fake::new().reply("a");
    let events = events_of(&fake, call).await;
    assert_eq!(only_failure(&events).reason, "cancelled");
    fake.assert_calls(0);
    assert_eq!((fake.open_streams(), fake.cleanups()), (0, 0));
}

#[tokio::test]
async fn c135_dropping_the_stream_after_two_events_cleans_up() {
    let fake = Fake::new().reply(Script::new().text("a").text("b"));
    let mut stream = fake.stream(ask());
    next(&mut stream).await;
    next(&mut stream).await;
    assert_eq!((fake.open_streams(), fake.cleanups()), (1, 0));
    assert_eq!(fake.calls()[0].outcome, FakeOutcome::Open);
    drop(stream);
    assert_eq!((fake.open_streams(), fake.cleanups()), (0, 1));
    assert_eq!(fake.calls()[0].outcome, FakeOutcome::Dropped);
    assert_eq!(fake.calls()[0].events_polled, 2);
}

#[tokio::test]
async fn c136_cleanup_is_one_after_completion_and_error() {
    for script in [
        Script::new().text("a"),
        Script::new().fail(AdapterReason::Timeout),
        Script::new().text("a").fail(AdapterReason::Timeout),
        Script::new().text("a").stream_fail(StreamReason::Stalled),
        Script::new().cut(),
    ] {
        let fake = Fake::new().reply(script);
        let mut stream = fake.stream(ask());
        rest(&mut stream).await;
        assert_eq!((fake.open_streams(), fake.cleanups()), (0, 1));
        drop(stream);
        assert_eq!((fake.open_streams(), fake.cleanups()), (0, 1));
    }
}

#[tokio::test]
async fn cleanup_comes_with_the_last_event() {
    let fake = Fake::new().reply("a");
    let mut stream = fake.stream(ask());
    while let Some(event) = next(&mut stream).await {
        let is_last = event.tag() == "message_completed";
        assert_eq!(fake.cleanups(), usize::from(is_last));
    }
}

#[tokio::test]
async fn c136_cleanup_is_one_after_a_panic_of_the_consumer() {
    let fake = Fake::new().reply("a").reply("b");
    let consumer = fake.clone();
    let task = tokio::spawn(async move {
        let mut stream = consumer.stream(ask());
        next(&mut stream).await;
        panic!("the consumer");
    });
    assert!(task.await.unwrap_err().is_panic());
    assert_eq!((fake.open_streams(), fake.cleanups()), (0, 1));
    // The state is good for further calls.
    assert_eq!(folded(&events_of(&fake, ask()).await).text(), "b");
}

#[tokio::test]
async fn c191_cleanups_equal_the_streams_that_were_opened() {
    let fake = Fake::new().always(Script::new().text("a").text("b"));
    let mut opened = 0;
    let mut kept = Vec::new();
    for number in 0..60 {
        let mut call = ask();
        call.raw_chunks = RawChunks::On;
        let mut stream = fake.stream(call.clone());
        match number % 5 {
            0 => continue,
            1 => drop(rest(&mut stream).await),
            2 => drop(next(&mut stream).await),
            3 => {
                next(&mut stream).await;
                call.cancel.cancel();
                next(&mut stream).await;
            }
            _ => {
                next(&mut stream).await;
                kept.push(stream);
            }
        }
        opened += 1;
    }
    assert_eq!(fake.open_streams(), kept.len());
    assert_eq!(fake.cleanups(), opened - kept.len());
    assert_eq!(fake.max_concurrent(), kept.len());
    drop(kept);
    assert_eq!((fake.open_streams(), fake.cleanups()), (0, opened));
    fake.assert_calls(opened);
}
