//! Every hostile tool at once, in real time and with real limits.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "these are tests"
)]
#![cfg(all(unix, feature = "process"))]

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use allm::{
    Engine, Event, ExecutionResult, Fake, HaltReason, Map, ProcessTool, Progress, Script, Tool,
    ToolContext, limits, validate,
};
use serde_json::json;

type Fine<T> = Result<T, std::fmt::Error>;

/// The limit of tools that would go on for ever.
const SHORT: Duration = Duration::from_millis(300);
/// The limit of tools that end on their own, however busy the machine is.
const LONG: Duration = Duration::from_secs(20);
const DEADLINE: Duration = Duration::from_secs(30);

/// Held by threads that cannot be stopped, so that the test can end.
#[derive(Clone, Default)]
struct Release(Arc<AtomicBool>);

impl Release {
    fn is_given(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }

    /// Blocks the thread, until the test is over.
    fn block(&self) {
        let begin = Instant::now();
        while !self.is_given() && begin.elapsed() < 2 * DEADLINE {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

fn tool(name: &str, limit: Duration) -> Tool {
    let mut tool = Tool::new(name, "", json!({"type": "object"}));
    tool.timeout = Some(limit);
    tool
}

fn shell(name: &str, limit: Duration, script: &str) -> Tool {
    let program = ProcessTool::new("/bin/sh").arg("-c").arg(script);
    let program = program.env("PATH", "/usr/bin:/bin");
    tool(name, limit).with_handler(Arc::new(program.max_output(65_536)))
}

/// A named pipe. Reading it to its end proves that every process that had it open is gone.
struct Fifo(PathBuf);

impl Fifo {
    fn new() -> Self {
        let name = format!("allm-hostile-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let made = Command::new("mkfifo").arg(&path).status().unwrap();
        assert!(made.success());
        Self(path)
    }

    /// Tells how many lines were written once the last writer is gone.
    fn watch(&self) -> mpsc::Receiver<usize> {
        let path = self.0.clone();
        let (tell, told) = mpsc::channel();
        std::thread::spawn(move || {
            let mut pipe = BufReader::new(File::open(path).unwrap());
            let mut lines = 0;
            while pipe.read_line(&mut String::new()).unwrap() > 0 {
                lines += 1;
            }
            pipe.read_to_end(&mut Vec::new()).unwrap();
            tell.send(lines).unwrap();
        });
        told
    }
}

impl Drop for Fifo {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn panics(panic: fn() -> u8) -> Fine<u8> {
    Ok(panic())
}

/// What each tool comes to: the reason of its failure, or `ok`.
fn cast(release: &Release, fifo: &Fifo) -> Vec<(Tool, &'static str)> {
    let (blocks, worker, spins) = (release.clone(), release.clone(), release.clone());
    let good = |name: &str| {
        tool(name, LONG).handler(|_: Map| async {
            tokio::time::sleep(Duration::from_millis(50)).await;
            Fine::Ok("fine")
        })
    };
    let stubborn = format!(
        "trap '' TERM INT HUP; exec 3>{}; echo one >&3; (trap '' TERM; echo two >&3; sleep 600) & \
         (sleep 600 & sleep 600) & wait; wait",
        fifo.0.display()
    );
    vec![
        (good("good_first"), "ok"),
        (
            tool("reports", LONG).handler(|_: Map| async { Err::<u8, _>("no") }),
            "reported",
        ),
        (
            tool("panics", LONG).handler(|_: Map| async { panics(|| panic!("secret-123")) }),
            "handler_raised",
        ),
        (
            tool("panics_any", LONG)
                .handler(|_: Map| async { panics(|| std::panic::panic_any(42)) }),
            "handler_raised",
        ),
        (
            tool("never_returns", SHORT).handler(|_: Map| std::future::pending::<Fine<u8>>()),
            "timeout",
        ),
        (
            tool("blocks", SHORT).blocking(move |_: Map| {
                blocks.block();
                Fine::Ok("late")
            }),
            "timeout",
        ),
        (
            tool("blocks_a_worker", SHORT).handler(move |_: Map| {
                let release = worker.clone();
                async move {
                    release.block();
                    Fine::Ok("late")
                }
            }),
            "timeout",
        ),
        (
            tool("spins", SHORT).handler(move |_: Map| {
                let release = spins.clone();
                async move {
                    let begin = Instant::now();
                    while !release.is_given() && begin.elapsed() < 2 * DEADLINE {
                        std::hint::spin_loop();
                    }
                    Fine::Ok("late")
                }
            }),
            "timeout",
        ),
        (
            tool("ignores_cancel", SHORT).handler(|_: Map, context: ToolContext| async move {
                // It looks at the token and goes on.
                while context.cancel.is_cancelled() || !context.idempotency_key.is_empty() {
                    context.progress(Progress::default());
                    tokio::task::yield_now().await;
                }
                Fine::Ok("never")
            }),
            "timeout",
        ),
        (
            tool("floods", LONG).handler(|_: Map| async { Fine::Ok("x".repeat(100_000_000)) }),
            "ok",
        ),
        (good("good_amidst"), "ok"),
        (shell("kills_itself", LONG, "kill -KILL $$"), "handler_exit"),
        (shell("exits", LONG, "exit 3"), "handler_exit"),
        (
            shell("replies_twice", LONG, r#"echo '{"ok":1}'; echo '{"ok":2}'"#),
            "invalid_return",
        ),
        (
            shell("replies_garbage", LONG, "echo '}{'"),
            "invalid_return",
        ),
        (shell("floods_stdout", LONG, "exec yes"), "invalid_return"),
        (
            shell("stubborn", Duration::from_secs(2), &stubborn),
            "timeout",
        ),
        (shell("good_process", LONG, r#"echo '{"ok":"fine"}'"#), "ok"),
        (good("good_last"), "ok"),
    ]
}

/// L80, L98 to L103, L111, L112, L281: the run ends by itself, every call has one outcome of its own kind, and the next
/// turn happens.
#[test]
fn l98_hostile_tools_of_every_kind_in_one_turn() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        // Two of the handlers take a worker each and do not give it back.
        .worker_threads(5)
        .enable_all()
        .build()
        .unwrap();
    let (release, fifo) = (Release::default(), Fifo::new());
    let gone = fifo.watch();
    let cast = cast(&release, &fifo);
    let script = cast.iter().fold(Script::new(), |script, (tool, _)| {
        script.call(tool.name.as_str(), json!({}))
    });
    let fake = Fake::new().reply(script).reply("still here");
    let engine = Engine::builder()
        .provider(fake.clone())
        .model("fake:any")
        .tools(cast.iter().map(|(tool, _)| tool.clone()))
        .build()
        .unwrap();
    let chat = engine
        .chat("go")
        .max_concurrency(cast.len())
        .run_deadline(DEADLINE);
    let begin = Instant::now();
    let events = runtime
        .block_on(runtime.spawn(chat.stream().collect()))
        .unwrap();

    let took = begin.elapsed();
    assert!(took < DEADLINE, "{took:?}");
    let Some(Event::ChatCompleted(completed)) = events.last() else {
        panic!("{:?}", events.last().map(Event::tag))
    };
    let result = &completed.result;
    assert_eq!(
        result.halted_reason,
        HaltReason::Completed,
        "{:?}",
        result.metadata
    );
    assert_eq!(
        (result.text().as_str(), result.steps.len()),
        ("still here", 2)
    );
    fake.assert_calls(2);
    validate::sendable(&result.thread.messages).unwrap();

    let mut outcomes = BTreeMap::new();
    let mut closings = vec![0; cast.len()];
    for event in &events {
        match event {
            Event::ToolExecutionCompleted(event) => {
                let outcome = match &event.result {
                    ExecutionResult::Ok(_) => "ok".to_owned(),
                    ExecutionResult::Error(failure) => failure.reason.to_string(),
                    other => panic!("{other:?}"),
                };
                assert_eq!(outcomes.insert(event.name.clone(), outcome), None);
            }
            Event::ToolResultEncoded(event) => closings[event.index as usize] += 1,
            _ => {}
        }
    }
    let expected = cast
        .iter()
        .map(|(tool, outcome)| (tool.name.clone(), (*outcome).to_owned()));
    assert_eq!(outcomes, expected.collect());
    assert_eq!(closings, vec![1; cast.len()]);
    for ((tool, outcome), message) in cast.iter().zip(result.steps[0].tool_results.iter()) {
        let text = message.text();
        assert_eq!(message.is_error, *outcome != "ok", "{}", tool.name);
        assert!(text.len() <= limits::MAX_TOOL_OUTPUT + 100 && !text.contains("secret-123"));
        if tool.name.as_str().starts_with("good") {
            assert_eq!(text, "fine");
        }
    }
    let lines = gone
        .recv_timeout(DEADLINE)
        .expect("all of its processes are gone");
    assert_eq!(lines, 2, "it had a grandchild");

    release.0.store(true, Ordering::SeqCst);
    runtime.shutdown_background();
}
