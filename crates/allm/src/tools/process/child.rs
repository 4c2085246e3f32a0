//! A child process and everything that it started.

use std::collections::VecDeque;
use std::io;
use std::process::ExitStatus;
use std::sync::{Mutex, PoisonError};

use allm_core::limits::MAX_PROGRESS_MESSAGE;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{ChildStdin, Command};

use super::super::wait::{Owned, both};

/// How much of the end of standard error is kept, in bytes.
const KEPT_OF_STDERR: usize = 2_048;

/// A child process that leads a process group, all of which is killed when this is dropped.
pub(super) struct Child {
    // Dropped in this order: the group is killed while its leader has not been reaped.
    group: Group,
    leader: Pid,
    child: tokio::process::Child,
}

/// What a process said, and how it ended.
pub(super) struct Said {
    pub(super) stdout: Vec<u8>,
    /// Whether it was killed for saying too much.
    pub(super) too_much: bool,
    /// The end of what it said on standard error.
    pub(super) stderr: String,
    pub(super) status: ExitStatus,
}

impl Child {
    pub(super) fn spawn(mut command: Command) -> io::Result<Self> {
        let child = command.spawn()?;
        let id = child.id().and_then(|id| i32::try_from(id).ok());
        let Some(leader) = id.and_then(Pid::from_raw) else {
            return Err(io::Error::other("it has no process id"));
        };
        Ok(Self {
            group: Group(Mutex::new(Some(leader))),
            leader,
            child,
        })
    }

    /// Gives it its input and takes what it says until it has ended. `heard` is told each line on standard error.
    ///
    /// # Cancel safety
    ///
    /// Dropping this kills the process and its group.
    pub(super) async fn converse(
        self,
        input: Vec<u8>,
        max_output: usize,
        heard: Option<impl Fn(&str)>,
    ) -> io::Result<Said> {
        let Self {
            mut child,
            leader,
            group,
        } = self;
        let stdin = child.stdin.take();
        let stdout = child.stdout.take();
        let stderr = child.stderr.take();
        let end = async {
            // It is not yet reaped then, so its number is still that of its group and of nobody else.
            let ended = Owned::blocking(move || until_ended(leader)).await;
            group.kill();
            let status = child.wait().await?;
            ended.map_err(io::Error::other)?;
            Ok::<_, io::Error>(status)
        };
        let out = async {
            let said = bounded(stdout, max_output).await;
            if said.1 {
                group.kill();
            }
            said
        };
        let speak = both(tell(stdin, input), out);
        let ((((), (stdout, too_much)), stderr), status) =
            both(both(speak, tail(stderr, heard)), end).await;
        Ok(Said {
            stdout,
            too_much,
            stderr,
            status: status?,
        })
    }
}

/// The process group of a child that has not been reaped; `None` once it has been killed.
struct Group(Mutex<Option<Pid>>);

impl Group {
    /// Kills every process of the group, once.
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

/// Closing standard input tells the process that there is no more. One that does not listen is no fault.
async fn tell(stdin: Option<ChildStdin>, input: Vec<u8>) {
    if let Some(mut stdin) = stdin {
        let _ = stdin.write_all(&input).await;
        let _ = stdin.shutdown().await;
    }
}

/// What is said, up to a limit, and whether it was more.
async fn bounded(from: Option<impl AsyncRead + Unpin>, limit: usize) -> (Vec<u8>, bool) {
    let mut said = Vec::new();
    let Some(from) = from else {
        return (said, false);
    };
    let one_more = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
    // What was said before a failure of the pipe is judged like what was said before the end.
    let _ = from.take(one_more).read_to_end(&mut said).await;
    let too_much = said.len() > limit;
    (said, too_much)
}

/// The end of what is said. All of it is taken, so that the process is not held up.
async fn tail(from: Option<impl AsyncRead + Unpin>, heard: Option<impl Fn(&str)>) -> String {
    let mut kept = VecDeque::new();
    let mut line = Line::default();
    let mut chunk = [0; 4_096];
    if let Some(mut from) = from {
        while let Ok(read @ 1..) = from.read(&mut chunk).await {
            kept.extend(chunk.iter().take(read));
            if let Some(heard) = &heard {
                line.push(chunk.iter().take(read), heard);
            }
            let surplus = kept.len().saturating_sub(KEPT_OF_STDERR);
            kept.drain(..surplus);
        }
    }
    if let Some(heard) = &heard {
        line.end(heard);
    }
    String::from_utf8_lossy(kept.make_contiguous()).into_owned()
}

/// A line that is being said. Who shows how far it is often says it over and over, with a carriage return in between.
#[derive(Default)]
struct Line(Vec<u8>);

impl Line {
    fn push<'a>(&mut self, bytes: impl Iterator<Item = &'a u8>, heard: &impl Fn(&str)) {
        for byte in bytes {
            match byte {
                b'\n' | b'\r' => self.end(heard),
                // So much of a line can be told; the rest is passed over.
                byte if self.0.len() < MAX_PROGRESS_MESSAGE => self.0.push(*byte),
                _ => {}
            }
        }
    }

    fn end(&mut self, heard: &impl Fn(&str)) {
        let text = String::from_utf8_lossy(&self.0);
        if !text.trim().is_empty() {
            heard(text.trim_end());
        }
        self.0.clear();
    }
}
