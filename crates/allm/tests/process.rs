//! Tools that are child processes: L43, L111, L112, and the rules of `ProcessTool`.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    reason = "these are tests"
)]
#![cfg(all(unix, feature = "process"))]

mod runner_support;

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use allm::{
    CancelToken, DefaultExecutor, ErrorDecision, Event, Map, OnToolError, ProcessExecutor,
    ProcessTool, SessionId, Tool, ToolContext, ToolError, ToolExecutor, ToolHandler, ToolReason,
    ToolReply, ToolRunOptions, run_tool_calls, stream_tool_calls,
};
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use runner_support::*;

/// A tool that is this script.
fn shell(script: &str) -> ProcessTool {
    ProcessTool::new("/bin/sh")
        .arg("-c")
        .arg(script)
        .env("PATH", "/usr/bin:/bin")
}

async fn reply(tool: &ProcessTool) -> Result<ToolReply, ToolError> {
    tool.call(Map::new().into(), ToolContext::new(call(0, "t")))
        .await
}

async fn failure(tool: &ProcessTool) -> (ToolReason, String) {
    let error = reply(tool).await.unwrap_err();
    (error.reason, error.cause.unwrap().message)
}

/// A named pipe. Reading it to its end proves that every process that had it open is gone.
struct Fifo(PathBuf);

impl Fifo {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("allm-fifo-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        assert!(
            Command::new("mkfifo")
                .arg(&path)
                .status()
                .unwrap()
                .success()
        );
        Self(path)
    }

    fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }

    /// Tells when somebody has written a line, and when the last writer is gone.
    fn watch(&self) -> (oneshot::Receiver<()>, JoinHandle<()>) {
        let path = self.0.clone();
        let (begun, has_begun) = oneshot::channel();
        let gone = tokio::task::spawn_blocking(move || {
            let mut pipe = BufReader::new(File::open(path).unwrap());
            pipe.read_line(&mut String::new()).unwrap();
            let _ = begun.send(());
            pipe.read_to_end(&mut Vec::new()).unwrap();
        });
        (has_begun, gone)
    }
}

impl Drop for Fifo {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[tokio::test]
async fn the_forms_of_a_reply() {
    for (said, expected) in [
        (r#"{"ok": {"a": 1}}"#, ToolReply::ok(&json!({"a": 1}))),
        (
            r#"{"error": "no"}"#,
            ToolReply::Error(allm::ReportedError::new("no")),
        ),
        (
            r#"{"ask_user": {"question": "why?"}}"#,
            ToolReply::ask("why?"),
        ),
        (
            r#"{"ask_user": {"question": "why?", "answer_to": "tool", "state": {"n": 1}}}"#,
            ToolReply::ask_and_go_on_with("why?", Map::new(), json!({"n": 1})),
        ),
        (
            r#"{"halt": {"reason": "done", "value": 1}}"#,
            ToolReply::halt("done", &1),
        ),
    ] {
        let tool = ProcessTool::new("/bin/echo").arg(said);
        assert_eq!(reply(&tool).await.unwrap(), expected);
    }
}

/// L297: the program is told what a person answered it, and what it gave along with its question.
#[tokio::test]
async fn l297_a_person_s_answer_is_in_the_input() {
    let tool = shell(r#"printf '{"ok":'; cat; printf '}'"#);
    let told = async |context| match tool.call(Map::new().into(), context).await {
        Ok(ToolReply::Ok(value)) => value.get().unwrap().clone(),
        other => panic!("{other:?}"),
    };
    let mut context = ToolContext::new(call(0, "t"));
    assert_eq!(told(context.clone()).await.get("answer"), None);
    context.answer = Some(allm::Answer::new("red").state(json!({"n": 1})));
    let expected = json!({"content": [{"type": "text", "text": "red"}], "state": {"n": 1}});
    assert_eq!(told(context).await["answer"], expected);
}

/// L60 for what comes back: the deepest arguments can be given back with something around them.
#[tokio::test]
async fn a_reply_may_be_as_deep_as_arguments() {
    let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    let reply_of = |levels: usize| format!(r#"{{"ok":{}}}"#, nested(levels));
    let tool = ProcessTool::new("/bin/echo").arg(reply_of(143));
    let Ok(ToolReply::Ok(value)) = reply(&tool).await else {
        panic!("143 levels are taken");
    };
    assert_eq!(value.get().unwrap().to_string(), nested(143));
    for levels in [144, 10_000] {
        let tool = ProcessTool::new("/bin/echo").arg(reply_of(levels));
        assert_eq!(failure(&tool).await.0, ToolReason::InvalidReturn);
    }
}

/// What a program is told: one line of JSON, and nothing of the environment.
#[tokio::test]
async fn a_program_is_told_what_it_needs() {
    let tools = [tool("t")];
    let echo = shell(r#"read -r line; printf '{"ok": {"told": %s, "env": "'"$(env | sort | tr '\n' ' ')"'"}}' "$line""#)
        .env("GREETING", "hello");
    let options = ToolRunOptions::new()
        .executor(ProcessExecutor::new().tool("t", echo))
        .request_id("r-1")
        .session_id(SessionId::new("s-1").unwrap());
    let calls = vec![call_with(0, "t", r#"{"x": [1]}"#)];
    let batch = run_tool_calls(calls, &tools, options).await.unwrap();
    let got: Value = serde_json::from_str(&texts(&batch)[0]).unwrap();
    let arguments = Map::from_iter([("x".to_owned(), json!([1]))]);
    let expected = json!({
        "name": "t",
        "arguments": {"x": [1]},
        "call_id": "c0",
        "idempotency_key": allm::idempotency_key(b"r-1", 0, 0, "t", &arguments),
        "session_id": "s-1",
        "request_id": "r-1",
    });
    assert_eq!(got["told"], expected);
    let names: Vec<&str> = got["env"].as_str().unwrap().split_whitespace().collect();
    let set_by_shell = ["PWD=", "SHLVL=", "_=", "OLDPWD="];
    let ours: Vec<&str> = names
        .into_iter()
        .filter(|name| !set_by_shell.iter().any(|set| name.starts_with(set)))
        .collect();
    assert_eq!(ours, ["GREETING=hello", "PATH=/usr/bin:/bin"]);
}

/// L43.
#[tokio::test]
async fn l43_a_process_that_dies_without_a_reply() {
    let (reason, cause) = failure(&shell("echo broken >&2; exit 3")).await;
    assert_eq!(reason, ToolReason::HandlerExit);
    assert!(
        cause.contains("exit status: 3") && cause.contains("broken"),
        "{cause}"
    );
    let (reason, cause) = failure(&shell("kill -9 $$")).await;
    assert_eq!(reason, ToolReason::HandlerExit);
    assert!(cause.contains("signal: 9"), "{cause}");
    let half = shell(r#"printf '{"ok": "par'; exit 1"#);
    assert_eq!(failure(&half).await.0, ToolReason::HandlerExit);
    assert_eq!(failure(&shell("exit 0")).await.0, ToolReason::HandlerExit);
    let (reason, cause) = failure(&ProcessTool::new("/nowhere/at/all")).await;
    assert_eq!(reason, ToolReason::HandlerExit);
    assert!(cause.contains("could not be started"), "{cause}");
    let loud = shell("yes complaint | head -c 1000000 >&2; echo last words >&2; exit 1");
    let (_, cause) = failure(&loud).await;
    assert!(
        cause.len() < 4_096 && cause.ends_with("last words"),
        "{}",
        cause.len()
    );
}

#[tokio::test]
async fn a_whole_reply_counts_whatever_the_status() {
    let tool = shell(r#"echo '{"ok": 1}'; exit 3"#);
    assert_eq!(reply(&tool).await.unwrap(), ToolReply::ok(&1));
}

#[tokio::test]
async fn what_is_no_reply_is_invalid() {
    for said in [
        "garbage",
        "42",
        "{}",
        r#"{"ok":1}{"ok":2}"#,
        r#"{"ok":1} and more"#,
        r#"{"ok":1,"error":"x"}"#,
    ] {
        let (reason, cause) = failure(&ProcessTool::new("/bin/echo").arg(said)).await;
        assert_eq!(reason, ToolReason::InvalidReturn, "{said}");
        assert!(!cause.is_empty());
    }
    assert_eq!(
        failure(&shell(r"printf '\377\376'")).await.0,
        ToolReason::InvalidReturn
    );
}

/// A program that reads nothing of a long input is not held up by it, and holds nobody up.
#[tokio::test]
async fn input_that_nobody_reads() {
    let tool = ProcessTool::new("/bin/echo").arg(r#"{"ok": 1}"#);
    let arguments = Map::from_iter([("a".to_owned(), json!("x".repeat(1 << 20)))]);
    let context = ToolContext::new(call(0, "t"));
    assert_eq!(
        tool.call(arguments.into(), context).await.unwrap(),
        ToolReply::ok(&1)
    );
}

/// A script that writes to the pipe, starts a child that keeps it open, and hangs.
fn family(fifo: &Fifo) -> ProcessTool {
    let script = r#"exec 3>"$1"; sleep 1000 & echo begun >&3; sleep 1000"#;
    shell(script).arg("sh").arg(fifo.path())
}

/// L111: the process and what it started are gone.
#[tokio::test(start_paused = true)]
async fn l111_a_process_that_times_out_is_killed() {
    let fifo = Fifo::new();
    let (begun, gone) = fifo.watch();
    let tools = [tool("t").with_handler(Arc::new(family(&fifo)))];
    let batch = tokio::spawn(run_tool_calls(calls(&tools), &tools, ToolRunOptions::new()));
    begun.await.unwrap();
    tokio::time::advance(Duration::from_secs(31)).await;
    assert_eq!(reasons(&batch.await.unwrap().unwrap()), ["timeout"]);
    gone.await.unwrap();
}

/// The same when the call is cancelled, and when it is dropped.
#[tokio::test]
async fn a_process_is_killed_on_cancel_and_on_drop() {
    for dropped in [true, false] {
        let fifo = Fifo::new();
        let (begun, gone) = fifo.watch();
        let tools = [tool("t").with_handler(Arc::new(family(&fifo)))];
        let cancel = CancelToken::new();
        let options = ToolRunOptions::new().cancel(cancel.clone());
        let mut events = stream_tool_calls(calls(&tools), &tools, options);
        next(&mut events).await.unwrap();
        begun.await.unwrap();
        if dropped {
            drop(events);
        } else {
            cancel.cancel();
            assert_eq!(failed(&all(events).await, 0), "handler_exit");
        }
        gone.await.unwrap();
    }
}

/// What a process leaves running is killed when it ends, so its pipes are not kept open.
#[tokio::test]
async fn what_a_process_leaves_behind_is_killed() {
    let fifo = Fifo::new();
    let (_, gone) = fifo.watch();
    let script = r#"exec 3>"$1"; sleep 1000 & echo '{"ok": 1}'"#;
    let tool = shell(script).arg("sh").arg(fifo.path());
    assert_eq!(reply(&tool).await.unwrap(), ToolReply::ok(&1));
    gone.await.unwrap();
}

/// L112.
#[tokio::test]
async fn l112_endless_output_is_read_up_to_a_limit() {
    let fifo = Fifo::new();
    let (_, gone) = fifo.watch();
    // It goes on when its pipe is closed.
    let script =
        r#"trap '' PIPE; exec 3>"$1"; while :; do echo xxxxxxxxxxxxxxxx; done 2>/dev/null"#;
    let tool = shell(script).arg("sh").arg(fifo.path()).max_output(100_000);
    let (reason, cause) = failure(&tool).await;
    assert_eq!(reason, ToolReason::InvalidReturn);
    assert!(cause.contains("100000"), "{cause}");
    gone.await.unwrap();

    let long = shell(r#"printf '{"ok": "'; head -c 1000000 /dev/zero | tr '\0' x; printf '"}'"#);
    let batch = run(
        &[self::tool("t").with_handler(Arc::new(long))],
        ToolRunOptions::new(),
    )
    .await;
    assert!(texts(&batch)[0].ends_with("\n[cut: 262144 of 1000000 bytes]"));
}

fn reported(message: &str) -> ToolReply {
    ToolReply::Error(allm::ReportedError::new(message))
}

/// L286.
#[tokio::test]
async fn l286_a_program_that_says_text() {
    for (script, expected) in [
        ("printf 'a\\nb \\r\\n\\n'", ToolReply::ok("a\nb ")),
        ("exit 0", ToolReply::ok("")),
        (r#"echo '{"ok": 1}'"#, ToolReply::ok(r#"{"ok": 1}"#)),
        (r"printf 'x\377y'", ToolReply::ok("x\u{fffd}y")),
        (
            "echo half; echo why >&2; exit 3",
            reported("it ended with status 3: why"),
        ),
        (
            "echo only here; exit 1",
            reported("it ended with status 1: only here"),
        ),
        ("exit 2", reported("it ended with status 2")),
    ] {
        let got = reply(&shell(script).text_output()).await;
        assert_eq!(got.unwrap(), expected, "{script}");
    }
    let long = shell("yes é | head -c 10000; exit 1").text_output();
    let Ok(ToolReply::Error(error)) = reply(&long).await else {
        panic!("not reported")
    };
    assert!(error.message.len() < 2_100, "{}", error.message.len());

    let killed = shell("echo half; kill -9 $$").text_output();
    let (reason, cause) = failure(&killed).await;
    assert_eq!(reason, ToolReason::HandlerExit);
    assert!(cause.contains("signal: 9"), "{cause}");
    let (reason, _) = failure(&shell("yes").text_output().max_output(1_000)).await;
    assert_eq!(reason, ToolReason::InvalidReturn);
}

/// L288: while it runs, since it goes on only when the first line was heard.
#[tokio::test]
async fn l288_lines_of_standard_error_are_progress() {
    let fifo = Fifo::new();
    let script =
        r#"echo 'one ' >&2; read -r go < "$1"; printf '50 %%\r\n\n \rthree' >&2; printf ok"#;
    let quiet = shell(script).arg("sh").arg(fifo.path()).text_output();
    for tool in [quiet.clone().error_as_progress(), quiet] {
        let is_told = format!("{tool:?}").contains("tells_progress: true");
        let go = || {
            let path = fifo.path().to_owned();
            std::thread::spawn(move || std::fs::write(path, "go\n").unwrap());
        };
        let tools = [Tool::new("t", "", json!({"type": "object"})).with_handler(Arc::new(tool))];
        let mut events = stream_tool_calls(calls(&tools), &tools, ToolRunOptions::new());
        let mut told = Vec::new();
        if !is_told {
            go();
        }
        while let Some(event) = next(&mut events).await {
            if let Event::ToolProgress(progress) = event {
                if told.is_empty() {
                    go();
                }
                told.push(progress.message.clone().unwrap());
            }
        }
        // What nobody had the time to look at is replaced by what came later.
        told.retain(|line| line != "50 %");
        match is_told {
            true => assert_eq!(told, ["one", "three"]),
            false => assert_eq!(told, [""; 0]),
        }
    }
}

/// L287.
#[tokio::test]
async fn l287_words_from_the_arguments() {
    let tool = shell(r#"printf '<%s>' "$@"; cat"#)
        .args(["sh", "fixed"])
        .args_from(|arguments| match arguments.get("text") {
            Some(Value::String(text)) => Ok(vec![text.into()]),
            _ => Err("which text?".into()),
        })
        .no_input()
        .text_output();
    let text = "a b; $(id) 'c' \"d\" *\n{e}";
    let arguments = Map::from_iter([("text".to_owned(), json!(text))]);
    let got = tool
        .call(arguments.into(), ToolContext::new(call(0, "t")))
        .await;
    let expected = format!("<fixed><{text}>");
    assert_eq!(got.unwrap(), ToolReply::ok(&expected));
    assert_eq!(reply(&tool).await.unwrap(), reported("which text?"));
}

#[tokio::test]
async fn the_directory_is_the_one_chosen() {
    let tool = shell(r#"printf '{"ok": "%s"}' "$(pwd)""#).current_dir("/");
    assert_eq!(reply(&tool).await.unwrap(), ToolReply::ok("/"));
}

/// The limits hold in the program and what it starts; words with spaces and quotes stay whole.
#[tokio::test]
async fn limits_are_set_before_the_program_runs() {
    let script = r#"printf '{"ok": ["%s", "%s", "%s"]}' "$(ulimit -v)" "$(ulimit -t)" "$1""#;
    let tool = shell(script)
        .arg("sh")
        .arg("a 'b' $c")
        .max_memory(512 << 20)
        .max_cpu(Duration::from_millis(6_500));
    let expected = json!(["524288", "7", "a 'b' $c"]);
    assert_eq!(reply(&tool).await.unwrap(), ToolReply::ok(&expected));
    let (reason, cause) =
        failure(&shell("while :; do :; done").max_cpu(Duration::from_secs(1))).await;
    assert_eq!(reason, ToolReason::HandlerExit);
    assert!(cause.contains("signal"), "{cause}");
}

/// Tools without a program, and the names in errors.
#[tokio::test]
async fn an_executor_knows_its_programs() {
    let only = ProcessExecutor::new().tool("t", ProcessTool::new("/bin/echo").arg("42"));
    let context = ToolContext::new(call(0, "u"));
    let own = giving("u", json!("own"));
    let error = only
        .execute(&own, Arc::default(), &context)
        .await
        .unwrap_err();
    assert_eq!(
        (error.reason, error.tool_name.unwrap()),
        (ToolReason::NotFound, "u".into())
    );
    let others = only.others(DefaultExecutor::new());
    let got = others
        .execute(&own, Arc::default(), &context)
        .await
        .unwrap();
    assert_eq!(got, ToolReply::ok("own"));

    let seen = Arc::new(std::sync::Mutex::new(None));
    let policy = OnToolError::decide({
        let seen = Arc::clone(&seen);
        move |_, failure| {
            *seen.lock().unwrap() = Some(failure.clone());
            ErrorDecision::Continue
        }
    });
    let tools: [Tool; 1] = [tool("t")];
    run(
        &tools,
        ToolRunOptions::new().executor(others).on_tool_error(policy),
    )
    .await;
    let Some(allm::ToolFailure::Crashed(error)) = seen.lock().unwrap().take() else {
        panic!("not a crash")
    };
    assert_eq!(error.tool_name.unwrap(), "t");
    assert_eq!(error.cause.unwrap().message, "42");
}

/// What is shown of a program holds no value of its environment.
#[test]
fn debug_shows_no_environment() {
    let shown = format!("{:?}", ProcessTool::new("p").env("TOKEN", "secret-123"));
    assert!(shown.contains("TOKEN") && !shown.contains("secret-123"));
}
