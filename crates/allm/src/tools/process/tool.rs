//! What a tool that is a child process runs as.

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use allm_core::{
    Answer, BoxFuture, Map, ReportedError, ToolContext, ToolError, ToolHandler, ToolReply,
};
use serde::Serialize;
use tokio::process::Command;

use super::super::executor::exited;
use super::child::Child;
use super::reply;

/// How much a program may say, in bytes, unless told otherwise.
const MAX_OUTPUT: usize = 8 * 1024 * 1024;

/// Makes words of the command line from the arguments of a call.
type Words = Arc<dyn Fn(&Map) -> Result<Vec<OsString>, ReportedError> + Send + Sync>;

/// How a program tells what it has to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Output {
    /// As a reply in JSON.
    Reply,
    /// As plain text.
    Text,
}

/// Sets limits and becomes the program. A limit that cannot be set keeps the program from running.
const LIMITED: &str = r#"ulimit "$1" "$2" || exit 126; shift 2; exec "$@""#;

/// A program that is run once for each call of a tool.
///
/// It works as a handler of a tool ([`Tool::with_handler`](allm_core::Tool::with_handler)), or by name in a
/// [`ProcessExecutor`](super::ProcessExecutor).
///
/// **In:** one JSON object and a line feed on standard input, which is then closed: `name`, `arguments`, `call_id`,
/// `idempotency_key`, and `session_id`, `request_id` and the `answer` of a person where there are any.
///
/// **Out:** one JSON reply on standard output, in a form that
/// [`ToolReply::from_json`](allm_core::ToolReply::from_json) reads, such as `{"ok": 42}` or `{"error": "no such city"}`.
/// The call is over when the process has ended. Without a reply it is a `handler_exit`, whose cause holds the exit
/// status and the end of what was said on standard error; a text that is no reply, and one after a reply, is an
/// `invalid_return`, as is more than [`max_output`](Self::max_output). A whole reply counts whatever the exit status is.
///
/// A program that knows nothing of this gets its arguments as words ([`args_from`](Self::args_from)), reads nothing
/// ([`no_input`](Self::no_input)), and says plain text ([`text_output`](Self::text_output)).
///
/// **Around it:** the environment is empty but for what [`env`](Self::env) sets, so give the program as an absolute
/// path. The process is the leader of a process group of its own. The whole group is killed when the call is
/// stopped, by its time limit, by cancellation or because the run was dropped, and also when the process itself ends;
/// only a process that has left the group stays. One that has left and keeps the standard output or the standard error
/// open keeps the call from ending before its time limit.
///
/// ```
/// use std::time::Duration;
/// use allm::ProcessTool;
///
/// let tool = ProcessTool::new("/usr/bin/python3")
///     .args(["-I", "/opt/tools/plot.py"])
///     .current_dir("/srv/plots")
///     .max_memory(512 * 1024 * 1024)
///     .max_cpu(Duration::from_secs(10));
/// # let _ = tool;
/// ```
#[derive(Clone)]
pub struct ProcessTool {
    program: OsString,
    args: Vec<OsString>,
    args_from: Option<Words>,
    takes_input: bool,
    output: Output,
    tells_progress: bool,
    env: Vec<(OsString, OsString)>,
    current_dir: Option<PathBuf>,
    max_output: usize,
    max_memory: Option<u64>,
    max_cpu: Option<Duration>,
}

impl ProcessTool {
    /// A program without arguments and with an empty environment.
    pub fn new(program: impl Into<OsString>) -> Self {
        Self {
            program: program.into(),
            args: Vec::new(),
            args_from: None,
            takes_input: true,
            output: Output::Reply,
            tells_progress: false,
            env: Vec::new(),
            current_dir: None,
            max_output: MAX_OUTPUT,
            max_memory: None,
            max_cpu: None,
        }
    }

    /// With one more argument.
    #[must_use]
    pub fn arg(mut self, arg: impl Into<OsString>) -> Self {
        self.args.push(arg.into());
        self
    }

    /// With more arguments.
    #[must_use]
    pub fn args(mut self, args: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// With more arguments, after the others, made from those of the call. What `words` gives as an error is reported
    /// to the model, and the program does not run.
    ///
    /// ```
    /// use allm::{Map, ProcessTool, ReportedError};
    ///
    /// let tool = ProcessTool::new("/usr/bin/whois").text_output().args_from(|arguments: &Map| {
    ///     let domain = arguments.get("domain").and_then(|domain| domain.as_str());
    ///     let domain = domain.ok_or(ReportedError::new("which domain?"))?;
    ///     Ok(vec!["--".into(), domain.into()])
    /// });
    /// # let _ = tool;
    /// ```
    #[must_use]
    pub fn args_from(
        mut self,
        words: impl Fn(&Map) -> Result<Vec<OsString>, ReportedError> + Send + Sync + 'static,
    ) -> Self {
        self.args_from = Some(Arc::new(words));
        self
    }

    /// Tells it nothing: its standard input is empty.
    #[must_use]
    pub fn no_input(mut self) -> Self {
        self.takes_input = false;
        self
    }

    /// What it says on standard output is its value, as text: without the line feeds at its end, and with U+FFFD for what
    /// is not UTF-8.
    ///
    /// An exit status other than 0 is an error that the tool reports, with the status and the end of what was said on
    /// standard error (of standard output, where that is silent). One that a signal ended has crashed: `handler_exit`.
    #[must_use]
    pub fn text_output(mut self) -> Self {
        self.output = Output::Text;
        self
    }

    /// Each line that it says on standard error is reported while it runs, as
    /// [`progress`](allm_core::ToolContext::progress). A carriage return ends a line, too.
    #[must_use]
    pub fn error_as_progress(mut self) -> Self {
        self.tells_progress = true;
        self
    }

    /// With a variable of the environment.
    #[must_use]
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.env.push((name.into(), value.into()));
        self
    }

    /// Where it runs; otherwise where this process does.
    #[must_use]
    pub fn current_dir(mut self, directory: impl Into<PathBuf>) -> Self {
        self.current_dir = Some(directory.into());
        self
    }

    /// How much it may say on standard output, in bytes; 8 MiB if not set. A process that says more is killed.
    #[must_use]
    pub fn max_output(mut self, bytes: usize) -> Self {
        self.max_output = bytes;
        self
    }

    /// How much memory each of its processes may map, in bytes.
    ///
    /// This limit and that of the processor time are set with `ulimit` in a `/bin/sh` that then becomes the program, so
    /// they hold from its first instruction on, and for the processes that it starts. Where `ulimit` cannot set one, as
    /// this one on macOS, the program does not run and the call is a `handler_exit`. That shell may add variables of its
    /// own to the environment, such as `PWD`.
    #[must_use]
    pub fn max_memory(mut self, bytes: u64) -> Self {
        self.max_memory = Some(bytes);
        self
    }

    /// How much processor time each of its processes may use; counts in whole seconds, a fraction as one more.
    #[must_use]
    pub fn max_cpu(mut self, time: Duration) -> Self {
        self.max_cpu = Some(time);
        self
    }

    fn command(&self, more: Vec<OsString>) -> Command {
        let mut words: Vec<OsString> = Vec::new();
        let memory = self.max_memory.map(|bytes| ("-v", bytes.div_ceil(1024)));
        let cpu = self.max_cpu.map(|time| {
            let part = u64::from(time.subsec_nanos() > 0);
            ("-t", time.as_secs().saturating_add(part))
        });
        for (flag, limit) in memory.into_iter().chain(cpu) {
            let script = ["/bin/sh", "-c", LIMITED, "sh", flag];
            words.extend(script.map(OsString::from));
            words.push(limit.to_string().into());
        }
        words.push(self.program.clone());
        words.extend(self.args.iter().cloned());
        words.extend(more);
        let mut words = words.into_iter();
        let mut command = Command::new(words.next().unwrap_or_default());
        command
            .args(words)
            .env_clear()
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .stdin(match self.takes_input {
                true => Stdio::piped(),
                false => Stdio::null(),
            })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true);
        if let Some(directory) = &self.current_dir {
            command.current_dir(directory);
        }
        command
    }
}

/// What the program is told.
#[derive(Serialize)]
struct Input<'a> {
    name: &'a str,
    #[serde(serialize_with = "allm_core::json::sorted")]
    arguments: &'a Map,
    call_id: &'a str,
    idempotency_key: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    request_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    answer: Option<&'a Answer>,
}

impl ToolHandler for ProcessTool {
    fn call(
        &self,
        arguments: Arc<Map>,
        context: ToolContext,
    ) -> BoxFuture<'_, Result<ToolReply, ToolError>> {
        Box::pin(async move {
            let more = match self.args_from.as_ref().map(|words| words(&arguments)) {
                Some(Err(error)) => return Ok(ToolReply::Error(error)),
                Some(Ok(words)) => words,
                None => Vec::new(),
            };
            let input = serde_json::to_vec(&Input {
                name: context.tool_call.original_name(),
                arguments: &arguments,
                call_id: context.tool_call.id.as_str(),
                idempotency_key: &context.idempotency_key,
                session_id: context.session_id.as_ref().map(|id| id.as_str()),
                request_id: context.request_id.as_ref().map(|id| id.as_str()),
                answer: context.answer.as_ref(),
            });
            let mut input = input.map_err(|error| exited(&error.to_string()))?;
            input.push(b'\n');
            let child = Child::spawn(self.command(more))
                .map_err(|error| exited(&format!("it could not be started: {error}")))?;
            let heard = self
                .tells_progress
                .then_some(|line: &str| context.progress(line));
            let said = child
                .converse(input, self.max_output, heard)
                .await
                .map_err(|error| exited(&format!("it was lost: {error}")))?;
            match self.output {
                Output::Reply => reply::read(&said, self.max_output),
                Output::Text => reply::text(&said, self.max_output),
            }
        })
    }
}

impl fmt::Debug for ProcessTool {
    /// Values of the environment are left out: they may be secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.env.iter().map(|(name, _)| name).collect();
        f.debug_struct("ProcessTool")
            .field("program", &self.program)
            .field("args", &self.args)
            .field("args_from", &self.args_from.as_ref().map(|_| "…"))
            .field("takes_input", &self.takes_input)
            .field("output", &self.output)
            .field("tells_progress", &self.tells_progress)
            .field("env", &names)
            .field("current_dir", &self.current_dir)
            .field("max_output", &self.max_output)
            .field("max_memory", &self.max_memory)
            .field("max_cpu", &self.max_cpu)
            .finish()
    }
}
