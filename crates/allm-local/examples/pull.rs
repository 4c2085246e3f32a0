//! Obtains a model by name, address or path: `cargo run -p allm-local --example pull smollm2-135m`.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it is a program")]

use std::process::ExitCode;

use allm_local::models::{Progress, Pull, pull_blocking};

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let what = arguments
        .next()
        .unwrap_or_else(|| "smollm2-135m".to_owned());
    let mut shown = u64::MAX;
    let progress = move |progress| {
        if let Progress::Downloading {
            done,
            total: Some(total),
        } = progress
            && done * 10 / total.max(1) != shown
        {
            shown = done * 10 / total.max(1);
            eprintln!("{done} of {total} bytes");
        }
    };
    match pull_blocking(&what, Pull::new().progress(progress)) {
        Ok(path) => {
            println!("{}", path.display());
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
