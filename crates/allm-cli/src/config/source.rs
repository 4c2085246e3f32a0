//! A file that was read, and the places in it that mistakes are told with.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::de::DeserializeOwned;

use crate::problem::Problem;

/// A file that was read. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(crate) struct Source(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    file: PathBuf,
    text: String,
}

impl Source {
    /// Reads a file; `None` if there is none.
    pub(crate) fn read(file: &Path) -> Result<Option<Self>, Problem> {
        match std::fs::read_to_string(file) {
            Ok(text) => Ok(Some(Self::new(file, text))),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Problem::usage(format!(
                "{} cannot be read: {error}",
                file.display()
            ))),
        }
    }

    pub(crate) fn new(file: &Path, text: String) -> Self {
        let file = file.to_owned();
        Self(Arc::new(Inner { file, text }))
    }

    pub(crate) fn file(&self) -> &Path {
        &self.0.file
    }

    pub(crate) fn text(&self) -> &str {
        &self.0.text
    }

    /// What a path in the file means: relative ones begin at its folder.
    pub(crate) fn resolve(&self, path: &Path) -> PathBuf {
        self.0.file.parent().unwrap_or(Path::new("")).join(path)
    }

    /// The file as TOML.
    pub(crate) fn parse<T: DeserializeOwned>(&self) -> Result<T, Problem> {
        toml::from_str(&self.0.text).map_err(|error| {
            let span = error.span().unwrap_or(0..0);
            self.problem(&span, error.message())
        })
    }

    /// Where something stands: file, line and column.
    pub(crate) fn place(&self, span: &Range<usize>) -> String {
        let (line, column, _) = self.find(span);
        format!("{}:{line}:{column}", self.0.file.display())
    }

    /// A mistake at a place, with the line that it is in.
    pub(crate) fn problem(&self, span: &Range<usize>, what: impl std::fmt::Display) -> Problem {
        let (number, column, line) = self.find(span);
        let what = what.to_string();
        let what = what.trim_end().replace('\n', "; ");
        let number = number.to_string();
        let gutter = " ".repeat(number.len());
        let before = " ".repeat(column.saturating_sub(1));
        // What goes on in the next line is marked to the end of this one.
        let left = line.chars().count().saturating_sub(column - 1).max(1);
        let length = self.0.text.get(span.clone()).unwrap_or_default();
        let marks = "^".repeat(length.chars().count().clamp(1, left));
        let place = self.place(span);
        Problem::usage(format!(
            "{place}: {what}\n  {number} | {line}\n  {gutter} | {before}{marks}"
        ))
    }

    /// The number of the line, that of the column (in characters, from 1) and the line itself.
    fn find(&self, span: &Range<usize>) -> (usize, usize, String) {
        let text = self.text();
        let before = text.get(..span.start).unwrap_or(text);
        let line = before.matches('\n').count();
        let begun = before.rsplit('\n').next().unwrap_or_default();
        let shown = text.lines().nth(line).unwrap_or_default();
        // A tab is one column, so it must look like one.
        let shown = shown.replace('\t', " ");
        (line + 1, begun.chars().count() + 1, shown)
    }
}
