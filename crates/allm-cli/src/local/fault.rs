//! What is wrong with a model that runs here, and what to do about it.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use allm::AdapterReason;
use allm_local::models;
use allm_local::{ModelError, ModelErrorKind};

use crate::model::EMBEDDED;
use crate::problem::Problem;

use super::bar;

/// What the file of a model begins with.
const MAGIC: &[u8] = b"GGUF";

/// What is wrong with fetching a model, or with its name.
pub(super) fn told(error: ModelError) -> Problem {
    let what = error.to_string();
    match error.kind() {
        ModelErrorKind::NotFound => Problem::usage(what).advice(
            "name a model that `allm models` lists, a file that is there, or a URL: allm models pull FILE-OR-URL --name NAME",
        ),
        ModelErrorKind::InvalidName => Problem::usage(what)
            .advice("`allm models` lists what is here; --name NAME names what is fetched"),
        ModelErrorKind::NoSpace => Problem::failed(what)
            .advice("make room, or set ALLM_DATA_DIR to a folder on another disk"),
        ModelErrorKind::NotWritable => {
            Problem::failed(what).advice("set ALLM_DATA_DIR to a folder that can be written to")
        }
        ModelErrorKind::Network => {
            Problem::failed(what).advice("nothing was kept; look at the network, and try again")
        }
        ModelErrorKind::WrongChecksum => Problem::failed(what).advice(
            "nothing of it was kept; try again, and if it is the same do not use that source",
        ),
        ModelErrorKind::Damaged => Problem::failed(what)
            .advice("fetch it once more, or take a GGUF file from another source"),
        ModelErrorKind::Unsupported => Problem::failed(what)
            .advice("take a GGUF file of the Llama family, such as the one of `allm models pull`"),
        ModelErrorKind::Busy => Problem::failed(what)
            .advice("wait until the other program has fetched it, and try again"),
        _ => Problem::failed(what)
            .advice("see who may read and write the file and its folder (ls -l), and try again"),
    }
}

/// A model that is to run here and is not.
pub(super) fn not_here(model: &str, file: &Path) -> Problem {
    let name = name(model);
    let what = match model == EMBEDDED {
        true => format!(
            "the embedded model is not here yet: there is no {}",
            file.display()
        ),
        false => format!(
            "the model `{model}` is not here: there is no {}",
            file.display()
        ),
    };
    let advice = match models::known(name) {
        Some(known) => format!(
            "fetch it once ({}): {}; or export ANTHROPIC_API_KEY=…, or the key of another provider",
            bar::megabytes(known.size),
            pull(model),
        ),
        None => format!(
            "fetch it: allm models pull FILE-OR-URL --name {name}; `allm models` lists what is here"
        ),
    };
    Problem::usage(what).advice(advice)
}

/// What can be seen of a damaged file without reading all of it.
pub(super) fn damaged(model: &str, file: &Path) -> Option<Problem> {
    let shown = file.display();
    let mut begin = Vec::new();
    let opened = File::open(file).and_then(|opened| {
        let size = opened.metadata()?.len();
        opened.take(4).read_to_end(&mut begin).map(|_| size)
    });
    let why = match (opened, models::known(name(model))) {
        (Err(error), _) => {
            return Some(
                Problem::failed(format!(
                    "the model `{model}` cannot be read: {shown}: {error}"
                ))
                .advice("see who may read it: ls -l"),
            );
        }
        (Ok(size), Some(known)) if size != known.size => {
            format!("{shown} has {size} bytes and not {}", known.size)
        }
        (Ok(_), _) if begin != MAGIC => format!("{shown} is no GGUF file"),
        _ => return None,
    };
    let what = format!("the model `{model}` is damaged: {why}");
    Some(Problem::failed(what).advice(again(model)))
}

/// Why a model that runs here gave no answer, where that has to do with its file.
pub(crate) fn explain(reason: AdapterReason, message: &str, model: &str) -> Option<Problem> {
    let is_here = || matches!(super::file(model), Ok(Some(file)) if file.is_file());
    let advice = match reason {
        // A file that is no model is as good as none.
        AdapterReason::ModelNotFound if is_here() => again(model),
        AdapterReason::ModelNotFound => match models::known(name(model)) {
            Some(_) => format!("fetch it: {}", pull(model)),
            None => "`allm models` lists what is here".to_owned(),
        },
        AdapterReason::UnsupportedFeature => {
            "take a GGUF file of the Llama family, such as the one of `allm models pull`".to_owned()
        }
        AdapterReason::Unknown => again(model),
        _ => return None,
    };
    let what = format!("the model `{model}` cannot be run: {message}");
    Some(Problem::failed(what).advice(advice))
}

/// How a damaged model is mended.
fn again(model: &str) -> String {
    let name = name(model);
    match models::known(name) {
        Some(_) => format!("fetch it again: {}", pull(model)),
        None => format!("fetch it again: allm models pull FILE-OR-URL --name {name}"),
    }
}

fn pull(model: &str) -> String {
    match model == EMBEDDED {
        true => "allm models pull".to_owned(),
        false => format!("allm models pull {}", name(model)),
    }
}

fn name(model: &str) -> &str {
    model.strip_prefix("local:").unwrap_or(model)
}
