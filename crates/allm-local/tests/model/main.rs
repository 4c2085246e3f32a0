//! A real small model. Its file is `$ALLM_LOCAL_MODEL`, or the one that `scripts/setup-model` obtains; without it these
//! tests say that they are skipped, and with `ALLM_SMALL_MODEL=required` they fail.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    dead_code,
    unreachable_pub,
    reason = "these are tests"
)]

#[path = "../support/play.rs"]
mod play;

mod answers;
mod schemas;
mod tools;

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::OnceLock;

use allm_local::Local;
use allm_local::models::Folder;

/// The model's file, if it is there.
pub(crate) fn model() -> Option<PathBuf> {
    let named = std::env::var_os("ALLM_LOCAL_MODEL").map(PathBuf::from);
    let usual = || Folder::of_user().ok()?.path("smollm2-135m").ok();
    let path = named.or_else(usual).filter(|path| path.exists());
    if path.is_none() {
        let is_required = std::env::var("ALLM_SMALL_MODEL").is_ok_and(|value| value == "required");
        assert!(
            !is_required,
            "the model is not there: run scripts/setup-model"
        );
        eprintln!("skipped: the model is not there; scripts/setup-model obtains it");
    }
    path
}

/// One provider for all tests of a process, so that the model is loaded once.
pub(crate) fn local() -> Local {
    static LOCAL: OnceLock<Local> = OnceLock::new();
    LOCAL.get_or_init(one_thread).clone()
}

/// Several tests run at once: more threads would only wait for each other.
fn one_thread() -> Local {
    Local::new().threads(NonZeroUsize::MIN)
}
