//! An empty home directory, and the program in it.

use std::ffi::OsStr;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use sha2::{Digest as _, Sha256};

use super::model::Model;
use super::patience::ended;

/// An empty home directory, deleted in the end.
pub(crate) struct Home {
    path: PathBuf,
}

/// How the program ended and what it said.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Ended {
    /// `None` for a signal.
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl From<Output> for Ended {
    fn from(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).expect("the program says UTF-8");
        Self {
            code: output.status.code(),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }
}

impl Home {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("allm-cli-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self { path }
    }

    /// A home whose `allm.toml` names this model, and says this besides.
    pub(crate) fn with_model(model: &Model, more: &str) -> Self {
        let home = Self::new();
        let url = model.url();
        let config = format!(
            "model = \"scripted:any\"\n{more}\n[providers.scripted]\nbase_url = \"{url}\"\n"
        );
        home.write("allm.toml", &config);
        home
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Where the program keeps sessions when nobody says otherwise.
    pub(crate) fn database(&self) -> PathBuf {
        self.path.join(".local/share/allm/sessions.db")
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let file = self.path.join(name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, text).unwrap();
        if name == "allm.toml" {
            self.trust(&file, text);
        }
        file
    }

    /// All files and folders below, and what is in them.
    pub(crate) fn files(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let mut folders = vec![self.path.clone()];
        let mut files = Vec::new();
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    files.push((path.clone(), Vec::new()));
                    folders.push(path);
                } else {
                    let bytes = std::fs::read(&path).unwrap();
                    files.push((path, bytes));
                }
            }
        }
        files.sort();
        files
    }

    /// The person has agreed to what a configuration of a folder says, as `allm --trust` keeps it.
    fn trust(&self, file: &Path, text: &str) {
        let hex = |bytes: &[u8]| {
            let digest = Sha256::digest(bytes);
            let digits = digest.iter().map(|byte| format!("{byte:02x}"));
            digits.collect::<String>()
        };
        let file = file.canonicalize().unwrap();
        let folder = self.path.join(".local/share/allm/trusted");
        std::fs::create_dir_all(&folder).unwrap();
        let record = folder.join(hex(file.as_os_str().as_encoded_bytes()));
        let line = format!("{}  {}\n", hex(text.as_bytes()), file.display());
        std::fs::write(record, line).unwrap();
    }

    /// The program, in this home and with nothing of the environment but a path.
    pub(crate) fn command(
        &self,
        arguments: impl IntoIterator<Item = impl AsRef<OsStr>>,
    ) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_allm"));
        command
            .args(arguments)
            .env_clear()
            .env("HOME", &self.path)
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .current_dir(&self.path);
        command
    }

    /// Runs the program to its end, with nothing on standard input.
    pub(crate) fn allm(&self, arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Ended {
        run(&mut self.command(arguments))
    }

    /// Starts the program, with nothing on standard input.
    pub(crate) fn spawned(&self, arguments: &[&str]) -> Child {
        start(&mut self.command(arguments))
    }

    /// Runs the program to its end, with this on standard input.
    pub(crate) fn piped(
        &self,
        arguments: impl IntoIterator<Item = impl AsRef<OsStr>>,
        input: &str,
    ) -> Ended {
        let mut child = self
            .command(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        // A program that does not want it may have closed it.
        let _ = stdin.write_all(input.as_bytes());
        drop(stdin);
        ended(child)
    }
}

/// Runs a program to its end, with nothing on standard input.
pub(crate) fn run(command: &mut Command) -> Ended {
    ended(start(command))
}

fn start(command: &mut Command) -> Child {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

impl Drop for Home {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.path);
    }
}
