//! Folders below which files may be looked at.

use std::path::{Component, Path, PathBuf};

use allm::ReportedError;

use crate::config::Source;
use crate::problem::Problem;

/// Folders, resolved when the tool was made.
#[derive(Clone, Debug)]
pub(super) struct Roots(Vec<PathBuf>);

impl Roots {
    /// The folders that a file names, from its own folder.
    pub(super) fn new(tool: &str, named: &[PathBuf], source: &Source) -> Result<Self, Problem> {
        let resolved = named.iter().map(|root| {
            let path = source.resolve(root);
            // An empty path means the folder in which the program is started.
            let path = if path.as_os_str().is_empty() {
                PathBuf::from(".")
            } else {
                path
            };
            let found = path.canonicalize().ok().filter(|path| path.is_dir());
            found.ok_or_else(|| {
                let what = format!("the root {} of {tool} is no folder", path.display());
                Problem::usage(what).advice(format!("mend `roots` of `{tool}` in [builtin]"))
            })
        });
        let roots = resolved.collect::<Result<Vec<_>, _>>()?;
        if roots.is_empty() {
            let what = format!("{tool} has no roots: nothing could be looked at");
            return Err(Problem::usage(what).advice("name a folder: roots = [\".\"]"));
        }
        Ok(Self(roots))
    }

    /// What a path of the model's is, with links followed. A relative one is looked for in each root.
    ///
    /// What is outside is refused before anything is looked up, so that nothing is learned about it.
    pub(super) fn resolve(&self, asked: &str) -> Result<PathBuf, ReportedError> {
        if asked.contains('\0') {
            return Err(ReportedError::new("the path holds a NUL"));
        }
        let asked_path = Path::new(asked);
        let candidates = self.0.iter().map(|root| plain(&root.join(asked_path)));
        let inside: Vec<PathBuf> = candidates
            .filter(|path| self.0.iter().any(|root| path.starts_with(root)))
            .collect();
        if inside.is_empty() {
            return Err(self.outside(asked));
        }
        let mut refused = None;
        for path in inside {
            match path.canonicalize() {
                Ok(found) if self.0.iter().any(|root| found.starts_with(root)) => return Ok(found),
                Ok(_) => refused = Some(self.outside(asked)),
                Err(_) => {}
            }
        }
        Err(refused.unwrap_or_else(|| ReportedError::new(format!("`{asked}` is not there"))))
    }

    fn outside(&self, asked: &str) -> ReportedError {
        let roots: Vec<String> = self
            .0
            .iter()
            .map(|root| root.display().to_string())
            .collect();
        ReportedError::new(format!(
            "`{asked}` is not below a folder that may be looked at: {}",
            roots.join(", ")
        ))
    }
}

/// Without `.` and `..`, by the text alone.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            other => plain.push(other),
        }
    }
    plain
}
