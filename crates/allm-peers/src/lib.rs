//! Servers that others wrote, started for a test. `scripts/setup-peers` installs them in `target/peers`.

#![expect(clippy::print_stderr, reason = "a test that is skipped says so")]

use std::io;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};
use tokio::time::{sleep, timeout};

/// How long a server may take to begin, on a machine that does much else.
const START: Duration = Duration::from_secs(120);

/// A server that runs for as long as this is held.
#[derive(Debug)]
pub struct Peer {
    /// Where it is: `http://127.0.0.1:…`.
    pub url: String,
    _child: Child,
}

impl Peer {
    /// The server of llama.cpp with SmolLM2-135M, which speaks Chat Completions, Responses and Messages.
    /// It is the model `smollm2`, and always takes the likeliest token.
    ///
    /// `None` where it is not installed.
    ///
    /// # Errors
    ///
    /// When it does not start.
    pub async fn llama() -> io::Result<Option<Self>> {
        let Some(python) = installed("python/bin/python") else {
            return Ok(None);
        };
        let Some(model) = find(&peers().join("python/lib"), "gguf") else {
            return Ok(None);
        };
        let mut command = Command::new(python);
        command.arg(servers().join("llama.py"));
        command.arg(model).arg(servers().join("chat.jinja"));
        let mut child = start(&mut command)?;
        let out = child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
        let line = timeout(START, BufReader::new(out).lines().next_line()).await??;
        let url = line.ok_or_else(|| io::Error::other("llama.py ended before it served"))?;
        Ok(Some(Self { url, _child: child }))
    }

    /// aimock, which speaks the wires of OpenAI, Anthropic and Gemini and says what `servers/answers.json` tells it.
    ///
    /// `None` where it is not installed.
    ///
    /// # Errors
    ///
    /// When it does not start.
    pub async fn aimock() -> io::Result<Option<Self>> {
        let Some(program) = installed("node/node_modules/.bin/llmock") else {
            return Ok(None);
        };
        // It cannot choose a port by itself.
        let port = TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port();
        let mut command = Command::new(program);
        command.args(["--host", "127.0.0.1", "--port", &port.to_string()]);
        command.args(["--log-level", "warn", "--validate-on-load", "--strict"]);
        command
            .arg("--fixtures")
            .arg(servers().join("answers.json"));
        let mut child = start(&mut command)?;
        let listening = async {
            while TcpStream::connect(("127.0.0.1", port)).await.is_err() {
                if let Some(status) = child.try_wait()? {
                    return Err(io::Error::other(format!("aimock ended: {status}")));
                }
                sleep(Duration::from_millis(50)).await;
            }
            Ok(())
        };
        timeout(START, listening).await??;
        let url = format!("http://127.0.0.1:{port}");
        Ok(Some(Self { url, _child: child }))
    }
}

fn start(command: &mut Command) -> io::Result<Child> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    command.kill_on_drop(true).spawn()
}

fn servers() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("servers")
}

fn peers() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/peers")
}

/// A program that `scripts/setup-peers` has installed. `ALLM_PEERS=required` makes its absence a fault.
fn installed(program: &str) -> Option<PathBuf> {
    let path = peers().join(program);
    if path.exists() {
        return Some(path);
    }
    let required = std::env::var("ALLM_PEERS").is_ok_and(|value| value == "required");
    assert!(
        !required,
        "target/peers/{program} is not there: run scripts/setup-peers"
    );
    eprintln!("SKIPPED: target/peers/{program} is not there; scripts/setup-peers installs it");
    None
}

/// A file with this ending, somewhere below.
fn find(dir: &Path, ending: &str) -> Option<PathBuf> {
    let entries = std::fs::read_dir(dir).ok()?;
    entries
        .flatten()
        .map(|entry| entry.path())
        .find_map(|path| {
            if path.is_dir() {
                return find(&path, ending);
            }
            let found = path
                .extension()
                .is_some_and(|extension| extension == ending);
            found.then_some(path)
        })
}
