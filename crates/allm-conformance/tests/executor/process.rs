//! Child processes as the tools of the kit.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use allm::{ProcessExecutor, ProcessTool};
use allm_conformance::CannotExpress;
use allm_conformance::executor::{self, Behaviour, ExecutorSubject, Witness};
use allm_core::{
    BoxFuture, Map, Tool, ToolContext, ToolError, ToolExecutor, ToolReason, ToolReply,
};
use serde_json::json;

type Outcome = Result<ToolReply, ToolError>;
type Change = fn(&Tool, Outcome) -> Outcome;

/// A process executor with one thing wrong.
struct Changed(ProcessExecutor, Change);

impl ToolExecutor for Changed {
    fn execute<'a>(
        &'a self,
        tool: &'a Tool,
        arguments: Arc<Map>,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, Outcome> {
        Box::pin(async move { (self.1)(tool, self.0.execute(tool, arguments, context).await) })
    }
}

/// Each tool is a script of the shell with a name of its own.
#[derive(Default)]
struct Scripts {
    executor: Mutex<ProcessExecutor>,
    change: Option<Change>,
    pipes: Mutex<Vec<PathBuf>>,
}

impl Scripts {
    /// A named pipe that tells the witness: a line for each process that begins, and its end when none has it open.
    fn pipe(&self, witness: Witness) -> PathBuf {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("allm-conformance-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let made = Command::new("mkfifo").arg(&path).status().unwrap();
        assert!(made.success());
        self.pipes.lock().unwrap().push(path.clone());
        let watched = path.clone();
        // A tool that is not run is never written of; its thread ends with the test.
        std::thread::spawn(move || {
            let mut alive = Vec::new();
            // Never without a reader: a process that begins just then would be killed by its own line.
            let mut _last = None;
            while let Ok(pipe) = File::open(&watched) {
                for line in BufReader::new(&pipe).lines() {
                    assert_eq!(line.unwrap(), "begun");
                    alive.push(witness.begin());
                }
                alive.clear();
                _last = Some(pipe);
            }
        });
        path
    }
}

impl Drop for Scripts {
    fn drop(&mut self) {
        for path in self.pipes.lock().unwrap().drain(..) {
            let _ = std::fs::remove_file(path);
        }
    }
}

fn script(behaviour: Behaviour) -> Result<String, CannotExpress> {
    let cannot = |why| Err(CannotExpress::because(why));
    let script = match behaviour {
        Behaviour::Echo => r#"printf '{"ok":'; cat; printf '}'"#.to_owned(),
        Behaviour::Exit => "exit 3".to_owned(),
        Behaviour::KilledBySignal => "kill -9 $$".to_owned(),
        Behaviour::InvalidReturn => "echo 42".to_owned(),
        Behaviour::NeverReturn => "exec sleep 1000".to_owned(),
        Behaviour::IgnoreCancel => "trap '' TERM INT HUP; while :; do sleep 1000; done".to_owned(),
        Behaviour::Endless => r#"printf '{"ok":"'; exec yes"#.to_owned(),
        Behaviour::Flood(bytes) => {
            format!(r#"printf '{{"ok":"'; head -c {bytes} /dev/zero | tr '\0' x; printf '"}}'"#)
        }
        Behaviour::WaitForCancel | Behaviour::Progress(_) => {
            return cannot("a process is not told of it");
        }
        Behaviour::Panic | Behaviour::PanicLater | Behaviour::PanicWithoutText => {
            return cannot("a process does not panic here");
        }
        Behaviour::Blocking => return cannot("a process holds no thread of ours"),
        Behaviour::RefuseArguments => return cannot("a process is not asked beforehand"),
        behaviour => match behaviour.reply_json() {
            Some(reply) => format!("printf %s '{reply}'"),
            None => return cannot("not written"),
        },
    };
    Ok(script)
}

impl ExecutorSubject for Scripts {
    fn tool(&self, behaviour: Behaviour, witness: Witness) -> Result<Tool, CannotExpress> {
        let tool = Tool::new(behaviour.name(), "", json!({"type": "object"}));
        if behaviour == Behaviour::NoHandler {
            return Ok(tool);
        }
        let script = script(behaviour)?;
        let pipe = self.pipe(witness);
        let script = format!("exec 3>'{}'; echo begun >&3; {script}", pipe.display());
        let program = ProcessTool::new("/bin/sh")
            .args(["-c", &script])
            .env("PATH", "/usr/bin:/bin");
        let mut executor = self.executor.lock().unwrap();
        *executor = executor.clone().tool(behaviour.name(), program);
        Ok(tool)
    }

    fn executor(&self) -> Arc<dyn ToolExecutor> {
        let executor = self.executor.lock().unwrap().clone();
        match self.change {
            Some(change) => Arc::new(Changed(executor, change)),
            None => Arc::new(executor),
        }
    }
}

/// L43, L112 and what holds for every executor.
#[tokio::test]
async fn the_process_executor_passes() {
    let report = executor::check(&Scripts::default()).await;
    report.assert_skipping_only(&[
        "callers_value",
        "progress",
        "check_asks_the_handler",
        "panic",
        "panic_later",
        "panic_without_text",
        "crash_text_stays_in_the_cause",
        "cancel_reaches_the_tool",
        "blocking",
    ]);
}

async fn failed(change: Change) -> Vec<&'static str> {
    let mut scripts = Scripts::default();
    scripts.change = Some(change);
    let report = executor::check(&scripts).await;
    report.failed().map(|check| check.name).collect()
}

/// L43, L112.
#[tokio::test]
async fn l43_l112_deaths_that_are_told_as_something_else() {
    let panicked = |tool: &Tool, outcome: Outcome| {
        outcome.map_err(|mut error| {
            if tool.name == "exit" {
                error.reason = ToolReason::HandlerRaised;
            }
            error
        })
    };
    assert_eq!(failed(panicked).await, ["exit"]);
    let causeless = |tool: &Tool, outcome: Outcome| {
        outcome.map_err(|mut error| {
            if tool.name == "killed_by_signal" {
                error.cause = None;
            }
            error
        })
    };
    assert_eq!(failed(causeless).await, ["killed_by_signal"]);
    let cut = |tool: &Tool, outcome: Outcome| match outcome {
        Err(_) if tool.name == "endless" => Ok(ToolReply::ok("y")),
        outcome => outcome,
    };
    assert_eq!(failed(cut).await, ["endless_reply"]);
}
