//! `allm completions` and `allm man`: pages that are made from the arguments.

use std::io::{self, Write as _};

use clap::CommandFactory as _;
use clap_complete::Shell;

use crate::arguments::{Arguments, Completions, Man};
use crate::models::written;
use crate::problem::{Exit, Problem};

pub(crate) fn completions(asked: &Completions) -> Result<Exit, Problem> {
    let shell: Shell = asked.shell.to_lowercase().parse().map_err(|_| {
        Problem::usage(format!("there are no completions for `{}`", asked.shell))
            .advice("there are bash, zsh, fish, elvish and powershell")
    })?;
    let mut page = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "allm", &mut page);
    written(io::stdout().write_all(&page))
}

pub(crate) fn manual(asked: &Man) -> Result<Exit, Problem> {
    let command = Arguments::command();
    let Some(folder) = &asked.dir else {
        let mut page = Vec::new();
        clap_mangen::Man::new(command)
            .render(&mut page)
            .map_err(|error| Problem::failed(format!("the page cannot be made: {error}")))?;
        return written(io::stdout().write_all(&page));
    };
    let made =
        std::fs::create_dir_all(folder).and_then(|()| clap_mangen::generate_to(command, folder));
    made.map(|()| Exit::Done).map_err(|error| {
        let what = format!(
            "the pages cannot be written to {}: {error}",
            folder.display()
        );
        Problem::failed(what).advice("name another folder with --dir")
    })
}
