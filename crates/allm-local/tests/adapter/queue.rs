//! One answer at a time, in the order in which they were asked for.

use std::task::Poll;

use allm_core::{Adapter as _, Event, Request};
use allm_local::Local;

use crate::folders::TestFolder;
use crate::play::{ask, at_once, call, next};
use crate::tiny::{GO, Tiny};

fn endless(folder: &TestFolder) -> std::path::PathBuf {
    let tiny = Tiny::new()
        .context(1_000_000)
        .after(GO, "a")
        .after("a", "a");
    tiny.write(&folder.path().join("endless.gguf"))
}

fn limited(limit: u32) -> Request {
    let mut request = Request::new("Hi");
    request.max_tokens = Some(limit);
    request
}

async fn idle(local: &Local) {
    while local.activity().running > 0 {
        tokio::task::yield_now().await;
    }
}

/// P260
#[tokio::test]
async fn p260_who_asks_first_is_answered_first() {
    let folder = TestFolder::new();
    let path = endless(&folder);
    let local = Local::new();
    let mut streams: Vec<_> = (0..5)
        .map(|_| local.stream(call(&path, limited(200))))
        .collect();
    // The last stream that was made asks first.
    streams.reverse();
    for stream in &mut streams {
        assert!(at_once(stream).await.is_pending());
    }
    // When the last one has its end, all before it are over: nothing of them is waited for.
    let mut last = streams.pop().unwrap();
    while next(&mut last).await.is_some() {}
    for mut stream in streams {
        let mut count = 0;
        loop {
            match at_once(&mut stream).await {
                Poll::Ready(Some(_)) => count += 1,
                Poll::Ready(None) => break,
                Poll::Pending => panic!("an earlier answer is not over"),
            }
        }
        assert!(count >= 200, "{count} events");
    }
    assert_eq!(local.activity().begun, 5);
}

/// P261: counted in steps, not in time.
#[tokio::test]
async fn p261_dropping_a_stream_stops_the_work_within_one_token() {
    let folder = TestFolder::new();
    let path = endless(&folder);
    let local = Local::new();
    for round in 0..20 {
        let mut stream = local.stream(call(&path, limited(900_000)));
        let mut deltas = 0;
        while deltas < 3 + round {
            if let Some(Event::TextDelta(_)) = next(&mut stream).await {
                deltas += 1;
            }
        }
        drop(stream);
        let dropped = local.activity().steps;
        idle(&local).await;
        let after = local.activity().steps - dropped;
        assert!(after <= 1, "{after} steps after the stream was dropped");
    }
}

/// P261
#[tokio::test]
async fn cancelling_stops_the_work_within_one_token() {
    let folder = TestFolder::new();
    let path = endless(&folder);
    let local = Local::new();
    let asked = call(&path, limited(900_000));
    let cancel = asked.cancel.clone();
    let mut stream = local.stream(asked);
    while !matches!(next(&mut stream).await, Some(Event::TextDelta(_))) {}
    cancel.cancel();
    let cancelled = local.activity().steps;
    idle(&local).await;
    assert!(local.activity().steps - cancelled <= 1);
    let mut last = None;
    while let Some(event) = next(&mut stream).await {
        last = Some(event);
    }
    let Some(Event::Error(error)) = last else {
        panic!("no error: {last:?}")
    };
    assert_eq!(error.error.reason, "cancelled");
}

/// P261: who leaves the queue is not answered, and holds up nobody.
#[tokio::test]
async fn who_leaves_the_queue_is_never_begun() {
    let folder = TestFolder::new();
    let path = endless(&folder);
    let local = Local::new();
    let mut first = local.stream(call(&path, limited(900_000)));
    while !matches!(next(&mut first).await, Some(Event::TextDelta(_))) {}
    let mut waiting: Vec<_> = (0..10)
        .map(|_| local.stream(call(&path, limited(900_000))))
        .collect();
    for stream in &mut waiting {
        assert!(at_once(stream).await.is_pending());
    }
    let asked = ask(&local, call(&path, limited(3)));
    let mut asked = Box::pin(asked);
    tokio::select! {
        biased;
        _ = &mut asked => panic!("it must wait"),
        () = std::future::ready(()) => {}
    }
    drop(waiting);
    drop(first);
    assert_eq!(asked.await.text(), "aaa");
    assert_eq!(local.activity().begun, 2);
}

/// P260: other models do not wait.
#[tokio::test]
async fn each_model_has_a_thread_of_its_own() {
    let folder = TestFolder::new();
    let path = endless(&folder);
    let other = Tiny::new()
        .says(&[b"ok"])
        .write(&folder.path().join("other.gguf"));
    let local = Local::new();
    let mut first = local.stream(call(&path, limited(900_000)));
    while !matches!(next(&mut first).await, Some(Event::TextDelta(_))) {}
    assert_eq!(
        ask(&local, call(&other, Request::new("Hi"))).await.text(),
        "ok"
    );
    assert_eq!(local.activity().running, 1);
}
