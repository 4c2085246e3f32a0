//! Runs that are large in one way each.

use std::time::{Duration, Instant};

use allm::{ChatResult, Engine, Fake, Map, Script, Thread, Tool};
use serde_json::json;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region};

/// What a piece of work cost.
#[derive(Clone, Copy, Debug)]
#[allow(dead_code, reason = "the test does not look at the time")]
pub(crate) struct Cost {
    pub(crate) time: Duration,
    /// Reallocations count, too.
    pub(crate) allocations: usize,
    /// What is still held when the work is done, with its result.
    pub(crate) live_bytes: isize,
}

/// Does the work and counts.
fn counted<T>(work: impl FnOnce() -> T) -> Cost {
    let region = Region::new(&INSTRUMENTED_SYSTEM);
    let start = Instant::now();
    let kept = work();
    let time = start.elapsed();
    let change = region.change();
    drop(kept);
    let bytes = |count: usize| isize::try_from(count).expect("a size");
    Cost {
        time,
        allocations: change.allocations + change.reallocations,
        live_bytes: bytes(change.bytes_allocated) - bytes(change.bytes_deallocated),
    }
}

fn engine(fake: &Fake) -> Engine {
    let echo = Tool::new(
        "echo",
        "Gives its arguments back.",
        json!({"type": "object"}),
    )
    .handler(|arguments: Map| async move { Ok::<_, std::fmt::Error>(arguments) });
    let builder = Engine::builder().provider(fake.clone()).model("fake:any");
    builder.tool(echo).build().expect("a valid engine")
}

fn on_runtime<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build();
    runtime.expect("a runtime").block_on(work)
}

fn call(script: Script, number: usize) -> Script {
    script.call("echo", json!({"number": number}))
}

/// One answer with this many calls.
pub(crate) fn calls(count: usize) -> Cost {
    let script = (0..count).fold(Script::new(), call);
    let fake = Fake::new().reply(script).reply("done");
    let engine = engine(&fake);
    let cost = counted(|| on_runtime(async { engine.chat("go").await.expect("a result") }));
    assert_eq!(fake.calls().len(), 2);
    cost
}

/// A run of this many turns, each with a call.
pub(crate) fn turns(count: usize) -> Cost {
    let script = |number| call(Script::new().text("Once more."), number);
    let scripts = (1..count).map(script);
    let fake = scripts.fold(Fake::new(), Fake::reply).reply("done");
    let engine = engine(&fake);
    let work = || {
        let limit = u32::try_from(count).expect("a size");
        let result = on_runtime(async { engine.chat("go").max_turns(limit).await });
        result.expect("a result")
    };
    let cost = counted(work);
    assert_eq!(fake.calls().len(), count);
    cost
}

/// This many chats at once, each with a call, on one engine.
pub(crate) fn chats(count: usize) -> Cost {
    // The answer comes late, so that all of them wait for it.
    let first = call(Script::new().delay(Duration::from_secs(1)), 0);
    let fake = (0..count).fold(Fake::new(), |fake, _| fake.reply(first.clone()));
    let fake = fake.always("done");
    let engine = engine(&fake);
    let cost = counted(|| {
        on_runtime(async {
            let chat = |_| {
                let chat = engine.chat(Thread::from("go"));
                tokio::spawn(async move { chat.await.expect("a result") })
            };
            let running: Vec<_> = (0..count).map(chat).collect();
            let mut results: Vec<ChatResult> = Vec::with_capacity(count);
            for chat in running {
                results.push(chat.await.expect("it ends"));
            }
            results
        })
    });
    assert_eq!(fake.max_concurrent(), count);
    cost
}
