//! Where a program is.

use std::env;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::config::Source;

/// The program of this name: a path is meant from the folder of the file, any other is looked for where `PATH` says.
pub(crate) fn find(name: &str, source: &Source) -> Result<PathBuf, String> {
    if name.contains('/') {
        let path = source.resolve(Path::new(name));
        let shown = path.display();
        return match std::fs::metadata(&path) {
            Err(_) => Err(format!("the program {shown} is not there")),
            Ok(_) if !is_program(&path) => Err(format!("{shown} is no program that can be run")),
            // It may be started in another folder.
            Ok(_) => Ok(std::path::absolute(&path).unwrap_or(path)),
        };
    }
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path)
        // An empty entry would mean the folder in which the program is started.
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(name))
        .find(|program| is_program(program))
        .ok_or_else(|| format!("there is no program `{name}` on PATH"))
}

fn is_program(path: &Path) -> bool {
    std::fs::metadata(path)
        .is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
}
