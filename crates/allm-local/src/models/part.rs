//! Files that are not whole yet.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use crate::error::{ModelError, ModelErrorKind};

/// A file that is being written. It is removed unless it is finished; what a killed process left is overwritten.
pub(super) struct PartFile {
    path: PathBuf,
    file: File,
    hash: Sha256,
    length: u64,
    is_finished: bool,
}

impl PartFile {
    pub(super) fn create(path: PathBuf) -> Result<Self, ModelError> {
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .open(&path);
        let file = file.map_err(|error| writing(&path, error))?;
        Ok(Self {
            path,
            file,
            hash: Sha256::new(),
            length: 0,
            is_finished: false,
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn length(&self) -> u64 {
        self.length
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<(), ModelError> {
        self.file
            .write_all(bytes)
            .map_err(|error| writing(&self.path, error))?;
        self.hash.update(bytes);
        self.length += bytes.len() as u64;
        Ok(())
    }

    /// Begins again.
    pub(super) fn restart(&mut self) -> Result<(), ModelError> {
        use std::io::{Seek as _, SeekFrom};
        let emptied = self
            .file
            .set_len(0)
            .and_then(|()| self.file.seek(SeekFrom::Start(0)));
        emptied.map_err(|error| writing(&self.path, error))?;
        self.hash = Sha256::new();
        self.length = 0;
        Ok(())
    }

    /// The hash of what was written, in hexadecimal.
    pub(super) fn sha256(&self) -> String {
        hexadecimal(&self.hash.clone().finalize())
    }

    /// Puts the file in its place, on the disk for good.
    pub(super) fn finish(mut self, destination: &Path) -> Result<(), ModelError> {
        let synced = self
            .file
            .sync_all()
            .and_then(|()| std::fs::rename(&self.path, destination));
        synced.map_err(|error| writing(destination, error))?;
        self.is_finished = true;
        // So that the name is on the disk, too. Not every system can do that.
        if let Some(folder) = destination.parent()
            && let Ok(folder) = File::open(folder)
        {
            let _ = folder.sync_all();
        }
        Ok(())
    }
}

impl Drop for PartFile {
    fn drop(&mut self) {
        if !self.is_finished {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// The hash of a file, in hexadecimal.
pub(super) fn sha256_of(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        match io::Read::read(&mut file, &mut buffer)? {
            0 => return Ok(hexadecimal(&hash.finalize())),
            count => hash.update(buffer.get(..count).unwrap_or_default()),
        }
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What went wrong with writing, by its kind.
pub(super) fn writing(path: &Path, error: io::Error) -> ModelError {
    let shown = path.display();
    let (kind, message) = match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => (
            ModelErrorKind::NoSpace,
            format!("the disk is full: {shown} cannot be written"),
        ),
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => (
            ModelErrorKind::NotWritable,
            format!("{shown} may not be written"),
        ),
        io::ErrorKind::NotADirectory | io::ErrorKind::AlreadyExists => (
            ModelErrorKind::NotWritable,
            format!("{shown} cannot be made: something else is there"),
        ),
        _ => (ModelErrorKind::Io, format!("{shown} cannot be written")),
    };
    ModelError::new(kind, message).because(error)
}
