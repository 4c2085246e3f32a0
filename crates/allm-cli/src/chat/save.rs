//! A conversation written to a file.

use std::io::Write as _;
use std::path::Path;

use crate::problem::Problem;
use crate::transcript::Transcript;

use super::conversation::Conversation;
use super::turn::Went;

impl Conversation {
    /// Writes the conversation to a file, in the form that its name asks for.
    pub(super) async fn save(&mut self, name: &str) -> Went {
        if name.is_empty() {
            self.display
                .tell("/save FILE, with .md, .json or .html at its end");
            return Went::Nowhere;
        }
        match self.write(Path::new(name)).await {
            Ok(()) => self.display.note(&format!("(written to {name})")),
            Err(problem) => self.tell_problem(&problem),
        }
        Went::Nowhere
    }

    async fn write(&self, file: &Path) -> Result<(), Problem> {
        let extension = file.extension().and_then(|text| text.to_str());
        let transcript = || Transcript::read(&self.sessions, self.session.id());
        let bytes = match extension.map(str::to_lowercase).as_deref() {
            Some("md") => transcript().await?.to_markdown().into_bytes(),
            Some("html") => transcript().await?.to_html().into_bytes(),
            Some("json") => self.session.to_json()?,
            _ => {
                let what = format!("{} should end with .md, .json or .html", file.display());
                return Err(Problem::usage(what));
            }
        };
        write_new(file, &bytes).map_err(|error| {
            let what = match error.kind() {
                std::io::ErrorKind::AlreadyExists => format!("{} is there already", file.display()),
                _ => format!("{} cannot be written: {error}", file.display()),
            };
            Problem::failed(what)
        })
    }
}

/// Writes a file that is not there yet: whole, or not at all.
fn write_new(file: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut made = std::fs::File::create_new(file)?;
    let written = made.write_all(bytes).and_then(|()| made.sync_all());
    if written.is_err() {
        let _ = std::fs::remove_file(file);
    }
    written
}
