//! The process of a server, and everything that it started.

use std::collections::VecDeque;
use std::io;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use allm_core::CancelToken;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};
use tokio::process::{ChildStdin, ChildStdout, Command};

use super::settings::Program;

/// How much of the end of standard error is kept, in bytes.
const KEPT_OF_STDERR: usize = 2_048;
/// How long a process may take to end when its input is closed.
const GRACE: Duration = Duration::from_secs(2);
/// How long the last words of a process may take to arrive.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// What a server gets of the environment unless it gets all of it.
const PASSED_ON: [&str; 8] = [
    "HOME", "LANG", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "USER",
];

/// A child process that leads a process group, all of which is killed when this is dropped.
pub(super) struct Process {
    // Dropped in this order: the group is killed while its leader has not been reaped.
    group: Group,
    leader: Pid,
    child: tokio::process::Child,
    said: Tail,
}

/// The two ends to talk to it.
pub(super) type Pipes = (ChildStdout, ChildStdin);

impl Process {
    pub(super) fn spawn(program: &Program, server: &str) -> io::Result<(Self, Pipes)> {
        let mut child = command(program).spawn()?;
        let id = child.id().and_then(|id| i32::try_from(id).ok());
        let (Some(leader), Some(stdout), Some(stdin)) = (
            id.and_then(Pid::from_raw),
            child.stdout.take(),
            child.stdin.take(),
        ) else {
            return Err(io::Error::other("it has no process id or no pipes"));
        };
        let said = Tail::default();
        if let Some(stderr) = child.stderr.take() {
            tokio::spawn(listen(stderr, said.clone(), server.to_owned()));
        }
        let process = Self {
            group: Group(Mutex::new(Some(leader))),
            leader,
            child,
            said,
        };
        Ok((process, (stdout, stdin)))
    }

    /// The end of what it said on standard error.
    pub(super) fn said(&self) -> Tail {
        self.said.clone()
    }

    /// Waits for its end, for a while, then ends it and all that it started.
    pub(super) async fn end(mut self) -> Option<ExitStatus> {
        let leader = self.leader;
        let ended = tokio::task::spawn_blocking(move || until_ended(leader));
        let _ = tokio::time::timeout(GRACE, ended).await;
        self.group.kill();
        self.child.wait().await.ok()
    }
}

fn command(program: &Program) -> Command {
    let mut command = Command::new(&program.program);
    command.args(&program.args);
    if !program.inherits {
        command.env_clear();
        let passed = PASSED_ON.iter().filter_map(|name| {
            let value = std::env::var_os(name)?;
            Some((name, value))
        });
        command.envs(passed);
    }
    command
        .envs(program.env.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true);
    if let Some(directory) = &program.current_dir {
        command.current_dir(directory);
    }
    command
}

/// The process group of a child that has not been reaped; `None` once it has been killed.
struct Group(Mutex<Option<Pid>>);

impl Group {
    fn kill(&self) {
        let leader = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(leader) = leader {
            // It fails when all of them have ended, which is what is wanted.
            let _ = kill_process_group(leader, Signal::KILL);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}

fn until_ended(leader: Pid) {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    while let Err(rustix::io::Errno::INTR) = waitid(WaitId::Pid(leader), options) {}
}

/// The end of what was said on standard error.
#[derive(Clone, Default)]
pub(super) struct Tail {
    kept: Arc<Mutex<VecDeque<u8>>>,
    /// Fires when there is no more to come.
    over: CancelToken,
}

impl Tail {
    /// All that there is, of a process that has ended: its last words may still be on their way.
    pub(super) async fn last(&self) -> String {
        let _ = tokio::time::timeout(LAST_WORDS, self.over.cancelled()).await;
        self.text()
    }

    fn add(&self, bytes: &[u8]) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let last = bytes.len().saturating_sub(KEPT_OF_STDERR);
        kept.extend(bytes.iter().skip(last));
        let surplus = kept.len().saturating_sub(KEPT_OF_STDERR);
        kept.drain(..surplus);
    }

    pub(super) fn text(&self) -> String {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(kept.make_contiguous())
            .trim()
            .to_owned()
    }
}

/// Takes all that is said, so that the process is not held up, line by line for the log.
async fn listen(from: impl AsyncRead + Unpin, said: Tail, server: String) {
    let mut from = BufReader::with_capacity(KEPT_OF_STDERR, from);
    loop {
        // A line without an end is told in pieces.
        let taken = match from.fill_buf().await {
            Ok([]) | Err(_) => return said.over.cancel(),
            Ok(piece) => {
                said.add(piece);
                for line in String::from_utf8_lossy(piece).lines() {
                    tracing::debug!(target: "allm_mcp::stderr", server, "{line}");
                }
                piece.len()
            }
        };
        from.consume(taken);
    }
}
